//! The credentials of requests, and the errors of their check. None of them prints its secret.

use std::fmt;
use std::time::Duration;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use bytes::Bytes;

use super::rate_limit::RateLimit;

/// A text that is never printed. Comparing it takes a time that tells nothing but the lengths.
#[derive(Clone, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        *self == *other.expose()
    }
}

impl PartialEq<str> for Secret {
    fn eq(&self, other: &str) -> bool {
        let pairs = self.0.bytes().zip(other.bytes());
        let differing = pairs.fold(0, |differing, (one, other)| differing | (one ^ other));
        // So that the compiler does not end the loop at the first difference.
        self.0.len() == other.len() && std::hint::black_box(differing) == 0
    }
}

impl PartialEq<&str> for Secret {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// `Authorization: Bearer <token>` (RFC 6750), which OAuth 2 uses too.
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

/// An `Authorization` header of another scheme, not parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// What follows the scheme's name.
    pub parameters: Secret,
}

/// The caller's certificate, in DER. The code that terminates TLS puts it into the request's
/// extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate(pub Bytes);

/// The error of a check of credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthError {
    /// 401: there is no credential.
    Missing,
    /// 401: the credential is malformed, unknown, expired or revoked.
    Invalid,
    /// 403: the credential does not allow the operation, for a reason that the caller may read.
    Forbidden(String),
    /// 429: the credential is used too often; with the time to wait, and the limit if it may be known.
    TooManyRequests(RateLimit),
    /// 503: the credential cannot be checked now; with the time to wait, if known.
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
    /// Returns the more specific one of the errors of two alternatives.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if other.weight() > self.weight() {
            other
        } else {
            self
        }
    }

    /// Returns `None` for an absent credential, where security is optional; a bad credential stays
    /// an error.
    pub fn unless_missing<P>(self) -> Result<Option<P>, Self> {
        match self {
            Self::Missing => Ok(None),
            other => Err(other),
        }
    }

    fn weight(&self) -> u8 {
        match self {
            // The further a check got, the more its error says: of a token that lacks a scope and
            // an API key that was not sent, the scope is worth reporting.
            Self::Missing => 0,
            Self::Invalid => 1,
            Self::Unavailable(_) => 2,
            Self::Forbidden(_) => 3,
            Self::TooManyRequests(_) => 4,
        }
    }
}

/// Returns what follows the scheme in an `Authorization` value, if the scheme is that one.
/// `Bearer: token` is understood too.
pub(super) fn after_scheme<'v>(value: &'v str, scheme: &str) -> Option<&'v str> {
    let value = value.trim();
    let rest = value
        // Not an index: a character of several bytes may be at that place.
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

/// Parses the user and password of a `Basic` credential.
pub(super) fn basic(encoded: &str) -> Option<Basic> {
    let text = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
    // At the first colon: a user name has none, but a password may (RFC 7617, section 2).
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
