//! Bounds of numbers and counts that are written as integers beyond 32 bits.

use features_client::prelude::*;
use features_server::numbers::{
    NumberEchoError, NumberEchoRequest, NumberEchoResponse, NumbersApi, SurveyEchoError,
    SurveyEchoRequest, SurveyEchoResponse,
};
use features_types::{Distance, Survey};
use serde_json::json;

impl NumbersApi for crate::Features {
    async fn number_echo(
        &self,
        request: NumberEchoRequest,
    ) -> Result<NumberEchoResponse, NumberEchoError> {
        Ok(request.body.into())
    }

    async fn survey_echo(
        &self,
        request: SurveyEchoRequest,
    ) -> Result<SurveyEchoResponse, SurveyEchoError> {
        Ok(request.body.into())
    }
}

pub async fn check(client: &Client, url: &str) {
    let distance = Distance::try_from(10_000_000_000.0).expect("a multiple");
    let response = client.number_echo().body(distance).send().await;
    assert_eq!(response.expect("a success").into_inner(), distance);
    for (body, status) in [("0", 200), ("-5000000000", 400), ("1", 400)] {
        let request = reqwest::Client::new()
            .post(format!("{url}/numbers"))
            .header("content-type", "application/json")
            .body(body);
        let response = request.send().await.expect("a response");
        assert_eq!(response.status().as_u16() / 100, status / 100, "{body}");
    }
    let survey = json!({ "points": [5_000_000_000.0], "notes": { "first": "far" } });
    let sent = serde_json::from_value(survey.clone()).expect("a survey");
    let response = client.survey_echo().body::<Survey>(sent).send().await;
    let response = response.expect("a success").into_inner();
    assert_eq!(serde_json::to_value(response).expect("JSON"), survey);
}
