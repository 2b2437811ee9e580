//! The settings of a call: flags, or else variables, or else the configuration file.

use std::env;
use std::time::Duration;

use clap::ArgMatches;

use super::argument::{self, Bound};
use super::command;
use super::config::{Config, Known};
use super::description::{Description, Operation, SchemeKind};
use super::failure::Failure;
use super::{Program, secrets};
use crate::client::{self, Retries, Scheme, Secret, Security, Transport};

/// The repeats of a call that failed temporarily, unless `--retries` says otherwise.
const RETRIES: u32 = 2;
/// The seconds that a call may take, unless `--timeout` says otherwise.
const TIMEOUT: f64 = 60.0;
/// The seconds that connecting may take, unless `--connect-timeout` says otherwise.
const CONNECT_TIMEOUT: f64 = 10.0;
/// The most seconds of a setting: ten years.
const MOST_SECONDS: f64 = 315_360_000.0;
/// The settings that the configuration file may have for every API.
const KEYS: [&str; 5] = ["url", "output", "timeout", "connect-timeout", "retries"];

/// The settings of a call.
pub(super) struct Settings<'m> {
    pub(super) program: Program,
    pub(super) description: &'static Description,
    pub(super) operation: &'static Operation,
    pub(super) matches: &'m ArgMatches,
    /// The parameters and properties of the operation, with their flags.
    pub(super) bound: Vec<Bound>,
    /// The security requirements, as the transport takes them.
    pub(super) security: Security,
    config: Config,
}

impl<'m> Settings<'m> {
    /// Reads the configuration file. Flags and variables are read when they are asked for.
    pub(super) fn read(
        program: &Program,
        description: &'static Description,
        operation: &'static Operation,
        matches: &'m ArgMatches,
    ) -> Result<Self, Failure> {
        // No variable has the file: a service and the program that calls it may have one name.
        let named = matches.get_one::<String>("config").cloned();
        let profile = match matches.get_one::<String>("profile") {
            Some(name) => Some(name.clone()),
            None => variable(&variable_name(program, "profile"))?,
        };
        let config = Config::read(program.name, named, profile, &known(description))?;
        let alternatives = operation.security.iter().map(Vec::as_slice);
        Ok(Self {
            program: *program,
            description,
            operation,
            matches,
            bound: argument::bound(description, operation),
            security: Vec::leak(alternatives.collect()),
            config,
        })
    }

    /// Returns the variable of a setting: `STRATUS_PROJECT_ID` for `project-id`.
    pub(super) fn variable(&self, key: &str) -> String {
        variable_name(&self.program, key)
    }

    /// Returns a setting.
    pub(super) fn value(&self, key: &str) -> Result<Option<String>, Failure> {
        if let Some(given) = self.flag(key) {
            return Ok(Some(given.clone()));
        }
        if let Some(set) = variable(&self.variable(key))? {
            return Ok(Some(set));
        }
        Ok(self.config.value(key))
    }

    /// Returns the value of a flag. Not every operation has each flag.
    pub(super) fn flag(&self, flag: &str) -> Option<&String> {
        self.matches.try_get_one::<String>(flag).ok().flatten()
    }

    /// Returns whether a flag without a value is given.
    pub(super) fn has(&self, flag: &str) -> bool {
        matches!(self.matches.try_get_one::<bool>(flag), Ok(Some(true)))
    }

    /// Returns the seconds of a setting.
    pub(super) fn seconds(&self, key: &str, usual: f64) -> Result<Duration, Failure> {
        let Some(text) = self.value(key)? else {
            return Ok(Duration::from_secs_f64(usual));
        };
        let seconds = text.parse::<f64>().ok();
        let seconds = seconds.filter(|seconds| (0.001..=MOST_SECONDS).contains(seconds));
        seconds.map(Duration::from_secs_f64).ok_or_else(|| {
            Failure::usage(format!(
                "`{key}` must be a number of seconds above 0, such as 30 or 0.5"
            ))
        })
    }

    /// Returns the words for where a setting may come from.
    pub(super) fn sources(&self, key: &str) -> String {
        let file = self.config.path().map(|file| file.display());
        let file = file.map_or_else(String::new, |file| {
            format!(", or write `{key}` into {file}")
        });
        format!("give --{key}, set {}{file}", self.variable(key))
    }

    /// Returns the base URL.
    pub(super) fn url(&self) -> Result<String, Failure> {
        if let Some(url) = self.value("url")? {
            return Ok(url);
        }
        let mut servers = self.description.servers.iter();
        let absolute = servers.find(|url| url.contains("://"));
        absolute.cloned().ok_or_else(|| {
            let sources = self.sources("url");
            Failure::usage(format!("the contract names no host to call: {sources}"))
        })
    }

