//! A mock on a free port, and requests to it as bytes.

#![allow(dead_code, reason = "not every test reads all of a response")]

use std::net::SocketAddr;

use mock::{Mock, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A response.
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("JSON: {}", self.body))
    }
}

/// Returns a contract from its text.
pub fn contract(text: &str) -> contract::Contract {
    let loaded = contract::load_text("mock.yaml", text.as_bytes());
    let shown = contract::render(&loaded.sources, &loaded.diagnostics);
    loaded.contract.unwrap_or_else(|| panic!("{shown}"))
}

/// Serves a contract until the test ends.
pub async fn served(text: &str, settings: Settings) -> SocketAddr {
    let router = Mock::new(contract(text), settings).router();
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    tokio::spawn(mock::serve(listener, router, std::future::pending()));
    address
}

/// Sends a request: a method and a target, lines of headers, and a body. The version is 1.0, so that
/// the body of the response ends with the connection.
pub async fn call(address: SocketAddr, line: &str, headers: &[&str], body: &str) -> Response {
    let mut text = format!("{line} HTTP/1.0\r\nhost: mock\r\n");
    for header in headers {
        text.push_str(&format!("{header}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    text.push_str(&format!("\r\n{body}"));
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(text.as_bytes()).await.expect("it reads");
    let mut read = Vec::new();
    stream.read_to_end(&mut read).await.expect("it responds");
    let read = String::from_utf8(read).expect("a response is text");
    let (head, body) = read.split_once("\r\n\r\n").expect("a response has a head");
    let status = head.split(' ').nth(1).expect("a response has a status");
    Response {
        status: status.parse().expect("a status is a number"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
