//! The mock of the contract refuses what the generated server refuses, in the same words.

use std::sync::{Arc, Mutex};

use api_server::server::{Config, Rejection, RenderRejection};
use api_types::Error;
use axum::body::Body;
use axum::http::{Request, Response};
use mock::{Mock, Settings};
use serde_json::Value;
use tests::memory::{ContractErrors, Gate, LOCATION, Memory, PROJECT, TOKEN};
use tests::seed::{self, FIREWALL_RULE, INFERENCE_API_KEY, POSTGRES_FIREWALL_RULE};
use tower::ServiceExt as _;

/// Writes rejections as the service does, and remembers the message of the last one.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Option<String>>>);

impl RenderRejection for Heard {
    type Body = Error;

    fn render(&self, rejection: &Rejection) -> Error {
        *self.0.lock().expect("nothing panics") = Some(rejection.message.to_string());
        ContractErrors.render(rejection)
    }
}

/// Requests, most of them wrong, as method, target, headers and body. A header is a name and a value.
#[expect(clippy::too_many_lines, reason = "an entry for each request")]
fn requests() -> Vec<(String, String, Vec<(String, String)>, String)> {
    let place = format!("/project/{PROJECT}/location/{LOCATION}");
    let targets = [
        format!("{place}/load-balancer"),
        format!("{place}/load-balancer?page_size=0"),
        format!("{place}/load-balancer?page_size=1&page_size=2"),
        format!("{place}/load-balancer?page_size=x&order_column=size"),
        format!("{place}/load-balancer?start_after=%ff"),
        format!("{place}/load-balancer/Bad!Name"),
        format!("{place}/load-balancer/web/detach-vm"),
        format!("{place}/load-balancer/web/attach-vm"),
        format!("{place}/load-balancer/web"),
        format!("{place}/postgres/orders"),
        format!("{place}/postgres/orders/reset-superuser-password"),
        format!("{place}/postgres/orders/restart"),
        format!("{place}/postgres/orders/promote"),
        format!("{place}/postgres/orders/backup"),
        format!("{place}/postgres/orders/backup?page_size=0"),
        format!("{place}/postgres/orders/restore"),
        format!("{place}/postgres/orders/set-maintenance-window"),
        format!("{place}/postgres/orders/firewall-rule"),
        format!("{place}/postgres/orders/firewall-rule/{POSTGRES_FIREWALL_RULE}"),
        format!("{place}/postgres/orders/firewall-rule/{FIREWALL_RULE}"),
        format!("{place}/postgres?order_column=name"),
        format!("{place}/private-subnet/inner"),
        format!("{place}/private-subnet/inner/connect"),
        format!("{place}/private-subnet/backend/disconnect/ps000000000000000000000002"),
        format!("{place}/private-subnet/backend/disconnect/frontend"),
        format!("{place}/private-subnet?order_column=name"),
        format!("{place}/vm/app-1"),
        format!("{place}/firewall/wall/detach-subnet"),
        format!("{place}/firewall/wall/attach-subnet"),
        format!("{place}/firewall/web-only"),
        format!("{place}/firewall/web-only/firewall-rule"),
        format!("{place}/firewall/web-only/firewall-rule/{FIREWALL_RULE}"),
        format!("{place}/firewall/web-only/firewall-rule/web"),
        format!("{place}/firewall?order_column=name"),
        format!("/project/{PROJECT}/postgres"),
        format!("/project/{PROJECT}/inference-api-key"),
        format!("/project/{PROJECT}/inference-api-key?order_column=x&page_size=-1"),
        format!("/project/{PROJECT}/inference-api-key/{INFERENCE_API_KEY}"),
        format!("/project/{PROJECT}/inference-api-key/web"),
        "/project/nobody/postgres".to_owned(),
        "/project/%2e%2e/postgres".to_owned(),
        "/nothing".to_owned(),
        "/openapi.json".to_owned(),
    ];
    let bodies = [
        "",
        "{}",
        "null",
        "[]",
        "{",
        r#"{"size": 7}"#,
        r#"{"size": "standard-2", "size": "standard-4"}"#,
        r#"{"size": "none", "storage_size": -1, "unknown": true}"#,
        r#"{"name": "", "ports": [], "vms": [1, null]}"#,
        r#"{"cidr": "10.0.0.0/33", "port_range": "9..x", "protocol": "icmp", "description": 1}"#,
        r#"{"password": "short", "vm_id": "x", "subnet_id": {}, "private_subnet_id": ""}"#,
    ];
    let json = ("content-type", "application/json");
    let token = format!("Bearer {TOKEN}");
    let header_sets = [
        vec![("authorization", token.as_str()), json],
        vec![
            ("authorization", token.as_str()),
            ("content-type", "text/plain"),
        ],
        vec![
            ("authorization", token.as_str()),
            json,
            ("if-match", "x"),
            ("idempotency-key", ""),
        ],
        vec![("authorization", "Bearer "), json],
        vec![("authorization", "Basic abc"), json],
        vec![
            ("authorization", token.as_str()),
            ("authorization", "Bearer b"),
            json,
        ],
        vec![json],
    ];
    let mut requests = Vec::new();
    for target in &targets {
        for method in ["GET", "POST", "PATCH", "DELETE", "HEAD", "TRACE"] {
            for (at, headers) in header_sets.iter().enumerate() {
                // All bodies with good headers, and one with others.
                let count = if at == 0 { bodies.len() } else { 2 };
                for body in &bodies[..count] {
                    let owned = |text: &(&str, &str)| (text.0.to_owned(), text.1.to_owned());
                    requests.push((
                        method.to_owned(),
                        target.clone(),
                        headers.iter().map(owned).collect(),
                        (*body).to_owned(),
                    ));
                }
            }
        }
    }
    let large = format!("\"{}\"", "a".repeat(3 << 10));
    requests.push((
        "POST".to_owned(),
        format!("{place}/postgres/orders"),
        vec![
            ("authorization".to_owned(), token.clone()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ],
        large,
    ));
    requests
}

async fn body(response: Response<Body>) -> Value {
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await;
    serde_json::from_slice(&bytes.expect("the body is short")).unwrap_or_default()
}

#[tokio::test]
async fn the_mock_refuses_what_the_generated_server_refuses() {
    let heard = Heard::default();
    // Small, so that a request reaches it.
    let config = || Config::new().body_limit(2 << 10);
    let memory = Memory::new(seed::state(3));
    let server = api_server::router(memory, Gate, heard.clone(), config());
    let loaded = contract::load(std::path::Path::new("../openapi.yaml"));
    let contract = loaded.contract.expect("our contract is right");
    let mock = Mock::new(contract, Settings::default()).router_with(config());
    let (mut refused, mut accepted) = (0, 0);
    for (method, target, headers, text) in requests() {
        let request = || {
            let mut request = Request::builder().method(&*method).uri(&target);
            for (name, value) in &headers {
                request = request.header(name, value);
            }
            request.body(Body::from(text.clone())).expect("a request")
        };
        let about = format!("{method} {target} {headers:?} {text}");
        heard.0.lock().expect("nothing panics").take();
        let said = server.clone().oneshot(request()).await.expect("a response");
        let message = heard.0.lock().expect("nothing panics").take();
        let mocked = mock.clone().oneshot(request()).await.expect("a response");
        let Some(message) = message else {
            // The handler has run, and its response is its own.
            assert!(mocked.status().is_success(), "{about}: {}", mocked.status());
            accepted += 1;
            continue;
        };
        refused += 1;
        assert_eq!(mocked.status(), said.status(), "{about}");
        for name in ["allow", "www-authenticate", "content-type"] {
            assert_eq!(
                mocked.headers().get(name),
                said.headers().get(name),
                "{about}"
            );
        }
        let mocked = body(mocked).await;
        if method != "HEAD" {
            assert_eq!(mocked["error"]["message"], message, "{about}: {mocked}");
            let said = body(said).await;
            assert_eq!(mocked["error"]["code"], said["error"]["code"], "{about}");
            let places = |value: &Value| -> Vec<String> {
                let details = value["error"]["details"].as_object();
                details
                    .into_iter()
                    .flat_map(|it| it.keys().cloned())
                    .collect()
            };
            assert_eq!(
                places(&mocked).is_empty(),
                places(&said).is_empty(),
                "{about}"
            );
        }
    }
    assert!(refused > 500 && accepted > 20, "{refused} and {accepted}");
}

#[tokio::test]
async fn our_own_collections_keep_what_is_created() {
    const CREATE: &str = r#"{"size": "standard-2", "storage_size": 64, "flavor": "lantern"}"#;
    let loaded = contract::load(std::path::Path::new("../openapi.yaml"));
    let contract = loaded.contract.expect("our contract is right");
    let settings = Settings {
        is_stateful: true,
        ..Settings::default()
    };
    let mock = Mock::new(contract, settings);
    let place = "/project/{project_id}/location/{location}";
    assert_eq!(
        mock.collections(),
        [
            format!(
                "{place}/load-balancer/{{load_balancer_reference}} is kept: load_balancer_create, load_balancer_delete, load_balancer_list, load_balancer_update, load_balancer_view"
            ),
            format!(
                "{place}/postgres/{{postgres_database_reference}} is kept: postgres_create, postgres_delete, postgres_list, postgres_update, postgres_view"
            ),
            format!(
                "{place}/private-subnet/{{private_subnet_reference}} is kept: private_subnet_create, private_subnet_delete, private_subnet_list, private_subnet_view"
            ),
            format!(
                "{place}/firewall/{{firewall_reference}} is kept: firewall_create, firewall_delete, firewall_list, firewall_view"
            ),
        ]
    );
    let mock = mock.router_with(Config::new());
    let send = |method: &'static str, name: &'static str, text: &'static str| {
        let request = Request::builder()
            .method(method)
            .uri(format!(
                "/project/{PROJECT}/location/{LOCATION}/postgres/{name}"
            ))
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", "application/json")
            .body(Body::from(text))
            .expect("a request");
        let mock = mock.clone();
        async move {
            let response = mock.oneshot(request).await.expect("a response");
            (response.status().as_u16(), body(response).await)
        }
    };
    assert_eq!(send("GET", "orders", "").await.0, 404);
    let (status, created) = send("POST", "orders", CREATE).await;
    assert!((200..300).contains(&status), "{created}");
    assert_eq!(
        (&created["name"], &created["flavor"]),
        (&"orders".into(), &"lantern".into())
    );
    assert_eq!(created["location"], LOCATION);
    assert_eq!(send("GET", "orders", "").await, (200, created.clone()));
    let (status, updated) = send("PATCH", "orders", r#"{"ha_type": "async"}"#).await;
    assert_eq!(
        (status, &updated["ha_type"]),
        (200, &"async".into()),
        "{updated}"
    );
    assert_eq!(send("GET", "orders", "").await.1, updated);
    assert_eq!(send("POST", "orders", CREATE).await.0, 409);
}
