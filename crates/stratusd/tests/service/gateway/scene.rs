//! A service with a gateway, an upstream behind it, and a key.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use reqwest::{Client, Method, Response};
use serde_json::Value;

use super::upstream::Upstream;
use crate::support::caller::Caller;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

/// The credential that the upstream expects.
pub const CREDENTIAL: &str = "sk-of-the-operator";

/// An inference key.
#[derive(Debug, Clone)]
pub struct Key {
    pub id: String,
    pub secret: String,
}

/// A service with a gateway.
pub struct Scene {
    pub home: Home,
    pub service: Service,
    pub upstream: Upstream,
    /// The URL of the gateway.
    pub gateway: String,
    pub shop: Caller,
    pub key: Key,
    http: Client,
}

impl Scene {
    /// Starts a service on SQLite with settings.
    pub async fn new(settings: &[&str]) -> Self {
        Self::at(Home::sqlite(), settings).await
    }

    /// Starts a service with settings.
    pub async fn at(home: Home, settings: &[&str]) -> Self {
        let upstream = Upstream::start().await;
        let url = upstream.url.clone();
        Self::with(home, upstream, &url, settings).await
    }

    /// Starts a service on SQLite in front of another upstream.
    pub async fn before(url: &str, settings: &[&str]) -> Self {
        let (upstream, _) = Upstream::at(url.to_owned());
        Self::with(Home::sqlite(), upstream, url, settings).await
    }

    async fn with(home: Home, upstream: Upstream, url: &str, settings: &[&str]) -> Self {
        home.apply(&two_projects());
        let service = serve(&home, url, settings);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let key = create_key(&shop).await;
        Self {
            gateway: service.gateway.clone().expect("the gateway is on"),
            http: Client::new(),
            home,
            service,
            upstream,
            shop,
            key,
        }
    }

    /// Creates another key of the shop.
    pub async fn another_key(&self) -> Key {
        create_key(&self.shop).await
    }

    /// Creates a key of the other project.
    pub async fn key_of_rival(&self) -> Key {
        let token = self.home.token("rival", &[]);
        create_key(&Caller::new(&self.service.base, RIVAL, &token)).await
    }

    /// Sends a request with a key. Fails if there is no response.
    pub async fn try_send(
        &self,
        key: &Key,
        method: Method,
        path: &str,
    ) -> reqwest::Result<Response> {
        let url = format!("{}{path}", self.gateway);
        let request = self.http.request(method, url);
        request.bearer_auth(&key.secret).send().await
    }

    /// Sends a GET request with a key.
    pub async fn get(&self, key: &Key, path: &str) -> Response {
        let sent = self.try_send(key, Method::GET, path).await;
        sent.expect("the gateway responds")
    }

    /// Sends a GET request with headers, and without a key among them.
    pub async fn get_with(&self, headers: &[(&str, &str)], path: &str) -> Response {
        let mut request = self.http.get(format!("{}{path}", self.gateway));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.expect("the gateway responds")
    }

    /// Sends bytes on a new connection. Returns everything received until it is closed.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        let _ = stream.write_all(bytes);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        String::from_utf8_lossy(&response).into_owned()
    }

    pub fn connect(&self) -> TcpStream {
        let address = self.gateway.strip_prefix("http://").expect("it is HTTP");
        let stream = TcpStream::connect(address).expect("the gateway listens");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("it can be set");
        stream
    }

    /// Waits until the upstream has no request in progress.
    pub async fn ensure_ended(&self) {
        let ended = eventually(async || (self.upstream.open() == 0).then_some(())).await;
        assert!(ended.is_some(), "{} are open", self.upstream.open());
    }

    /// Waits until a metric has a value.
    pub async fn wait_for_metric(&self, metric: &str, value: usize) {
        let line = format!("{metric} {value}\n");
        let ask = async || self.metrics("/metrics").await.contains(&line).then_some(());
        assert!(eventually(ask).await.is_some(), "{line}");
    }

    /// Returns what a path of the management port returns.
    pub async fn metrics(&self, path: &str) -> String {
        let response = reqwest::get(format!("{}{path}", self.service.management)).await;
        let response = response.expect("the service responds");
        response.text().await.expect("it is text")
    }
}

/// Starts a service with a gateway in front of an upstream.
pub fn serve(home: &Home, upstream: &str, settings: &[&str]) -> Service {
    let file = home.path().join("upstream-key");
    std::fs::write(file, format!("{CREDENTIAL}\n")).expect("the folder is writable");
    let gateway = [
        "--gateway-listen",
        "127.0.0.1:0",
        "--gateway-upstream",
        upstream,
        "--gateway-upstream-key-file",
        "upstream-key",
    ];
    home.serve(&[&gateway, settings].concat())
}

/// Creates a key.
pub async fn create_key(caller: &Caller) -> Key {
    let made = caller.post_nothing("/inference-api-key").await.ok();
    let text = |name: &str| made[name].as_str().expect("it is text").to_owned();
    Key {
        id: text("id"),
        secret: text("key"),
    }
}

/// Returns the status and the code of an error, as [`read_error`] does.
pub async fn error(response: Response) -> (u16, String) {
    let (status, error) = read_error(response).await;
    let code = error["code"].as_str().expect("it has a code");
    (status, code.to_owned())
}

/// Returns the status and the error in a response, whose head must fit its status, and whose body must
/// be as clients of OpenAI's API read it.
pub async fn read_error(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let mut body: Value = response.json().await.expect("an error is JSON");
    let error = body["error"].take();
    assert_eq!(headers["content-type"], "application/json");
    for (name, is_there) in [
        ("www-authenticate", status == 401),
        ("allow", status == 405),
        ("retry-after", matches!(status, 429 | 503)),
    ] {
        assert_eq!(headers.contains_key(name), is_there, "{status}: {name}");
    }
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        400..500 => "invalid_request_error",
        _ => "server_error",
    };
    assert_eq!(error["type"], kind, "{status}");
    let message = error["message"].as_str().expect("it has a message");
    assert!(message.contains(' '), "{message}");
    assert_eq!(error["param"], Value::Null);
    (status, error)
}
