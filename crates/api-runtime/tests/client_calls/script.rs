//! A server that responds to each connection from a script.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api_runtime::client::Config;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// What the server does with one request.
#[derive(Clone)]
pub(super) enum Step {
    Respond(u16, &'static str, &'static str),
    /// Responds with 200 and these chunks.
    Chunks(&'static str),
    /// Responds with this head and then a byte of the body every 20 milliseconds.
    Drip(&'static str),
    HangUp,
    Sleep,
}

/// A server that plays a script, one step per request, and keeps the requests.
pub(super) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) async fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let mut script: VecDeque<Step> = script.into_iter().collect();
        tokio::spawn(async move {
            while let Some(step) = script.pop_front() {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut request = String::new();
                let mut buffer = [0; 4096];
                while !request.contains("\r\n\r\n") {
                    let read = socket.read(&mut buffer).await.unwrap();
                    request.push_str(&String::from_utf8_lossy(&buffer[..read]));
                }
                seen.lock().unwrap().push(request);
                match step {
                    Step::Respond(status, headers, body) => {
                        let length = body.len();
                        let response = format!(
                            "HTTP/1.1 {status} Any\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                        );
                        socket.write_all(response.as_bytes()).await.unwrap();
                    }
                    Step::Chunks(chunks) => {
                        let response = format!(
                            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{chunks}"
                        );
                        socket.write_all(response.as_bytes()).await.unwrap();
                    }
                    Step::Drip(head) => {
                        let head = format!("HTTP/1.1 200 OK\r\n{head}connection: close\r\n\r\n");
                        socket.write_all(head.as_bytes()).await.unwrap();
                        // Until the client has gone.
                        while socket.write_all(b" ").await.is_ok() {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                    }
                    Step::HangUp => drop(socket),
                    Step::Sleep => tokio::time::sleep(Duration::from_secs(60)).await,
                }
            }
        });
        Self { address, requests }
    }

    pub(super) fn config(&self) -> Config {
        Config::new(&format!("http://{}/v1/", self.address), "test/1", 2)
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}
