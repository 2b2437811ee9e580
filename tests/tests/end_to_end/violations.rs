//! Requests that violate the contract, and what their responses say.

use std::collections::BTreeMap;

use api_server::server::Config;
use reqwest::header::{ALLOW, WWW_AUTHENTICATE};
use serde_json::{Value, json};
use tests::memory::{LOCATION, PROJECT, TOKEN};
use tests::{seed, served};

use super::{http, operations, raw};

#[tokio::test]
async fn what_violates_the_contract_is_rejected_in_its_own_words() {
    let base = served::memory(seed::state(3), Config::default().body_limit(4096)).await;
    let http = http();
    for operation in operations() {
        let url = format!("{base}{}", operation.path);
        let context = &operation.id;
        let bare = || {
            http.request(operation.method.clone(), &url)
                .header("content-type", "application/json")
        };
        let good = || bare().bearer_auth(TOKEN);

        let (status, headers, body) = raw(bare()).await;
        assert_eq!(
            (status.as_u16(), &body["error"]["type"]),
            (401, &json!("MissingCredentials")),
            "{context}"
        );
        assert_eq!(headers[WWW_AUTHENTICATE], "Bearer", "{context}");
        let (status, headers, body) = raw(bare().bearer_auth("nobody")).await;
        assert_eq!(
            (status.as_u16(), &body["error"]["type"]),
            (401, &json!("InvalidCredentials")),
            "{context}"
        );
        assert_eq!(headers[WWW_AUTHENTICATE], "Bearer", "{context}");
        // Credentials are checked first: an anonymous caller does not learn which methods a path
        // has.
        let (status, ..) = raw(http.put(&url)).await;
        assert_eq!(status.as_u16(), 401, "{context}");
        let (status, headers, body) = raw(http.put(&url).bearer_auth(TOKEN)).await;
        assert_eq!(
            (status.as_u16(), &body["error"]["type"]),
            (405, &json!("MethodNotAllowed")),
            "{context}"
        );
        let allow = headers[ALLOW].to_str().expect("`allow` is text");
        assert!(
            allow
                .split(", ")
                .any(|allowed| allowed == operation.method.as_str()),
            "{context}: {allow}"
        );

        let wrong = http.request(operation.method.clone(), url.replace(PROJECT, "nobody"));
        let (status, _, body) = raw(wrong
            .bearer_auth(TOKEN)
            .header("content-type", "application/json")
            .body("{"))
        .await;
        assert_eq!(
            (status.as_u16(), &body["error"]["type"]),
            (400, &json!("BadRequest")),
            "{context}"
        );
        assert!(
            body["error"]["details"]["project_id"].is_string(),
            "{context}: {body}"
        );

        if operation.has_body {
            let text = http
                .request(operation.method.clone(), &url)
                .bearer_auth(TOKEN);
            let (status, _, body) = raw(text.header("content-type", "text/plain").body("{}")).await;
            assert_eq!(
                (status.as_u16(), &body["error"]["type"]),
                (415, &json!("UnsupportedMediaType")),
                "{context}"
            );
            let (status, _, body) =
                raw(good().body(format!("{{\"a\":\"{}\"}}", "a".repeat(4096)))).await;
            assert_eq!(
                (status.as_u16(), &body["error"]["type"]),
                (413, &json!("PayloadTooLarge")),
                "{context}"
            );
            for wrong in [
                "[]",
                "{",
                "{\"a\":1,\"a\":2}",
                "null",
                "{\"\\ud800\":1}",
                "{} {}",
            ] {
                let (status, _, body) = raw(good().body(wrong)).await;
                assert_eq!(
                    (status.as_u16(), &body["error"]["type"]),
                    (400, &json!("BadRequest")),
                    "{context} {wrong}"
                );
            }
        }
    }
    let (status, _, body) = raw(http.get(format!("{base}/nowhere")).bearer_auth(TOKEN)).await;
    assert_eq!(
        (status.as_u16(), &body["error"]["type"]),
        (404, &json!("ResourceNotFound"))
    );
    let (status, ..) = raw(http.get(format!("{base}/nowhere"))).await;
    assert_eq!(status.as_u16(), 401);
}

