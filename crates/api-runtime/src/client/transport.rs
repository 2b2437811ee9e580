//! How requests leave: base URL, credentials, headers, time-outs, retries.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use reqwest::{Request, Response};

use super::config::Target;
use super::credential::Credential;
use super::{Error, Retries};

/// How the requests of a client leave. Cheap to clone.
#[derive(Clone)]
pub struct Transport {
    pub(super) http: reqwest::Client,
    pub(super) settings: Arc<Settings>,
}

pub(super) struct Settings {
    pub(super) target: Target,
    pub(super) credentials: Vec<Option<Credential>>,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Option<Duration>,
    pub(super) retries: Option<Retries>,
}

/// What the transport must know of an operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationInfo {
    /// The operation id, as the contract spells it.
    pub operation_id: &'static str,
    /// Alternatives, each the security schemes that must all be met, by their index.
    pub security: &'static [&'static [usize]],
}

impl Transport {
    /// The URL that paths are put behind, without a slash at its end; a subscriber's is what it is.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.settings.target.url
    }

    /// The HTTP client.
    #[must_use]
    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// Gives a request what every call has: the client's headers, its time-out, and the credentials of the first
    /// alternative for which all are set.
    #[expect(clippy::unused_async, reason = "the shape of progenitor's hooks")]
    pub async fn pre<E>(
        &self,
        request: &mut Request,
        info: &OperationInfo,
    ) -> Result<(), Error<E>> {
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
        // An alternative without schemes asks for nothing; a credential is welcome all the same.
        let mut alternatives = info.security.iter().filter(|schemes| !schemes.is_empty());
        let met =
            alternatives.find(|schemes| schemes.iter().all(|scheme| credential(scheme).is_some()));
        for credential in met
            .into_iter()
            .flat_map(|schemes| schemes.iter().filter_map(credential))
        {
            credential.apply(request);
        }
        Ok(())
    }

    /// Sends a request, again and again where the client was asked to and it is safe.
    pub async fn exec(&self, request: Request, _info: &OperationInfo) -> reqwest::Result<Response> {
        match &self.settings.retries {
            None => self.http.execute(request).await,
            Some(retries) => {
                retries
                    .run(request, |request| self.http.execute(request))
                    .await
            }
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
