//! What settings can be. Each prints as it is written, but for what is secret.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::{SignedDuration, Span, SpanRelativeTo};
use zeroize::Zeroizing;

/// A time such as `30s` or `1m 30s`, from a number of milliseconds to a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duration<const LEAST: u64 = 0>(std::time::Duration);

impl<const LEAST: u64> Duration<LEAST> {
    /// The time.
    #[must_use]
    pub fn get(self) -> std::time::Duration {
        self.0
    }
}

impl<const LEAST: u64> FromStr for Duration<LEAST> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let least = std::time::Duration::from_millis(LEAST);
        let told = || {
            let least = if LEAST == 0 {
                "zero".to_owned()
            } else {
                format!("{least:?}")
            };
            format!("`{text}` is no time from {least} to a day; a time is like 30s, 500ms or 2m")
        };
        let time: SignedDuration = text.parse().map_err(|_| told())?;
        let time = std::time::Duration::try_from(time).map_err(|_| told())?;
        if (least..=std::time::Duration::from_hours(24)).contains(&time) {
            Ok(Self(time))
        } else {
            Err(told())
        }
    }
}

impl<const LEAST: u64> fmt::Display for Duration<LEAST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A time such as `12h` or `90 days`, from a second to a hundred years of 365 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime(SignedDuration);

impl Lifetime {
    /// The time in milliseconds.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX)
    }
}

impl FromStr for Lifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let told = || {
            format!("`{text}` is no time from a second to 36500 days; a time is like 12h or 90d")
        };
        let span: Span = text.parse().map_err(|_| told())?;
        let time = span
            .to_duration(SpanRelativeTo::days_are_24_hours())
            .map_err(|_| told())?;
        let longest = SignedDuration::from_hours(24 * 36_500);
        if (SignedDuration::from_secs(1)..=longest).contains(&time) {
            Ok(Self(time))
        } else {
            Err(told())
        }
    }
}

/// A number of connections, 1 to a million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections(u32);

impl Connections {
    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl FromStr for Connections {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text
            .parse()
            .ok()
            .filter(|number| (1..=1_000_000).contains(number));
        number
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no number from 1 to 1000000"))
    }
}

impl fmt::Display for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A size in bytes, 1 KiB to 1 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(usize);

impl Bytes {
    /// The number.
    #[must_use]
    pub fn get(self) -> usize {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text
            .parse()
            .ok()
            .filter(|number| (1 << 10..=1 << 30).contains(number));
        number
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no number of bytes from 1024 to 1073741824"))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A share in percent, 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(u8);

impl Percent {
    /// The number.
    #[must_use]
    pub fn get(self) -> u8 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse().ok().filter(|number| *number <= 100);
        number
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no number from 0 to 100"))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Human,
    /// For machines, an object per line.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "human" => Ok(Self::Human),
            "json" => Ok(Self::Json),
            _ => Err(format!("`{text}` is neither human nor json")),
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

/// What is logged, as `tracing` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directives(String);

impl Directives {
    /// The filter.
    #[must_use]
    pub fn filter(&self) -> tracing_subscriber::EnvFilter {
        tracing_subscriber::EnvFilter::new(&self.0)
    }
}

impl FromStr for Directives {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = tracing_subscriber::EnvFilter::try_new(text);
        parsed
            .map(|_| Self(text.to_owned()))
            .map_err(|error| format!("`{text}` is no filter: {error}"))
    }
}

impl fmt::Display for Directives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath(PathBuf);

impl FilePath {
    /// The name.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl FromStr for FilePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            Err("a file must have a name".to_owned())
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

/// A domain that host names can end in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain(String);

impl Domain {
    /// The domain.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Domain {
    type Err = String;

    /// As RFC 1123 has it, in lower case, and short enough for the longest name of a resource before it.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_label = |label: &str| {
            let is_inner =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            (1..=63).contains(&label.len())
                && label.bytes().all(is_inner)
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let is_domain = text.len() <= 150 && text.split('.').all(is_label);
        if is_domain {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "`{text}` is no domain: labels of a-z, 0-9 and -, with dots between, up to 150 characters"
        ))
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is never printed.
#[derive(Clone)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// The text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for SecretText {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
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
