//! Responses of several types: callers match on them, successes and errors alike.

use features_client::prelude::*;
use features_client::several_responses::{
    JobViewErrorBody as ErrorBody, JobViewResponse as Received,
};
use features_server::server::StatusCode;
use features_server::several_responses::{
    JobViewError, JobViewRequest, JobViewResponse, SeveralResponsesApi,
};
use features_types::{JobViewAcceptedBody, JobViewDefaultBody, JobViewNotFoundBody, JobViewOkBody};

impl SeveralResponsesApi for crate::Features {
    async fn job_view(&self, request: JobViewRequest) -> Result<JobViewResponse, JobViewError> {
        match request.number {
            0 => Ok(JobViewOkBody::new("done".to_owned()).into()),
            1 => Ok(JobViewAcceptedBody::new(40).into()),
            2 => Err(JobViewError::NotFound(JobViewNotFoundBody::new(
                "none such".to_owned(),
            ))),
            3 => Err(JobViewError::Conflict("in the way".to_owned())),
            _ => {
                let status = StatusCode::IM_A_TEAPOT
                    .try_into()
                    .expect("the status is not listed and no success");
                Err(JobViewError::Default {
                    status,
                    body: JobViewDefaultBody::new().with_hint("tea"),
                })
            }
        }
    }
}

pub async fn check(client: &Client, _: &str) {
    let view = |number: i32| client.job_view().number(number).send();
    assert!(
        matches!(view(0).await.expect("a success").into_inner(), Received::Ok(body) if body.result == "done")
    );
    assert!(
        matches!(view(1).await.expect("a success").into_inner(), Received::Accepted(body) if body.percent == 40)
    );
    for (number, status) in [(2, 404), (3, 409), (4, 418)] {
        let error = view(number).await.expect_err("an error");
        assert_eq!(error.status().map(|status| status.as_u16()), Some(status));
        match error
            .into_body()
            .expect("the contract lists the status of the error")
        {
            ErrorBody::NotFound(body) => {
                assert_eq!((number, body.title.as_str()), (2, "none such"))
            }
            ErrorBody::Conflict(text) => assert_eq!((number, text.as_str()), (3, "in the way")),
            ErrorBody::Default(body) => {
                assert_eq!((number, body.hint.as_deref()), (4, Some("tea")))
            }
            other => panic!("{other:?}"),
        }
    }
}
