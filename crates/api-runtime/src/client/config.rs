//! What a client is built from. Generated `ClientBuilder`s wrap it and add a method per security scheme.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::Url;

use super::Retries;
use super::credential::{Credential, Scheme, Secret};
use super::transport::{Settings, Transport};

/// What a client is built from.
pub struct Config {
    target: Target,
    credentials: Vec<Option<Credential>>,
    connect_timeout: Duration,
    timeout: Option<Duration>,
    headers: HeaderMap,
    retries: Option<Retries>,
    http: Option<reqwest::Client>,
    /// The first thing that cannot work, kept until [`build`](Self::build).
    problem: Option<BuildError>,
}

/// Where calls go.
pub(super) struct Target {
    pub(super) url: String,
    /// Whether nothing is put behind it.
    is_exact: bool,
}

/// Header values may be secret, so only their names show.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("target", &self.target)
            .field("credentials", &self.credentials)
            .field("connect_timeout", &self.connect_timeout)
            .field("timeout", &self.timeout)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("retries", &self.retries)
            .field("problem", &self.problem)
            .finish_non_exhaustive()
    }
}

/// A subscriber's URL is often all that protects it: then only its host shows. Of others all but who calls shows.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_exact {
            return match Url::parse(&self.url) {
                Ok(mut url) => {
                    if !url.username().is_empty() || url.password().is_some() {
                        // Only a URL without a host refuses this, and that has neither.
                        let _ = url
                            .set_password(None)
                            .and_then(|()| url.set_username("[redacted]"));
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

/// A client that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Config {
    /// The defaults: 10 seconds to connect, 60 for a whole call, no retries, no credentials.
    ///
    /// `user_agent` names the generated crate; `schemes` is the number of security schemes that the contract uses.
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
            headers,
            retries: None,
            http: None,
            problem: None,
        }
    }

    /// Calls the URL as it is: nothing is put behind it, and it may have a query.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.target.is_exact = true;
        self
    }

    /// Sets the credential of the security scheme at `index`.
    #[must_use]
    pub fn credential(mut self, index: usize, scheme: Scheme, secret: Secret) -> Self {
        match Credential::new(scheme, secret) {
            Some(credential) => self.credentials[index] = Some(credential),
            None => self.fail("a credential holds a character that no header may hold".to_owned()),
        }
        self
    }

    /// Sets how long a connection may take. It does not apply to a client of one's own.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long a whole call may take: connecting, sending, every retry and the pauses between, and the body of
    /// the answer. None: for ever.
    #[must_use]
    pub fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets what the client calls itself.
    #[must_use]
    pub fn user_agent(self, user_agent: &str) -> Self {
        self.header(USER_AGENT.as_str(), user_agent)
    }

    /// Adds a header to every request. A parameter of the operation takes precedence.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(value),
        ) {
            (Ok(name), Ok(value)) => {
                self.headers.insert(name, value);
            }
            (Err(_), _) => self.fail(format!(
                "`{}` cannot be the name of a header",
                name.escape_debug()
            )),
            (_, Err(_)) => {
                self.fail(format!(
                    "the value of header {name} holds a character that no header may hold"
                ));
            }
        }
        self
    }

    /// Turns retries on.
    #[must_use]
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = Some(retries);
        self
    }

    /// Uses an HTTP client of one's own, with its TLS, proxies, redirects and connect time-out.
    #[must_use]
    pub fn http_client(mut self, http: reqwest::Client) -> Self {
        self.http = Some(http);
        self
    }

    /// Checks everything and builds the transport.
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
            retries: self.retries,
        };
        Ok(Transport {
            http,
            settings: Arc::new(settings),
        })
    }

    fn fail(&mut self, problem: String) {
        self.problem.get_or_insert(BuildError(problem));
    }
}

/// Checks a base URL; what comes back has no slash at its end.
fn base_url(text: &str) -> Result<String, BuildError> {
    let url = http_url(text)?;
    if url.query().is_some() {
        return Err(refused(
            "has a query, where paths cannot follow; give one without",
        ));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Checks a URL that is called as it is.
fn exact_url(text: &str) -> Result<String, BuildError> {
    http_url(text).map(String::from)
}

fn http_url(text: &str) -> Result<Url, BuildError> {
    let url = Url::parse(text)
        .map_err(|error| refused(&format!("cannot be read ({error}); give an absolute one")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refused("is not one of HTTP; give one"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(
            "holds a credential, which would show in logs; set it on the builder and give a plain URL",
        ));
    }
    if url.fragment().is_some() {
        return Err(refused(
            "has a fragment, which is never sent; give one without",
        ));
    }
    Ok(url)
}

fn refused(reason: &str) -> BuildError {
    BuildError(format!(
        "the base URL {reason}, such as https://api.example.com/v1"
    ))
}

/// Redirects are not followed: a credential must not travel to wherever an answer points.
fn http_client(connect_timeout: Duration, secure: bool) -> Result<reqwest::Client, BuildError> {
    if secure && !cfg!(feature = "rustls") {
        return Err(BuildError(
            "https needs the cargo feature `rustls`, which is off; turn it on, or give an HTTP client of your own"
                .to_owned(),
        ));
    }
    let builder = reqwest::Client::builder()
        .connect_timeout(connect_timeout)
        .redirect(reqwest::redirect::Policy::none());
    #[cfg(feature = "rustls")]
    let builder = super::tls::configure(builder)?;
    builder.build().map_err(|error| {
        BuildError(format!(
            "the HTTP client cannot be built: {}",
            error.without_url()
        ))
    })
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
