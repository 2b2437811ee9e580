//! Time-outs of calls, and when a call is repeated.

use std::time::{Duration, Instant};

use api_runtime::client::reqwest::{Method, StatusCode};
use api_runtime::client::{self as runtime, Config, Error, Retries};
use tokio::net::TcpListener;

use super::script::{Server, Step};
use super::{ID, OPEN, PATH, Problem, Thing, call, collect};

#[tokio::test]
async fn an_idempotency_key_among_the_headers_is_kept() {
    let server = Server::playing(vec![Step::Respond(200, "", r#"{"id": 1}"#); 2]).await;
    let config = server.config().retries(Retries::new(1));
    let transport = config.build().unwrap();
    let keyed = transport.with_header("idempotency-key", "job-7").unwrap();
    for (transport, is_kept) in [(&keyed, true), (&transport, false)] {
        let call = transport.call(ID, PATH);
        let request = transport.http().post(transport.base_url());
        let request = call.idempotent(request, None::<&String>).unwrap();
        call.send::<Problem>(request, OPEN).await.unwrap();
        let sent = server.requests();
        let sent = sent.last().unwrap();
        assert_eq!(sent.matches("idempotency-key: ").count(), 1, "{sent}");
        assert_eq!(
            sent.contains("idempotency-key: job-7\r\n"),
            is_kept,
            "{sent}"
        );
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends() {
    let server = Server::playing([Step::Sleep]).await;
    let transport = server
        .config()
        .timeout(Some(Duration::from_millis(50)))
        .build()
        .unwrap();
    let begun = Instant::now();
    let error = call::<Thing>(&transport, Method::GET, OPEN)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "no response from the API to `thing_view` in time"
    );
    assert!(
        error.is_timeout() && error.is_retryable() && begun.elapsed() < Duration::from_secs(30)
    );
}

#[tokio::test]
async fn a_body_that_arrives_too_slowly_ends_with_the_time_out_of_the_call() {
    // With a length and without, and with retries, whose attempts share the time-out.
    for (head, retries) in [
        ("content-length: 1000\r\n", None),
        ("", None),
        ("", Some(Retries::new(1))),
    ] {
        let server = Server::playing([Step::Drip(head)]).await;
        let mut config = server.config().timeout(Some(Duration::from_secs(2)));
        if let Some(retries) = retries {
            config = config.retries(retries);
        }
        let begun = Instant::now();
        let error = call::<Thing>(&config.build().unwrap(), Method::GET, OPEN)
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the response (200 OK) of `thing_view` ended early"
        );
        assert!(error.is_timeout() && begun.elapsed() < Duration::from_secs(30));
    }
}

#[tokio::test]
async fn a_stream_ends_after_a_time_out() {
    for head in ["content-length: 1000\r\n", ""] {
        let get = async || {
            let server = Server::playing([Step::Drip(head)]).await;
            let config = server.config().timeout(Some(Duration::from_secs(2)));
            let transport = config.build().unwrap();
            let url = format!("{}/thing", transport.base_url());
            let request = transport.http().request(Method::GET, url);
            let sent = transport.call(ID, PATH).send(request, OPEN).await;
            sent.unwrap_or_else(|error: Error<Problem>| panic!("{error}"))
        };
        let pieces = collect(runtime::stream(get().await).into_inner());
        let pieces = tokio::time::timeout(Duration::from_secs(30), pieces).await;
        let pieces = pieces.expect("the stream ends");
        let (last, before) = pieces.split_last().expect("it has a time-out");
        assert!(last.as_ref().is_err_and(Error::is_timeout), "{last:?}");
        assert!(before.iter().all(Result::is_ok), "{before:?}");
        let events = collect(runtime::events(get().await).into_inner());
        let events = tokio::time::timeout(Duration::from_secs(30), events).await;
        assert_eq!(events.expect("the stream ends").len(), 1);
    }
}

#[tokio::test]
async fn an_error_says_when_to_come_back() {
    let server = Server::playing([
        Step::Respond(404, "retry-after: 7\r\n", r#"{"code": 404}"#),
        Step::Respond(404, "", r#"{"code": 404}"#),
    ])
    .await;
    let transport = server.config().build().unwrap();
    for pause in [Some(Duration::from_secs(7)), None] {
        let error = call::<Thing>(&transport, Method::GET, OPEN)
            .await
            .unwrap_err();
        assert_eq!(error.retry_after(), pause);
    }
}

#[tokio::test]
async fn what_failed_for_a_moment_is_repeated_if_it_is_safe() {
    let moment = [
        Step::Respond(503, "", ""),
        Step::HangUp,
        Step::Respond(200, "", r#"{"id": 1}"#),
    ];
    let retries = Retries::new(2).first_pause(Duration::from_millis(2));

    let server = Server::playing(moment.clone()).await;
    let transport = server.config().retries(retries.clone()).build().unwrap();
    assert_eq!(
        call::<Thing>(&transport, Method::GET, OPEN)
            .await
            .unwrap()
            .id,
        1
    );
    assert_eq!(server.requests().len(), 3);

    let server = Server::playing(moment.clone()).await;
    let transport = server.config().retries(retries).build().unwrap();
    let error = call::<Thing>(&transport, Method::POST, OPEN)
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(server.requests().len(), 1);

    let server = Server::playing(moment).await;
    let transport = server.config().build().unwrap();
    call::<Thing>(&transport, Method::GET, OPEN)
        .await
        .unwrap_err();
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn any_call_is_repeated_when_no_connection_came_about() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let retries = Retries::new(2).first_pause(Duration::from_millis(40));
    let config = Config::new(&format!("http://{nobody}"), "test/1", 0).retries(retries);
    let begun = Instant::now();
    let error = call::<Thing>(&config.build().unwrap(), Method::POST, OPEN)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot connect to the API for `thing_view`"
    );
    assert!(
        begun.elapsed() >= Duration::from_millis(60),
        "20 and 40 milliseconds at least"
    );
}
