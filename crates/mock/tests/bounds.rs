//! What a caller or a contract could make grow.

#[path = "support/served.rs"]
mod support;

use std::time::Duration;

use mock::Settings;
use mock::bounds::{HEAD_TIMEOUT, MOST_CONNECTIONS, MOST_RESPONSE_BYTES};
use support::{call, served};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

const WIDE: &str = r"
openapi: 3.1.0
info: { title: Wide, version: 1.0.0 }
paths:
  /text:
    put:
      operationId: text_put
      requestBody: { required: true, content: { text/plain: { schema: { type: string } }, image/png: {} } }
      responses: { '204': { description: Kept. } }
  /large:
    get:
      operationId: large
      responses:
        '200':
          description: Too much.
          content:
            application/json:
              schema:
                type: array
                minItems: 2000
                items: { type: string, minLength: 1000 }
  /long:
    get:
      operationId: long
      responses:
        '200':
          description: Far too much.
          content: { application/json: { schema: { type: array, minItems: 1000000000, items: {} } } }
  /circle:
    get:
      operationId: circle
      responses:
        '200':
          description: A tree.
          content: { application/json: { schema: { $ref: '#/components/schemas/Tree' } } }
components:
  schemas:
    Tree:
      type: object
      properties:
        left: { $ref: '#/components/schemas/Tree' }
        right: { $ref: '#/components/schemas/Tree' }
        all: { type: array, items: { $ref: '#/components/schemas/Tree' } }
";

#[tokio::test]
async fn bodies_and_heads_beyond_the_limit_are_refused() {
    let mock = served(WIDE, Settings::default()).await;
    let large = "a".repeat((1 << 20) + 1);
    for media in ["text/plain", "image/png"] {
        let media = format!("content-type: {media}");
        let refused = call(mock, "PUT /text", &[&media], &large).await;
        assert_eq!(refused.status, 413, "{media}");
    }
    let header = format!("x-long: {}", "a".repeat(70 << 10));
    assert_eq!(call(mock, "GET /circle", &[&header], "").await.status, 431);
}

#[tokio::test]
async fn responses_beyond_the_limit_are_errors() {
    let mock = served(WIDE, Settings::default()).await;
    for path in ["GET /large", "GET /long"] {
        let refused = call(mock, path, &[], "").await;
        assert_eq!(refused.status, 500, "{path}");
        assert!(refused.body.len() < 2000, "{path}");
    }
    let circle = call(mock, "GET /circle", &[], "").await;
    assert_eq!(circle.status, 200, "{}", circle.body);
    assert!(circle.body.len() < MOST_RESPONSE_BYTES);
}

#[tokio::test]
async fn a_connection_without_a_head_is_closed() {
    let mock = served(WIDE, Settings::default()).await;
    let mut stream = TcpStream::connect(mock).await.expect("it listens");
    stream
        .write_all(b"GET / HTTP/1.1\r\n")
        .await
        .expect("it reads");
    let start = Instant::now();
    let mut read = Vec::new();
    let most = HEAD_TIMEOUT + Duration::from_secs(5);
    let closed = timeout(most, stream.read_to_end(&mut read)).await;
    assert!(closed.is_ok(), "it is still open");
    assert!(start.elapsed() + Duration::from_secs(1) >= HEAD_TIMEOUT);
}

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_for_another_to_end() {
    let mock = served(WIDE, Settings::default()).await;
    let mut open = Vec::new();
    for _ in 0..MOST_CONNECTIONS {
        let mut stream = TcpStream::connect(mock).await.expect("it listens");
        stream.write_all(b"GET /").await.expect("it reads");
        open.push(stream);
    }
    // So that all of them are accepted.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut waiting = Box::pin(call(mock, "GET /circle", &[], ""));
    let served = timeout(Duration::from_millis(500), &mut waiting).await;
    assert!(served.is_err(), "it is served beside all others");
    open.pop();
    let served = timeout(Duration::from_secs(10), waiting).await;
    assert_eq!(served.expect("there is room").status, 200);
}
