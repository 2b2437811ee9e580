//! The settings of a provisioner in another process.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use anyhow::{Result, bail};
use http::Uri;

use super::provisioner::ProvisionerChoice;
use super::text::{FilePath, SecretText};
use super::{Duration, Origin, Setting, SettingsFile};

settings! {
    /// The settings of a provisioner in another process, which `stratusd serve` calls and `stratusd
    /// check-provisioner` checks.
    RemoteSettings, from RemoteArguments:
    /// Provisioner in another process: its URL, such as `https://databases.example:8082`. It must be https, unless the host is this machine.
    provisioner_url("STRATUS_PROVISIONER_URL", "URL"): ProvisionerUrl;
    /// Provisioner in another process: the file with the token that it expects.
    provisioner_token_file("STRATUS_PROVISIONER_TOKEN_FILE", "FILE"): FilePath;
    /// Provisioner in another process: the token that it expects. Set this in the environment, not as a flag, which other users can see.
    provisioner_token("STRATUS_PROVISIONER_TOKEN", "TOKEN"): SecretText;
    /// Provisioner in another process: the file with the certificates in PEM of the authorities that may issue its certificate. Those that the system trusts if not set.
    provisioner_ca_file("STRATUS_PROVISIONER_CA_FILE", "FILE"): FilePath;
    /// Provisioner in another process: how long a call may take, before it counts as failed and is repeated later.
    provisioner_timeout("STRATUS_PROVISIONER_TIMEOUT", "DURATION"): Duration<100> = "60s";
}

impl RemoteSettings {
    /// Checks that the settings have an effect with what creates databases.
    ///
    /// # Errors
    ///
    /// If one is set and databases are created by something else, or one is missing.
    pub fn ensure_complete(&self, choice: ProvisionerChoice) -> Result<()> {
        if choice != ProvisionerChoice::Http {
            let mut set = self.all().iter().filter(|it| it.origin != Origin::Default);
            if let Some(Setting { name, .. }) = set.next() {
                bail!(
                    "{name} has no effect without provisioner = \"http\": set both or remove {name}"
                );
            }
            return Ok(());
        }
        if self.provisioner_url.is_none() {
            bail!(
                "provisioner = \"http\" needs provisioner_url: set it to the URL of the provisioner"
            );
        }
        self.ensure_token()
    }

    /// Checks that there is exactly one token.
    ///
    /// # Errors
    ///
    /// If there is none, or two.
    pub fn ensure_token(&self) -> Result<()> {
        match (&self.provisioner_token, &self.provisioner_token_file) {
            (Some(_), Some(_)) => bail!(
                "provisioner_token and provisioner_token_file are both set: remove one of them"
            ),
            (None, None) => {
                bail!("the provisioner needs a token: set provisioner_token_file to a file with it")
            }
            _ => Ok(()),
        }
    }
}

/// The URL of a provisioner, without a slash at its end. It is https, or its host is this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvisionerUrl(String);

impl ProvisionerUrl {
    /// Returns the URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether connections use TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }
}

impl FromStr for ProvisionerUrl {
    type Err = &'static str;

    /// Parses a URL without user, password and query, which the log and `stratusd config` would show.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "must be an https URL without user, password and query, such as https://databases.example:8082";
        // The parser drops a fragment without an error.
        if text.contains('#') {
            return Err(WRONG);
        }
        let text = text.trim_end_matches('/');
        let uri: Uri = text.parse().map_err(|_| WRONG)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(WRONG);
        };
        let host = authority.host();
        if authority.as_str().contains('@') || host.is_empty() || uri.query().is_some() {
            return Err(WRONG);
        }
        match scheme {
            "https" => {}
            "http" if is_here(host) => {}
            "http" => {
                return Err(
                    "must be https, since passwords of databases are sent to it; http is for a provisioner on this machine, such as http://127.0.0.1:8082",
                );
            }
            _ => return Err(WRONG),
        }
        // The scheme and the host are the same in any case; the path is not.
        let path = uri.path().trim_end_matches('/');
        let authority = authority.as_str().to_ascii_lowercase();
        Ok(Self(format!("{scheme}://{authority}{path}")))
    }
}

impl fmt::Display for ProvisionerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns whether a host names this machine: `localhost`, or a loopback address.
fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: IpAddr| address.is_loopback();
    host.eq_ignore_ascii_case("localhost") || address.parse().is_ok_and(is_loopback)
}
