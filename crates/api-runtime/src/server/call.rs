//! A request whose operation is known: finds its parameters and credentials.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderName, header};

use super::body::{Limits, too_large};
use super::credentials::{
    ApiKey, AuthError, Authorization, Basic, Bearer, ClientCertificate, Secret, after_scheme, basic,
};
#[cfg(feature = "idempotency")]
use super::idempotency::Once;
use super::inputs::Inputs;
use super::messages::Request;
use super::operation::{Location, Operation, Parameter};
use super::rejection::{Rejected, Rejection};
use super::written::RawParameter;
use crate::pairs::{Pairs, decode};
use crate::routing::Captures;

/// A request whose operation is known.
#[derive(Debug)]
pub struct Call {
    pub(super) parts: Arc<Parts>,
    /// The request body. The mutex is never locked; with it a call can be shared between threads
    /// while credentials are checked.
    pub(super) body: Mutex<Body>,
    pub(super) operation: &'static Operation,
    /// The names of the path's parameters, in order.
    pub(super) names: Arc<[&'static str]>,
    /// The values of these parameters, as ranges of the path.
    pub(super) captures: Captures,
    pub(super) limits: Limits,
    /// Becomes true when a body that the handler reads as a stream exceeds the limit. `None` if the
    /// handler reads no stream.
    pub(super) exceeded: Option<Arc<AtomicBool>>,
    /// What the request needs if it has an idempotency key.
    #[cfg(feature = "idempotency")]
    pub(super) once: Option<Arc<Once>>,
}

impl Call {
    /// Returns the operation.
    #[must_use]
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// Reads the parameters and the body into a `T`. A rejection names the violations of both
    /// together, or else says why the body cannot be read.
    pub fn read<T: Request + Send>(&mut self) -> impl Future<Output = Result<T, Rejected>> + Send {
        #[cfg(not(feature = "idempotency"))]
        {
            T::read(self)
        }
        #[cfg(feature = "idempotency")]
        {
            Once::reading(self)
        }
    }

    /// Returns a reader of the request, which reads one part after the other.
    pub fn inputs(&mut self) -> Inputs<'_> {
        Inputs::new(self)
    }

    /// Returns the rejection for a failed check of credentials.
    #[must_use]
    pub fn unauthorized(&self, error: AuthError) -> Rejected {
        Rejection::unauthorized(error, self.operation.security.challenge)
    }

    /// Returns the handler's response, or the rejection 413 if a body that the handler read as a
    /// stream was too large.
    pub fn respond(&self, response: impl IntoResponse) -> Result<Response, Rejected> {
        match &self.exceeded {
            Some(exceeded) if exceeded.load(Ordering::Relaxed) => Err(too_large(self.limits.bytes)),
            _ => Ok(response.into_response()),
        }
    }

    /// Returns the token of `Authorization: Bearer`.
    pub fn bearer(&self) -> Result<Bearer, AuthError> {
        let token = self.authorization("Bearer")?;
        if token.is_empty() || token.contains(char::is_whitespace) {
            return Err(AuthError::Invalid);
        }
        self.note("bearer", token.as_bytes());
        Ok(Bearer {
            token: Secret::new(token),
        })
    }

    /// Returns the user and password of `Authorization: Basic`.
    pub fn basic(&self) -> Result<Basic, AuthError> {
        let parameters = self.authorization("Basic")?;
        let credential = basic(parameters).ok_or(AuthError::Invalid)?;
        // Not the password: a store would have a hash by which it could be guessed.
        self.note("basic", credential.user.as_bytes());
        Ok(credential)
    }

    /// Returns what follows `scheme` in the `Authorization` header, for schemes other than Bearer
    /// and Basic.
    pub fn http(&self, scheme: &str) -> Result<Authorization, AuthError> {
        let parameters = self.authorization(scheme)?;
        self.note(scheme, parameters.as_bytes());
        Ok(Authorization {
            parameters: Secret::new(parameters),
        })
    }

    /// Returns the caller's certificate, which must be in the request's extensions.
    pub fn certificate(&self) -> Result<ClientCertificate, AuthError> {
        let certificate = self.parts.extensions.get::<ClientCertificate>();
        let certificate = certificate.cloned().ok_or(AuthError::Missing)?;
        self.note("certificate", &certificate.0);
        Ok(certificate)
    }

    /// Returns the API key in the header `name`, which the request must have once.
    pub fn header_key(&self, name: &str) -> Result<ApiKey, AuthError> {
        let mut values = self.parts.headers.get_all(name).iter();
        let found = match (values.next(), values.next()) {
            (None, _) => Err(AuthError::Missing),
            // Not `to_str`, which accepts ASCII only.
            (Some(value), None) => key(std::str::from_utf8(value.as_bytes())
                .ok()
                .map(Cow::Borrowed)),
            _ => Err(AuthError::Invalid),
        };
        self.noted(name, found)
    }