    /// Builds the transport with the credentials that the operation needs.
    pub(super) fn transport(&self) -> Result<Transport, Failure> {
        let Program { name, version, .. } = self.program;
        let agent: &'static str = format!("{name}/{version}").leak();
        let schemes = self.description.schemes.len();
        let mut config = client::Config::new(&self.url()?, agent, schemes)
            .connect_timeout(self.seconds("connect-timeout", CONNECT_TIMEOUT)?)
            .timeout(self.timeout()?);
        let retries = self.value("retries")?;
        let retries = retries.map_or(Ok(RETRIES), |text| text.parse::<u32>());
        let retries = retries
            .map_err(|_| Failure::usage("`retries` must be a number of repeats, such as 3"))?;
        if retries > 0 {
            config = config.retries(Retries::new(retries));
        }
        if !self.has("dry-run") {
            for (at, secret) in self.credentials()? {
                config = config.credential(at, self.scheme(at), secret);
            }
        }
        let transport = config.build();
        transport.map_err(|error| Failure::usage(error.to_string()))
    }

    /// Returns the time-out of a call. A stream has none unless one is given.
    fn timeout(&self) -> Result<Option<Duration>, Failure> {
        let is_given = self.value("timeout")?.is_some();
        let is_stream = self
            .operation
            .accept
            .split(", ")
            .any(super::call::is_stream);
        if is_stream && !is_given {
            return Ok(None);
        }
        self.seconds("timeout", TIMEOUT).map(Some)
    }

    /// Returns the name of the setting that has the credential of a scheme.
    pub(super) fn scheme_name(&self, at: usize) -> String {
        command::scheme_name(self.description, at)
    }

    /// Returns the schemes whose credentials the call has: those of the first alternative that is
    /// set, or else, where a credential is required, those that the first one needs.
    pub(super) fn needed(&self) -> Vec<usize> {
        let alternatives = &self.operation.security;
        let set = alternatives
            .iter()
            .find(|schemes| !schemes.is_empty() && schemes.iter().all(|at| self.is_set(*at)));
        let is_optional = alternatives.iter().any(Vec::is_empty);
        let needed = set.or(alternatives.first().filter(|_| !is_optional));
        needed.cloned().unwrap_or_default()
    }

    fn is_set(&self, at: usize) -> bool {
        let name = self.scheme_name(at);
        let file = self.value(&format!("{name}-file"));
        matches!(file, Ok(Some(_))) || matches!(variable(&self.variable(&name)), Ok(Some(_)))
    }

    /// Returns the credentials that are set, of the schemes that the operation can use.
    fn credentials(&self) -> Result<Vec<(usize, Secret)>, Failure> {
        let mut credentials = Vec::new();
        for at in self.needed() {
            let name = self.scheme_name(at);
            match self.credential(&name)? {
                Some(secret) => credentials.push((at, secret)),
                None if self.description.schemes[at].kind == SchemeKind::Certificate => {
                    return Err(Failure::usage(
                        "this operation needs a client certificate, which this program cannot send",
                    ));
                }
                None => {
                    let variable = self.variable(&name);
                    let sources = self.sources(&format!("{name}-file"));
                    return Err(Failure::usage(format!(
                        "`{}` needs a credential: set {variable}, or {sources} (`-` is the standard input)",
                        self.operation.id
                    )));
                }
            }
        }
        Ok(credentials)
    }

    /// Returns the credential of a name. A file that is given as an argument counts before the
    /// variable that has the credential itself.
    fn credential(&self, name: &str) -> Result<Option<Secret>, Failure> {
        let key = format!("{name}-file");
        let is_given = self.flag(&key).is_some();
        if !is_given && let Some(secret) = variable(&self.variable(name))? {
            return Ok(Some(Secret::from(secret.trim_end_matches(['\r', '\n']))));
        }
        let file = self.value(&key)?;
        file.map(|file| secrets::from_file(&file, &format!("the credential `{name}`")))
            .transpose()
    }

    /// Returns how requests carry the credential of a scheme.
    fn scheme(&self, at: usize) -> Scheme {
        let scheme = &self.description.schemes[at];
        let key: &'static str = &scheme.key;
        match scheme.kind {
            SchemeKind::Bearer => Scheme::Bearer,
            SchemeKind::Basic => Scheme::Basic,
            SchemeKind::Authorization => Scheme::Authorization(key),
            SchemeKind::Header => Scheme::Header(key),
            SchemeKind::Query => Scheme::Query(key),
            SchemeKind::Cookie => Scheme::Cookie(key),
            SchemeKind::Certificate => Scheme::Certificate,
        }
    }
}

/// Returns what the configuration file of an API may have.
fn known(description: &Description) -> Known {
    let schemes = 0..description.schemes.len();
    let secrets: Vec<String> = schemes
        .map(|at| command::scheme_name(description, at))
        .collect();
    let files = secrets.iter().map(|name| format!("{name}-file"));
    let operations = description.operations.iter();
    let inputs = operations.flat_map(|operation| &operation.parameters);
    let context = inputs
        .filter(|input| input.context)
        .map(|input| input.flag.clone());
    let mut settings: Vec<String> = KEYS.map(str::to_owned).into();
    settings.extend(files.chain(context));
    settings.sort_unstable();
    settings.dedup();
    Known { settings, secrets }
}

/// Returns the variable of a setting: `STRATUS_PROJECT_ID` for `project-id`.
fn variable_name(program: &Program, key: &str) -> String {
    let name = format!("{}_{key}", program.name);
    name.to_uppercase().replace('-', "_")
}

/// Returns a variable of the environment. An empty one is as good as none.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(Failure::usage(format!(
            "the variable {name} is not text in UTF-8"
        ))),
    }
}
