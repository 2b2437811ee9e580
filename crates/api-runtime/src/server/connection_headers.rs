//! The headers of one connection, for programs that forward requests to another server.

use http::{HeaderMap, HeaderName, header};

/// The headers of one connection (RFC 9110, section 7.6.1), and those between a caller and its proxy
/// (section 11.7).
const OF_CONNECTION: [HeaderName; 10] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Removes the headers of one connection, and those that `Connection` names: a proxy must not forward
/// them, in requests or in responses.
pub fn remove_connection_headers(headers: &mut HeaderMap) {
    let lines = headers.get_all(header::CONNECTION).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    // Collected first, because `Connection`, which names them, is removed too.
    let named: Vec<HeaderName> = lines
        .flat_map(|line| line.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
}
