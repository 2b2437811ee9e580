//! Timeouts on a clock that stands still unless a test waits. The tests do what hyper does: they read
//! from the stream, and call the service once a head has arrived.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;

use axum::body::Body as AxumBody;
use axum_server::accept::DefaultAcceptor;
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufWriter, DuplexStream, duplex};
use tokio::time::{advance, timeout};
use tower::service_fn;

use super::super::connections::ConnectionCounts;
use super::*;

const HEAD: Duration = Duration::from_secs(2);
const IDLE: Duration = Duration::from_secs(10);
const HOUR: Duration = Duration::from_hours(1);

/// A connection as the server has it, and the other end of it.
struct Connection<S> {
    caller: DuplexStream,
    stream: TimedStream<DuplexStream>,
    service: S,
}

/// Accepts a connection. Its service responds to the first request with a body, and to the others with
/// an empty one.
async fn accept(
    body: AxumBody,
) -> Connection<
    impl Service<
        Request<AxumBody>,
        Response = Response<TimedBody<AxumBody>>,
        Error = Infallible,
        Future: Send,
    >,
> {
    let (caller, stream) = duplex(1 << 10);
    let body = Mutex::new(Some(body));
    let respond = service_fn(move |_: Request<OpenBody<AxumBody>>| {
        let body = body.lock().expect("nobody panics").take();
        async move { Ok::<_, Infallible>(Response::new(body.unwrap_or_default())) }
    });
    let timed = Timed::new(DefaultAcceptor::new(), connections(), HEAD, IDLE);
    let (stream, service) = timed.accept(stream, respond).await.expect("it accepts");
    Connection {
        caller,
        stream,
        service,
    }
}

fn connections() -> Connections {
    Connections::new(10, ConnectionCounts::default())
}

impl Origin for DuplexStream {
    fn peer(&self) -> io::Result<IpAddr> {
        Ok(Ipv4Addr::LOCALHOST.into())
    }
}

impl Origin for BufWriter<DuplexStream> {
    fn peer(&self) -> io::Result<IpAddr> {
        self.get_ref().peer()
    }
}

fn request(version: Version) -> Request<AxumBody> {
    let mut request = Request::new(AxumBody::empty());
    *request.version_mut() = version;
    request
}

impl<S> Connection<S>
where
    S: Service<Request<AxumBody>, Response = Response<TimedBody<AxumBody>>, Error = Infallible>,
{
    /// Lets a head arrive, which is a request of a version. Returns the body of the response.
    async fn begin(&mut self, version: Version) -> TimedBody<AxumBody> {
        self.arrive().await;
        let response = self.service.call(request(version)).await;
        response.expect("it responds").into_body()
    }

    /// Lets a byte arrive.
    async fn arrive(&mut self) {
        self.caller.write_all(b"x").await.expect("it is open");
        let read = self.stream.read(&mut [0]).await;
        assert_eq!(read.expect("it is open"), 1);
    }

    /// Returns after how long without bytes the connection ends; `None` if it is open an hour later.
    async fn ends_after(&mut self) -> Option<Duration> {
        let begun = Instant::now();
        let read = timeout(HOUR, self.stream.read(&mut [0])).await.ok()?;
        let error = read.expect_err("nothing arrives");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        Some(begun.elapsed())
    }
}

