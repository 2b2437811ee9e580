//! What is bounded: responses, bodies, keys, their age, and requests in progress.

use std::time::Duration;

use api_runtime::server::{ByteStream, Config, Idempotency, ListedResponse, Media, MemoryStore};
use axum::body::Body as HttpBody;
use axum::http::{Request, Response};
use futures_util::{StreamExt as _, future, stream};
use http_body_util::BodyExt;
use tower_service::Service;

use super::{ANN, FIRST, Received, Served, memory};

/// The size of what `created` responds with: the names and values of its headers, and its body.
const CREATED: usize =
    "content-type".len() + "application/json".len() + "etag".len() + "\"1\"".len() + "1".len();

#[tokio::test]
async fn a_response_over_the_limit_is_not_kept_but_was_done() {
    let served = Served::counting(memory().response_limit(CREATED));
    assert_eq!(served.create("ann", "k").await.run(), ("1", false));
    assert_eq!(served.create("ann", "k").await.run(), ("1", true));

    let served = Served::counting(memory().response_limit(CREATED - 1));
    assert_eq!(served.create("ann", "k").await.run(), ("1", false));
    let again = served.create("ann", "k").await;
    assert_eq!((again.status.as_u16(), served.runs()), (409, 1));
    let text = String::from_utf8_lossy(&again.body);
    assert!(text.contains("was done"), "{text}");
    let other = served
        .send("/things/b", &[ANN, ("idempotency-key", "k")], "")
        .await;
    assert_eq!(other.status, 422);
}

