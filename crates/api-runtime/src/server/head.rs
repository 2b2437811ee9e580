//! Rules of HTTP for the head of a request which hyper leaves to the server.

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Version, header};

/// Returns which rule a head breaks, if it breaks one.
///
/// A proxy in front of the server may understand such a request in another way than the server
/// does, so its caller could smuggle a request past the proxy.
pub(super) fn violation(parts: &Parts, requires_host: bool) -> Option<&'static str> {
    if parts.headers.contains_key(header::TRANSFER_ENCODING) && !is_chunked_once(&parts.headers) {
        return Some("the transfer coding is not supported: send `chunked`, once");
    }
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        // HTTP/2 has the host in `:authority`.
        (None, _) if requires_host && parts.version == Version::HTTP_11 => {
            Some("the header `Host` is missing")
        }
        (None, _) => None,
        (Some(host), None) if is_host(host.as_bytes()) => None,
        (Some(_), None) => Some("the header `Host` must be a host, and perhaps a port"),
        (Some(_), Some(_)) => Some("there are several headers `Host`: send one"),
    }
}

/// Returns whether `chunked` is the only transfer coding (RFC 9112, 6.1 and 7.1).
fn is_chunked_once(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let only = values.next().filter(|_| values.next().is_none());
    only.is_some_and(|only| {
        only.as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"chunked")
    })
}

/// Returns whether a text is a host, and perhaps a port (RFC 9110, 7.2).
fn is_host(text: &[u8]) -> bool {
    // Hardly any is more than a name or an IPv4 address and a port, which needs no parser.
    if is_plain_host(text) {
        return true;
    }
    // The parser of authorities also accepts a user and a port that is not a number, and a comma,
    // with which a proxy may have joined two hosts.
    !text.iter().any(|byte| b"@,".contains(byte))
        && Authority::try_from(text).is_ok_and(|authority| {
            let host = authority.host();
            let rest = authority.as_str().get(host.len()..).unwrap_or_default();
            !host.is_empty() && (rest.is_empty() || rest == ":" || authority.port_u16().is_some())
        })
}

/// Returns whether a text is letters, digits, dots and hyphens, and perhaps a port of four digits or
/// fewer.
fn is_plain_host(text: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
    let end = text.iter().position(|byte| !is_plain(byte));
    let (host, rest) = text.split_at(end.unwrap_or(text.len()));
    let port = rest.strip_prefix(b":").unwrap_or(rest);
    !host.is_empty() && port.len() <= 4 && port.iter().all(u8::is_ascii_digit)
}

/// Returns the size of a head in bytes: method, target, and names and values of headers.
///
/// It is the same for HTTP/1 and HTTP/2, whose own encoding is compressed.
pub(super) fn size(parts: &Parts) -> usize {
    let target = parts
        .uri
        .authority()
        .map_or(0, |authority| authority.as_str().len())
        + parts
            .uri
            .path_and_query()
            .map_or(0, |path| path.as_str().len());
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len());
    parts.method.as_str().len() + target + headers.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
        for host in [
            "x",
            "stratus.example",
            "stratus.example:8080",
            "stratus.example:",
            "127.0.0.1:80",
            "[::1]",
            "[::1]:80",
            "a_b",
        ] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in [
            "", ":80", "a b", "a,b", "a, b", "a/b", "http://a", "a@b", "a:b", "a:99999", "a:1:2",
            "a?b", "a#b", "[::1", "\u{e4}",
        ] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }
}
