//! Responses that do not fit the contract, read leniently by the generated client, and the examples
//! of public documents.

use std::collections::BTreeMap;
use std::fs;

use api_client::prelude::*;
use api_client::types::{LoadBalancerSummary, Name};
use api_client::{Error, Lenient};
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tests::examples::{self, Examples};
use tests::memory::{LOCATION, PROJECT, TOKEN};
use tests::outside;

/// Returns a load balancer of a list, with another value in place of one of its properties.
fn summary(number: usize, property: &str, value: Value) -> Value {
    let mut summary = json!({
        "algorithm": "round_robin",
        "dst_port": 8080,
        "health_check_endpoint": "/up",
        "health_check_protocol": "http",
        "hostname": "web.12345.lb.example.com",
        "id": format!("1b{number:024}"),
        "location": LOCATION,
        "name": format!("web-{number}"),
        "src_port": 443,
    });
    summary[property] = value;
    summary
}

/// Returns a page of ten load balancers after the given one, of which the third does not fit. After
/// the second page, there are no more.
async fn page(Query(query): Query<BTreeMap<String, String>>) -> Response {
    let first = match query.get("start_after").map(String::as_str) {
        None => 0,
        Some("1b000000000000000000000009") => 10,
        Some(_) => 20,
    };
    let items = (first..(first + 10).min(20)).map(|number| match number % 10 {
        2 => summary(number, "src_port", json!("https")),
        _ => summary(number, "new", json!({"z": 1, "a": 2})),
    });
    let items: Vec<Value> = items.collect();
    json_body(StatusCode::OK, &json!({"count": "many", "items": items}))
}

fn json_body(status: StatusCode, body: &Value) -> Response {
    let media = [("content-type", "application/json")];
    (status, media, body.to_string()).into_response()
}

/// Serves a path of lists by hand, and returns a client.
async fn client(route: axum::routing::MethodRouter) -> Client {
    let router = axum::Router::new().route("/project/{project}/load-balancer", route);
    let url = tests::served::serve(router).await;
    let builder = Client::builder(url).bearer(TOKEN);
    builder.build().expect("the settings are valid")
}

#[tokio::test]
async fn one_bad_item_never_costs_the_page() {
    let client = client(axum::routing::get(page)).await;
    let list = || client.project_load_balancer_list().project_id(PROJECT);
    let strict = list()
        .send()
        .await
        .expect_err("the third item does not fit");
    let page = list().send().lenient().await.expect("a success");
    let misfit = page.get().expect_err("the third item does not fit");
    assert_eq!(
        strict
            .to_string()
            .split_once(" of `")
            .map(|(_, end)| end.split(" at ").next()),
        Some(Some(
            "project_load_balancer_list` does not fit the contract"
        )),
        "{strict}"
    );
    assert_eq!(misfit.operation(), Some("project_load_balancer_list"));
    let found = page.violations().iter().map(ToString::to_string);
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            "/count: must be an integer of 64 bits",
            "/items/2/src_port: must be an integer of 32 bits"
        ]
    );
    let items: Vec<Lenient<LoadBalancerSummary>> =
        page.items("/items").expect("an array").collect();
    assert_eq!(items.len(), 10);
    assert_eq!(items.iter().filter(|item| item.get().is_ok()).count(), 9);
    let third = &items[2];
    assert_eq!(
        third.get().expect_err("it does not fit").pointer(),
        "/items/2/src_port"
    );
    assert_eq!(
        third.field::<Name>("/name").expect("it fits").as_str(),
        "web-2"
    );
    let new = &items[3].raw().expect("it is JSON")["new"];
    assert_eq!(new.to_string(), r#"{"z":1,"a":2}"#);
    assert!(page.partial().is_none(), "the count is required");
}

