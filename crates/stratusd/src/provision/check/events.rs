//! The rule about the events that a provisioner sends.

use std::time::Duration;

use provisioner_types as wire;
use reqwest::Method;
use tokio::time::timeout;

use super::{Broken, Check, Checked};
use crate::provision::line;

/// How long the first event may take.
const FIRST: Duration = Duration::from_secs(10);
/// The largest event that is read, in bytes.
const MOST_BYTES: usize = 16 << 10;
/// The path of the events.
const PATH: &str = "/provisioner/events";

impl Check {
    pub(super) async fn events(&mut self) -> Checked {
        let about = self.about.as_ref();
        if about.and_then(|about| about.sends_events) != Some(true) {
            return Err(Broken::Skipped(
                "it does not say that it sends events".to_owned(),
            ));
        }
        let refused = timeout(FIRST, self.send(self.request(Method::GET, PATH))).await;
        let refused = refused.unwrap_or_else(|_| Err("it has no end".to_owned()));
        refused
            .and_then(|answer| answer.code(401))
            .map_err(|found| format!("without a token: {found}"))?;
        let first = timeout(FIRST, self.first_event()).await;
        let first = first.unwrap_or_else(|_| Err(format!("no event has come after {FIRST:?}")))?;
        let data = first.lines().filter_map(|line| line.strip_prefix("data:"));
        let data = data.collect::<Vec<_>>().join("\n");
        let event: Result<wire::DatabaseEvent, _> = serde_json::from_str(&data);
        event.map(drop).map_err(|error| {
            let wrong = format!("the event {}", line(&first));
            Broken::Failed(format!("{wrong} does not fit the contract: {error}"))
        })
    }

    /// Returns the lines of the first event.
    async fn first_event(&self) -> Result<String, String> {
        let request = self.request(Method::GET, PATH).bearer_auth(&*self.token);
        let response = request.header(http::header::ACCEPT, "text/event-stream");
        let failed = |error: reqwest::Error| {
            format!(
                "the stream ends: {}",
                line(&error.without_url().to_string())
            )
        };
        let mut response = response.send().await.map_err(failed)?;
        let media_type = response.headers().get(http::header::CONTENT_TYPE);
        let media_type = media_type
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        if response.status() != 200 || !essence.eq_ignore_ascii_case("text/event-stream") {
            return Err(format!(
                "it responds with {} and the media type `{}`, not with 200 and text/event-stream",
                response.status().as_u16(),
                line(media_type)
            ));
        }
        let mut text = String::new();
        while let Some(part) = response.chunk().await.map_err(failed)? {
            text.push_str(
                &String::from_utf8_lossy(&part)
                    .replace("\r\n", "\n")
                    .replace('\r', "\n"),
            );
            // A comment, with a line that begins with a colon, is no event.
            let mut events = text.split("\n\n");
            let whole = events.clone().count() - 1;
            let event = events.by_ref().take(whole).find(|event| has_data(event));
            if let Some(event) = event {
                return Ok(event.to_owned());
            }
            if text.len() > MOST_BYTES {
                return Err(format!("its first {MOST_BYTES} bytes have no event"));
            }
        }
        Err("the stream ends without an event".to_owned())
    }
}

fn has_data(event: &str) -> bool {
    event.lines().any(|line| line.starts_with("data:"))
}
