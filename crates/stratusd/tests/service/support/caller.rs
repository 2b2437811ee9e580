//! A caller of the service that does not use the generated client: it can send any request.

use bytes::Bytes;
use reqwest::{Method, Response};
use serde_json::Value;

use super::eventually;

/// A caller with a token.
#[derive(Clone)]
pub struct Caller {
    http: reqwest::Client,
    base: String,
    token: String,
}

/// A response with its body as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonResponse {
    /// The status.
    pub status: u16,
    /// The body. Null if there is none.
    pub body: Value,
}

impl JsonResponse {
    /// Returns the body of a response that must be 200.
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }

    /// Returns the status and the type of an error.
    pub fn error(&self) -> (u16, &str) {
        (
            self.status,
            self.body["error"]["type"].as_str().unwrap_or_default(),
        )
    }

    /// Returns the details of an error about a field.
    pub fn detail(&self, field: &str) -> &Value {
        &self.body["error"]["details"][field]
    }
}

impl Caller {
    /// Creates a caller of a service in a project.
    pub fn new(base: &str, project: &str, token: &str) -> Self {
        // reqwest is built without a TLS provider and uses the installed one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .build()
            .expect("a client can be made");
        Self {
            http,
            base: format!("{base}/project/{project}"),
            token: token.to_owned(),
        }
    }

    /// Returns a caller of another service with the same token.
    pub fn at(&self, base: &str, project: &str) -> Self {
        Self::new(base, project, &self.token)
    }

    /// Sends a request and returns the raw response.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<Response> {
        self.send_with(&[], method, path, body).await
    }

    /// Sends a request with further headers and returns the raw response.
    pub async fn send_with(
        &self,
        headers: &[(&'static str, &str)],
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<Response> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        self.send_bytes(headers, method, path, body).await
    }

    /// Sends a request whose body is JSON already, and returns the raw response.
    pub async fn send_bytes(
        &self,
        headers: &[(&'static str, &str)],
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> reqwest::Result<Response> {
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(&self.token);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            let json = "application/json";
            request = request.header("content-type", json).body(body);
        }
        request.send().await
    }

    /// Sends a request. Fails only if there is no response.
    pub async fn try_call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<JsonResponse> {
        self.try_call_with(&[], method, path, body).await
    }

    /// Sends a request with further headers. Fails only if there is no response.
    pub async fn try_call_with(
        &self,
        headers: &[(&'static str, &str)],
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<JsonResponse> {
        let response = self.send_with(headers, method, path, body).await?;
        let status = response.status().as_u16();
        let body = if status == 204 {
            let bytes = response.bytes().await?;
            assert!(bytes.is_empty(), "a response without content has a body");
            Value::Null
        } else {
            response.json().await?
        };
        Ok(JsonResponse { status, body })
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> JsonResponse {
        self.try_call(method, path, body)
            .await
            .expect("the service responds")
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> JsonResponse {
        self.call(Method::GET, path, None).await
    }

    /// Sends a POST request with a body.
    pub async fn post(&self, path: &str, body: Value) -> JsonResponse {
        self.call(Method::POST, path, Some(&body)).await
    }

    /// Sends a POST request without a body.
    pub async fn post_nothing(&self, path: &str) -> JsonResponse {
        self.call(Method::POST, path, None).await
    }

    /// Sends a PATCH request.
    pub async fn patch(&self, path: &str, body: Value) -> JsonResponse {
        self.call(Method::PATCH, path, Some(&body)).await
    }

    /// Sends a DELETE request.
    pub async fn delete(&self, path: &str) -> JsonResponse {
        self.call(Method::DELETE, path, None).await
    }

    /// Polls with GET until the body satisfies a condition. Returns the body.
    pub async fn wait_for(&self, path: &str, is_right: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let right = eventually(async || {
            last = self.get(path).await.ok();
            is_right(&last).then(|| last.clone())
        });
        right
            .await
            .unwrap_or_else(|| panic!("{path} does not satisfy the condition: {last}"))
    }
}
