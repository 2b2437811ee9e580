//! The generated client against the generated server, over a real socket.

#[path = "end_to_end/calls.rs"]
mod calls;
#[path = "end_to_end/refusals.rs"]
mod refusals;
#[path = "end_to_end/violations.rs"]
mod violations;

use std::convert::Infallible;
use std::time::Duration;

use api_client::prelude::*;
use api_client::{Error, SecretSource, reqwest};
use api_server::server::Config;
use api_types::{ErrorType, HealthCheckEndpoint, PostgresState};
use axum::routing::get;
use calls::{Call, READS_LENIENTLY, calls, client};
use futures_util::TryStreamExt;
use reqwest::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tests::memory::{ContractErrors, Gate, LOCATION, Memory, PROJECT, State, TOKEN};
use tests::{seed, served};

/// What the tests need of an operation of the contract.
struct Operation {
    id: String,
    method: Method,
    path: String,
    /// The statuses that a handler can return: the router itself makes rejections.
    statuses: Vec<u16>,
    has_body: bool,
}

fn operations() -> Vec<Operation> {
    let contract = seed::contract();
    let mut operations = Vec::new();
    for (path, item) in contract["paths"].as_object().expect("paths are an object") {
        for (method, operation) in item.as_object().expect("a path is an object") {
            let Some(id) = operation["operationId"].as_str() else {
                continue;
            };
            let is_rejection = |response: &Value| {
                let pointer = response["$ref"].as_str().map(|uri| &uri["#".len()..]);
                let component = pointer.and_then(|pointer| contract.pointer(pointer));
                component.is_some_and(|component| component["x-rejection"] == true)
            };
            let statuses = operation["responses"]
                .as_object()
                .expect("responses are an object")
                .iter()
                .filter(|(_, response)| !is_rejection(response));
            operations.push(Operation {
                id: id.to_owned(),
                method: method
                    .to_uppercase()
                    .parse()
                    .expect("the contract names an HTTP method"),
                path: filled(path),
                statuses: statuses
                    .map(|(status, _)| status.parse().expect("each response has a status"))
                    .collect(),
                has_body: operation.get("requestBody").is_some(),
            });
        }
    }
    assert_eq!(operations.len(), 44);
    operations
}

/// Returns a path with valid values for its parameters.
fn filled(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment {
        "{project_id}" => PROJECT,
        "{location}" => LOCATION,
        "{firewall_rule_id}" if path.contains("/postgres/") => seed::POSTGRES_FIREWALL_RULE,
        "{firewall_rule_id}" => seed::FIREWALL_RULE,
        "{private_subnet_id}" => "ps000000000000000000000002",
        "{inference_api_key_id}" => seed::INFERENCE_API_KEY,
        parameter if parameter.starts_with('{') => "some-name",
        literal => literal,
    });
    segments.collect::<Vec<_>>().join("/")
}

fn call(id: &str) -> &'static Call {
    calls()
        .find(|call| call.operation == id)
        .unwrap_or_else(|| panic!("{id} has no call"))
}

#[test]
fn the_servers_of_the_contract_are_known_to_its_client() {
    let contract = seed::contract();
    let [server] = api_client::SERVERS else {
        panic!("the contract names one")
    };
    let named = &contract["servers"][0];
    assert_eq!(server.template, named["url"]);
    assert_eq!(server.url(), named["variables"]["base_url"]["default"]);
    let url = server
        .url_with(&[("base_url", "http://localhost:8080")])
        .expect("the server's variable can be set to a URL");
    assert_eq!(
        api_client::Client::new(url)
            .expect("the URL is a base URL")
            .base_url(),
        "http://localhost:8080"
    );
}

#[tokio::test]
async fn every_operation_responds() {
    let base = served::memory(seed::state(3), Config::default()).await;
    let client = client(&base, TOKEN);
    for operation in operations() {
        let call = call(&operation.id);
        let response = (call.send)(&client)
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", operation.id));
        for (pointer, expected) in (call.expected)() {
            assert_eq!(
                response.pointer(pointer),
                Some(&expected),
                "{}: {pointer} of {response}",
                operation.id
            );
        }
    }
}

#[tokio::test]
async fn what_fits_is_the_same_read_strictly_and_leniently() {
    for operation in operations() {
        let call = call(&operation.id);
        let [strict, lenient] = [false, true].map(|leniently| async move {
            READS_LENIENTLY.set(leniently);
            // Each has a server of its own, since some calls change what the next would see.
            let base = served::memory(seed::state(3), Config::default()).await;
            (call.send)(&client(&base, TOKEN)).await.expect("a success")
        });
        assert_eq!(strict.await, lenient.await, "{}", operation.id);
    }
}

