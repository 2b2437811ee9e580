//! `default` beside `4XX` and `5XX`, which leave it no status, with other bodies.

use features_client::prelude::*;
use features_client::statuses::StatusViewErrorBody;
use features_server::server::StatusCode;
use features_server::statuses::{
    StatusViewError, StatusViewRequest, StatusViewResponse, StatusesApi,
};
use features_types::{Callers, Servers};

impl StatusesApi for crate::Features {
    async fn status_view(
        &self,
        request: StatusViewRequest,
    ) -> Result<StatusViewResponse, StatusViewError> {
        Err(match request.code {
            418 => StatusViewError::ClientError {
                status: StatusCode::IM_A_TEAPOT
                    .try_into()
                    .expect("a status of the range"),
                body: Callers::new("tea".to_owned()),
            },
            503 => StatusViewError::ServerError {
                status: StatusCode::SERVICE_UNAVAILABLE
                    .try_into()
                    .expect("a status of the range"),
                body: Servers::new("away".to_owned()),
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
}
