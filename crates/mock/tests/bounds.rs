//! What a caller or a contract could make grow.

#[path = "support/served.rs"]
mod support;

use std::time::Duration;

use axum::body::Body;
use futures_util::stream;
use http::Request;
use mock::bounds::{
    GRACE, HEAD_TIMEOUT, MOST_BUFFERED, MOST_CONNECTIONS, MOST_DEPTH, MOST_RESPONSE_BYTES,
    STREAM_TIMEOUT,
};
use mock::{Mock, Settings};
use support::{call, contract, served};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tower_service::Service as _;

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
  /amount:
    get:
      operationId: amount
      responses:
        '200':
          description: Bounds that are more steps away than a number can have.
          content: { application/json: { schema: { type: object, required: [low, high], properties: {
            low: { type: number, minimum: -1.7976931348623157e308, multipleOf: 0.01 },
            high: { type: number, maximum: 1.7976931348623157e308, multipleOf: 0.01 } } } } }
  /grain:
    get:
      operationId: grain
      responses:
        '200':
          description: A step that is smaller than what numbers of this size can tell apart.
          content: { application/json: { schema:
            { type: number, exclusiveMinimum: 9007199254740993, exclusiveMaximum: 1e19, multipleOf: 5e-324 } } }
  /listed:
    get:
      operationId: listed
      responses:
        '204':
          description: An item of a list in a header cannot have a comma.
          headers: { X-Optional: { schema: { type: array, minItems: 1, items: { enum: ['a,b'] } } } }
  /demanded:
    get:
      operationId: demanded
      responses:
        '204':
          description: And the header has to be there.
          headers: { X-Required: { required: true, schema: { type: array, minItems: 1, items: { enum: ['a,b'] } } } }
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
async fn bounds_of_numbers_may_be_as_far_apart_as_numbers_are() {
    let mock = served(WIDE, Settings::default()).await;
    let amount = call(mock, "GET /amount", &[], "").await;
    assert_eq!(amount.status, 200, "{}", amount.body);
    let grain = call(mock, "GET /grain", &[], "").await;
    let is_said = grain.status == 200 || grain.body.contains("too hard to satisfy");
    assert!(is_said, "{}", grain.body);
}

#[tokio::test]
async fn a_header_that_cannot_be_written_is_left_out_or_named() {
    let mock = served(WIDE, Settings::default()).await;
    let listed = call(mock, "GET /listed", &[], "").await;
    assert_eq!(listed.status, 204, "{}", listed.body);
    let demanded = call(mock, "GET /demanded", &[], "").await;
    assert_eq!(demanded.status, 500);
    let why = "the header `X-Required` cannot be made up: an item of the list has a comma";
    assert!(demanded.body.contains(why), "{}", demanded.body);
}

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

#[tokio::test(start_paused = true)]
async fn a_body_that_the_contract_does_not_describe_must_arrive_in_time() {
    let mut router = Mock::new(contract(WIDE), Settings::default()).router();
    let body = Body::from_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let request = Request::put("/text")
        .header("host", "mock")
        .header("content-type", "image/png")
        .body(body)
        .expect("a request");
    let start = Instant::now();
    // The paused clock moves only when no task can run.
    let Ok(response) = router.call(request).await;
    assert_eq!(response.status(), 408);
    assert_eq!(start.elapsed().as_secs(), STREAM_TIMEOUT.as_secs());
}

#[tokio::test]
async fn a_head_beyond_the_buffer_of_a_connection_is_refused_unread() {
    let mock = served(WIDE, Settings::default()).await;
    let header = format!("x-long: {}", "a".repeat(2 * MOST_BUFFERED));
    let refused = call(mock, "GET /circle", &[&header], "").await;
    // Smaller ones are refused by the router, in words.
    assert_eq!((refused.status, refused.body.as_str()), (431, ""));
}

#[tokio::test]
async fn values_are_made_up_no_deeper_than_the_bound() {
    const ENDLESS: &str = r"
openapi: 3.1.0
info: { title: Endless, version: 1.0.0 }
paths:
  /dolls:
    get:
      operationId: dolls
      responses: { '200': { description: A doll., content: { application/json: { schema: { $ref: '#/components/schemas/Doll' } } } } }
components:
  schemas:
    Doll:
      oneOf:
        - { type: object, required: [inner], properties: { inner: { $ref: '#/components/schemas/Doll' } } }
        - { type: string }
";
    let mock = served(ENDLESS, Settings::default()).await;
    let dolls = call(mock, "GET /dolls", &[], "").await;
    let mut doll = &dolls.json();
    let mut depth = 0;
    while let Some(inner) = doll.get("inner") {
        doll = inner;
        depth += 1;
    }
    // As deep as it may be: the first alternative is taken wherever it can be.
    assert_eq!(depth, MOST_DEPTH, "{}", dolls.body);
}

#[tokio::test]
async fn requests_in_progress_have_a_while_once_the_mock_ends() {
    let settings = |delay| Settings {
        delay,
        ..Settings::default()
    };
    for (delay, is_served) in [(GRACE / 2, true), (GRACE * 4, false)] {
        let router = Mock::new(contract(WIDE), settings(delay)).router();
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let mock = listener.local_addr().expect("it listens");
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(mock::serve(listener, router, async move {
            let _ = stopped.await;
        }));
        let mut stream = TcpStream::connect(mock).await.expect("it listens");
        let head = b"GET /circle HTTP/1.1\r\nhost: mock\r\n\r\n";
        stream.write_all(head).await.expect("it reads");
        tokio::time::sleep(GRACE / 8).await;
        let start = Instant::now();
        stop.send(()).expect("it listens");
        let ended = timeout(GRACE + Duration::from_secs(2), serving).await;
        assert!(ended.is_ok(), "it waits for longer than it may");
        if is_served {
            let mut read = Vec::new();
            stream.read_to_end(&mut read).await.expect("it responds");
            assert!(read.starts_with(b"HTTP/1.1 200 "));
        } else {
            assert!(start.elapsed() >= GRACE, "it does not wait");
        }
    }
}
