//! How requests are sent: base URL, credentials, headers, time-outs, retries.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use reqwest::{Request, RequestBuilder};
use serde::Serialize;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::around::{Attempt, Run};
use super::config::{self, Target};
use super::credential::{self, Slot};
use super::received::{Origin, Received};
use super::retry::{IDEMPOTENCY_KEY, idempotency_key};
use super::traces::{self, Operation};
use super::{Argument, BuildError, Error, Next, Retries, header, lenient};

/// Sends the requests of a client. Cheap to clone.
#[derive(Clone)]
pub struct Transport {
    pub(super) http: reqwest::Client,
    pub(super) settings: Arc<Settings>,
}

/// The settings that all requests of a client share.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) target: Target,
    pub(super) credentials: Vec<Option<Slot>>,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Option<Duration>,
    pub(super) response_limit: usize,
    pub(super) retries: Option<Retries>,
    pub(super) traces: Option<traces::Context>,
    pub(super) around: Option<Run>,
}

/// The security requirements of an operation: alternatives, each the indices of the security
/// schemes that it needs together.
pub type Security = &'static [&'static [usize]];

impl Transport {
    /// Returns the URL that the contract's paths are appended to, without a slash at its end, or
    /// the exact URL of a subscriber.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.settings.target.url
    }

    /// Returns the HTTP client.
    #[must_use]
    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// Returns this transport with another time-out of calls.
    #[must_use]
    pub fn with_timeout(&self, timeout: Option<Duration>) -> Self {
        let mut settings = (*self.settings).clone();
        settings.timeout = timeout;
        self.with(settings)
    }

    /// Returns this transport with a header for every request, in place of one of that name that
    /// the client has.
    ///
    /// # Errors
    ///
    /// If the name or the value has a character that headers cannot have.
    pub fn with_header(&self, name: &str, value: &str) -> Result<Self, BuildError> {
        let (name, value) = config::header(name, value)?;
        let mut settings = (*self.settings).clone();
        settings.headers.insert(name, value);
        Ok(self.with(settings))
    }

    fn with(&self, settings: Settings) -> Self {
        Self {
            http: self.http.clone(),
            settings: Arc::new(settings),
        }
    }

    /// Adds the header `Idempotency-Key` with the caller's key. A call that may be retried and has no
    /// key, of its own or among the headers of the client, gets a random key, which makes it
    /// safe to repeat.
    pub fn idempotent<T: Serialize>(
        &self,
        request: RequestBuilder,
        key: Option<&T>,
    ) -> Argument<RequestBuilder> {
        let has_key = key.is_some() || self.settings.headers.contains_key(IDEMPOTENCY_KEY);
        if !has_key && self.settings.retries.is_some() {
            return Ok(request.header(IDEMPOTENCY_KEY, idempotency_key()));
        }
        header(request, IDEMPOTENCY_KEY, key)
    }

    /// Sends the request of an operation, as [`Call::send`](super::Call::send) describes it.
    pub(super) async fn send<E>(
        &self,
        operation: Operation,
        request: RequestBuilder,
        security: Security,
    ) -> Result<Received, Error<E>> {
        let of_operation = |error: Error<E>| error.of(Some(operation.id));
        let mut request = request
            .build()
            .map_err(|error| of_operation(error.into()))?;
        self.prepare(&mut request, security)
            .await
            .map_err(of_operation)?;
        let traces = self.settings.traces.as_ref();
        let span = traces::start(operation, &mut request, traces);
        let sending = async {
            match &self.settings.retries {
                None => self.attempt(request).await,
                Some(retries) => retries.run(request, |request| self.attempt(request)).await,
            }
        };
        let result = sending.instrument(span.clone()).await;
        traces::end(&span, &result);
        let response = result.map_err(|error| of_operation(Error::of_attempt(error)))?;
        let origin = Origin {
            operation: operation.id,
            limit: self.settings.response_limit,
        };
        Ok(Received::new(response, origin))
    }

    /// Sends a request once.
    async fn attempt(&self, request: Request) -> Attempt {
        match &self.settings.around {
            None => Ok(self.http.execute(request).await?),
            Some(around) => lenient::apart(around(request, Next::new(&self.http))).await,
        }
    }

    /// Adds to a request what the client adds to all.
    async fn prepare<E>(&self, request: &mut Request, security: Security) -> Result<(), Error<E>> {
        let settings = &*self.settings;
        for (name, value) in &settings.headers {
            let entry = request.headers_mut().entry(name);
            entry.or_insert_with(|| value.clone());
        }
        // What the sources of credentials take is time of the call.
        let mut left = settings.timeout;
        for slot in self.credentials(security) {
            match slot {
                Slot::Fixed(credential) => credential.apply(request),
                Slot::Asked(scheme, source) => {
                    let begun = Instant::now();
                    credential::asked(*scheme, source, left)
                        .await?
                        .apply(request);
                    left = left.map(|left| left.saturating_sub(begun.elapsed()));
                }
            }
        }
        if left.is_some() {
            *request.timeout_mut() = left;
        }
        Ok(())
    }

    /// Returns the credentials of the first alternative whose credentials are all set.
    fn credentials(&self, security: Security) -> impl Iterator<Item = &Slot> {
        let slots = &self.settings.credentials;
        let slot = move |scheme: &usize| slots.get(*scheme).and_then(Option::as_ref);
        // An empty alternative means that credentials are optional; one that is set is sent all the
        // same.
        let mut alternatives = security.iter().filter(|schemes| !schemes.is_empty());
        let met = alternatives.find(|schemes| schemes.iter().all(|scheme| slot(scheme).is_some()));
        let schemes = met.into_iter().flat_map(|schemes| schemes.iter());
        schemes.filter_map(slot)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("base_url", &self.settings.target)
            .field("credentials", &self.settings.credentials)
            .field("timeout", &self.settings.timeout)
            .field("retries", &self.settings.retries)
            .finish_non_exhaustive()
    }
}

/// Returns the method with a name, for methods that reqwest has no constant for.
///
/// # Panics
///
/// If the name is not a token (RFC 9110, section 9.1), as the methods of a contract are.
#[must_use]
pub fn method(name: &str) -> reqwest::Method {
    reqwest::Method::from_bytes(name.as_bytes()).expect("the methods of a contract are tokens")
}
