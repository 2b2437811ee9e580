//! Credentials as they come in, and what their check may say. None of them prints its secret.

use std::fmt;
use std::time::Duration;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use bytes::Bytes;

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// `Authorization: Bearer <token>` (RFC 6750); also how OAuth 2 travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The token.
    pub token: Secret,
}

/// `Authorization: Basic …` (RFC 7617).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basic {
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: Secret,
}

/// A key in a header, the query or a cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// The key.
    pub value: Secret,
}

/// `Authorization` with another scheme, unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// What follows the scheme's name.
    pub parameters: Secret,
}

/// The caller's certificate, in DER. Whoever ends TLS puts it into the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate(pub Bytes);

/// Why a credential does not open the door.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthError {
    /// There is none: 401.
    Missing,
    /// It is malformed, unknown, expired or revoked: 401.
    Invalid,
    /// It is good, but not for this: 403, with a reason that the caller may read.
    Forbidden(String),
    /// It is good, but comes too often: 429, with the time to wait.
    TooManyRequests(Duration),
    /// It cannot be checked just now: 503, with the time to wait.
    Unavailable(Option<Duration>),
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("credentials are missing"),
            Self::Invalid => f.write_str("credentials are invalid"),
            Self::Forbidden(reason) => write!(f, "forbidden: {reason}"),
            Self::TooManyRequests(_) => f.write_str("credentials are used too often"),
            Self::Unavailable(_) => f.write_str("credentials cannot be checked now"),
        }
    }
}

impl std::error::Error for AuthError {}

impl AuthError {
    /// Of two alternatives that failed, the reason that says more.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if other.weight() > self.weight() {
            other
        } else {
            self
        }
    }

    /// For security that is welcome but not needed: none at all is fine, a bad one is not.
    pub fn unless_missing<P>(self) -> Result<Option<P>, Self> {
        match self {
            Self::Missing => Ok(None),
            other => Err(other),
        }
    }

    fn weight(&self) -> u8 {
        match self {
            Self::Missing => 0,
            Self::Invalid => 1,
            Self::Unavailable(_) => 2,
            Self::Forbidden(_) => 3,
            Self::TooManyRequests(_) => 4,
        }
    }
}

/// The part of an `Authorization` value after the scheme, if it is that scheme. `Bearer: token` is understood too.
pub(super) fn after_scheme<'v>(value: &'v str, scheme: &str) -> Option<&'v str> {
    let value = value.trim();
    let rest = value
        .get(..scheme.len())
        .filter(|start| start.eq_ignore_ascii_case(scheme))
        .map(|start| &value[start.len()..])?;
    let separated = rest.strip_prefix(':').unwrap_or(rest);
    let is_separate =
        separated.len() < rest.len() || separated.starts_with([' ', '\t']) || separated.is_empty();
    is_separate.then(|| separated.trim())
}

/// The standard alphabet, padded or not: clients differ in what they send.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// User and password of a `Basic` credential.
pub(super) fn basic(encoded: &str) -> Option<Basic> {
    let text = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some(Basic {
        user: user.to_owned(),
        password: Secret::new(password),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_is_read_in_any_case_and_with_a_colon() {
        for value in [
            "Bearer abc",
            "bearer  abc",
            "BEARER: abc",
            "Bearer:abc",
            " Bearer\tabc ",
        ] {
            assert_eq!(after_scheme(value, "Bearer"), Some("abc"), "{value}");
        }
        for value in ["Bearerabc", "Basic abc", "", "Bear"] {
            assert_eq!(after_scheme(value, "Bearer"), None, "{value}");
        }
    }

    #[test]
    fn basic_credentials_are_read_and_not_printed() {
        let read = basic("QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap();
        assert_eq!(
            (read.user.as_str(), read.password.expose()),
            ("Aladdin", "open sesame")
        );
        assert!(!format!("{read:?}").contains("sesame"));
        assert_eq!(basic("QQ"), None);
        assert_eq!(basic("Q*=="), None);
        assert_eq!(basic("Q"), None);
    }
}