#[tokio::test]
async fn all_violations_of_a_body_are_reported_at_once() {
    let base = served::memory(seed::state(0), Config::default()).await;
    let url = format!("{base}/project/{PROJECT}/location/{LOCATION}/load-balancer/web");
    let body = json!({
        "algorithm": "fastest",
        "dst_port": 65536,
        "health_check_endpoint": " ",
        "vms": ["vm1", 2, null],
        "cert_enabled": null,
        "colour": "green",
    });
    let (status, _, response) = raw(http().patch(url).bearer_auth(TOKEN).json(&body)).await;
    assert_eq!(status.as_u16(), 400);
    let details = response["error"]["details"]
        .as_object()
        .expect("the error has details");
    let pointers: BTreeMap<&str, Vec<&str>> = details
        .iter()
        .map(|(field, words)| {
            let words: Vec<&str> = match words {
                Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
                words => words.as_str().into_iter().collect(),
            };
            (field.as_str(), words)
        })
        .collect();
    let expected = BTreeMap::from([
        (
            "algorithm",
            vec!["must be one of \"round_robin\", \"hash_based\""],
        ),
        ("colour", vec!["is not a known property"]),
        ("dst_port", vec!["must be at most 65535"]),
        (
            "health_check_endpoint",
            vec![
                "must be the path or URL of a health check: 1 to 2048 characters, not only white space",
            ],
        ),
        ("src_port", vec!["is required"]),
        (
            "vms",
            vec!["vms[1]: must be a string", "vms[2]: must be a string"],
        ),
    ]);
    assert_eq!(pointers, expected, "{response}");
    assert_eq!(
        details["health_check_endpoint"],
        "must be the path or URL of a health check: 1 to 2048 characters, not only white space",
        "the message says the rule without a regular expression"
    );
}

#[tokio::test]
async fn each_property_of_a_body_that_may_have_none_is_reported() {
    let base = served::memory(seed::state(0), Config::default()).await;
    let url = format!("{base}/project/{PROJECT}/inference-api-key");
    let body = json!({ "first": 1, "second": { "third": null } });
    let (status, _, response) = raw(http().post(url).bearer_auth(TOKEN).json(&body)).await;
    assert_eq!(status.as_u16(), 400);
    let details = response["error"]["details"]
        .as_object()
        .expect("the error has details");
    assert_eq!(
        details.keys().collect::<Vec<_>>(),
        ["first", "second"],
        "{response}"
    );
}

#[tokio::test]
async fn parameters_are_read_with_their_defaults_and_all_reported() {
    let base = served::memory(seed::state(25), Config::default()).await;
    let url = format!("{base}/project/{PROJECT}/location/{LOCATION}/vm");
    let http = http();
    let get = |query: &str| http.get(format!("{url}{query}")).bearer_auth(TOKEN);
    let (_, _, body) = raw(get("")).await;
    assert_eq!(
        (body["items"].as_array().map(Vec::len), &body["count"]),
        (Some(10), &json!(25))
    );
    let (_, _, body) = raw(get(
        "?page_size=3&order_column=name&start_after=app-1&colour=green",
    ))
    .await;
    assert_eq!(body["items"][0]["name"], "app-10");
    let (status, _, body) = raw(get("?page_size=0&page_size=1")).await;
    assert_eq!(status.as_u16(), 400, "{body}");
    let (status, _, body) = raw(get("?page_size=ten")).await;
    assert_eq!(status.as_u16(), 400);
    assert!(body["error"]["details"]["page_size"].is_string(), "{body}");
    let wrong = format!(
        "{base}/project/1/location/{LOCATION}/vm?page_size=-1&start_after={}",
        "a".repeat(1025)
    );
    let (_, _, body) = raw(http.get(wrong).bearer_auth(TOKEN)).await;
    let named: Vec<&String> = body["error"]["details"]
        .as_object()
        .expect("the error has details")
        .keys()
        .collect();
    assert_eq!(named, ["page_size", "project_id", "start_after"], "{body}");
}
