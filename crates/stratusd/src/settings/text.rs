//! Settings that are strings: addresses, names, files, log directives and secrets.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use api_server::server::{OriginError, Origins};
use http::Uri;
use tracing_subscriber::EnvFilter;
use zeroize::Zeroizing;

/// An IP address and a port to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress(SocketAddr);

impl ListenAddress {
    /// Returns the address.
    #[must_use]
    pub fn get(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for ListenAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = text.parse().map(Self);
        address.map_err(|_| "must be an IP address and a port, such as 127.0.0.1:8080")
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether something is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

impl FromStr for Switch {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err("must be `on` or `off`"),
        }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people to read.
    Human,
    /// One JSON object per line.
    Json,
}

impl FromStr for LogFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "human" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            _ => Err("must be `human` or `json`"),
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Human => "human",
            Self::Json => "json",
        })
    }
}

/// The version of the PROXY protocol, by which a virtual machine gets the address of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// None: a virtual machine sees the address of the data plane.
    Off,
    /// Version 1, a line of text.
    V1,
    /// Version 2, in binary form.
    V2,
}

impl FromStr for ProxyProtocol {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "v1" => Ok(Self::V1),
            "v2" => Ok(Self::V2),
            _ => Err("must be `off`, `v1` or `v2`"),
        }
    }
}

impl fmt::Display for ProxyProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::V1 => "v1",
            Self::V2 => "v2",
        })
    }
}

/// The directives of an [`EnvFilter`], which select what to log: `info,tokio_postgres=warn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directives(String);

impl Directives {
    /// Returns the filter that the directives describe.
    #[must_use]
    pub fn filter(&self) -> EnvFilter {
        EnvFilter::new(&self.0)
    }
}

impl FromStr for Directives {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The filter is only tried here and its text kept, because a filter cannot be cloned or
        // compared.
        match EnvFilter::try_new(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(format!(
                "must be tracing directives, such as info,tokio_postgres=warn: {error}"
            )),
        }
    }
}

impl fmt::Display for Directives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path of a file. It is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath(PathBuf);

impl FilePath {
    /// Returns the path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl FromStr for FilePath {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            Err("must not be empty: give the path of a file")
        } else {
            Ok(Self(text.into()))
        }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// The name of a user of the operating system. It is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserName(String);

impl UserName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for UserName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            Err("must not be empty: give the name of a user")
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A DNS domain in lower case, which host names of resources end in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain(String);

impl Domain {
    /// The maximum length of a domain in characters. DNS allows host names of 253 characters: the
    /// rest is for what the longest host name of a resource has in front of the domain.
    const MAX_LENGTH: usize = 150;

    /// Returns the domain.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Domain {
    type Err = String;

    /// Parses a domain of at most 150 characters, whose labels are as RFC 1123 defines them and in
    /// lower case.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() <= Self::MAX_LENGTH && text.split('.').all(is_label) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "must be a domain of at most {} characters: labels of a-z, 0-9 and -, separated by dots",
            Self::MAX_LENGTH
        ))
    }
}

/// Returns whether a string is a label of a domain: 1 to 63 of `a-z`, `0-9` and `-`, without `-` at
/// either end.
fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The web origins (CORS) whose pages may call the API from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigins {
    text: String,
    origins: Origins,
}

impl AllowedOrigins {
    /// Returns the origins.
    #[must_use]
    pub fn get(&self) -> &Origins {
        &self.origins
    }
}

impl FromStr for AllowedOrigins {
    type Err = OriginError;

    /// Parses `*`, which allows all origins, or a list of origins that are separated by commas.
    fn from_str(text: &str) -> Result<Self, OriginError> {
        let origins = if text.trim() == "*" {
            Origins::any()
        } else {
            Origins::listed(text.split(',').map(str::trim))?
        };
        Ok(Self {
            text: text.to_owned(),
            origins,
        })
    }
}

impl fmt::Display for AllowedOrigins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The URL of a collector of OpenTelemetry, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorUrl(String);

impl CollectorUrl {
    /// Returns the URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CollectorUrl {
    type Err = &'static str;

    /// Parses a URL without user, password and query, which the log and `stratusd config` would show.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim_end_matches('/');
        let uri: Option<Uri> = text.parse().ok();
        let is_valid = uri.is_some_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some_and(|host| !host.is_empty())
                && !uri
                    .authority()
                    .is_some_and(|authority| authority.as_str().contains('@'))
                && uri.query().is_none()
        });
        // The parser drops a fragment without an error.
        if is_valid && !text.contains('#') {
            Ok(Self(text.to_owned()))
        } else {
            Err(
                "must be an HTTP URL without user, password and query, such as http://localhost:4318",
            )
        }
    }
}

impl fmt::Display for CollectorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A secret string, which is printed as `[redacted]` and erased from memory when dropped.
#[derive(Clone)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// Returns the secret string.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretText {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Never fails: clap would repeat a rejected string in its error.
        Ok(Self(Zeroizing::new(text.to_owned())))
    }
}

impl fmt::Display for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
