//! The address of a PostgreSQL server: a connection URI of `libpq`, with its `sslmode`,
//! `sslrootcert`, `sslcert` and `sslkey`
//! (<https://www.postgresql.org/docs/current/libpq-connect.html>).

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode, utf8_percent_encode};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::tls::Tls;
use crate::server_certificate::Judgement;

/// The address of a PostgreSQL database on one or several hosts, with the settings of TLS. Its
/// `Debug` shows nothing, since the address may contain a password.
#[derive(Clone)]
pub struct Address {
    pub(super) config: Config,
    pub(super) tls: Tls,
    /// The options of the URL that are safe to print, in the form in which the URL has them.
    options: Vec<String>,
}

/// The names of the options of a URL that hold no secret. `Display` prints these options after the
/// rest of the address.
const PLAIN_OPTIONS: [&str; 14] = [
    "channel_binding",
    "connect_timeout",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// The reason why a string is not the address of a PostgreSQL server.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The string is not a connection URI. The message does not contain the string, which may
    /// contain a password, but the source may name an unknown option.
    #[error("it is not the URL of a PostgreSQL server")]
    Malformed(#[source] tokio_postgres::Error),
    /// The option `name` has a value that is not one of `values`.
    #[error("{name} must be one of {values}")]
    Value {
        /// The name of the option.
        name: &'static str,
        /// The valid values, separated by commas.
        values: &'static str,
    },
    /// The address names no host.
    #[error(
        "it names no host: write postgres://HOST/NAME, or postgres:///NAME?host=FOLDER for a socket"
    )]
    NoHost,
    /// The numbers of hosts, addresses and ports that the URL gives do not match. They must be
    /// equal, except that a single port is for all hosts.
    #[error(
        "it names {hosts} hosts, {addresses} addresses (hostaddr) and {ports} ports, which do not belong together"
    )]
    Unequal {
        /// The number of host names.
        hosts: usize,
        /// The number of host addresses.
        addresses: usize,
        /// The number of ports.
        ports: usize,
    },
    /// The URL names a client certificate without its key, or a key without its certificate.
    #[error("sslcert and sslkey must be given together")]
    HalfIdentity,
}

impl Address {
    /// Returns a configuration for each host alone, in the order of the hosts in the URL.
    pub(super) fn hosts(&self) -> Vec<Config> {
        (0..count(&self.config))
            .map(|index| self.host(index))
            .collect()
    }

    /// Returns a copy of the configuration with only the host at `index`. It copies each option,
    /// because hosts cannot be removed from a `Config`.
    fn host(&self, index: usize) -> Config {
        let all = &self.config;
        let mut one = Config::new();
        match all.get_hosts().get(index) {
            Some(Host::Tcp(name)) => one.host(name),
            Some(Host::Unix(folder)) => one.host_path(folder),
            None => &mut one,
        };
        if let Some(address) = all.get_hostaddrs().get(index) {
            one.hostaddr(*address);
        }
        // A single port is for all hosts.
        if let Some(port) = all.get_ports().get(index).or(all.get_ports().first()) {
            one.port(*port);
        }
        if let Some(user) = all.get_user() {
            one.user(user);
        }
        if let Some(password) = all.get_password() {
            one.password(password);
        }
        if let Some(name) = all.get_dbname() {
            one.dbname(name);
        }
        if let Some(options) = all.get_options() {
            one.options(options);
        }
        if let Some(name) = all.get_application_name() {
            one.application_name(name);
        }
        if let Some(time) = all.get_connect_timeout() {
            one.connect_timeout(*time);
        }
        if let Some(time) = all.get_tcp_user_timeout() {
            one.tcp_user_timeout(*time);
        }
        if let Some(time) = all.get_keepalives_interval() {
            one.keepalives_interval(time);
        }
        if let Some(retries) = all.get_keepalives_retries() {
            one.keepalives_retries(retries);
        }
        one.keepalives(all.get_keepalives())
            .keepalives_idle(all.get_keepalives_idle())
            .ssl_mode(all.get_ssl_mode())
            .ssl_negotiation(all.get_ssl_negotiation())
            .channel_binding(all.get_channel_binding())
            .target_session_attrs(all.get_target_session_attrs())
            .load_balance_hosts(all.get_load_balance_hosts());
        one
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Address([redacted])")
    }
}

