//! The examples of the contract: a running service accepts each request, and returns each error.

mod contract;
mod links;
mod requests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicU32;
use std::thread;

use diesel::connection::SimpleConnection;
use reqwest::{Method, RequestBuilder};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

use crate::support::Home;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use contract::{Operation, contract, entries, followed, operations};
use requests::requests;

const LOCATION: &str = "/location/eu-central-h1";

/// A service with the projects of [`two_projects`], with what is needed to call it.
struct Target {
    home: Home,
    service: Service,
    token: String,
    http: reqwest::Client,
    /// The number of idempotency keys so far.
    keys: AtomicU32,
}

impl Target {
    fn new(settings: &[&str]) -> Self {
        // The client's features leave the choice of a provider to the program.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let home = Home::sqlite();
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(settings);
        Self {
            home,
            service,
            token,
            http: reqwest::Client::new(),
            keys: AtomicU32::new(0),
        }
    }

    /// Returns a request without credentials, for a path below the project.
    fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/project/{SHOP}{path}", self.service.base);
        self.http.request(method, url)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous(method, path).bearer_auth(&self.token)
    }

    /// Creates the database that examples call `orders`.
    async fn create_orders(&self) {
        let path = format!("{LOCATION}/postgres/orders");
        let body = json!({ "size": "standard-2", "storage_size": 64 });
        let response = sent(self.request(Method::POST, &path).json(&body)).await;
        assert_eq!(response.0, 200, "{}", response.1);
    }

    /// Sends the request that the error example of this name describes. Returns `None` for a name
    /// that is not known.
    async fn provoke(&self, example: &str) -> Option<(u16, Value)> {
        let load_balancer = format!("{LOCATION}/load-balancer/web");
        let vms = format!("{LOCATION}/vm");
        let key = "/inference-api-key";
        let subnet = |name: &str| format!("{LOCATION}/private-subnet/{name}");
        let request = match example {
            "bad_request" => {
                let vm = "vmsxag6kbg7nbeshra89et4w2j";
                self.request(Method::PATCH, &load_balancer).json(&json!({
                    "algorithm": "round_robin", "src_port": 443, "dst_port": 65536,
                    "health_check_endpoint": "/up", "vms": [1, vm, null],
                }))
            }
            "invalid_request" => {
                let body = json!({ "size": "standard-2", "storage_size": 65 });
                self.request(Method::POST, &format!("{LOCATION}/postgres/invoices"))
                    .json(&body)
            }
            "failed_password_rules" => {
                self.create_orders().await;
                let path = format!("{LOCATION}/postgres/orders/reset-superuser-password");
                self.request(Method::POST, &path)
                    .json(&json!({ "password": "abc123" }))
            }
            "missing_credentials" => self.anonymous(Method::GET, &vms),
            "invalid_credentials" => self.anonymous(Method::GET, &vms).bearer_auth("pat-unknown"),
            "forbidden" => {
                let reader = self.home.token("shop", &["--read-only"]);
                self.anonymous(Method::POST, key).bearer_auth(reader)
            }
            "resource_not_found" => self.request(Method::GET, &subnet("none")),
            "invalid_location" => self.request(Method::GET, "/location/mars-1/vm"),
            "conflict" => {
                // Each try finds that somebody else has taken what it needs.
                let trigger = "CREATE TRIGGER taken BEFORE INSERT ON inference_api_key \
                               BEGIN INSERT INTO location SELECT * FROM location LIMIT 1; END";
                self.home
                    .open_sqlite()
                    .batch_execute(trigger)
                    .expect("the trigger is created");
                self.request(Method::POST, key)
            }
            "idempotency_conflict" => {
                let create = |name: &str| {
                    self.request(Method::POST, &subnet(name))
                        .header("idempotency-key", "the same")
                };
                assert_eq!(sent(create("once")).await.0, 200);
                create("twice")
            }
            "dependency_error" => self.request(Method::DELETE, &subnet("backend")),
            "precondition_failed" => self
                .request(
                    Method::POST,
                    &format!("{LOCATION}/firewall/web-only/detach-subnet"),
                )
                .header("if-match", "\"pxTk3SQh5sLZ2yWc9vJ0Bw\"")
                .json(&json!({ "private_subnet_id": "unknown" })),
            "method_not_allowed" => {
                let detach = format!("{load_balancer}/detach-vm");
                return Some(self.methods(&detach).await);
            }
            "request_timeout" => {
                let slow = Self::new(&["--body-timeout", "1s"]);
                return Some(slow.announce(key, 2));
            }
            "request_head_too_large" => self
                .request(Method::GET, &vms)
                .header("x-large", "a".repeat(32_768)),
            "payload_too_large" => return Some(self.announce(key, (1 << 20) + 1)),
            "unsupported_media_type" => self
                .request(Method::POST, key)
                .header("content-type", "text/plain")
                .body("{}"),
            "unexpected_error" => {
                let damage = "UPDATE private_subnet SET net4 = 'damaged' WHERE name = 'frontend'";
                self.home
                    .open_sqlite()
                    .batch_execute(damage)
                    .expect("the rows are damaged");
                self.request(Method::GET, &subnet("frontend"))
            }
            "unavailable" => return Some(self.create_while_held().await),
            "quota_exceeded" => {
                let limited = Self::new(&["--quota-inference-api-keys", "2"]);
                for _ in 0..2 {
                    sent(limited.request(Method::POST, key)).await;
                }
                return Some(sent(limited.request(Method::POST, key)).await);
            }
            "too_many_requests" => {
                let limited = Self::new(&["--rate-limit", "1", "--rate-burst", "1"]);
                sent(limited.request(Method::GET, &vms)).await;
                return Some(sent(limited.request(Method::GET, &vms)).await);
            }
            _ => return None,
        };
        Some(sent(request).await)
    }

    /// Creates a private subnet while another process writes to the database.
    async fn create_while_held(&self) -> (u16, Value) {
        let mut other = self.home.open_sqlite();
        other
            .batch_execute("BEGIN IMMEDIATE")
            .expect("the write lock is free");
        let path = format!("{LOCATION}/private-subnet/held");
        let response = sent(self.request(Method::POST, &path)).await;
        other
            .batch_execute("ROLLBACK")
            .expect("the write lock is released");
        response
    }

    /// Sends a request with a method that the path does not have, and compares the header `Allow`
    /// with the methods that the contract lists for it.
    async fn methods(&self, path: &str) -> (u16, Value) {
        let response = self.request(Method::DELETE, path).send().await;
        let response = response.expect("the service responds");
        let allow = response.headers()["allow"].to_str().expect("it is text");
        assert_eq!(allow, "POST");
        let status = response.status().as_u16();
        (status, response.json().await.expect("the body is JSON"))
    }

    /// Sends the head of a request with a body of this many bytes, but not the body. So the
    /// response arrives before the service closes the connection.
    fn announce(&self, path: &str, bytes: usize) -> (u16, Value) {
        let address = self.service.base.strip_prefix("http://");
        let mut stream = TcpStream::connect(address.expect("the base URL is HTTP"))
            .expect("the service accepts connections");
        let token = &self.token;
        write!(
            stream,
            "POST /project/{SHOP}{path} HTTP/1.1\r\nhost: stratus\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {bytes}\r\nconnection: close\r\n\r\n"
        )
        .expect("the service reads the request");
        let mut response = String::new();
        stream
            .read_to_string(&mut response)
            .expect("the response is UTF-8");
        let (head, body) = response
            .split_once("\r\n\r\n")
            .expect("the response has a head");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let body = serde_json::from_str(body).expect("the body is JSON");
        (status.expect("the response has a status"), body)
    }
}

