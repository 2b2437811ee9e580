//! The settings of a client. Generated `ClientBuilder`s wrap [`Config`] and add a method per
//! security scheme.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Request, Url};
use tracing::Span;

use super::around::Run;
use super::credential::{Scheme, Slot, UNSENDABLE};
use super::traces;
use super::transport::{Settings, Transport};
use super::{Around, Next, Retries, SecretSource};
use crate::trace_context::TraceContext;

/// The maximum number of bytes of a body that is read into memory, unless the client sets another
/// number.
const MOST_BYTES: usize = 64 << 20;

/// The settings that a [`Transport`] is built from.
pub struct Config {
    target: Target,
    credentials: Vec<Option<Slot>>,
    connect_timeout: Duration,
    timeout: Option<Duration>,
    response_limit: usize,
    headers: HeaderMap,
    retries: Option<Retries>,
    traces: Option<traces::Context>,
    around: Option<Run>,
    http: Option<reqwest::Client>,
    /// The first invalid setting, reported by [`build`](Self::build).
    problem: Option<BuildError>,
}

/// The URL that a client calls.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) url: String,
    /// Whether calls go to the URL itself, instead of to paths below it.
    is_exact: bool,
}

/// Prints only the names of headers, since their values may be secret.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("target", &self.target)
            .field("credentials", &self.credentials)
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .field("response_limit", &self.response_limit)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("retries", &self.retries)
            .field("problem", &self.problem)
            .finish_non_exhaustive()
    }
}

/// Prints a base URL without the user, password, query and fragment in it, but only the origin of an exact URL, such
/// as that of a webhook's subscriber: the rest is often a secret that protects the subscriber.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_exact {
            return match Url::parse(&self.url) {
                Ok(mut url) => {
                    if !url.username().is_empty() || url.password().is_some() {
                        // This fails for URLs without a host only, which have no user either.
                        let _ = url
                            .set_password(None)
                            .and_then(|()| url.set_username("[redacted]"));
                    }
                    if url.query().is_some() {
                        url.set_query(Some("[redacted]"));
                    }
                    if url.fragment().is_some() {
                        url.set_fragment(Some("[redacted]"));
                    }
                    write!(f, "\"{url}\"")
                }
                Err(_) => f.write_str("[not a URL]"),
            };
        }
        let origin = Url::parse(&self.url).map(|url| url.origin().ascii_serialization());
        write!(f, "{}/[redacted]", origin.unwrap_or_default())
    }
}

/// The error of a client that could not be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}

impl Config {
    /// Returns the default settings: 10 seconds to connect, 60 for a whole call, 64 MiB for a
    /// response body, no retries, no credentials.
    ///
    /// `user_agent` is the default `User-Agent`; `schemes` is the number of security schemes in the
    /// contract.
    #[must_use]
    pub fn new(base_url: &str, user_agent: &'static str, schemes: usize) -> Self {
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_str(user_agent) {
            headers.insert(USER_AGENT, value);
        }
        Self {
            target: Target {
                url: base_url.to_owned(),
                is_exact: false,
            },
            credentials: vec![None; schemes],
            connect_timeout: Duration::from_secs(10),
            timeout: Some(Duration::from_secs(60)),
            response_limit: MOST_BYTES,
            headers,
            retries: None,
            traces: None,
            around: None,
            http: None,
            problem: None,
        }
    }

