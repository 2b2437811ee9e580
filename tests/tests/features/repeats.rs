//! Idempotency keys: a request that is sent again gets the response to the first one.

use std::sync::atomic::{AtomicI32, Ordering};

use features_client::prelude::*;
use features_server::repeats::{
    OrderCreateCreated, OrderCreateError, OrderCreateRequest, OrderCreateResponse,
    PaymentCreateError, PaymentCreateRequest, PaymentCreateResponse, RepeatsApi,
};
use features_server::server::{Config, Idempotency, MemoryStore, Problem};

/// The number of orders that were made.
static ORDERS: AtomicI32 = AtomicI32::new(0);
/// The number of payments that were tried.
static PAYMENTS: AtomicI32 = AtomicI32::new(0);

impl RepeatsApi<String> for crate::Features {
    async fn order_create(
        &self,
        account: String,
        request: OrderCreateRequest,
    ) -> Result<OrderCreateResponse, OrderCreateError> {
        let number = ORDERS.fetch_add(1, Ordering::Relaxed) + 1;
        let place = format!("/orders/{}/{account}", request.name);
        Ok(OrderCreateCreated::new(number, place).into())
    }

    async fn payment_create(
        &self,
        _: PaymentCreateRequest,
    ) -> Result<PaymentCreateResponse, PaymentCreateError> {
        match PAYMENTS.fetch_add(1, Ordering::Relaxed) {
            0 => Err(PaymentCreateError::PaymentRequired),
            1 => panic!("the bank is closed"),
            _ => Ok(PaymentCreateResponse::NoContent),
        }
    }
}

/// What a caller sees: status, whether the response is that to an earlier request, and the rest of
/// the headers with the body.
type Seen = (u16, bool, Vec<(String, String)>, String);

async fn post(url: &str, token: &str, key: &str, body: &str) -> Seen {
    let call = reqwest::Client::new().post(url).bearer_auth(token);
    let call = call.header("idempotency-key", key).header("content-type", "application/json");
    let response = call.body(body.to_owned()).send().await.expect("a response");
    let mut headers = response.headers().clone();
    let is_replayed = headers.remove("idempotency-replayed").is_some();
    headers.remove("date");
    headers.remove("x-request-id").expect("each response has an id");
    let headers = headers.iter().map(|(name, value)| {
        (name.to_string(), value.to_str().expect("a text").to_owned())
    });
    let (status, headers) = (response.status().as_u16(), headers.collect());
    (status, is_replayed, headers, response.text().await.expect("a text"))
}

pub async fn check(_: &Client, plain: &str) {
    let idempotency = Idempotency::new(MemoryStore::new());
    let router = features_server::router(
        crate::Features,
        crate::Credentials,
        Problem,
        Config::default().idempotency(idempotency),
    );
    let url = crate::served(router).await;
    let orders = format!("{url}/orders/a");
    let one = r#"{"count":1}"#;

    // A request that does not fit the contract claims no key.
    assert_eq!(post(&orders, "ann.1", "k1", r#"{"count":"1"}"#).await.0, 400);
    let first = post(&orders, "ann.1", "k1", one).await;
    assert_eq!((first.0, first.1, first.3.as_str()), (201, false, "1"));
    // The token is renewed, the account is the same.
    let again = post(&orders, "ann.2", "k1", one).await;
    assert_eq!(again, (first.0, true, first.2, first.3));
    assert!(again.2.contains(&("location".to_owned(), "/orders/a/ann".to_owned())));
    for (path, body) in [("a", r#"{"count":2}"#), ("a", ""), ("b", one)] {
        let seen = post(&format!("{url}/orders/{path}"), "ann.1", "k1", body).await;
        assert_eq!((seen.0, seen.1), (409, false), "{path} {body}");
    }
    let other = post(&orders, "bob.1", "k1", one).await;
    assert_eq!((other.0, other.1, other.3.as_str()), (201, false, "2"));
    assert_eq!(post(&orders, "", "k1", one).await.0, 401);
    // Without the switch, the key is for the handler alone.
    for number in ["3", "4"] {
        let seen = post(&format!("{plain}/orders/a"), "ann.1", "k1", one).await;
        assert_eq!((seen.1, seen.3.as_str()), (false, number));
    }

    let payments = format!("{url}/payments");
    for status in [402, 500, 204, 204] {
        assert_eq!(post(&payments, "", "k1", "5").await.0, status);
    }
    assert_eq!(PAYMENTS.load(Ordering::Relaxed), 3);
    assert_eq!(post(&payments, "", "k1", "6").await.0, 422);

    // A client with retries makes a key for each call, unless it is given one.
    let client = Client::builder(&url).account("ann.3").retries(features_client::Retries::new(1));
    let client = client.build().expect("the URL is valid");
    let order = async |key: Option<&str>| {
        let mut call = client.order_create().name("c");
        if let Some(key) = key {
            call = call.idempotency_key(key);
        }
        call.send().await.expect("a success").into_inner()
    };
    assert_eq!([order(None).await, order(None).await], [5, 6]);
    assert_eq!([order(Some("k2")).await, order(Some("k2")).await], [7, 7]);
}
