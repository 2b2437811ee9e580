//! The mock of our contract, called by the generated client over HTTP, and without a socket.
#![allow(
    clippy::result_large_err,
    reason = "errors are the contract's responses"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use api_client::Error;
use api_client::prelude::*;
use api_mock::api_server::responses;
use api_mock::api_server::server::{AuthError, Config, RejectionKind};
use api_mock::api_server::vm::{VM_LIST, VmListError, VmListRequest, VmListResponse};
use api_mock::types::{self, VmPage};
use api_mock::{Credential, Mock, Sequence, Unmet};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tests::memory::{LOCATION, PROJECT};
use tests::seed;
use tower::ServiceExt as _;

/// Returns a page with this number of machines in all, and none of them on it.
fn page(count: i64) -> VmPage {
    serde_json::from_value(json!({"count": count, "items": []})).expect("it fits the schema")
}

/// Returns the contract's error with this status.
fn error(status: u16) -> types::Error {
    let kind = "ResourceNotFound";
    let body = json!({"error": {"code": status, "type": kind, "message": "not there"}});
    serde_json::from_value(body).expect("it fits the schema")
}

async fn client(mock: &Mock) -> Client {
    let url = mock.serve().await.expect("a port is free");
    let builder = Client::builder(url).bearer("token");
    builder.build().expect("the settings are valid")
}

/// Lists the machines in a location, and returns the count of the page or the status of the error.
async fn list(client: &Client, location: &str) -> Result<i64, u16> {
    let call = client.vm_list().project_id(PROJECT).location(location);
    match call.send().await {
        Ok(page) => Ok(page.count.get()),
        Err(error) => Err(error.status().expect("the mock responds").as_u16()),
    }
}