    /// Sends every call to the base URL itself, and not to paths below it. The URL may then have a
    /// query.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.target.is_exact = true;
        self
    }

    /// Sets the credential of the security scheme at `index`. `scheme` is the way in which requests
    /// carry the credential.
    #[must_use]
    pub fn credential(
        mut self,
        index: usize,
        scheme: Scheme,
        secret: impl Into<SecretSource>,
    ) -> Self {
        match Slot::new(scheme, secret.into()) {
            Some(slot) => self.credentials[index] = Some(slot),
            None => self.fail(UNSENDABLE.to_owned()),
        }
        self
    }

    /// Sets the time-out of a connection attempt. It does not apply to a client that
    /// [`http_client`](Self::http_client) sets.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the time-out of a whole call: getting a credential, connecting, sending, every retry
    /// with the pauses between, and reading the response body. With `None` a call may take any time.
    #[must_use]
    pub fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the maximum size in bytes of a response body that is read into memory. A longer one is
    /// [`Error::OversizedResponse`](super::Error::OversizedResponse). It does not apply to streams,
    /// which limit each item instead.
    #[must_use]
    pub fn response_limit(mut self, bytes: usize) -> Self {
        self.response_limit = bytes;
        self
    }

    /// Sets the header `User-Agent`.
    #[must_use]
    pub fn user_agent(self, user_agent: &str) -> Self {
        self.header(USER_AGENT.as_str(), user_agent)
    }

    /// Sets a header of every request. A parameter of the operation takes precedence.
    /// [`build`](Self::build) reports an invalid name or value.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match header(name, value) {
            Ok((name, value)) => {
                self.headers.insert(name, value);
            }
            Err(BuildError(problem)) => self.fail(problem),
        }
        self
    }

    /// Enables retries.
    #[must_use]
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = Some(retries);
        self
    }

    /// Passes the trace of each call on in `traceparent` and `tracestate`, unless the request has
    /// one of them. Without this, no such header is added.
    ///
    /// Each call has a span, the child of the current one. The function gets this span before it is
    /// entered, and returns its context, or `None` if the call is in no trace.
    #[must_use]
    pub fn traces(
        mut self,
        context: impl Fn(&Span) -> Option<TraceContext> + Send + Sync + 'static,
    ) -> Self {
        self.traces = Some(Arc::new(context));
        self
    }

    /// Runs a function around every attempt of every call.
    #[must_use]
    pub fn around(
        mut self,
        run: impl for<'n> Fn(Request, Next<'n>) -> Around<'n> + Send + Sync + 'static,
    ) -> Self {
        self.around = Some(Arc::new(run));
        self
    }

    /// Replaces the HTTP client, with its settings of TLS, proxies, redirects and connect time-out.
    /// [`http_builder`] prepares one.
    #[must_use]
    pub fn http_client(mut self, http: reqwest::Client) -> Self {
        self.http = Some(http);
        self
    }

    /// Checks the settings and builds the transport.
    ///
    /// # Errors
    ///
    /// If the base URL, a header or a credential is invalid, or TLS cannot be set up.
    pub fn build(self) -> Result<Transport, BuildError> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let Target { url, is_exact } = self.target;
        let url = if is_exact {
            exact_url(&url)?
        } else {
            base_url(&url)?
        };
        let http = match self.http {
            Some(http) => http,
            None => http_client(self.connect_timeout, url.starts_with("https:"))?,
        };
        let settings = Settings {
            target: Target { url, is_exact },
            credentials: self.credentials,
            headers: self.headers,
            timeout: self.timeout,
            response_limit: self.response_limit,
            retries: self.retries,
            traces: self.traces,
            around: self.around,
        };
        Ok(Transport {
            http,
            settings: Arc::new(settings),
        })
    }

    fn fail(&mut self, problem: String) {
        // Kept for `build`, because a setter that returned it could not be chained.
        self.problem.get_or_insert(BuildError(problem));
    }
}