    /// Returns the API key in the query parameter `name`, which the request must have once.
    pub fn query_key(&self, name: &str) -> Result<ApiKey, AuthError> {
        self.noted(name, pair_key(&self.query(), name))
    }

    /// Returns the API key in the cookie `name`, which the request must have once.
    pub fn cookie_key(&self, name: &str) -> Result<ApiKey, AuthError> {
        self.noted(name, pair_key(&self.cookies(), name))
    }

    /// Begins the check of one of several alternatives. An idempotency key belongs to the credentials of the
    /// one that is accepted, and not to those of alternatives that were refused before.
    pub fn begin_alternative(&self) {
        #[cfg(feature = "idempotency")]
        if let Some(once) = &self.once {
            once.forget_credentials();
        }
    }

    /// Notes a key that was found.
    fn noted(&self, name: &str, found: Result<ApiKey, AuthError>) -> Result<ApiKey, AuthError> {
        if let Ok(key) = &found {
            self.note(name, key.value.expose().as_bytes());
        }
        found
    }

    /// Notes a credential, to which an idempotency key belongs.
    #[cfg_attr(
        not(feature = "idempotency"),
        expect(
            unused_variables,
            clippy::unused_self,
            reason = "nothing belongs to it"
        )
    )]
    fn note(&self, scheme: &str, credential: &[u8]) {
        #[cfg(feature = "idempotency")]
        if let Some(once) = &self.once {
            once.note(scheme, credential);
        }
    }

    /// Returns what follows `scheme` in the `Authorization` header, which the request must have
    /// once.
    fn authorization(&self, scheme: &str) -> Result<&str, AuthError> {
        let mut values = self.parts.headers.get_all(header::AUTHORIZATION).iter();
        let Some(value) = values.next() else {
            return Err(AuthError::Missing);
        };
        // Of two credentials a proxy may have checked one and the server would check the other.
        if values.next().is_some() {
            return Err(AuthError::Invalid);
        }
        value
            .to_str()
            .ok()
            .and_then(|value| after_scheme(value, scheme))
            .ok_or(AuthError::Invalid)
    }

    fn query(&self) -> Pairs<'_> {
        Pairs::of_query(self.parts.uri.query().unwrap_or_default())
    }

    fn cookies(&self) -> Pairs<'_> {
        // HTTP/2 may split the cookies into several lines (RFC 9113, 8.2.3).
        Pairs::of_cookies(
            lines(&self.parts.headers, &header::COOKIE, "; ")
                .map_or(Cow::Borrowed(""), |(text, _)| text),
        )
    }

    /// Returns the body.
    pub(super) fn body(&mut self) -> &mut Body {
        self.body.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a parameter as the request writes it, or `None` if the request does not have it.
    pub(super) fn raw(&self, parameter: &Parameter) -> Option<RawParameter<'_>> {
        let raw = match parameter.location {
            Location::Path => {
                let at = self.names.iter().position(|name| *name == parameter.name)?;
                let (start, end) = *self.captures.get(at)?;
                RawParameter::Segment(&self.parts.uri.path()[start..end])
            }
            Location::Query => RawParameter::Pairs(self.query(), self.operation.parameters),
            Location::Cookie => RawParameter::Pairs(self.cookies(), self.operation.parameters),
            Location::Header => {
                let name = HeaderName::from_bytes(parameter.name.as_bytes()).ok()?;
                // RFC 9110, section 5.3: lines of one name mean the same as their values in one
                // list.
                let (text, repeated) = lines(&self.parts.headers, &name, ", ")?;
                RawParameter::Header(text, repeated)
            }
            Location::Body => return None,
        };
        raw.has(parameter).then_some(raw)
    }
}

/// Returns the lines of a header, joined with `separator`, and whether there are several. Returns
/// `None` if there is no such header.
pub(super) fn lines<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
    separator: &str,
) -> Option<(Cow<'h, str>, bool)> {
    let mut values = headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()));
    let first = values.next()?;
    // Only a repeated header needs a copy.
    let mut joined: Option<String> = None;
    for value in values {
        let text = joined.get_or_insert_with(|| first.clone().into_owned());
        text.push_str(separator);
        text.push_str(&value);
    }
    Some(match joined {
        Some(text) => (Cow::Owned(text), true),
        None => (first, false),
    })
}

fn pair_key(pairs: &Pairs<'_>, name: &str) -> Result<ApiKey, AuthError> {
    let mut values = pairs.values(name);
    match (values.next(), values.next()) {
        (None, _) => Err(AuthError::Missing),
        (Some(raw), None) => key(decode(raw, pairs.encoding)),
        _ => Err(AuthError::Invalid),
    }
}

fn key(text: Option<Cow<'_, str>>) -> Result<ApiKey, AuthError> {
    match text {
        Some(text) if !text.is_empty() => Ok(ApiKey {
            value: Secret::new(text),
        }),
        _ => Err(AuthError::Invalid),
    }
}
