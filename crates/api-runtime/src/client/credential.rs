//! Credentials: set once, sent with every operation whose security scheme needs them, never
//! printed.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderName, HeaderValue};
use reqwest::Request;
use tokio::time::timeout;

use super::secret_source::Kind;
use super::{Error, InvalidArgument, SecretSource, lenient};

/// A string that `Debug` does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the string.
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

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl PartialEq<str> for Secret {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Secret {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// The way in which the credential of a security scheme is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `Authorization: Bearer …`
    Bearer,
    /// `Authorization: Basic …`, with `user:password` in base64.
    Basic,
    /// `Authorization` with the scheme of this name.
    Authorization(&'static str),
    /// A header of this name.
    Header(&'static str),
    /// A query parameter of this name.
    Query(&'static str),
    /// A cookie of this name.
    Cookie(&'static str),
    /// A client certificate, which the HTTP client sends itself.
    Certificate,
}

/// Why a secret cannot be sent.
pub(super) const UNSENDABLE: &str = "a credential has a character that headers cannot have";

/// The credential of a security scheme, or where it comes from.
#[derive(Clone)]
pub(super) enum Slot {
    Fixed(Credential),
    Asked(Scheme, SecretSource),
}

impl Slot {
    /// Returns `None` if the secret cannot be sent.
    pub(super) fn new(scheme: Scheme, source: SecretSource) -> Option<Self> {
        match source.0 {
            Kind::Fixed(secret) => Credential::new(scheme, secret).map(Self::Fixed),
            Kind::Asked(_) => Some(Self::Asked(scheme, source)),
        }
    }
}

/// Asks the program for a secret, which has to be there in the time that is `left`.
pub(super) async fn asked<E>(
    scheme: Scheme,
    source: &SecretSource,
    left: Option<Duration>,
) -> Result<Credential, Error<E>> {
    let asked = lenient::apart(source.ask());
    let secret = match left {
        Some(left) => timeout(left, asked)
            .await
            .unwrap_or_else(|late| Err(late.into())),
        None => asked.await,
    };
    let secret = secret.map_err(Error::no_credential)?;
    let unsendable = || InvalidArgument::new(UNSENDABLE).into();
    Credential::new(scheme, secret).ok_or_else(unsendable)
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A credential in the form in which requests carry it.
#[derive(Clone)]
pub(super) enum Credential {
    Header(HeaderName, HeaderValue),
    Query(&'static str, Secret),
    Cookie(&'static str, Secret),
    Connection,
}

impl Credential {
    /// Converts a secret into a credential. Returns `None` if it goes into a header or cookie and
    /// has a character that headers cannot have, or if the header's name is invalid.
    pub(super) fn new(scheme: Scheme, secret: Secret) -> Option<Self> {
        let authorization = |text: String| Some(Self::Header(AUTHORIZATION, sensitive(&text)?));
        match scheme {
            Scheme::Bearer => authorization(format!("Bearer {}", secret.expose())),
            Scheme::Basic => authorization(format!("Basic {}", STANDARD.encode(secret.expose()))),
            Scheme::Authorization(scheme) => authorization(format!("{scheme} {}", secret.expose())),
            Scheme::Header(name) => {
                let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
                Some(Self::Header(name, sensitive(secret.expose())?))
            }
            Scheme::Query(name) => Some(Self::Query(name, secret)),
            Scheme::Cookie(name) => {
                // Checked here, since `apply` cannot report an error.
                sensitive(secret.expose())?;
                Some(Self::Cookie(name, secret))
            }
            Scheme::Certificate => Some(Self::Connection),
        }
    }

    /// Adds the credential to a request.
    pub(super) fn apply(&self, request: &mut Request) {
        match self {
            Self::Header(name, value) => {
                request.headers_mut().insert(name, value.clone());
            }
            Self::Query(name, secret) => {
                request
                    .url_mut()
                    .query_pairs_mut()
                    .append_pair(name, secret.expose());
            }
            Self::Cookie(name, secret) => {
                // A request has one `Cookie` header at most (RFC 6265, section 5.4), and its
                // parameters may be in it.
                let before = request
                    .headers()
                    .get(COOKIE)
                    .and_then(|value| value.to_str().ok());
                let cookie = match before {
                    Some(before) => format!("{before}; {name}={}", secret.expose()),
                    None => format!("{name}={}", secret.expose()),
                };
                if let Some(cookie) = sensitive(&cookie) {
                    request.headers_mut().insert(COOKIE, cookie);
                }
            }
            Self::Connection => {}
        }
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials_are_sent_as_in_rfc_7617() {
        let secret = Secret::from("Aladdin:open sesame");
        let Some(Credential::Header(name, value)) = Credential::new(Scheme::Basic, secret) else {
            panic!("basic credentials are a header");
        };
        assert_eq!(name, AUTHORIZATION);
        assert_eq!(value, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }
}
