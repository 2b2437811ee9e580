//! Cross-origin requests: which pages in a browser may call the API (the Fetch standard's CORS
//! protocol).

use std::time::Duration;

use axum::extract::Request;
use http::{HeaderName, HeaderValue, Method, Uri, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, ExposeHeaders};

use super::rate_limit;
use super::request_id;

/// How long a browser may remember what a preflight has allowed. Chromium's own limit.
const MAX_AGE: Duration = Duration::from_secs(7200);

/// The origins whose pages may call the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins(Allowed);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    Any,
    Listed(Vec<HeaderValue>),
}

/// The error of a text that is not an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginError;

impl std::fmt::Display for OriginError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "must be an origin: `http://` or `https://`, a host in lower case and perhaps a port, such as `https://console.example.com`",
        )
    }
}

impl std::error::Error for OriginError {}

impl Origins {
    /// Allows pages of every origin.
    #[must_use]
    pub fn any() -> Self {
        Self(Allowed::Any)
    }

    /// Allows pages of these origins, each such as `https://console.example.com`.
    ///
    /// # Errors
    ///
    /// If a text is not an origin as browsers send it: without a path, and with a host in lower
    /// case.
    pub fn listed<'o>(origins: impl IntoIterator<Item = &'o str>) -> Result<Self, OriginError> {
        let parsed: Result<Vec<_>, _> = origins.into_iter().map(parse).collect();
        Ok(Self(Allowed::Listed(parsed?)))
    }

    /// Returns the layer that answers preflights and adds the headers.
    ///
    /// `methods` are those of the contract, and `exposed` are the headers of its responses. A page
    /// may send any header: what the API reads is in the contract, and it never reads cookies that
    /// a browser adds by itself, because credentials are not allowed.
    pub(super) fn layer(&self, methods: Vec<Method>, exposed: Vec<HeaderName>) -> CorsLayer {
        let origin = match &self.0 {
            Allowed::Any => AllowOrigin::any(),
            Allowed::Listed(origins) => AllowOrigin::list(origins.iter().cloned()),
        };
        let always = [
            request_id::HEADER,
            header::RETRY_AFTER,
            header::ALLOW,
            header::WWW_AUTHENTICATE,
            rate_limit::LIMIT,
            rate_limit::POLICY,
        ];
        CorsLayer::new()
            .allow_origin(origin)
            .allow_methods(methods)
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(ExposeHeaders::list(always.into_iter().chain(exposed)))
            .max_age(MAX_AGE)
    }
}

/// Returns whether a request only asks what another one may do. Any other `OPTIONS` is the
/// contract's own.
pub(super) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn parse(text: &str) -> Result<HeaderValue, OriginError> {
    let (scheme, authority) = text.split_once("://").ok_or(OriginError)?;
    let uri: Uri = text.parse().map_err(|_| OriginError)?;
    let is_origin = matches!(scheme, "http" | "https")
        // A URI without a path is given one, so the text itself shows whether it had one.
        && uri.authority().is_some_and(|parsed| parsed.as_str() == authority)
        && !authority.contains('@')
        && !authority.bytes().any(|byte| byte.is_ascii_uppercase());
    if !is_origin {
        return Err(OriginError);
    }
    HeaderValue::from_str(text).map_err(|_| OriginError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for origin in [
            "https://console.example.com",
            "http://localhost:3000",
            "http://[::1]:8080",
        ] {
            assert!(Origins::listed([origin]).is_ok(), "{origin}");
        }
        for text in [
            "",
            "*",
            "null",
            "console.example.com",
            "https://",
            "https://console.example.com/",
            "https://console.example.com/a",
            "https://Console.example.com",
            "https://user@example.com",
            "ftp://example.com",
            "https://a b",
        ] {
            assert_eq!(Origins::listed([text]), Err(OriginError), "{text}");
        }
    }
}
