//! Calls of a provisioner, as the check makes them.

use std::time::Duration;

use provisioner_types as wire;
use reqwest::{Method, RequestBuilder};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use super::{Check, Subject};
use crate::provision::line;

/// The largest response that is read, in bytes.
const MOST_BYTES: usize = 1 << 20;
/// The longest pause between two calls of a step that is pending or postponed.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    media_type: String,
    body: Vec<u8>,
}

impl Answer {
    /// Returns the response in words.
    pub(super) fn words(&self) -> String {
        let body = line(&String::from_utf8_lossy(&self.body));
        if body.is_empty() {
            format!("it responds with {} without a body", self.status)
        } else {
            format!("it responds with {}: {body}", self.status)
        }
    }

    /// Returns the body of a response with a status.
    pub(super) fn read<T: DeserializeOwned>(&self, status: u16) -> Result<T, String> {
        if self.status != status {
            return Err(format!("{}, not {status}", self.words()));
        }
        if self.media_type != "application/json" {
            return Err(format!(
                "the media type of {status} is `{}`, not application/json",
                line(&self.media_type)
            ));
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| format!("{}, which does not fit the contract: {error}", self.words()))
    }

    /// Checks that the response is an error with a status, and returns its code.
    pub(super) fn code(&self, status: u16) -> Result<wire::ProblemCode, String> {
        if self.status != status {
            return Err(format!("{}, not {status}", self.words()));
        }
        if self.media_type != "application/problem+json" {
            return Err(format!(
                "the media type of {status} is `{}`, not application/problem+json",
                line(&self.media_type)
            ));
        }
        let problem: Result<wire::Problem, _> = serde_json::from_slice(&self.body);
        let problem = problem.map_err(|error| {
            format!("{}, which does not fit the contract: {error}", self.words())
        })?;
        Ok(problem.code)
    }

    /// Checks that the response is 204.
    pub(super) fn is_empty(&self) -> Result<(), String> {
        match self.status {
            204 => Ok(()),
            _ => Err(format!("{}, not 204", self.words())),
        }
    }
}

/// Returns the body of a request: what is wanted of a database, and more.
pub(super) fn body(subject: &Subject, more: Value) -> Value {
    let mut body = json!({ "wanted": subject.wanted });
    if let Some(known) = &subject.known {
        body["known"] = known.clone();
    }
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    body
}

