//! Settings: flags before environment before file before defaults, one table for all of them.

mod database_url;
mod value;

use std::cmp::Ordering;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use clap::parser::ValueSource;

pub use database_url::DatabaseUrl;
pub use value::{Connections, Duration, Lifetime, LogFormat, Percent, SecretText};

/// Where a setting comes from; what counts more is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The command line.
    Flag,
    /// An environment variable.
    Environment,
    /// The settings' file.
    File,
    /// Nobody said anything.
    Default,
}

/// A setting as `stratusd config` prints it: never a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its name.
    pub name: &'static str,
    /// Its value, none if it has none.
    pub value: Option<String>,
    /// Where that comes from.
    pub origin: Origin,
}

/// Declares a group of settings: what may be given (each by a flag, a variable or a key of the file), and what holds
/// in the end.
macro_rules! settings {
    (
        $(#[$group_doc:meta])*
        $group:ident, given by $given:ident:
        $(
            $(#[doc = $doc:literal])*
            $name:ident ($env:literal, $value_name:literal): $type:ty $(= $default:literal)?;
        )*
    ) => {
        $(#[$group_doc])*
        #[derive(Debug, Clone)]
        pub struct $group {
            $($(#[doc = $doc])* pub $name: settings!(@held $type $(, $default)?),)*
            shown: Vec<Shown>,
        }

        /// What was given of it.
        #[derive(Debug, Clone, Default, clap::Args)]
        pub struct $given {
            $(
                $(#[doc = $doc])*
                #[arg(long, env = $env, hide_env_values = true, value_name = $value_name,
                      help = settings!(@help [$($doc)*] $($default)?))]
                $name: Option<$type>,
            )*
        }

        impl $given {
            const KEYS: &[&str] = &[$(stringify!($name)),*];

            /// What holds in the end.
            ///
            /// # Errors
            ///
            /// A value of the file that is none.
            pub fn settle(&self, matches: &ArgMatches, file: &SettingsFile) -> Result<$group> {
                let mut shown = Vec::new();
                $(
                    let (value, origin) = match &self.$name {
                        Some(value) => (Some(value.clone()), source_of(matches, stringify!($name))),
                        None => match file.value::<$type>(stringify!($name))? {
                            Some(value) => (Some(value), Origin::File),
                            None => (settings!(@default $type $(, $default)?), Origin::Default),
                        },
                    };
                    let text = value.as_ref().map(ToString::to_string);
                    shown.push(Shown { name: stringify!($name), value: text, origin });
                    let $name = settings!(@unwrap value $(, $default)?);
                )*
                Ok($group { $($name,)* shown })
            }
        }

        impl $group {
            /// Every setting as it may be printed.
            #[must_use]
            pub fn shown(&self) -> &[Shown] {
                &self.shown
            }
        }
    };
    (@held $type:ty, $default:literal) => { $type };
    (@held $type:ty) => { Option<$type> };
    (@default $type:ty, $default:literal) => { Some($default.parse::<$type>().expect("the default is a value")) };
    (@default $type:ty) => { None };
    (@unwrap $value:ident, $default:literal) => { $value.expect("there is a default") };
    (@unwrap $value:ident) => { $value };
    (@help [$($doc:literal)*] $default:literal) => { concat!($($doc, " ",)* "[default: ", $default, "]").trim_start() };
    (@help [$($doc:literal)*]) => { concat!($($doc, " "),*).trim() };
}

settings! {
    /// Where everything is kept.
    StoreSettings, given by StoreGiven:
    /// The database: `sqlite://FILE`, or `postgres://USER:PASSWORD@HOST/NAME`.
    database_url("STRATUS_DATABASE_URL", "URL"): DatabaseUrl = "sqlite://stratus.db";
}

settings! {
    /// The keys that seal passwords at rest.
    KeySettings, given by KeyGiven:
    /// A file with the keys that seal passwords, one in base 64 per line, the current one first.
    encryption_keys_file("STRATUS_ENCRYPTION_KEYS_FILE", "FILE"): value::FilePath;
    /// The keys themselves, in place of a file; better in the environment than in a flag.
    encryption_keys("STRATUS_ENCRYPTION_KEYS", "KEYS"): SecretText;
}

settings! {
    /// How the service runs.
    ServiceSettings, given by ServiceGiven:
    /// Connections to PostgreSQL, half of them for changes; at least one for each.
    database_connections("STRATUS_DATABASE_CONNECTIONS", "COUNT"): Connections = "8";
    /// Where the API is served.
    listen("STRATUS_LISTEN", "ADDRESS"): std::net::SocketAddr = "127.0.0.1:8080";
    /// Where health and metrics are served.
    management_listen("STRATUS_MANAGEMENT_LISTEN", "ADDRESS"): std::net::SocketAddr = "127.0.0.1:9090";
    /// The domain that host names of load balancers and databases end in.
    service_domain("STRATUS_SERVICE_DOMAIN", "DOMAIN"): value::Domain = "stratus.example";
    /// The certificate chain in PEM; with it the API speaks TLS. Read again when it changes.
    tls_certificate("STRATUS_TLS_CERTIFICATE", "FILE"): value::FilePath;
    /// The certificate's key in PEM.
    tls_key("STRATUS_TLS_KEY", "FILE"): value::FilePath;
    /// How logs are written: `human` or `json`.
    log_format("STRATUS_LOG_FORMAT", "FORMAT"): LogFormat = "human";
    /// What is logged, as tracing's directives have it, such as `info,tokio_postgres=warn`.
    log("STRATUS_LOG", "DIRECTIVES"): value::Directives = "info";
    /// Connections at once.
    max_connections("STRATUS_MAX_CONNECTIONS", "COUNT"): Connections = "10000";
    /// The time for the headers of a request to arrive.
    header_timeout("STRATUS_HEADER_TIMEOUT", "DURATION"): Duration<100> = "10s";
    /// The time for the body of a request to arrive.
    body_timeout("STRATUS_BODY_TIMEOUT", "DURATION"): Duration<100> = "30s";
    /// The time after which a connection that neither sends nor takes anything is closed.
    idle_timeout("STRATUS_IDLE_TIMEOUT", "DURATION"): Duration<100> = "75s";
    /// The time for requests to end once the service is told to stop.
    shutdown_timeout("STRATUS_SHUTDOWN_TIMEOUT", "DURATION"): Duration = "30s";
    /// The largest body in bytes.
    body_limit("STRATUS_BODY_LIMIT", "BYTES"): value::Bytes = "1048576";
    /// The largest head of a request in bytes.
    header_limit("STRATUS_HEADER_LIMIT", "BYTES"): value::Bytes = "32768";
    /// Requests per second that a token may make; no limit unless set.
    rate_limit("STRATUS_RATE_LIMIT", "COUNT"): std::num::NonZeroU32;
    /// Requests that a token may make at once after a rest; as many as in a second unless set.
    rate_burst("STRATUS_RATE_BURST", "COUNT"): std::num::NonZeroU32;
    /// How long a worker may leave a database that it works on without a sign of life.
    reconcile_lease("STRATUS_RECONCILE_LEASE", "DURATION"): Duration<1000> = "30s";
    /// How often a running database is looked at.
    observe_every("STRATUS_OBSERVE_EVERY", "DURATION"): Duration<100> = "60s";
    /// How long the simulated provisioner takes for a step, at least.
    simulate_delay("STRATUS_SIMULATE_DELAY", "DURATION"): Duration = "2s";
    /// How much longer it may take.
    simulate_jitter("STRATUS_SIMULATE_JITTER", "DURATION"): Duration = "2s";
    /// How many of a hundred of its steps fail: those that create, resize or set a password.
    simulate_failures("STRATUS_SIMULATE_FAILURES", "PERCENT"): Percent = "0";
    /// How often a running database is found unavailable for a while.
    simulate_outages("STRATUS_SIMULATE_OUTAGES", "PERCENT"): Percent = "0";
    /// How full its databases are.
    simulate_used("STRATUS_SIMULATE_USED", "PERCENT"): Percent = "5";
    /// What its delays and failures are drawn from: the same again for databases of the same names.
    simulate_seed("STRATUS_SIMULATE_SEED", "NUMBER"): u64 = "0";
}

impl ServiceSettings {
    /// Checks what must go together.
    ///
    /// # Errors
    ///
    /// A setting that does nothing without another one.
    pub fn ensure_whole(&self) -> Result<()> {
        if self.rate_burst.is_some() && self.rate_limit.is_none() {
            bail!(
                "the setting rate_burst does nothing without rate_limit: give both, or leave it out"
            );
        }
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            bail!("the settings tls_certificate and tls_key go together: give both, or neither");
        }
        Ok(())
    }
}

/// Where the keys that seal passwords are.
#[derive(Debug, Clone, Copy)]
pub enum KeySource<'s> {
    /// In the settings.
    Text(&'s SecretText),
    /// In a file.
    File(&'s Path),
}

impl KeySettings {
    /// Where the keys are: of a file and a text, whichever was given in the place that counts more; none if neither was.
    ///
    /// # Errors
    ///
    /// If both were given in the same place.
    pub fn source(&self) -> Result<Option<KeySource<'_>>> {
        let (text, file) = match (&self.encryption_keys, &self.encryption_keys_file) {
            (Some(text), Some(file)) => (text, file),
            (Some(text), None) => return Ok(Some(KeySource::Text(text))),
            (None, Some(file)) => return Ok(Some(KeySource::File(file.as_path()))),
            (None, None) => return Ok(None),
        };
        match self
            .origin("encryption_keys")
            .cmp(&self.origin("encryption_keys_file"))
        {
            Ordering::Less => Ok(Some(KeySource::Text(text))),
            Ordering::Greater => Ok(Some(KeySource::File(file.as_path()))),
            Ordering::Equal => {
                bail!(
                    "encryption_keys and encryption_keys_file are given in the same place: leave one out"
                )
            }
        }
    }

    fn origin(&self, name: &str) -> Option<Origin> {
        self.shown
            .iter()
            .find(|shown| shown.name == name)
            .map(|shown| shown.origin)
    }
}

/// Where flags and variables of one value come from.
fn source_of(matches: &ArgMatches, name: &str) -> Origin {
    match matches.value_source(name) {
        Some(ValueSource::EnvVariable) => Origin::Environment,
        _ => Origin::Flag,
    }
}

/// The settings' file.
#[derive(Default)]
pub struct SettingsFile {
    path: PathBuf,
    table: toml::Table,
}

impl fmt::Debug for SettingsFile {
    /// Without its values, some of which are secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl SettingsFile {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no TOML, or has a key that is no setting.
    pub fn read(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text = fs::read_to_string(path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            // The line that it would show may hold a secret.
            let line = error
                .span()
                .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            anyhow::anyhow!("{}:{line}: {}", path.display(), error.message())
        })?;
        let known = [StoreGiven::KEYS, KeyGiven::KEYS, ServiceGiven::KEYS].concat();
        if let Some(unknown) = table.keys().find(|key| !known.contains(&key.as_str())) {
            bail!(
                "{}: there is no setting `{unknown}`; the settings are {}",
                path.display(),
                known.join(", ")
            );
        }
        Ok(Self {
            path: path.to_owned(),
            table,
        })
    }

    fn value<T>(&self, name: &str) -> Result<Option<T>>
    where
        T: std::str::FromStr,
        T::Err: std::fmt::Display,
    {
        let Some(value) = self.table.get(name) else {
            return Ok(None);
        };
        let text = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            other => bail!(
                "{}: {name} must be a string or a number, not {}",
                self.path.display(),
                other.type_str()
            ),
        };
        let value = text
            .parse()
            .map_err(|error: T::Err| anyhow::anyhow!("{}: {name}: {error}", self.path.display()));
        value.map(Some)
    }
}