/// Returns the whole seconds: a timer may be a millisecond late.
fn about(time: Option<Duration>) -> Option<u64> {
    time.map(|time| time.as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_requests_ends() {
    let mut connection = accept(AxumBody::empty()).await;
    assert_eq!(about(connection.ends_after().await), Some(10));
}

#[tokio::test(start_paused = true)]
async fn a_head_must_arrive_in_time_after_its_first_byte() {
    let mut connection = accept(AxumBody::empty()).await;
    for requests in 0..2 {
        if requests > 0 {
            drop(connection.begin(Version::HTTP_11).await);
        }
        advance(Duration::from_secs(5)).await;
        connection.arrive().await;
        advance(Duration::from_millis(1_500)).await;
        // It prolongs nothing.
        connection.arrive().await;
        let begun = Instant::now();
        assert!(connection.ends_after().await.is_some());
        let took = begun.elapsed();
        let is_right = (500..=502).contains(&took.as_millis());
        assert!(is_right, "{requests}: {took:?}");
        // hyper would close the connection; here it becomes a request after all.
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_of_http_1_may_be_silent_while_its_request_is_open() {
    let mut connection = accept(AxumBody::from("hello")).await;
    let body = connection.begin(Version::HTTP_11).await;
    // What arrives now is no head.
    connection.arrive().await;
    assert_eq!(connection.ends_after().await, None);
    drop(body);
    // From the end of the request on, and not from the next read.
    advance(Duration::from_secs(4)).await;
    assert_eq!(about(connection.ends_after().await), Some(6));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_idle_before_it_is_read_ends_at_once() {
    let mut connection = accept(AxumBody::empty()).await;
    drop(connection.begin(Version::HTTP_11).await);
    advance(IDLE).await;
    // What has arrived in time is read.
    drop(connection.begin(Version::HTTP_11).await);
    advance(IDLE + Duration::from_millis(1)).await;
    connection.caller.write_all(b"x").await.expect("it is open");
    let read = connection.stream.read(&mut [0]).await;
    let error = read.expect_err("it is over");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_caller_of_http_2_may_not_be_silent() {
    let mut connection = accept(AxumBody::empty()).await;
    let mut body = connection.begin(Version::HTTP_2).await;
    // The response does not wait for its caller.
    assert!(body.frame().await.is_none());
    assert_eq!(about(connection.ends_after().await), Some(10));
}

#[tokio::test(start_paused = true)]
async fn bytes_that_belong_to_no_request_of_http_2_keep_no_connection() {
    let mut connection = accept(AxumBody::empty()).await;
    drop(connection.begin(Version::HTTP_2).await);
    for _ in 0..2 {
        // These bytes are no head either.
        advance(Duration::from_secs(4)).await;
        connection.arrive().await;
    }
    advance(Duration::from_secs(4)).await;
    assert_eq!(about(connection.ends_after().await), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_response_of_http_2_that_nobody_reads_ends_its_connection() {
    let mut connection = accept(AxumBody::from("hello")).await;
    let body = connection.begin(Version::HTTP_2).await;
    for _ in 0..2 {
        advance(Duration::from_secs(5)).await;
        connection.arrive().await;
    }
    // Ten seconds are not too long.
    advance(Duration::from_millis(1)).await;
    assert_eq!(about(connection.ends_after().await), Some(0));
    drop(body);
}

#[tokio::test(start_paused = true)]
async fn a_piece_that_is_not_written_is_unread() {
    for is_written in [true, false] {
        let mut connection = accept(pending_after("hello")).await;
        let mut body = connection.begin(Version::HTTP_2).await;
        advance(Duration::from_secs(8)).await;
        connection.arrive().await;
        let piece = body.frame().await.expect("there is one").expect("it comes");
        let piece = piece.into_data().expect("it is data");
        assert_eq!(piece, "hello");
        let kept = (!is_written).then_some(piece);
        // hyper asks for the next one, which the handler does not have.
        assert!(timeout(Duration::from_secs(1), body.frame()).await.is_err());
        for _ in 0..3 {
            advance(Duration::from_secs(4)).await;
            if kept.is_none() {
                connection.arrive().await;
            }
        }
        let is_over = connection.ends_after().await;
        assert_eq!(about(is_over), Some(if is_written { 10 } else { 0 }));
    }
}

/// Returns a body with a text, after which nothing comes and which does not end.
fn pending_after(text: &'static str) -> AxumBody {
    let text = futures_util::stream::once(async move { Ok::<_, Infallible>(text) });
    AxumBody::from_stream(futures_util::StreamExt::chain(
        text,
        futures_util::stream::pending(),
    ))
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_wait_ends_no_other_one() {
    let activity = Arc::new(Activity::new());
    let request = Arc::new(activity.begin(true).expect("it is open"));
    let first = request.await_reader();
    let second = request.await_reader();
    drop(second);
    advance(IDLE).await;
    assert!(!activity.is_unread_for(IDLE));
    advance(Duration::from_millis(1)).await;
    assert!(activity.is_unread_for(IDLE));
    drop(first);
    assert!(!activity.is_unread_for(Duration::ZERO));
}

#[tokio::test]
async fn a_response_of_http_2_comes_in_pieces() {
    let text: Vec<u8> = (0..40_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    for (version, sizes) in [
        (Version::HTTP_11, &[40_000][..]),
        (Version::HTTP_2, &[16_384, 16_384, 7_232]),
    ] {
        let mut connection = accept(AxumBody::from(text.clone())).await;
        let mut body = connection.begin(version).await;
        let mut received = Vec::new();
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().await {
            let data = frame.expect("it comes").into_data().expect("it is data");
            pieces.push(data.len());
            received.extend_from_slice(&data);
            let left = 40_000 - received.len() as u64;
            assert_eq!(body.size_hint().exact(), Some(left));
            assert_eq!(body.is_end_stream(), left == 0);
        }
        assert_eq!(pieces, sizes);
        assert_eq!(received, text);
    }
}

#[tokio::test]
async fn a_request_is_open_until_both_bodies_are_dropped() {
    let activity = Arc::new(Activity::new());
    let kept = Arc::new(Mutex::new(None));
    let keeps = Arc::clone(&kept);
    let mut service = TimedService {
        service: service_fn(move |request: Request<OpenBody<Full<Bytes>>>| {
            *keeps.lock().expect("nobody panics") = Some(request.into_body());
            async { Ok::<_, Infallible>(Response::new(AxumBody::from("hello"))) }
        }),
        activity: Arc::clone(&activity),
        site: Site::from(IpAddr::from(Ipv4Addr::LOCALHOST)),
    };
    for text in ["", "hello"] {
        let request = Request::new(Full::from(text));
        let response = service.call(request).await.expect("it responds");
        let body = kept.lock().expect("nobody panics").take();
        let body = body.expect("it is kept");
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        assert_eq!(body.is_end_stream(), text.is_empty());
        drop(response);
        assert!(activity.is_one_open());
        drop(body);
        assert!(!activity.is_one_open());
    }
}

#[tokio::test]
async fn what_is_written_arrives_and_ends() {
    let (mut caller, stream) = duplex(1 << 10);
    let stream = BufWriter::new(stream);
    let nothing = service_fn(|_: Request<OpenBody<AxumBody>>| async {
        Ok::<_, Infallible>(Response::new(AxumBody::empty()))
    });
    let timed = Timed::new(DefaultAcceptor::new(), connections(), HEAD, IDLE);
    let accepted = Accept::<_, _>::accept(&timed, stream, nothing).await;
    let (mut stream, _) = accepted.expect("it accepts");
    stream.write_all(b"hello").await.expect("it is open");
    stream.flush().await.expect("it is open");
    let mut received = [0; 5];
    let read = timeout(Duration::from_secs(10), caller.read_exact(&mut received)).await;
    read.expect("it was flushed").expect("it is open");
    assert_eq!(&received, b"hello");
    stream.shutdown().await.expect("it is open");
    let end = timeout(Duration::from_secs(10), caller.read(&mut received)).await;
    assert_eq!(end.expect("it has ended").expect("it is no error"), 0);
}