/// Returns what is wrong, without the folders and lines of this file.
fn complaint(unmet: &Unmet) -> String {
    let text = unmet.to_string();
    let lines = text.lines().map(|line| match line.split_once(" (") {
        Some((before, place)) if place.contains("expectations.rs:") => before.to_owned(),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn unmet(mock: &Mock) -> String {
    complaint(&mock.check().expect_err("something is not as expected"))
}

#[tokio::test]
async fn an_expectation_is_the_response_to_the_client() {
    let mock = Mock::new();
    let expected = mock.vm_list().respond(page(7));
    let client = client(&mock).await;
    assert_eq!(list(&client, LOCATION).await, Ok(7));
    assert_eq!(list(&client, LOCATION).await, Ok(7));
    assert_eq!(expected.received(), 2);
    let received = mock.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].operation().map(|it| it.id), Some("vm_list"));
    assert!(received[0].request().contains(LOCATION), "{received:?}");
    assert_eq!(received[0].unmet(), None);
    mock.verify();
}

#[tokio::test]
async fn every_operation_without_an_expectation_is_501_in_the_contracts_error() {
    let mock = Mock::new();
    mock.allow_unexpected();
    let mut schema = seed::contract();
    schema["$ref"] = json!("#/components/schemas/Error");
    let validator = jsonschema::draft202012::new(&schema).expect("the contract is valid");
    let client = client(&mock).await;
    let error = client.vm_list().project_id(PROJECT).location(LOCATION);
    let error: Error<_> = error.send().await.expect_err("nothing is expected");
    assert_eq!(error.status().map(|it| it.as_u16()), Some(501));
    let response = mock
        .router()
        .oneshot(get(LOCATION))
        .await
        .expect("it responds");
    assert_eq!(response.status(), 501);
    let body = body(response).await;
    assert!(validator.is_valid(&body), "{body}");
    assert_eq!(body["error"]["code"], 501);
    let message = "the mock has no expectation that accepts this request";
    assert_eq!(body["error"]["message"], message);
    assert_eq!(mock.received().len(), 2);
    mock.verify();
}

/// Returns a request for the machines in a location.
fn get(location: &str) -> Request<Body> {
    let path = format!("/project/{PROJECT}/location/{location}/vm");
    let request = Request::get(path).header("authorization", "Bearer token");
    request.body(Body::empty()).expect("it is a request")
}

async fn body(response: axum::response::Response) -> Value {
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await;
    serde_json::from_slice(&bytes.expect("the body arrives")).expect("it is JSON")
}

#[tokio::test]
async fn no_socket_is_needed() {
    let mock = Mock::new();
    mock.vm_list().times(1).respond(page(3));
    let response = mock
        .router()
        .oneshot(get(LOCATION))
        .await
        .expect("it responds");
    assert_eq!(response.status(), 200);
    assert_eq!(body(response).await, json!({"count": 3, "items": []}));
}

#[tokio::test]
async fn the_first_expectation_that_accepts_a_request_and_has_room_responds() {
    let mock = Mock::new();
    let elsewhere = |request: &VmListRequest| request.location.as_str() != LOCATION;
    mock.vm_list().when(elsewhere).respond(page(1));
    mock.vm_list()
        .times(1)
        .fail(responses::NotFound::new(error(404)));
    mock.vm_list().times(..=2).respond(page(2));
    mock.vm_list()
        .respond_with(|request| match request.page_size.get() {
            10 => Ok(page(3).into()),
            _ => Err(responses::NotFound::new(error(404)).into()),
        });
    let client = client(&mock).await;
    let mut seen = Vec::new();
    for location in [
        LOCATION,
        "elsewhere",
        LOCATION,
        LOCATION,
        LOCATION,
        "elsewhere",
    ] {
        seen.push(list(&client, location).await);
    }
    assert_eq!(seen, [Err(404), Ok(1), Ok(2), Ok(2), Ok(3), Ok(1)]);
}

#[tokio::test]
async fn a_sequence_puts_expectations_of_several_operations_in_order() {
    let mock = Mock::new();
    let order = Sequence::new();
    mock.vm_list().in_sequence(&order).respond(page(1));
    let listed = mock.firewall_list().in_sequence(&order);
    listed
        .at_least(1)
        .fail(responses::NotFound::new(error(404)));
    mock.vm_list().in_sequence(&order).respond(page(2));
    let client = client(&mock).await;
    let firewalls = || {
        client
            .firewall_list()
            .project_id(PROJECT)
            .location(LOCATION)
    };
    let status = |error: Error<_>| error.status().map(|it| it.as_u16());

    // Not yet its turn.
    assert_eq!(
        firewalls().send().await.map_err(status).err(),
        Some(Some(501))
    );
    assert_eq!(list(&client, LOCATION).await, Ok(1));
    assert_eq!(list(&client, LOCATION).await, Err(501));
    assert_eq!(
        firewalls().send().await.map_err(status).err(),
        Some(Some(404))
    );
    assert_eq!(
        firewalls().send().await.map_err(status).err(),
        Some(Some(404))
    );
    assert_eq!(list(&client, LOCATION).await, Ok(2));
    // No longer its turn.
    assert_eq!(
        firewalls().send().await.map_err(status).err(),
        Some(Some(501))
    );
    let complaint = unmet(&mock);
    assert_eq!(
        complaint.matches("not its turn in the sequence").count(),
        3,
        "{complaint}"
    );
    mock.allow_unexpected();
}

#[tokio::test]
async fn the_verification_says_what_was_expected_and_what_was_received() {
    let mock = Mock::new();
    mock.vm_list().times(2).respond(page(0));
    mock.vm_view()
        .when(|_| false)
        .at_least(1)
        .respond_with(|_| unreachable!());
    mock.firewall_view()
        .times(2..=3)
        .respond_with(|_| unreachable!());
    mock.firewall_list().never();
    let client = client(&mock).await;
    assert_eq!(list(&client, LOCATION).await, Ok(0));
    let view = client.vm_view().project_id(PROJECT).location(LOCATION);
    view.vm_reference("web")
        .send()
        .await
        .expect_err("no check accepts it");
    let firewalls = client
        .firewall_list()
        .project_id(PROJECT)
        .location(LOCATION);
    firewalls.send().await.expect_err("it is never expected");
    // A caller of another kind, who makes mistakes.
    for path in ["/nowhere", "/project/x/location/l/vm?page_size=none"] {
        let request = Request::get(path).header("authorization", "Bearer token");
        let request = request.body(Body::empty()).expect("it is a request");
        mock.router().oneshot(request).await.expect("it responds");
    }
    insta::assert_snapshot!(unmet(&mock));
    mock.allow_unexpected();
    assert_eq!(unmet(&mock).lines().count(), 5);
    // The test would fail here.
    let panic = catch_unwind(AssertUnwindSafe(|| mock.verify())).expect_err("it panics");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(
        message.contains("vm_list: expected 2 times, received once ("),
        "{message}"
    );
    assert!(message.contains("expectations.rs:"), "{message}");
}

#[tokio::test]
async fn dropping_a_mock_verifies_it_unless_the_test_fails_already() {
    let unmet = || {
        let mock = Mock::new();
        mock.vm_list().times(1).respond(page(0));
        mock
    };
    let dropped = catch_unwind(|| drop(unmet())).expect_err("it panics");
    let message = dropped.downcast_ref::<String>().expect("a message");
    assert!(
        message.contains("vm_list: expected once, received 0 times"),
        "{message}"
    );
    // A second panic would end the process.
    let failed = catch_unwind(|| {
        let _mock = unmet();
        panic!("the test fails");
    });
    let message = failed.expect_err("it panics");
    assert_eq!(message.downcast_ref::<&str>(), Some(&"the test fails"));
    // Reported once.
    let mock = unmet();
    let reported = catch_unwind(AssertUnwindSafe(|| mock.verify()));
    assert!(reported.is_err());
    drop(mock);
}

#[tokio::test]
async fn requests_are_checked_as_by_the_generated_server() {
    let mock = Mock::new();
    mock.vm_list().respond(page(0));
    let send = |path: &str, token: Option<&str>| {
        let mut request = Request::get(path);
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        mock.router()
            .oneshot(request.body(Body::empty()).expect("it is a request"))
    };
    let path = format!("/project/{PROJECT}/location/{LOCATION}/vm");
    let good = Some("Bearer any");
    for (path, token, status) in [
        (path.clone(), good, 200),
        (path.clone(), None, 401),
        (path.clone(), Some("Basic any"), 401),
        (format!("{path}?page_size=0"), good, 400),
        ("/nowhere".to_owned(), good, 404),
    ] {
        let response = send(&path, token).await.expect("it responds");
        assert_eq!(response.status(), status, "{path} {token:?}");
    }
    let unmet: Vec<_> = mock
        .received()
        .iter()
        .filter_map(|it| it.unmet().map(str::to_owned))
        .collect();
    assert_eq!(unmet.len(), 4, "{unmet:?}");
    assert!(unmet[2].contains("page_size must"), "{unmet:?}");

    // What the test says about credentials is no surprise.
    let strict = Mock::new();
    strict.check_credentials(|credentials, operation| match credentials {
        [Credential::Bearer(bearer)] if bearer.token == "good" => Ok(()),
        [Credential::Bearer(_)] if operation.id == VM_LIST.id => {
            Err(AuthError::Forbidden("not yours".to_owned()))
        }
        _ => Err(AuthError::Invalid),
    });
    strict.vm_list().times(1).respond(page(0));
    for (token, status) in [("Bearer good", 200), ("Bearer bad", 403)] {
        let mut request = get(LOCATION);
        let token = token.parse().expect("it is a header");
        request.headers_mut().insert("authorization", token);
        let response = strict.router().oneshot(request).await.expect("it responds");
        assert_eq!(response.status(), status);
    }
    strict.verify();
    mock.allow_unexpected();
}

#[tokio::test]
async fn a_check_that_panics_is_a_500_and_fails_the_verification() {
    let mock = Mock::new();
    mock.vm_list().respond_with(|request| {
        assert_eq!(request.page_size.get(), 5, "the test asks for five");
        Ok(page(0).into())
    });
    let client = client(&mock).await;
    assert_eq!(list(&client, LOCATION).await, Err(500));
    let five = client
        .vm_list()
        .project_id(PROJECT)
        .location(LOCATION)
        .page_size(5);
    assert!(five.send().await.is_ok());
    let complaint = unmet(&mock);
    assert!(
        complaint.contains("vm_list: rejected with 500: a function of the test panicked"),
        "{complaint}"
    );
    mock.allow_unexpected();
}

#[tokio::test]
async fn a_response_can_wait_for_the_test_or_for_a_time() {
    let mock = Mock::new();
    let told = Arc::new(tokio::sync::Notify::new());
    let waiting = Arc::clone(&told);
    mock.vm_list().times(1).respond_async(move |_| {
        let waiting = Arc::clone(&waiting);
        async move {
            waiting.notified().await;
            Ok::<VmListResponse, VmListError>(page(1).into())
        }
    });
    mock.vm_list()
        .delay(Duration::from_secs(600))
        .respond(page(2));
    let client = client(&mock).await;
    let (first, ()) = tokio::join!(list(&client, LOCATION), async { told.notify_one() });
    assert_eq!(first, Ok(1));
    let late = client.with_timeout(Duration::from_millis(50));
    let late = late
        .vm_list()
        .project_id(PROJECT)
        .location(LOCATION)
        .send()
        .await;
    assert!(late.expect_err("the client does not wait").is_timeout());
}

#[tokio::test]
async fn the_server_ends_with_the_mock() {
    let mock = Mock::new();
    mock.vm_list().respond(page(0));
    let client = client(&mock).await;
    assert_eq!(list(&client, LOCATION).await, Ok(0));
    drop(mock);
    // The listener is closed by a task, which may run later.
    loop {
        let call = client.vm_list().project_id(PROJECT).location(LOCATION);
        match call.send().await {
            Err(error) if error.status().is_none() => break,
            _ => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn rejections_can_have_the_body_of_ones_own_server() {
    let mock = Mock::with_errors(stratusd::api::ContractErrors);
    mock.allow_unexpected();
    let request = Request::get("/nowhere")
        .body(Body::empty())
        .expect("it is a request");
    let response = mock.router_with(Config::new().without_contract());
    let response = response.oneshot(request).await.expect("it responds");
    assert_eq!(
        response.status(),
        RejectionKind::MissingCredentials.status()
    );
    assert_eq!(body(response).await["error"]["type"], "MissingCredentials");
}

#[tokio::test]
async fn a_caller_cannot_make_the_mock_remember_more_than_its_bound() {
    let mock = Mock::new();
    mock.vm_list().respond(page(0));
    let router = mock.router();
    for _ in 0..1_000 {
        router
            .clone()
            .oneshot(get(LOCATION))
            .await
            .expect("it responds");
    }
    mock.verify();
    for _ in 0..3 {
        let request = Request::get("/nowhere")
            .body(Body::empty())
            .expect("it is a request");
        router.clone().oneshot(request).await.expect("it responds");
    }
    assert_eq!(mock.received().len(), 1_000);
    assert!(unmet(&mock).contains("and 3 more"), "{}", unmet(&mock));
    mock.allow_unexpected();

    let long = Mock::new();
    long.vm_list().respond(page(0));
    let mut request = get(LOCATION);
    let name = "%C3%A4".repeat(1024);
    let path = format!("{}?start_after={name}", request.uri().path());
    *request.uri_mut() = path.parse().expect("it is a path");
    let response = long.router().oneshot(request).await.expect("it responds");
    assert_eq!(response.status(), 200);
    let text = long.received()[0].request().to_owned();
    assert!(
        text.ends_with("ä…") && text.len() <= (2 << 10) + "…".len(),
        "{text}"
    );
}