impl Check {
    /// Returns a request without a token.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        request.timeout(self.timeout)
    }

    /// Sends a request. A response of 503 is no failure by the protocol, so the request is repeated
    /// then, for as long as a step may take.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Answer, String> {
        self.send_by(self.latest(), request).await
    }

    /// Returns until when a step that begins now may take.
    pub(super) fn latest(&self) -> Instant {
        Instant::now() + self.config.patience
    }

    /// Sends a request until the response is not 503. The response is 503 if that does not change until
    /// a moment.
    async fn send_by(&self, latest: Instant, request: RequestBuilder) -> Result<Answer, String> {
        loop {
            let again = request.try_clone();
            let again = again.ok_or("the body of a request cannot be sent twice")?;
            let answer = self.send_once(again).await?;
            let now = Instant::now();
            if answer.status != 503 || now >= latest {
                return Ok(answer);
            }
            sleep_until(latest.min(now + PAUSE)).await;
        }
    }

    /// Sends a request once.
    async fn send_once(&self, request: RequestBuilder) -> Result<Answer, String> {
        let failed = |error: reqwest::Error| {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(inner) = cause.source() {
                cause = inner;
            }
            format!("there is no response: {}", line(&cause.to_string()))
        };
        let mut response = request
            .send()
            .await
            .map_err(|error| failed(error.without_url()))?;
        let media_type = response.headers().get(http::header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|value| value.split(';').next());
        let media_type = media_type.unwrap_or_default().trim().to_ascii_lowercase();
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(part) = response
            .chunk()
            .await
            .map_err(|error| failed(error.without_url()))?
        {
            if body.len() + part.len() > MOST_BYTES {
                return Err(format!("the response has more than {MOST_BYTES} bytes"));
            }
            body.extend_from_slice(&part);
        }
        Ok(Answer {
            status,
            media_type,
            body,
        })
    }

    /// Makes a call with the token.
    pub(super) async fn call(
        &self,
        step: &str,
        subject: &Subject,
        more: Value,
    ) -> Result<Answer, String> {
        self.call_by(self.latest(), step, subject, more).await
    }

    /// Makes a call with the token, which is repeated until a moment if the response is 503.
    async fn call_by(
        &self,
        latest: Instant,
        step: &str,
        subject: &Subject,
        more: Value,
    ) -> Result<Answer, String> {
        let call = self.step_of(&self.http, step, subject, more);
        self.send_by(latest, call).await
    }

    /// Makes a call with the token on a connection that no later call uses. A provisioner that refuses a
    /// body before it has received all of it may close the connection, and HTTP has no way to know when it
    /// has done so: the next call on the connection would fail by chance. A response of 503 is not
    /// repeated, so that an error is that of a single request.
    pub(super) async fn call_apart(
        &self,
        step: &str,
        subject: &Subject,
        more: Value,
    ) -> Result<Answer, String> {
        let call = self.step_of(&self.apart, step, subject, more);
        self.send_once(call).await
    }

    /// Returns the request of a step, with the token.
    fn step_of(
        &self,
        http: &reqwest::Client,
        step: &str,
        subject: &Subject,
        more: Value,
    ) -> RequestBuilder {
        let url = format!("{}/database/{}/{step}", self.url, subject.id);
        let request = http.post(url).timeout(self.timeout);
        let request = request.json(&body(subject, more));
        request.bearer_auth(&*self.token)
    }

    /// Makes a step once, and returns its progress.
    pub(super) async fn step(
        &self,
        step: &str,
        subject: &Subject,
        more: Value,
    ) -> Result<wire::Progress, String> {
        let answer = self.call(step, subject, more).await?;
        answer.read(200).map_err(|found| format!("{step}: {found}"))
    }

    /// Repeats a step until it is done.
    pub(super) async fn until_done(
        &self,
        step: &str,
        subject: &Subject,
        more: Value,
    ) -> Result<(), String> {
        let latest = self.latest();
        loop {
            let answer = self.call_by(latest, step, subject, more.clone()).await?;
            let progress: wire::Progress = answer
                .read(200)
                .map_err(|found| format!("{step}: {found}"))?;
            if progress.state == wire::ProgressState::Done {
                return Ok(());
            }
            if Instant::now() > latest {
                let patience = self.config.patience;
                return Err(format!("{step} is not done after {patience:?}"));
            }
            let wait = progress.wait_ms.and_then(|it| u64::try_from(it.get()).ok());
            let wait = wait.map_or(PAUSE, Duration::from_millis);
            // Not without a pause: a wait of 0 would be a busy loop.
            sleep(wait.clamp(Duration::from_millis(10), PAUSE)).await;
        }
    }

    /// Observes a database. Returns `None` if it does not exist.
    pub(super) async fn observed(
        &self,
        subject: &Subject,
    ) -> Result<Option<wire::ObservedDatabase>, String> {
        self.observed_by(self.latest(), subject).await
    }

    /// Observes a database, which is repeated until a moment if the response is 503.
    async fn observed_by(
        &self,
        latest: Instant,
        subject: &Subject,
    ) -> Result<Option<wire::ObservedDatabase>, String> {
        let answer = self.call_by(latest, "observe", subject, json!({})).await?;
        if answer.status == 404 {
            is_missing("observe", &answer)?;
            return Ok(None);
        }
        let observed = answer.read(200);
        observed
            .map(Some)
            .map_err(|found| format!("observe: {found}"))
    }

    /// Observes a database until it is as a condition says. What is slow, such as a standby, may come
    /// after the step that starts it.
    pub(super) async fn until_observed(
        &self,
        subject: &Subject,
        what: &str,
        is_right: impl Fn(&wire::ObservedDatabase) -> bool,
    ) -> Result<wire::ObservedDatabase, String> {
        let latest = self.latest();
        loop {
            let observed = self.observed_by(latest, subject).await?;
            let observed = observed.ok_or("it observes no database, which it has created")?;
            if is_right(&observed) {
                return Ok(observed);
            }
            if Instant::now() > latest {
                let patience = self.config.patience;
                return Err(format!(
                    "{what} is not observed after {patience:?}, but {}",
                    serde_json::to_string(&observed).unwrap_or_default()
                ));
            }
            sleep(PAUSE / 5).await;
        }
    }
}

/// Checks that a response says that the database does not exist.
pub(super) fn is_missing(step: &str, answer: &Answer) -> Result<(), String> {
    let code = answer
        .code(404)
        .map_err(|found| format!("{step}: {found}"))?;
    if code == wire::ProblemCode::DatabaseNotFound {
        Ok(())
    } else {
        Err(format!(
            "{step}: the code of 404 is {code}, not DatabaseNotFound"
        ))
    }
}