#[tokio::test]
async fn a_stream_reaches_its_caller_and_is_not_kept() {
    const BYTES: &[Media] = &[Media::new("application/octet-stream")];
    let config = Config::new().idempotency(memory());
    let served = Served::new(config, |_| {
        // It has a beginning and no end.
        let endless = stream::once(future::ready(Ok::<_, std::io::Error>("begun")));
        let endless = endless.chain(stream::pending());
        let body = ByteStream::new(HttpBody::from_stream(endless));
        let response = ListedResponse::code(200).media(BYTES).stream(body);
        Box::pin(future::ready(response))
    });
    let request = Request::post("/things/a")
        .header(ANN.0, ANN.1)
        .header(FIRST.0, FIRST.1)
        .body(HttpBody::empty())
        .expect("the request is valid");
    let mut router = served.router.clone();
    let response = Service::call(&mut router, request);
    let response = tokio::time::timeout(Duration::from_secs(5), response).await;
    let Ok(response) = response.expect("the response does not wait for the end of its body");
    let mut response: Response<HttpBody> = response;
    let first = response.body_mut().frame().await.expect("it has begun");
    let first = first.expect("it has begun").into_data();
    assert_eq!(first.expect("it is data"), "begun");
    assert_eq!(served.create("ann", "first").await.status, 409);
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn a_body_over_the_limit_is_rejected_if_the_request_has_a_key() {
    let served = Served::counting(memory().body_limit(4));
    let send = async |headers: &[(&str, &str)], body: &str| {
        served
            .send("/things/a", headers, body)
            .await
            .status
            .as_u16()
    };
    assert_eq!(send(&[ANN, FIRST], "12345").await, 413);
    assert_eq!(send(&[ANN, FIRST], "1234").await, 201);
    assert_eq!(send(&[ANN], "12345").await, 201);
    // The limit of the operation applies too.
    let config = Config::new().body_limit(3).idempotency(memory());
    let served = Served::new(config, |run| Box::pin(async move { super::created(run) }));
    assert_eq!(
        served.send("/things/a", &[ANN, FIRST], "1234").await.status,
        413
    );
    assert_eq!(served.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_response_is_forgotten_after_its_time() {
    let minute = Duration::from_secs(60);
    for (store, lifetime) in [
        (MemoryStore::new().lifetime(minute), minute),
        (MemoryStore::new(), 24 * 60 * minute),
    ] {
        let served = Served::counting(Idempotency::new(store));
        assert_eq!(served.create("ann", "k").await.run(), ("1", false));
        tokio::time::advance(lifetime.saturating_sub(Duration::from_millis(1))).await;
        assert_eq!(served.create("ann", "k").await.run(), ("1", true));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(served.create("ann", "k").await.run(), ("2", false));
        assert_eq!(served.create("ann", "k").await.run(), ("2", true));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_keeps_so_many_keys_of_one_caller_and_of_all() {
    let store = MemoryStore::new()
        .lifetime(Duration::from_secs(60))
        .keys(3, 2);
    let served = Served::counting(Idempotency::new(store));
    assert_eq!(served.create("ann", "1").await.run(), ("1", false));
    tokio::time::advance(Duration::from_millis(10_500)).await;
    assert_eq!(served.create("ann", "2").await.run(), ("2", false));
    let full = served.create("ann", "3").await;
    assert_eq!(
        (full.status.as_u16(), full.header("retry-after")),
        (429, "50")
    );
    // Another caller has room, and known keys need none.
    assert_eq!(served.create("bob", "1").await.run(), ("3", false));
    assert_eq!(served.create("ann", "1").await.run(), ("1", true));
    let full = served.create("bob", "2").await;
    assert_eq!(
        (full.status.as_u16(), full.header("retry-after")),
        (503, "50")
    );
    assert_eq!(served.runs(), 3);
    tokio::time::advance(Duration::from_millis(49_500)).await;
    assert_eq!(served.create("bob", "2").await.run(), ("4", false));
    assert_eq!(served.create("ann", "2").await.run(), ("2", true));
    assert_eq!(served.create("carl", "1").await.status, 503);
}

/// Pays, which needs no credentials, with an `Authorization` that nobody checks.
async fn pay(served: &Served, sent: &str) -> Received {
    let headers = [("authorization", sent), ("idempotency-key", "1")];
    served.send("/payments", &headers, "").await
}

#[tokio::test(start_paused = true)]
async fn callers_whose_credentials_nobody_checks_have_half_of_the_keys() {
    let store = MemoryStore::new()
        .lifetime(Duration::from_secs(60))
        .keys(4, 1);
    let served = Served::counting(Idempotency::new(store));
    assert_eq!(pay(&served, "a").await.run(), ("1", false));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(pay(&served, "b").await.run(), ("2", false));
    let full = pay(&served, "c").await;
    assert_eq!(
        (full.status.as_u16(), full.header("retry-after")),
        (503, "50")
    );
    // The other half is for callers who are known.
    assert_eq!(served.create("ann", "1").await.run(), ("3", false));
    assert_eq!(served.create("bob", "1").await.run(), ("4", false));
    assert_eq!(served.create("carl", "1").await.status, 503);
    assert_eq!(pay(&served, "a").await.run(), ("1", true));
    // A key that is forgotten makes room in their half.
    tokio::time::advance(Duration::from_secs(50)).await;
    assert_eq!(pay(&served, "c").await.run(), ("5", false));
    assert_eq!(pay(&served, "d").await.status, 503);
}

#[tokio::test]
async fn callers_whose_credentials_nobody_checks_have_half_of_the_places() {
    let (served, gate) = Served::waiting(memory().in_progress(2, 1));
    let paying = served.clone();
    let first = tokio::spawn(async move { pay(&paying, "a").await });
    served.running(1).await;
    let full = tokio::time::timeout(Duration::from_secs(5), pay(&served, "b")).await;
    assert_eq!(full.expect("its handler does not run").status, 503);
    let creating = served.clone();
    let known = tokio::spawn(async move { creating.create("ann", "1").await });
    served.running(2).await;
    gate.notify_waiters();
    for task in [first, known] {
        task.await.expect("it ends").run();
    }
    let paying = served.clone();
    let next = tokio::spawn(async move { pay(&paying, "b").await });
    served.running(3).await;
    gate.notify_waiters();
    assert_eq!(next.await.expect("it ends").run(), ("3", false));
}

#[tokio::test(start_paused = true)]
async fn expired_keys_make_room_however_many_they_are() {
    let store = MemoryStore::new()
        .lifetime(Duration::from_secs(60))
        .keys(40, 40);
    let served = Served::counting(Idempotency::new(store));
    for _ in 0..3 {
        for key in 0..40 {
            let key = key.to_string();
            assert!(!served.create("ann", &key).await.run().1, "{key}");
        }
        assert_eq!(served.create("ann", "more").await.status, 429);
        tokio::time::advance(Duration::from_secs(60)).await;
    }
    assert_eq!(served.runs(), 120);
}

#[tokio::test]
async fn so_many_requests_with_a_key_are_in_progress() {
    let (served, gate) = Served::waiting(memory().in_progress(2, 1));
    let begin = |caller: &'static str| {
        let begun = served.clone();
        tokio::spawn(async move { begun.create(caller, "1").await })
    };
    let rejected = async |caller: &str, key: &str| {
        let rejected = tokio::time::timeout(Duration::from_secs(5), served.create(caller, key));
        let rejected = rejected.await.expect("its handler does not run");
        (
            rejected.status.as_u16(),
            rejected.header("retry-after").to_owned(),
        )
    };
    let ann = begin("ann");
    served.running(1).await;
    assert_eq!(rejected("ann", "2").await, (429, "1".to_owned()));
    let bob = begin("bob");
    served.running(2).await;
    assert_eq!(rejected("carl", "1").await, (503, "1".to_owned()));
    gate.notify_waiters();
    for task in [ann, bob] {
        task.await.expect("it ends").run();
    }
    let carl = begin("carl");
    served.running(3).await;
    gate.notify_waiters();
    assert_eq!(carl.await.expect("it ends").run(), ("3", false));
}
