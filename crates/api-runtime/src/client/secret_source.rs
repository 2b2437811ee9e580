//! Secrets that are asked for when a call needs them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::{BoxError, Secret};

/// The future of a function that returns a secret.
type Asked = Pin<Box<dyn Future<Output = Result<Secret, BoxError>> + Send>>;

/// A secret, or a function that returns one for each call, such as a token that is refreshed before
/// it expires.
///
/// ```
/// # use api_runtime::client::SecretSource;
/// # async fn token() -> Result<String, std::io::Error> { Ok("token".to_owned()) }
/// let fixed = SecretSource::from("token");
/// let refreshed = SecretSource::new(|| async { Ok::<_, std::io::Error>(token().await?) });
/// ```
#[derive(Clone)]
pub struct SecretSource(pub(super) Kind);

/// Where a secret comes from.
#[derive(Clone)]
pub(super) enum Kind {
    Fixed(Secret),
    Asked(Arc<dyn Fn() -> Asked + Send + Sync>),
}

impl SecretSource {
    /// Creates a source that asks a function for the secret of each call.
    ///
    /// The function runs once for a call, also if the call is repeated, and within its time-out. It
    /// keeps a secret itself for as long as it is good. Its error ends the call.
    pub fn new<F, Fut, S, E>(ask: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, E>> + Send + 'static,
        S: Into<Secret>,
        E: Into<BoxError>,
    {
        Self(Kind::Asked(Arc::new(move || {
            let asked = ask();
            Box::pin(async move { asked.await.map(Into::into).map_err(Into::into) })
        })))
    }

    /// Returns the secret for a call.
    pub(super) async fn ask(&self) -> Result<Secret, BoxError> {
        match &self.0 {
            Kind::Fixed(secret) => Ok(secret.clone()),
            Kind::Asked(ask) => ask().await,
        }
    }
}

impl<S: Into<Secret>> From<S> for SecretSource {
    fn from(secret: S) -> Self {
        Self(Kind::Fixed(secret.into()))
    }
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
