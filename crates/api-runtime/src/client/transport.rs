//! How requests are sent: base URL, credentials, headers, time-outs, retries.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use reqwest::{Request, RequestBuilder, Response};
use serde::Serialize;
use tracing::Instrument as _;

use super::call::Origin;
use super::config::Target;
use super::credential::Credential;
use super::retry::{IDEMPOTENCY_KEY, idempotency_key};
use super::traces::{self, Operation};
use super::{Argument, Error, Retries, header};

/// Sends the requests of a client. Cheap to clone.
#[derive(Clone)]
pub struct Transport {
    pub(super) http: reqwest::Client,
    pub(super) settings: Arc<Settings>,
}

/// The settings that all requests of a client share.
pub(super) struct Settings {
    pub(super) target: Target,
    pub(super) credentials: Vec<Option<Credential>>,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Option<Duration>,
    pub(super) response_limit: usize,
    pub(super) retries: Option<Retries>,
    pub(super) traces: Option<traces::Context>,
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

    /// Adds the header `Idempotency-Key` with the caller's key. Without one, a call that is retried
    /// gets a random key, which makes it safe to repeat.
    pub fn idempotent<T: Serialize>(
        &self,
        request: RequestBuilder,
        key: Option<&T>,
    ) -> Argument<RequestBuilder> {
        if key.is_none() && self.settings.retries.is_some() {
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
    ) -> Result<Response, Error<E>> {
        let mut request = request.build()?;
        self.prepare(&mut request, security);
        let traces = self.settings.traces.as_ref();
        let span = traces::start(operation, &mut request, traces);
        let sending = async {
            match &self.settings.retries {
                None => self.http.execute(request).await,
                Some(retries) => {
                    retries
                        .run(request, |request| self.http.execute(request))
                        .await
                }
            }
        };
        let result = sending.instrument(span.clone()).await;
        traces::end(&span, &result);
        let mut response = result?;
        response.extensions_mut().insert(Origin {
            operation: Some(operation.id),
            limit: self.settings.response_limit,
        });
        Ok(response)
    }

    fn prepare(&self, request: &mut Request, security: Security) {
        let settings = &*self.settings;
        for (name, value) in &settings.headers {
            if !request.headers().contains_key(name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        if let Some(timeout) = settings.timeout {
            *request.timeout_mut() = Some(timeout);
        }
        let credential =
            |scheme: &usize| settings.credentials.get(*scheme).and_then(Option::as_ref);
        // An empty alternative means that credentials are optional; one that is set is sent all the
        // same.
        let mut alternatives = security.iter().filter(|schemes| !schemes.is_empty());
        let met =
            alternatives.find(|schemes| schemes.iter().all(|scheme| credential(scheme).is_some()));
        for credential in met
            .into_iter()
            .flat_map(|schemes| schemes.iter().filter_map(credential))
        {
            credential.apply(request);
        }
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