/// Formats the address as a URL without its password. Only options that hold no secret are shown.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
            .remove(b'-')
            .remove(b'.')
            .remove(b'_')
            .remove(b'~');
        let encoded = |text: &str| utf8_percent_encode(text, PLAIN).to_string();
        f.write_str("postgres://")?;
        match (self.config.get_user(), self.config.get_password()) {
            (None, None) => {}
            (user, None) => write!(f, "{}@", encoded(user.unwrap_or_default()))?,
            (user, Some(_)) => write!(f, "{}:[redacted]@", encoded(user.unwrap_or_default()))?,
        }
        let (ports, addresses) = (self.config.get_ports(), self.config.get_hostaddrs());
        for index in 0..count(&self.config) {
            f.write_str(if index == 0 { "" } else { "," })?;
            match (self.config.get_hosts().get(index), addresses.get(index)) {
                // Only an IPv6 address has colons.
                (Some(Host::Tcp(name)), _) if name.contains(':') => write!(f, "[{name}]")?,
                (Some(Host::Tcp(name)), _) => f.write_str(&encoded(name))?,
                (Some(Host::Unix(folder)), _) => {
                    percent_encode(folder.as_os_str().as_encoded_bytes(), PLAIN).fmt(f)?;
                }
                (None, Some(IpAddr::V6(address))) => write!(f, "[{address}]")?,
                (None, Some(address)) => address.fmt(f)?,
                (None, None) => {}
            }
            // A single port is for all hosts.
            let port = if let [port] = ports {
                Some(port)
            } else {
                ports.get(index)
            };
            write!(f, ":{}", port.unwrap_or(&5432))?;
        }
        self.config
            .get_dbname()
            .map_or(Ok(()), |name| write!(f, "/{}", encoded(name)))?;
        let mut options = self.options.clone();
        // If a host has a name and an address, the address is what is connected to.
        if !self.config.get_hosts().is_empty() && !addresses.is_empty() {
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            options.insert(0, format!("hostaddr={}", addresses.join(",")));
        }
        if options.is_empty() {
            Ok(())
        } else {
            write!(f, "?{}", options.join("&"))
        }
    }
}

/// Returns the number of hosts of a configuration, which it gives by name, by address or by both.
fn count(config: &Config) -> usize {
    config.get_hosts().len().max(config.get_hostaddrs().len())
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        const MODES: &str = "disable, prefer, require, verify-ca, verify-full";
        // A password may contain a `?`, so the query is searched for behind the `@`.
        let host = url.find('@').unwrap_or_default();
        let query = url[host..].find('?').map(|mark| host + mark);
        let (server, query) = query.map_or((url, ""), |mark| (&url[..mark], &url[mark + 1..]));
        let (mut mode, mut tls) = (SslMode::Prefer, Tls::default());
        let (mut others, mut options) = (Vec::new(), Vec::new());
        // tokio-postgres knows no options for files and no modes that verify a certificate, and
        // rejects what it does not know. So these options are taken out before it parses the rest.
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if PLAIN_OPTIONS.contains(&name) {
                options.push(pair.to_owned());
            }
            let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
            match name {
                "sslmode" => {
                    (mode, tls.judgement) = match &*value {
                        "disable" => (SslMode::Disable, Judgement::Nothing),
                        "prefer" => (SslMode::Prefer, Judgement::Nothing),
                        "require" => (SslMode::Require, Judgement::Nothing),
                        "verify-ca" => (SslMode::Require, Judgement::Authority),
                        "verify-full" => (SslMode::Require, Judgement::Host),
                        _ => {
                            return Err(AddressError::Value {
                                name: "sslmode",
                                values: MODES,
                            });
                        }
                    }
                }
                "sslrootcert" => tls.root_certificates = Some(PathBuf::from(&*value)),
                "sslcert" => tls.certificate = Some(PathBuf::from(&*value)),
                "sslkey" => tls.key = Some(PathBuf::from(&*value)),
                _ => others.push(pair),
            }
        }
        if tls.certificate.is_some() != tls.key.is_some() {
            return Err(AddressError::HalfIdentity);
        }
        // As in libpq: `require` with a root certificate means `verify-ca`.
        if mode == SslMode::Require
            && tls.root_certificates.is_some()
            && tls.judgement == Judgement::Nothing
        {
            tls.judgement = Judgement::Authority;
        }
        let rest = if others.is_empty() {
            server.to_owned()
        } else {
            format!("{server}?{}", others.join("&"))
        };
        let mut config: Config = rest.parse().map_err(AddressError::Malformed)?;
        let (hosts, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
        let ports = config.get_ports().len();
        if count(&config) == 0 || config.get_hosts().contains(&Host::Tcp(String::new())) {
            return Err(AddressError::NoHost);
        }
        if (hosts > 0 && addresses > 0 && hosts != addresses)
            || (ports > 1 && ports != count(&config))
        {
            return Err(AddressError::Unequal {
                hosts,
                addresses,
                ports,
            });
        }
        // As in libpq: a Unix socket needs no TLS. An address takes precedence over a name.
        let is_local = addresses == 0
            && config
                .get_hosts()
                .iter()
                .all(|host| matches!(host, Host::Unix(_)));
        config.ssl_mode(if is_local { SslMode::Disable } else { mode });
        if config.get_application_name().is_none() {
            // Administrators see this name in `pg_stat_activity`.
            config.application_name("stratusd");
        }
        Ok(Self {
            config,
            tls,
            options,
        })
    }
}
