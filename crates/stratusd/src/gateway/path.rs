//! What a request to the gateway is for, by its path.

use http::Uri;
use http::uri::PathAndQuery;
use percent_encoding::percent_decode;

/// How often a path may be percent-encoded. Upstreams decode it once; some have a proxy in front
/// that decodes it before.
const MOST_DECODINGS: usize = 3;

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    /// Forward it: what follows `/v1` in its path, with the query.
    Forward(String),
    /// Only check its key, for a proxy that forwards it itself.
    Auth,
    /// Nothing.
    Unknown,
}

impl Route {
    /// Returns what a request is for. `forwards` is whether there is an upstream.
    pub(super) fn of(uri: &Uri, forwards: bool) -> Self {
        let path = uri.path();
        // Envoy appends the path of the request that it asks about.
        if path == "/auth" || path.starts_with("/auth/") {
            return Self::Auth;
        }
        let target = uri.path_and_query().map_or("", PathAndQuery::as_str);
        match target.strip_prefix("/v1") {
            Some(rest) if forwards && rest.starts_with('/') && is_below(path) => {
                Self::Forward(rest.to_owned())
            }
            _ => Self::Unknown,
        }
    }

    /// Returns the name in metrics and logs.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Forward(_) => "/v1",
            Self::Auth => "/auth",
            Self::Unknown => "none",
        }
    }
}

/// Returns whether a path stays below its first segment, however an upstream reads it: no segment is
/// `.` or `..`, also if it is encoded, ends at a backslash, or has parameters after a semicolon.
///
/// Such a path is refused and not rewritten: no client of the API sends one.
fn is_below(path: &str) -> bool {
    let mut path = path.as_bytes().to_vec();
    for _ in 0..MOST_DECODINGS {
        let mut segments = path.split(|byte| matches!(byte, b'/' | b'\\'));
        let is_dots = |segment: &[u8]| {
            let name = segment.split(|byte| *byte == b';').next();
            matches!(name, Some(b"." | b".."))
        };
        if segments.any(is_dots) || path.iter().any(u8::is_ascii_control) {
            return false;
        }
        let decoded: Vec<u8> = percent_decode(&path).collect();
        if decoded == path {
            return true;
        }
        path = decoded;
    }
    // It is encoded even more often, which only hides something.
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(path: &str) -> Route {
        Route::of(&path.parse().expect("it is a URI"), true)
    }

    #[test]
    fn what_is_below_v1_is_forwarded_as_it_is() {
        for rest in [
            "/chat/completions",
            "/models/meta-llama%2FLlama-3?limit=2&after=a%2Fb",
            "/files/a..b/content",
            "/files/%E2%82%AC",
            "/models/100%25",
            "/",
            "/files?path=../secret",
        ] {
            assert_eq!(
                route(&format!("/v1{rest}")),
                Route::Forward(rest.to_owned()),
                "{rest}"
            );
        }
    }

    #[test]
    fn no_path_leaves_v1() {
        for path in [
            "/v1/../admin",
            "/v1/./models",
            "/v1/..",
            "/v1/%2e%2e/admin",
            "/v1/.%2E/admin",
            "/v1/%252e%252e/admin",
            "/v1/a%2f..%2f..%2fadmin",
            "/v1/a%5c..%5cadmin",
            "/v1/..;x=1/admin",
            "/v1/a%00b",
            "/v1/%2525252e",
            "/v1",
            "/v1beta/models",
            "/V1/models",
            "/v2/models",
            "/",
            "//v1/models",
            "/metrics",
            "/authority",
        ] {
            assert_eq!(route(path), Route::Unknown, "{path}");
        }
    }

    #[test]
    fn a_proxy_asks_at_auth_with_or_without_the_path_of_its_request() {
        for path in ["/auth", "/auth/", "/auth/v1/chat/completions", "/auth?x=1"] {
            assert_eq!(route(path), Route::Auth, "{path}");
        }
        let uri = "/v1/models".parse().expect("it is a URI");
        assert_eq!(Route::of(&uri, false), Route::Unknown);
    }
}
