//! A caller of the gateway whose requests share a connection of HTTP/2.

use h2::RecvStream;
use h2::client::SendRequest;
use http::{Request, Response};
use tokio::net::TcpStream;

use super::scene::{Key, Scene};

/// A connection of HTTP/2.
pub struct Multiplexed {
    requests: SendRequest<bytes::Bytes>,
    gateway: String,
}

impl Multiplexed {
    /// Connects to the gateway, and leaves the connection to a task, as pings need it. `room` is the number
    /// of bytes of a body that the caller takes before it reads them.
    pub async fn connect(scene: &Scene, room: Option<u32>) -> Self {
        let address = scene.gateway.strip_prefix("http://").expect("it is HTTP");
        let stream = TcpStream::connect(address)
            .await
            .expect("the gateway listens");
        let mut builder = h2::client::Builder::new();
        if let Some(room) = room {
            builder.initial_window_size(room);
        }
        let shaken = builder.handshake(stream).await;
        let (requests, connection) = shaken.expect("they shake hands");
        tokio::spawn(connection);
        Self {
            requests,
            gateway: scene.gateway.clone(),
        }
    }

    /// Sends a GET request with a key. Returns the head of the response; dropping its body cancels the
    /// request.
    pub async fn get(&mut self, key: &Key, path: &str) -> Response<RecvStream> {
        let request = Request::get(format!("{}{path}", self.gateway))
            .header("authorization", format!("Bearer {}", key.secret))
            .body(())
            .expect("it is a request");
        let sent = self.requests.send_request(request, true);
        let (response, _) = sent.expect("it is open");
        response.await.expect("the gateway responds")
    }
}
