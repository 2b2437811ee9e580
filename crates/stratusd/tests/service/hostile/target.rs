//! A service to attack, and raw connections to it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::PLACE;
use crate::support::caller::Caller;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

pub struct Target {
    pub home: Home,
    pub service: Service,
    pub token: String,
}

impl Target {
    pub fn new(more: &[&str]) -> Self {
        Self::at(Home::sqlite(), more)
    }

    pub fn at(home: Home, more: &[&str]) -> Self {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(more);
        Self {
            home,
            service,
            token,
        }
    }

    pub fn caller(&self) -> Caller {
        Caller::new(&self.service.base, SHOP, &self.token)
    }

    /// Returns a caller of the other project.
    pub fn rival(&self) -> Caller {
        Caller::new(&self.service.base, RIVAL, &self.home.token("rival", &[]))
    }

    pub fn connect(&self) -> TcpStream {
        let address = self
            .service
            .base
            .strip_prefix("http://")
            .expect("the base URL is HTTP");
        let stream = TcpStream::connect(address).expect("the service listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a read timeout can be set on a socket");
        stream
    }

    /// Sends bytes on a new connection. Returns everything received until it is closed.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // Fails if the service closes the connection before it has read everything.
        let _ = stream.write_all(bytes);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        String::from_utf8_lossy(&response).into_owned()
    }

    pub fn request(&self, method: &str, path: &str, body: &[u8]) -> String {
        let head = format!(
            "{method} /project/{SHOP}{path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.token,
            body.len()
        );
        self.raw(&[head.as_bytes(), body].concat())
    }

    /// Sends a request. Returns the status and the error type of the response.
    pub fn call(&self, method: &str, path: &str, body: &[u8]) -> (u16, String) {
        status_and_type(&self.request(method, path, body))
    }

    /// Checks that the service still serves.
    pub async fn still_serves(&self) {
        assert_eq!(
            self.caller().get(&format!("{PLACE}/vm")).await.ok()["count"],
            3
        );
    }
}

pub fn status_and_type(response: &str) -> (u16, String) {
    let status = response
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_default();
    let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    (
        status,
        body["error"]["type"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    )
}

/// Reads one response of a connection that stays open. Returns an empty text if it is closed.
pub fn read_response(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0; 1];
    while !bytes.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        bytes.extend(byte);
    }
    let head = String::from_utf8(bytes).expect("a head is text");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![
        0;
        length.map_or(0, |length| length
            .parse()
            .expect("content-length is a number"))
    ];
    stream
        .read_exact(&mut body)
        .expect("the whole body arrives");
    head + &String::from_utf8(body).expect("the body is text")
}

/// Sends pieces with a pause after each. Returns the time until the service closes the connection.
pub fn time_until_cut(
    mut stream: TcpStream,
    pieces: &[&'static [u8]],
    pause: Duration,
) -> Duration {
    let start = Instant::now();
    let mut sending = stream.try_clone().expect("a socket can be cloned");
    let pieces = pieces.to_vec();
    let sender = std::thread::spawn(move || {
        for piece in pieces {
            if sending.write_all(piece).is_err() {
                break;
            }
            std::thread::sleep(pause);
        }
    });
    let _ = stream.read_to_end(&mut Vec::new());
    let time = start.elapsed();
    sender.join().expect("the sending thread does not panic");
    time
}

pub const GET: &[u8] = b"GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n";

/// Waits until the service has closed connections. Returns how many.
pub async fn closed_of(held: &[TcpStream]) -> usize {
    for stream in held {
        stream
            .set_nonblocking(true)
            .expect("a socket can be made non-blocking");
    }
    let is_closed = |stream: &&TcpStream| match stream.peek(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    let closed = eventually(async || {
        Some(held.iter().filter(is_closed).count()).filter(|closed| *closed > 0)
    });
    closed.await.unwrap_or_default()
}
