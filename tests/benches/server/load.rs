//! The requests of the benchmark, and a connection that sends them with as little work as possible.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::json;
use tests::memory::{LOCATION, PROJECT, TOKEN};

/// A request as bytes, with the number of times that a round sends it.
pub struct Exchange {
    pub name: &'static str,
    pub request: Vec<u8>,
    /// Requests with one mistake each, which must be rejected.
    pub wrong: Vec<Vec<u8>>,
    pub repeat: u32,
}

pub fn exchanges() -> Vec<Exchange> {
    let prefix = format!("/project/{PROJECT}/location/{LOCATION}");
    let get = |path: &str| request("GET", path, "");
    let database = format!("{prefix}/postgres/orders");
    let post = |tags: usize, text: &str| {
        let tags: Vec<_> = (0..tags)
            .map(|tag| json!({"key": format!("{tag}{text}"), "value": text}))
            .collect();
        let body = json!({
            "size": "standard-2", "storage_size": 64, "flavor": "standard", "ha_type": "async", "version": "18",
            "restrict_by_default": true, "tags": tags,
        });
        request("POST", &database, &body.to_string())
    };
    let wrong_post = |body: serde_json::Value| request("POST", &database, &body.to_string());
    vec![
        Exchange {
            name: "GET, a small object",
            request: get(&format!("{prefix}/private-subnet/backend")),
            wrong: vec![
                get(&format!("{prefix}/private-subnet/back_end")),
                get("/project/1/location/x/private-subnet/a"),
            ],
            repeat: 2000,
        },
        Exchange {
            name: "GET, a list of 100",
            request: get(&format!(
                "{prefix}/vm?page_size=100&order_column=name&start_after=app-1"
            )),
            wrong: vec![
                get(&format!("{prefix}/vm?page_size=0")),
                get(&format!("{prefix}/vm?page_size=ten")),
            ],
            repeat: 500,
        },
        Exchange {
            name: "POST, validated",
            request: post(2, &"a".repeat(20)),
            wrong: vec![
                wrong_post(json!({"size": "standard-2"})),
                wrong_post(json!({"size": "standard-2", "storage_size": "64"})),
                wrong_post(json!({"size": "standard-2", "storage_size": 64, "colour": "green"})),
                wrong_post(json!({"size": "standard-2", "storage_size": 64, "flavor": "lavender"})),
                wrong_post(
                    json!({"size": "standard-2", "storage_size": 64, "tags": [{"key": "", "value": ""}]}),
                ),
            ],
            repeat: 2000,
        },
        Exchange {
            name: "POST, 100 KiB",
            // As many tags as the contract allows; each character takes four bytes.
            request: post(64, &"𝄞".repeat(200)),
            wrong: Vec::new(),
            repeat: 200,
        },
    ]
}

fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// The status and body of a response.
#[derive(Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub body: String,
}

/// A connection that is kept open.
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("the option can be set");
        Self(BufReader::new(stream))
    }

    pub fn send(&mut self, request: &[u8]) -> Response {
        self.ask(request);
        self.response()
    }

    /// Sends a request without waiting for the response.
    pub fn ask(&mut self, request: &[u8]) {
        self.0
            .get_mut()
            .write_all(request)
            .expect("the server reads the request");
    }

    /// Reads the next response.
    pub fn response(&mut self) -> Response {
        let (mut line, mut status, mut length) = (String::new(), 0, 0);
        while line != "\r\n" {
            line.clear();
            self.0.read_line(&mut line).expect("the server responds");
            let lower = line.to_ascii_lowercase();
            if let Some(rest) = lower.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().expect("the response has a status");
            } else if let Some(rest) = lower.strip_prefix("content-length:") {
                length = rest.trim().parse().expect("content-length is a number");
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("the server responds");
        Response {
            status,
            body: String::from_utf8(body).expect("the body is text"),
        }
    }
}
