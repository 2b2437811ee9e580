//! A small contract, and a server made by hand behind a proxy.

#![allow(dead_code, reason = "not every test reads what was received")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mock::{Findings, Mock, ProxySettings, Settings, Times};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Response, contract};

/// A contract to keep and to break.
pub const PETS: &str = r"
openapi: 3.1.0
info: { title: Pets, version: 1.0.0 }
paths:
  /pets/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
    get:
      operationId: pet_view
      security: [{ key: [] }]
      parameters: [{ name: limit, in: query, schema: { type: integer, maximum: 9 } }]
      responses:
        '200':
          description: A pet.
          headers:
            X-Total: { required: true, schema: { type: integer, minimum: 5 } }
          content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } }
        '404': { description: None. }
    put:
      operationId: pet_put
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: '#/components/schemas/Pet' } } }
      responses: { '204': { description: Kept. } }
  /log:
    get:
      operationId: log
      responses:
        '200': { description: Lines., content: { text/event-stream: {} } }
    post:
      operationId: log_add
      requestBody: { content: { application/octet-stream: {} } }
      responses: { '204': { description: Kept. } }
components:
  securitySchemes: { key: { type: apiKey, name: key, in: query } }
  schemas:
    Pet:
      type: object
      required: [name]
      additionalProperties: false
      properties:
        name: { type: string, maxLength: 20 }
        ages: { type: array, items: { type: integer } }
";

/// A response that keeps it.
pub const FINE: &str = "HTTP/1.1 200 Fine indeed\r\nContent-Type: application/json\r\nX-Total: 7\r\n\
    X-Own: as it is\r\nConnection: close, x-hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
    Content-Length: 17\r\n\r\n{ \"name\": \"Tom\" }";

/// Returns what the header of a response says: `in`, place and message of each finding.
pub fn found(response: &Response) -> Vec<(String, String, String)> {
    let Some(header) = response.header("stratus-violations") else {
        return Vec::new();
    };
    let entries: Vec<Value> = serde_json::from_str(header).expect("JSON");
    let text = |entry: &Value, name: &str| entry[name].as_str().expect("a text").to_owned();
    entries
        .iter()
        .map(|entry| {
            (
                text(entry, "in"),
                text(entry, "place"),
                text(entry, "message"),
            )
        })
        .collect()
}

/// Returns an entry of that header.
pub fn triple(side: &str, place: &str, message: &str) -> (String, String, String) {
    (side.to_owned(), place.to_owned(), message.to_owned())
}

/// Returns the lines that are here.
pub fn lines(findings: &mut Findings) -> Vec<String> {
    std::iter::from_fn(|| findings.waiting()).collect()
}

/// Times that let a test wait for one of them.
pub fn short() -> Times {
    let short = Duration::from_secs(1);
    Times {
        connect: short,
        response: short,
        hold: short,
        idle: short,
    }
}

/// The requests that a server has received, as text.
pub type Received = Arc<Mutex<Vec<String>>>;

/// Serves a response for each request, which it gets as text, and then closes the connection.
pub async fn upstream(
    respond: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
) -> (SocketAddr, Received) {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let received = Received::default();
    let (respond, kept) = (Arc::new(respond), Arc::clone(&received));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (respond, kept) = (Arc::clone(&respond), Arc::clone(&kept));
            tokio::spawn(async move {
                let text = request(&mut stream).await;
                let response = respond(&text);
                kept.lock().expect("nothing panics").push(text);
                let _ = stream.write_all(&response).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (address, received)
}

/// Reads a request with its body, whose length it declares.
pub async fn request(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let shown = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = shown.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
            let is_chunked = head.contains("transfer-encoding: chunked");
            let is_done = if is_chunked {
                body.ends_with("0\r\n\r\n")
            } else {
                body.len() >= length
            };
            if is_done {
                return shown;
            }
        }
        let read = stream.read(&mut buffer).await.expect("it reads");
        assert!(read > 0, "the request ends early: {shown}");
        text.extend_from_slice(&buffer[..read]);
    }
}

/// Serves a proxy until the test ends.
pub async fn proxied(
    text: &str,
    upstream: &str,
    errors: bool,
    times: Times,
) -> (SocketAddr, Findings) {
    let settings = ProxySettings {
        upstream: upstream.parse().expect("a URL"),
        errors,
        times,
    };
    let (router, findings) = Mock::new(contract(text), Settings::default())
        .proxy(settings)
        .expect("there is no TLS to set up");
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    tokio::spawn(mock::serve(listener, router, std::future::pending()));
    (address, findings)
}