/// Checks a base URL, and returns it without slashes at its end. A URL that is not HTTP or has a
/// user, password, query or fragment is an error.
fn base_url(text: &str) -> Result<String, BuildError> {
    let url = http_url(text)?;
    if url.query().is_some() {
        return Err(invalid_base_url(
            "has a query, so paths cannot be appended to it; write a URL without one",
        ));
    }
    // The path of an operation begins with a slash.
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Checks a URL that calls go to as it is. Unlike a base URL, it may have a query.
fn exact_url(text: &str) -> Result<String, BuildError> {
    http_url(text).map(String::from)
}

fn http_url(text: &str) -> Result<Url, BuildError> {
    let url = Url::parse(text).map_err(|error| {
        invalid_base_url(&format!("is invalid ({error}); write an absolute URL"))
    })?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(invalid_base_url("is not an HTTP URL; write one"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid_base_url(
            "has a user or password, which logs would show; set the credential on the builder and write a plain URL",
        ));
    }
    if url.fragment().is_some() {
        return Err(invalid_base_url(
            "has a fragment, which is never sent; write a URL without one",
        ));
    }
    Ok(url)
}

fn invalid_base_url(reason: &str) -> BuildError {
    BuildError(format!(
        "the base URL {reason}, such as https://api.example.com/v1"
    ))
}

/// Builds the default HTTP client. It follows no redirects, which would send credentials to another
/// server. `secure` is whether it needs TLS, which is an error without the feature `rustls`.
fn http_client(connect_timeout: Duration, secure: bool) -> Result<reqwest::Client, BuildError> {
    if secure && !cfg!(feature = "rustls") {
        return Err(BuildError(
            "https needs the cargo feature `rustls`, which is off; enable it, or set an HTTP client of your own"
                .to_owned(),
        ));
    }
    let builder = http_builder()?.connect_timeout(connect_timeout);
    builder.build().map_err(|error| {
        BuildError(format!(
            "the HTTP client cannot be built: {}",
            error.without_url()
        ))
    })
}

/// Returns a builder of an HTTP client, with the TLS that clients of APIs have by default: rustls
/// with the crypto provider of the program, or else ring, and the certificates that the platform
/// trusts. It follows no redirects.
///
/// Without the feature `rustls`, the client has no TLS.
///
/// # Errors
///
/// If TLS cannot be set up.
pub fn http_builder() -> Result<reqwest::ClientBuilder, BuildError> {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    #[cfg(feature = "rustls")]
    let builder = super::tls::configure(builder)?;
    Ok(builder)
}

/// Converts the name and value of a header.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), BuildError> {
    let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
        let name = name.escape_debug();
        return Err(BuildError(format!("`{name}` is not a valid header name")));
    };
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        BuildError(format!(
            "the value of header `{name}` has a character that headers cannot have"
        ))
    })?;
    // It may be a secret, which the `Debug` of a request would print.
    value.set_sensitive(name != USER_AGENT);
    Ok((name, value))
}

impl BuildError {
    pub(super) fn new(problem: String) -> Self {
        Self(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_works_where_the_feature_is_on_and_says_so_where_it_is_off() {
        let built = Config::new("https://api.example.com", "test/1", 0).build();
        assert_eq!(built.is_ok(), cfg!(feature = "rustls"), "{:?}", built.err());
    }

    #[test]
    fn the_url_of_a_subscriber_is_not_printed() {
        let config =
            Config::new("https://hooks.example.com/s3cret?key=s3cret", "test/1", 0).exact();
        let printed = format!("{config:?}");
        assert!(
            printed.contains("hooks.example.com") && !printed.contains("s3cret"),
            "{printed}"
        );
    }

    #[test]
    fn the_secrets_of_a_base_url_that_is_refused_are_not_printed() {
        for secret in ["/v1?key=s3cret", "/v1#s3cret"] {
            let config = Config::new(&format!("https://api.example.com{secret}"), "test/1", 0);
            let printed = format!("{config:?}");
            assert!(
                printed.contains("api.example.com/v1") && !printed.contains("s3cret"),
                "{printed}"
            );
            assert!(config.build().is_err());
        }
    }

    #[test]
    fn base_urls_are_checked() {
        assert_eq!(
            base_url("http://localhost:8080").unwrap(),
            "http://localhost:8080"
        );
        assert_eq!(
            base_url("https://api.example.com/v1//").unwrap(),
            "https://api.example.com/v1"
        );
        for wrong in [
            "",
            "localhost",
            "/v1",
            "ftp://x",
            "http://u:p@x",
            "http://x?a=1",
            "http://x#a",
            "mailto:a@b",
        ] {
            base_url(wrong).expect_err(wrong);
        }
        for right in ["https://hooks.example.com/a/?b=c", "http://localhost:8080/"] {
            assert_eq!(exact_url(right).unwrap(), right);
        }
        for wrong in ["/v1", "ftp://x", "http://u:p@x", "http://x#a"] {
            exact_url(wrong).expect_err(wrong);
        }
    }
}
