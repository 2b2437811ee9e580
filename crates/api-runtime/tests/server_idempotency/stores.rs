//! Stores of programs: what they see of a request, and what happens when they fail.

use std::sync::{Arc, Mutex};

use api_runtime::server::{
    Begun, Claim, Idempotency, IdempotencyStore, KeyedRequest, Outcome, StoreError,
};
use futures_util::future::BoxFuture;

use super::{ANN, FIRST, Served};

/// A store that fails at one step, and notes each call.
#[derive(Clone)]
struct Failing {
    at: &'static str,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Failing {
    fn new(at: &'static str) -> Self {
        Self {
            at,
            calls: Arc::default(),
        }
    }

    fn call(&self, step: &'static str, note: String) -> Result<(), StoreError> {
        self.calls.lock().expect("no test panics").push(note);
        if step == self.at {
            Err("the disk is gone".into())
        } else {
            Ok(())
        }
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().expect("no test panics"))
    }
}

impl IdempotencyStore for Failing {
    fn begin<'a>(&'a self, request: &'a KeyedRequest) -> BoxFuture<'a, Result<Begun, StoreError>> {
        Box::pin(async move {
            // What a store may log shows nothing of the request.
            assert_eq!(format!("{request:?}"), "KeyedRequest { .. }");
            self.call("begin", "begin".to_owned())?;
            Ok(Begun::Claimed(Claim(7)))
        })
    }

    fn finish<'a>(
        &'a self,
        _: &'a KeyedRequest,
        claim: Claim,
        outcome: Outcome,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.call("finish", format!("finish {claim:?} {outcome:?}")) })
    }

    fn abandon<'a>(
        &'a self,
        _: &'a KeyedRequest,
        claim: Claim,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.call("abandon", format!("abandon {claim:?}")) })
    }
}

const KEPT: &str = "finish Claim(7) Kept(KeptResponse { status: 201, .. })";

#[tokio::test]
async fn a_store_that_fails_does_not_let_a_request_be_done_twice() {
    let store = Failing::new("begin");
    let served = Served::counting(Idempotency::new(store.clone()));
    let rejected = served.create("ann", "k").await;
    assert_eq!(rejected.status, 503);
    assert_eq!(rejected.header("retry-after"), "1");
    assert!(!String::from_utf8_lossy(&rejected.body).contains("disk"));
    assert_eq!(
        (served.runs(), store.calls()),
        (0, vec!["begin".to_owned()])
    );

    // What was done is not taken back, because it could not be noted.
    let store = Failing::new("finish");
    let served = Served::counting(Idempotency::new(store.clone()));
    assert_eq!(served.create("ann", "k").await.run(), ("1", false));
    assert_eq!(store.calls(), ["begin", KEPT]);
}

#[tokio::test]
async fn a_store_hears_the_end_of_each_claim_once() {
    let store = Failing::new("abandon");
    let (served, gate) = Served::waiting(Idempotency::new(store.clone()));
    // A request that does not fit the contract claims no key.
    let wrong = [ANN, FIRST, ("x-team", "many")];
    assert_eq!(served.send("/things/a", &wrong, "").await.status, 400);
    assert_eq!(store.calls(), [""; 0]);
    gate.notify_one();
    served.create("ann", "k").await.run();
    assert_eq!(store.calls(), ["begin", KEPT]);
    let config = api_runtime::server::Config::new().idempotency(Idempotency::new(store.clone()));
    let served = Served::new(config, |_| Box::pin(async { panic!("the handler fails") }));
    assert_eq!(served.create("ann", "k").await.status, 500);
    assert_eq!(store.calls(), ["begin", "abandon Claim(7)"]);
}

#[tokio::test]
async fn requests_differ_in_what_a_store_finds_them_by() {
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<KeyedRequest>>>);

    impl IdempotencyStore for Seen {
        fn begin<'a>(
            &'a self,
            request: &'a KeyedRequest,
        ) -> BoxFuture<'a, Result<Begun, StoreError>> {
            self.0.lock().expect("no test panics").push(*request);
            Box::pin(async { Ok(Begun::Claimed(Claim(0))) })
        }

        fn finish<'a>(
            &'a self,
            _: &'a KeyedRequest,
            _: Claim,
            _: Outcome,
        ) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async { Ok(()) })
        }

        fn abandon<'a>(
            &'a self,
            _: &'a KeyedRequest,
            _: Claim,
        ) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async { Ok(()) })
        }
    }

    let seen = Seen::default();
    let served = Served::counting(Idempotency::new(seen.clone()));
    for (token, key) in [("ann", "1"), ("ann", "2"), ("bob", "1"), ("ann", "1")] {
        served.create(token, key).await.run();
    }
    let seen = seen.0.lock().expect("no test panics");
    let [one, two, other, again] = seen[..] else {
        panic!("each request asks once")
    };
    assert_eq!(one, again);
    assert!(one.scope == two.scope && one.id != two.id && one.digest == two.digest);
    assert!(one.scope != other.scope && one.id != other.id && one.digest == other.digest);
}
