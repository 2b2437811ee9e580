//! A health check: connects to a virtual machine, and over HTTP asks for a path.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use api_types::HealthCheckProtocol;
use http::Uri;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::server_certificate::Judge;

/// The number of bytes of a response that are read: the version and the status.
const HEAD: usize = "HTTP/1.1 200".len();
/// What a path may not contain as it is.
const PATH: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');

/// Checks a virtual machine once, without a time limit.
///
/// By HTTP, it is healthy if it responds with a status from 200 to 399. By HTTPS, its certificate may
/// be any, since virtual machines have certificates that they have signed themselves.
///
/// # Errors
///
/// If the virtual machine is not healthy.
pub(super) async fn check(
    address: SocketAddr,
    protocol: &HealthCheckProtocol,
    endpoint: &str,
) -> io::Result<()> {
    let stream = TcpStream::connect(address).await?;
    match protocol {
        HealthCheckProtocol::Http => ask(stream, address, endpoint).await,
        HealthCheckProtocol::Https => {
            let name = ServerName::IpAddress(address.ip().into());
            let stream = CONNECTOR.connect(name, stream).await?;
            ask(stream, address, endpoint).await
        }
        // Clients accept protocols that they do not know, but the service stores none.
        _ => Ok(()),
    }
}

async fn ask<S>(mut stream: S, address: SocketAddr, endpoint: &str) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (host, path) = parts(endpoint);
    let host = host.unwrap_or_else(|| address.to_string());
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: stratusd\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    // Not more, nor to the end: a server may keep the connection open.
    let mut head = [0; HEAD];
    stream.read_exact(&mut head).await?;
    match status(&head) {
        Some(200..=399) => Ok(()),
        Some(_) | None => Err(io::Error::other("the response is no success")),
    }
}

/// Returns the host of an endpoint that is a URL, and its path with the query.
pub(super) fn parts(endpoint: &str) -> (Option<String>, String) {
    let endpoint = utf8_percent_encode(endpoint.trim(), PATH).to_string();
    let url: Option<Uri> = endpoint.parse().ok();
    if let Some(url) = url
        && let Some(authority) = url.authority()
        && url.scheme().is_some()
    {
        // Displayed, and not the text as it is, which has no slash in `http://app?probe=1`.
        let path = url.path_and_query();
        let path = path.map_or_else(|| "/".to_owned(), ToString::to_string);
        return (Some(authority.to_string()), path);
    }
    let path = endpoint.trim_start_matches('/');
    (None, format!("/{path}"))
}

/// Returns the status in the beginning of a response of HTTP/1, or `None` if it is none.
fn status(head: &[u8; HEAD]) -> Option<u16> {
    let line = std::str::from_utf8(head).ok()?;
    let (version, status) = line.split_at_checked(9)?;
    matches!(version, "HTTP/1.1 " | "HTTP/1.0 ").then(|| status.parse().ok())?
}

/// Connects by TLS to a server without verifying its certificate.
static CONNECTOR: LazyLock<TlsConnector> = LazyLock::new(|| {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Judge::of_nothing(Arc::clone(&provider)));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider supports these versions")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
});
