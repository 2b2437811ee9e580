//! Whoever calls the service, without a client's help: what is sent and what comes is in the open.

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

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl Answer {
    /// The body of an answer that must be 200.
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }

    /// Status and type of an error.
    pub fn error(&self) -> (u16, &str) {
        (
            self.status,
            self.body["error"]["type"].as_str().unwrap_or_default(),
        )
    }

    /// What an error says of a field.
    pub fn detail(&self, field: &str) -> &Value {
        &self.body["error"]["details"][field]
    }
}

impl Caller {
    /// A caller of a service in a project.
    pub fn new(base: &str, project: &str, token: &str) -> Self {
        // The client's features leave the choice of a provider to the program.
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

    /// Sends a request and gives the answer as it is.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<Response> {
        let request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(&self.token);
        match body {
            Some(body) => request.json(body).send().await,
            None => request.send().await,
        }
    }

    /// Sends a request; fails only if nothing comes back.
    pub async fn try_call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<Answer> {
        let response = self.send(method, path, body).await?;
        let status = response.status().as_u16();
        Ok(Answer {
            status,
            body: response.json().await?,
        })
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        self.try_call(method, path, body)
            .await
            .expect("the service answers")
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, None).await
    }

    /// POST with a body.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(&body)).await
    }

    /// POST without one.
    pub async fn post_nothing(&self, path: &str) -> Answer {
        self.call(Method::POST, path, None).await
    }

    /// PATCH.
    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.call(Method::PATCH, path, Some(&body)).await
    }

    /// Waits until a GET answers something that is as it shall be.
    pub async fn wait_for(&self, path: &str, is_right: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let right = eventually(async || {
            last = self.get(path).await.ok();
            is_right(&last).then(|| last.clone())
        });
        right
            .await
            .unwrap_or_else(|| panic!("{path} does not become what it shall be: {last}"))
    }
}
