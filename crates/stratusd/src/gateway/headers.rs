//! The headers that the gateway forwards.

use api_server::server::remove_connection_headers;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// The header that clients of some other APIs send their key in.
pub(super) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The id of a request.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The id of the project of a key, in responses to a proxy.
pub(super) const PROJECT: HeaderName = HeaderName::from_static("stratus-project");
/// The id of a key, in responses to a proxy.
pub(super) const KEY_ID: HeaderName = HeaderName::from_static("stratus-key-id");

/// The organization at OpenAI that a request is for. The account of the gateway's credential is the
/// operator's, so callers cannot choose a part of it, and do not see it.
const ORGANIZATION: HeaderName = HeaderName::from_static("openai-organization");
const OPENAI_PROJECT: HeaderName = HeaderName::from_static("openai-project");

/// The headers of a request that the upstream does not get: the caller's credentials, what the
/// gateway writes itself, and what only a proxy that the upstream trusts may say.
const OF_CALLER: [HeaderName; 12] = [
    header::AUTHORIZATION,
    X_API_KEY,
    HeaderName::from_static("api-key"),
    header::COOKIE,
    header::HOST,
    header::EXPECT,
    header::FORWARDED,
    HeaderName::from_static("x-real-ip"),
    ORGANIZATION,
    OPENAI_PROJECT,
    PROJECT,
    KEY_ID,
];
/// How the other headers begin by which a proxy says how it has received a request.
const FORWARDED: &str = "x-forwarded-";

/// The headers of a response that are about the upstream's host or the operator's account.
const OF_UPSTREAM: [HeaderName; 5] = [
    header::SET_COOKIE,
    header::STRICT_TRANSPORT_SECURITY,
    HeaderName::from_static("alt-svc"),
    ORGANIZATION,
    OPENAI_PROJECT,
];

/// Changes the headers of a request into those for the upstream. `credential` is the value of
/// `Authorization`, if the upstream expects one.
pub(super) fn for_upstream(
    headers: &mut HeaderMap,
    credential: Option<&HeaderValue>,
    request_id: &HeaderValue,
) {
    remove_connection_headers(headers);
    let forwarded = headers
        .keys()
        .filter(|name| name.as_str().starts_with(FORWARDED));
    let forwarded: Vec<HeaderName> = forwarded.cloned().collect();
    for name in OF_CALLER.iter().chain(&forwarded) {
        headers.remove(name);
    }
    headers.insert(REQUEST_ID, request_id.clone());
    if let Some(credential) = credential {
        headers.insert(header::AUTHORIZATION, credential.clone());
    }
}

/// Changes the headers of the upstream's response into those for the caller.
pub(super) fn for_caller(headers: &mut HeaderMap) {
    remove_connection_headers(headers);
    // A list of equal lengths stands for one (RFC 9110, section 8.6). hyper takes such a list, but does
    // not send it.
    let length = headers.get(header::CONTENT_LENGTH);
    let lengths = length.and_then(|value| value.to_str().ok()?.split_once(','));
    if let Some(one) = lengths.and_then(|(one, _)| HeaderValue::from_str(one.trim()).ok()) {
        headers.insert(header::CONTENT_LENGTH, one);
    }
    for name in &OF_UPSTREAM {
        headers.remove(name);
    }
}
