//! `default` beside `4XX` and `5XX`, which leave it no status, with other bodies; a `default` alone,
//! and an operation that is not written yet.

use features_client::prelude::*;
use features_client::statuses::StatusViewErrorBody;
use features_server::server::{default_status, range_status};
use features_server::statuses::{
    StatusFailError, StatusFailRequest, StatusFailResponse, StatusViewError, StatusViewRequest,
    StatusViewResponse, StatusesApi,
};
use features_types::{Callers, Servers};

impl StatusesApi for crate::Features {
    features_server::statuses_stubs!(status_later);

    async fn status_fail(
        &self,
        _: StatusFailRequest,
    ) -> Result<StatusFailResponse, StatusFailError> {
        Err(StatusFailError::Default {
            status: default_status!(StatusFailError, 503),
            body: Callers::new("none"),
        })
    }

    async fn status_view(
        &self,
        request: StatusViewRequest,
    ) -> Result<StatusViewResponse, StatusViewError> {
        Err(match request.code {
            418 => StatusViewError::ClientError {
                status: range_status!(StatusViewError, 418),
                body: Callers::new("tea"),
            },
            503 => StatusViewError::ServerError {
                status: range_status!(StatusViewError, 503),
                body: Servers::new("away"),
            },
            _ => return Ok(StatusViewResponse::NoContent),
        })
    }
}

pub async fn check(client: &Client, _: &str) {
    client
        .status_view()
        .code(204_u16)
        .send()
        .await
        .expect("a success");
    let error = client.status_view().code(418_u16).send().await;
    let error = error.expect_err("an error").into_body();
    assert!(
        matches!(&error, Some(StatusViewErrorBody::ClientError(body)) if body.mistake == "tea"),
        "{error:?}"
    );
    let error = client.status_view().code(503_u16).send().await;
    let error = error.expect_err("an error").into_body();
    assert!(
        matches!(&error, Some(StatusViewErrorBody::ServerError(body)) if body.fault == "away"),
        "{error:?}"
    );
    let error = client.status_fail().send().await.expect_err("an error");
    assert_eq!(error.status().map(|status| status.as_u16()), Some(503));
    let received = error.into_untyped();
    assert_eq!(
        received.received().map(AsRef::as_ref),
        Some(&br#"{"mistake":"none"}"#[..])
    );
    // The contract does not list the status of an operation that is not there yet.
    let error = client.status_later().send().await.expect_err("an error");
    assert_eq!(
        error.to_string(),
        "the API responded to `status_later` with 501 Not Implemented, which the contract does not list"
    );
}