async fn sent(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("the service responds");
    let status = response.status().as_u16();
    if status == 204 {
        return (status, Value::Null);
    }
    (status, response.json().await.expect("the body is JSON"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_error_example_is_what_the_service_returns() {
    let contract = contract();
    let target = Target::new(&[]);
    let mut wrong = Vec::new();
    for ((status, name), example) in error_examples(&contract) {
        match target.provoke(&name).await {
            None => wrong.push(format!("{name}: no request here provokes this error")),
            Some((code, body)) if code.to_string() != status || body != example => {
                wrong.push(format!(
                    "{name}: the example is {example}, the service returns {code} {body}"
                ));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the examples of the error responses of all operations, by status and name.
fn error_examples(contract: &Value) -> BTreeMap<(String, String), Value> {
    let mut found = BTreeMap::new();
    for operation in operations(contract) {
        for (status, response) in entries(&operation.node["responses"]) {
            let media = &followed(contract, response)["content"]["application/json"];
            for (name, example) in entries(&media["examples"]) {
                if status.as_str() >= "400" {
                    let value = followed(contract, example)["value"].clone();
                    let before = found.insert((status.clone(), name.clone()), value.clone());
                    assert!(
                        before.is_none_or(|before| before == value),
                        "{name} is two examples"
                    );
                }
            }
        }
    }
    assert!(found.len() >= 13, "{} examples are too few", found.len());
    found
}

/// Each operation accepts a request with each example of its body and of its parameters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_example_is_accepted_where_it_stands() {
    let contract = contract();
    let target = Target::new(&[]);
    target.create_orders().await;
    let (mut wrong, mut sent_requests) = (Vec::new(), 0);
    for operation in operations(&contract) {
        for (example, request) in requests(&contract, &operation, &target) {
            let (status, body) = sent(request).await;
            sent_requests += 1;
            if !is_accepted(&operation, status, &body) {
                wrong.push(format!("{} with {example}: {status} {body}", operation.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sent_requests > 30, "{sent_requests} requests are too few");
}

/// Returns whether a service accepts an example: in full, or except for the id of a resource that
/// does not exist, a name that is taken, a resource that is in use, or the tag of another resource.
fn is_accepted(operation: &Operation<'_>, status: u16, body: &Value) -> bool {
    let takes_references =
        operation.path.contains("reference}") || operation.path.ends_with("_key_id}");
    match (status, body["error"]["type"].as_str()) {
        (200 | 204, _) | (412, Some("PreconditionFailed")) => true,
        (404, Some("ResourceNotFound")) | (409, Some("DependencyError")) => takes_references,
        (400, Some("InvalidRequest")) => {
            let of_resources = [
                "name",
                "vms",
                "vm_id",
                "firewall_id",
                "connected-subnet-id",
                "private_subnet_id",
            ];
            takes_references
                && entries(&body["error"]["details"])
                    .all(|(field, _)| of_resources.contains(&field.as_str()))
        }
        _ => false,
    }
}

/// The details of errors have the same form for parameters and bodies, name the item of a list, and
/// give the rule in words, not as a regular expression.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_detail_says_what_is_wrong_in_one_form() {
    let target = Target::new(&[]);
    let (web, api) = ("/load-balancer/web", "/load-balancer/api");
    let details = async |method: Method, path: &str, body: Value| {
        let path = format!("{LOCATION}{path}");
        let (status, body) = sent(target.request(method, &path).json(&body)).await;
        assert_eq!(status, 400, "{body}");
        let text = body.to_string();
        assert!(!text.contains("(?:") && !text.contains("^["), "{text}");
        body["error"]["details"].clone()
    };
    let vms = sent(target.request(Method::GET, &format!("{LOCATION}/vm?order_column=name")))
        .await
        .1;
    let update = |vms: Value| json!({ "algorithm": "round_robin", "src_port": 443, "dst_port": 8080, "health_check_endpoint": "/up", "vms": vms });
    let name = "1 to 63 characters of `a-z`, `0-9` and `-`, not beginning or ending with `-`";
    let unknown = "must be the id of a virtual machine in this project and location";
    for (method, path, body, expected) in [
        (
            Method::GET,
            "/vm?page_size=0",
            json!(null),
            json!({ "page_size": "must be at least 1" }),
        ),
        (
            Method::GET,
            "/private-subnet/Backend_",
            json!(null),
            json!({ "private_subnet_reference": format!("must be the id or the name of a resource: {name}") }),
        ),
        (
            Method::POST,
            "/postgres/new",
            json!({ "size": "standard-2", "storage_size": 64, "tags": [{ "key": "", "value": 1, "more": 2 }] }),
            json!({ "tags": [
                "tags[0].key: must be at least 1 character long",
                "tags[0].value: must be a string",
                "tags[0].more: is not a known property",
            ] }),
        ),
        (
            Method::PATCH,
            web,
            json!([]),
            json!({ "body": "must be an object" }),
        ),
        (
            Method::PATCH,
            web,
            update(json!([
                "app-1",
                vms["items"][1]["id"],
                vms["items"][1]["id"]
            ])),
            json!({ "vms": [format!("vms[0]: {unknown}"), "vms[2]: is listed twice"] }),
        ),
        (
            Method::PATCH,
            api,
            update(json!([vms["items"][0]["id"]])),
            json!({ "vms": "vms[0]: is attached to the load balancer `web`" }),
        ),
        (
            Method::POST,
            "/postgres/new",
            json!({ "size": "huge", "storage_size": 64 }),
            json!({ "size": "must be one of hobby-1, hobby-2, burstable-1, burstable-2, standard-2, standard-4, standard-8, standard-16, standard-30 and standard-60" }),
        ),
    ] {
        let found = details(method, path, body.clone()).await;
        assert_eq!(found, expected, "{path} {body}");
    }
    let nowhere = sent(target.request(Method::GET, "/nowhere")).await;
    assert_eq!(nowhere.0, 404);
    let message = &nowhere.1["error"]["message"];
    assert_eq!(
        message,
        "there is no such path: the contract at /openapi.yaml lists all paths"
    );
}

/// Every path responds to each other method as the contract declares for its operations: with the
/// methods that it lists, and with a request id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_declared_rejection_is_served_for_every_operation() {
    let contract = contract();
    let target = Target::new(&["--body-timeout", "1s"]);
    let mut methods: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for operation in operations(&contract) {
        let listed = methods.entry(operation.path).or_default();
        listed.insert(operation.method.to_uppercase());
        if operation.method == "get" {
            listed.insert("HEAD".to_owned());
        }
    }
    // A 408 takes seconds: the service waits for the rest of the body.
    let address = target.service.base.strip_prefix("http://");
    let address = address.expect("it is HTTP");
    let (contract, methods, token) = (&contract, &methods, &*target.token);
    thread::scope(|scope| {
        for operation in operations(contract) {
            let allowed = &methods[operation.path];
            scope.spawn(move || provoke_rejections(contract, &operation, allowed, address, token));
        }
    });
}

/// Checks that an operation has the rejections that the contract declares. `methods` are the methods
/// of its path.
fn provoke_rejections(
    contract: &Value,
    operation: &Operation<'_>,
    methods: &BTreeSet<String>,
    address: &str,
    token: &str,
) {
    let (id, path) = (operation.id, operation.path);
    let responses = &operation.node["responses"];
    for (status, response) in entries(responses) {
        let header = &followed(contract, response)["headers"]["x-request-id"];
        let header = followed(contract, header);
        assert_eq!(header["required"], true, "{id} {status}");
    }
    let path = path
        .replace("{project_id}", SHOP)
        .replace("{location}", "eu-central-h1");
    let path: Vec<&str> = path
        .split('/')
        .map(|part| match part {
            "{inference_api_key_id}" => "akmagvrjz7cptgqmw5121gqp0c",
            "{firewall_rule_id}" if path.contains("/postgres/") => "pfba831ka2n0hn8q0f4a8mvvvy",
            "{firewall_rule_id}" => "fr87r4anja29txsyzygcwv29md",
            "{private_subnet_id}" => "ps0xdry28j6tgr9vw2zy3p7c16",
            part if part.starts_with('{') => "web",
            part => part,
        })
        .collect();
    let path = path.join("/");
    let send = |head: String, body: &[u8]| {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(head.as_bytes()).expect("it reads");
        stream.write_all(body).expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it is text");
        response
    };
    let head = |method: &str, more: &str| {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-request-id: mine\r\n\
             authorization: Bearer {token}\r\n{more}\r\n"
        )
    };
    let method = operation.method.to_uppercase();
    let large = format!("x-large: {}\r\n", "a".repeat(32_768));
    let mut provoked = vec![
        ("405", send(head("TRACE", ""), b"")),
        ("431", send(head(&method, &large), b"")),
    ];
    let has_body = !operation.node["requestBody"].is_null();
    assert_eq!(responses["408"].is_null(), !has_body, "{id}");
    if has_body {
        let unfinished = "content-type: application/json\r\ncontent-length: 2\r\n";
        provoked.push(("408", send(head(&method, unfinished), b"{")));
    }
    for (status, response) in provoked {
        let (head, body) = response.split_once("\r\n\r\n").expect("it has a head");
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{id}: {head}"
        );
        let declared = followed(contract, &responses[status]);
        for (name, _) in entries(&declared["headers"]) {
            let prefix = format!("{}: ", name.to_lowercase());
            let value = head.lines().find_map(|line| line.strip_prefix(&prefix));
            let value = value.unwrap_or_else(|| panic!("{id} {status}: no {name} in {head}"));
            match &*prefix {
                "allow: " => {
                    api_types::AllowedMethods::try_from(value).expect("it fits its schema");
                    let allowed: BTreeSet<String> = value.split(", ").map(str::to_owned).collect();
                    assert_eq!(allowed, *methods, "{id}");
                }
                "x-request-id: " => assert_eq!(value, "mine"),
                _ => panic!("{name} is not compared with anything"),
            }
        }
        let body: Value = serde_json::from_str(body).expect("the body is JSON");
        let body: api_types::Error = serde_json::from_value(body).expect("it is the error");
        assert_eq!(body.error.code.get().to_string(), status, "{id}");
    }
}

#[test]
fn every_certificate_in_the_contract_can_be_trusted() {
    let mut certificates = BTreeSet::new();
    collect_certificates(&contract(), &mut certificates);
    assert!(!certificates.is_empty());
    for text in certificates {
        let mut trusted = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
            let certificate = certificate.unwrap_or_else(|error| panic!("{error}: {text}"));
            trusted
                .add(certificate)
                .unwrap_or_else(|error| panic!("{error}: {text}"));
        }
        assert!(!trusted.is_empty(), "{text}");
        assert!(!text.contains("PRIVATE KEY"));
    }
}

fn collect_certificates(node: &Value, into: &mut BTreeSet<String>) {
    match node {
        Value::String(text) if text.starts_with("-----BEGIN ") => {
            into.insert(text.clone());
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_certificates(item, into)),
        Value::Object(entries) => entries
            .values()
            .for_each(|value| collect_certificates(value, into)),
        _ => {}
    }
}
