//! An optional request body, and required and optional headers of a response.

use features_client::prelude::*;
use features_server::optional_bodies::{
    OptionalBodiesApi, RestartError, RestartNoContent, RestartRequest, RestartResponse,
};
use features_types::RestartBody;

impl OptionalBodiesApi for crate::Features {
    async fn restart(&self, request: RestartRequest) -> Result<RestartResponse, RestartError> {
        let delay = request
            .body
            .and_then(|body| body.delay)
            .map_or(0, |delay| delay.get());
        let response = RestartNoContent::new(delay);
        Ok(if delay == 0 {
            response.into()
        } else {
            response.with_x_reason("asked".to_owned()).into()
        })
    }
}

pub async fn check(client: &Client, url: &str) {
    let delay = 5.try_into().expect("5 is in the range of the schema");
    for (call, expected) in [
        (client.restart(), ("0", None)),
        (
            client.restart().body(RestartBody::new().with_delay(delay)),
            ("5", Some("asked")),
        ),
    ] {
        let response = call.send().await.expect("a success");
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        assert_eq!(
            (
                header("retry-after").unwrap_or_default(),
                header("x-reason")
            ),
            expected
        );
    }
    let wrong = reqwest::Client::new()
        .post(format!("{url}/restart"))
        .header("content-type", "application/json");
    assert_eq!(
        wrong
            .body("null")
            .send()
            .await
            .expect("a response")
            .status(),
        400
    );
}