#[tokio::test]
async fn every_listed_error_reaches_the_caller() {
    let base = served::memory(seed::state(3), Config::default()).await;
    for operation in operations() {
        for status in operation
            .statuses
            .iter()
            .copied()
            .filter(|status| *status >= 400)
        {
            let client = client(&base, &format!("pat-fail-{status}"));
            let error = (call(&operation.id).send)(&client)
                .await
                .expect_err("the implementation returns the requested error");
            let context = format!("{} {status}: {error}", operation.id);
            let Error::ErrorResponse(response) = error else {
                panic!("{context}")
            };
            assert_eq!(response.status().as_u16(), status, "{context}");
            assert_eq!(response.error.code.get(), i32::from(status), "{context}");
            let header = |name| {
                response
                    .headers()
                    .get(name)
                    .map(|value| value.to_str().expect("the header is text").to_owned())
            };
            assert_eq!(
                header(RETRY_AFTER).as_deref(),
                matches!(status, 429 | 503).then_some("7"),
                "{context}"
            );
            assert_eq!(
                header(WWW_AUTHENTICATE).as_deref(),
                (status == 401).then_some("Bearer"),
                "{context}"
            );
        }
    }
}

/// Returns an HTTP client that knows nothing of the contract.
///
/// The generated client builds reqwest without a TLS provider, so this client has to choose one
/// too.
fn http() -> reqwest::Client {
    // Fails if another test has installed it already, which has installed the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// Sends a request and returns the status, headers and body of the response.
///
/// Checks that the body of an error matches the contract's schema for errors.
async fn raw(request: reqwest::RequestBuilder) -> (StatusCode, reqwest::header::HeaderMap, Value) {
    let response = request.send().await.expect("the server responds");
    let (status, headers) = (response.status(), response.headers().clone());
    let text = response.text().await.expect("the body is text");
    let body: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{status} {error}: {text}"));
    if !status.is_success() {
        let mut schema = seed::contract();
        schema["$ref"] = json!("#/components/schemas/Error");
        let validator = jsonschema::draft202012::new(&schema).expect("the contract is valid");
        assert!(validator.is_valid(&body), "{body}");
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(body["error"]["code"], status.as_u16());
    }
    (status, headers, body)
}

#[tokio::test]
async fn a_stream_gives_every_item_of_a_list_once() {
    let base = served::memory(seed::state(25), Config::default()).await;
    let client = client(&base, TOKEN);
    for order in ["id", "name"] {
        let call = client
            .vm_list()
            .project_id(PROJECT)
            .location(LOCATION)
            .order_column(order)
            .page_size(7);
        let items: Vec<_> = call
            .stream()
            .try_collect()
            .await
            .expect("every page arrives");
        let mut names: Vec<String> = items.iter().map(|vm| vm.name.to_string()).collect();
        assert_eq!(names.len(), 25, "{order}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 25, "{order}");
    }
}

#[tokio::test]
async fn an_argument_that_does_not_fit_is_never_sent() {
    let client = client("http://127.0.0.1:1", TOKEN);
    let error = client
        .vm_list()
        .project_id("nobody")
        .location(LOCATION)
        .send()
        .await
        .expect_err("`nobody` is no project id");
    assert!(
        matches!(&error, Error::InvalidRequest(reason) if reason.to_string().contains("project_id")),
        "{error}"
    );
    let error = client
        .vm_list()
        .project_id(PROJECT)
        .send()
        .await
        .expect_err("the location is missing");
    assert!(
        matches!(&error, Error::InvalidRequest(reason) if reason.to_string().contains("location")),
        "{error}"
    );
    // The message names the operation and the rule, and not the value.
    for (page_size, rule) in [(0, "at least 1"), (i64::MAX, "at most 9007199254740991")] {
        let call = client.vm_list().project_id(PROJECT).location(LOCATION);
        let error = call.page_size(page_size).send().await;
        assert_eq!(
            error.expect_err(rule).to_string(),
            format!("the request of `vm_list` was not sent: `page_size` must be {rule}")
        );
    }
}

#[tokio::test]
async fn every_operation_is_a_route_beside_those_of_the_program() {
    let api =
        |config| api_server::router(Memory::new(State::default()), Gate, ContractErrors, config);
    let own = axum::Router::new()
        .route("/health", get(async || "up"))
        .fallback(async || (StatusCode::IM_A_TEAPOT, "nobody"));
    let url = served::serve(api(Config::new()).merge(own)).await;
    for operation in operations() {
        let path = filled(&operation.path);
        let request = http().request(operation.method, format!("{url}{path}"));
        let response = request.send().await.expect("a response");
        // Without a credential; an unknown path would be the program's.
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    for (path, status) in [("openapi.yaml", 200), ("health", 200), ("nowhere", 418)] {
        let response = http().get(format!("{url}/{path}")).send().await;
        assert_eq!(response.expect("a response").status(), status, "{path}");
    }
}

#[tokio::test]
async fn a_program_brings_its_own_http_client_and_settings_of_a_call() {
    let base = served::memory(State::default(), Config::new()).await;
    // `reqwest::Client::new()` would panic without a crypto provider.
    let http = api_client::http_builder().expect("TLS is set up");
    let http = http.pool_max_idle_per_host(0).build();
    let client = Client::builder(&base)
        .bearer(SecretSource::new(|| async { Ok::<_, Infallible>(TOKEN) }))
        .http_client(http.expect("the HTTP client is built"))
        .build()
        .expect("the settings are valid");
    let named = client.with_header("x-request-id", "mine");
    let named = named.expect("it is a header");
    let call = named.vm_list().project_id(PROJECT).location(LOCATION);
    let page = call.send().await.expect("a success");
    assert_eq!(page.headers()["x-request-id"], "mine");
    assert_eq!(page.operation(), Some("vm_list"));
    // The system takes the connection, and nobody responds.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let silent = silent.expect("a port is free");
    let address = silent.local_addr().expect("it has an address");
    let client = Client::builder(format!("http://{address}"))
        .bearer(TOKEN)
        .build()
        .expect("the settings are valid");
    let call = client.with_timeout(Duration::from_millis(50));
    let call = call.vm_list().project_id(PROJECT).location(LOCATION);
    let sent = tokio::time::timeout(Duration::from_secs(20), call.send()).await;
    let error = sent.expect("it ends in time").expect_err("nobody responds");
    assert!(error.is_timeout(), "{error}");
}

#[tokio::test]
async fn a_response_of_a_newer_server_is_understood() {
    let mut database =
        serde_json::to_value(&seed::state(0).databases[0]).expect("a database is written as JSON");
    database["state"] = json!("hibernating");
    database["colour"] = json!({"name": "green"});
    let response = move || async move { ([("cache-control", "no-store")], axum::Json(database)) };
    let base = served::serve(axum::Router::new().fallback(get(response))).await;
    let call = client(&base, TOKEN);
    let call = call
        .postgres_view()
        .project_id(PROJECT)
        .location(LOCATION)
        .postgres_database_reference("orders");
    let response = call
        .send()
        .await
        .expect("an older client reads the newer response")
        .into_inner();
    assert_eq!(
        response.state,
        PostgresState::Unlisted("hibernating".to_owned())
    );
}

#[tokio::test]
async fn an_enumeration_may_grow_in_responses_and_not_in_requests() {
    let base = served::memory(seed::state(0), Config::default()).await;
    let url = format!("{base}/project/{PROJECT}/location/{LOCATION}/postgres/new");
    let body = json!({"size": "standard-2", "storage_size": 64, "flavor": "lavender"});
    let (status, _, response) = raw(http().post(url).bearer_auth(TOKEN).json(&body)).await;
    assert_eq!(status.as_u16(), 400);
    assert!(
        response["error"]["details"]["flavor"].is_string(),
        "{response}"
    );
}

#[tokio::test]
async fn the_contract_is_served() {
    let base = served::memory(seed::state(0), Config::default()).await;
    let json = http()
        .get(format!("{base}/openapi.json"))
        .send()
        .await
        .expect("the contract is served as JSON");
    assert_eq!(json.headers()["content-type"], "application/json");
    let json: Value = serde_json::from_str(&json.text().await.expect("the body is text"))
        .expect("the body is JSON");
    assert_eq!(json, seed::contract());
    let yaml = http()
        .get(format!("{base}/openapi.yaml"))
        .send()
        .await
        .expect("the contract is served as YAML")
        .text()
        .await;
    let yaml = yaml.expect("the body is text");
    let author = std::fs::read_to_string("../openapi.yaml");
    assert_eq!(yaml, author.expect("the contract is beside the crates"));
    let loaded = contract::load_text("openapi.yaml", yaml.as_bytes());
    assert_eq!(
        loaded
            .contract
            .expect("the served YAML is the contract")
            .document
            .to_json(),
        json
    );
}

#[tokio::test]
async fn secrets_are_in_no_debug_output() {
    let base = served::memory(seed::state(0), Config::default()).await;
    let client = client(&base, "pat-very-secret");
    let call = client
        .postgres_view()
        .project_id(PROJECT)
        .location(LOCATION)
        .postgres_database_reference("orders");
    let error = format!(
        "{:?}",
        call.clone().send().await.expect_err("the token is unknown")
    );
    let database = format!("{:?}", seed::state(0).databases);
    for printed in [format!("{client:?}"), format!("{call:?}"), error, database] {
        assert!(
            !printed.contains("very-secret") && !printed.contains("Example-Passw0rd"),
            "{printed}"
        );
    }
}

#[test]
fn a_wrong_value_never_becomes_a_typed_one() {
    assert!(HealthCheckEndpoint::try_from(" ").is_err());
    assert!(api_types::Port::try_from(0).is_err());
    assert!(api_types::Port::try_from(65_536_u64).is_err());
    assert_eq!(
        "443"
            .parse::<api_types::Port>()
            .expect("443 is a port")
            .get(),
        443
    );
    assert!("".parse::<api_types::Name>().is_err());
    assert!(matches!("Forbidden".parse(), Ok(ErrorType::Forbidden)));
}