#[tokio::test]
async fn a_stream_of_items_goes_on_after_one_that_does_not_fit() {
    let client = client(axum::routing::get(page)).await;
    let list = || client.project_load_balancer_list().project_id(PROJECT);
    let mut strict = list().stream();
    let error = strict
        .next()
        .await
        .expect("an item")
        .expect_err("the page does not fit");
    assert!(matches!(error, Error::InvalidResponse(_)), "{error}");
    assert!(strict.next().await.is_none(), "an error ends the stream");
    let items: Vec<Lenient<LoadBalancerSummary>> = list()
        .stream()
        .lenient()
        .try_collect()
        .await
        .expect("both pages are read");
    let ids = items
        .iter()
        .map(|item| item.field::<String>("/id").expect("every item has an id"));
    let expected = (0..20).map(|number| format!("1b{number:024}"));
    assert_eq!(ids.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let bad = (0..20).filter(|at| items[*at].get().is_err());
    assert_eq!(bad.collect::<Vec<_>>(), [2, 12]);
}

#[tokio::test]
async fn a_stream_of_items_ends_with_what_is_no_page() {
    for (status, body) in [
        (StatusCode::OK, json!({"count": 1})),
        (StatusCode::OK, json!("items")),
        (StatusCode::BAD_REQUEST, json!({"items": [1]})),
    ] {
        let route = axum::routing::get(move || async move { json_body(status, &body) });
        let client = client(route).await;
        let list = client.project_load_balancer_list().project_id(PROJECT);
        let items: Vec<_> = list.stream().lenient().collect().await;
        assert_eq!(items.len(), 1);
        let error = items[0].as_ref().expect_err("there is no item");
        assert_eq!(error.status(), Some(status));
        // An error that the contract lists is one, whether its body fits or not.
        let is_listed = status == StatusCode::BAD_REQUEST;
        assert_eq!(
            matches!(error, Error::ErrorResponse(_)),
            is_listed,
            "{error}"
        );
        if let Some(body) = error.body() {
            assert!(body.get().is_err());
            assert_eq!(body.raw(), Some(&json!({"items": [1]})));
        }
    }
}

#[tokio::test]
async fn the_search_for_violations_is_bounded() {
    // The first fits into memory many times over, the second is too large for a search.
    for (length, least, most) in [(150, 101, 101), (70_000, 2, 2)] {
        let items: Vec<Value> = (0..length)
            .map(|number| summary(number, "src_port", json!(0)))
            .collect();
        let body = json!({"count": length, "items": items});
        let route = axum::routing::get(move || async move { json_body(StatusCode::OK, &body) });
        let client = client(route).await;
        let list = client.project_load_balancer_list().project_id(PROJECT);
        let page = list.send().lenient().await.expect("a success");
        let found = page.violations();
        assert!((least..=most).contains(&found.len()), "{}", found.len());
        let last = found.last().expect("there is one");
        assert_eq!(last.message, "may break more rules than these");
        assert!(page.partial().is_none());
    }
}

/// Returns the example, followed by its variants in which one part is another value.
fn variants(example: &Value) -> Vec<Value> {
    let mut pointers = vec![String::new()];
    let mut at = 0;
    while let Some(pointer) = pointers.get(at).cloned() {
        let keys: Vec<String> = match example.pointer(&pointer) {
            Some(Value::Object(entries)) => entries.keys().cloned().collect(),
            Some(Value::Array(items)) => (0..items.len()).map(|at| at.to_string()).collect(),
            _ => Vec::new(),
        };
        let escape = |key: &String| key.replace('~', "~0").replace('/', "~1");
        pointers.extend(keys.iter().map(|key| format!("{pointer}/{}", escape(key))));
        at += 1;
    }
    let mut variants = vec![example.clone()];
    for pointer in pointers {
        for other in [json!(null), json!("…"), json!(-1.5), json!([[]])] {
            let mut variant = example.clone();
            let part = variant.pointer_mut(&pointer);
            *part.expect("the example has the part") = other;
            variants.push(variant);
        }
    }
    variants
}

#[test]
fn every_example_of_a_public_document_is_read() {
    let Some(folder) = outside::folder("STRATUS_CORPUS") else {
        return;
    };
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|file| file.extension().is_some_and(|extension| extension != "md"))
        .collect();
    files.sort();
    let options = contract::Options {
        foreign: true,
        ..contract::Options::default()
    };
    let (mut total, mut seeded) = (Examples::default(), Examples::default());
    for file in files {
        let Some(contract) = contract::load_with(&file, &options).contract else {
            continue;
        };
        let name = file.file_name().unwrap_or_default().display();
        let (count, changed) =
            examples::read(&contract, variants).unwrap_or_else(|place| panic!("{name}: {place}"));
        if count.all > 0 {
            println!("{name}: {count}");
        }
        total += count;
        seeded += changed;
    }
    println!("{total}, and {seeded} with one part changed");
    assert!(total.all > 0 && seeded.misfits > 0, "{total} {seeded}");
}
