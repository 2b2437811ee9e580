//! A chain of `allOf` with more links than a type has the properties of.

use std::collections::BTreeMap;

use features_client::prelude::*;
use features_server::chains::{ChainEchoError, ChainEchoRequest, ChainEchoResponse, ChainsApi};
use features_types::Chain34;
use serde_json::{Value, json};

impl ChainsApi for crate::Features {
    async fn chain_echo(
        &self,
        request: ChainEchoRequest,
    ) -> Result<ChainEchoResponse, ChainEchoError> {
        Ok(request.body.into())
    }
}

pub async fn check(client: &Client, url: &str) {
    // The last link and those near it are fields, and the first two are not.
    let far = BTreeMap::from([("p0".to_owned(), json!(7)), ("p1".to_owned(), json!("b"))]);
    let chain = Chain34::new()
        .with_p3("c")
        .with_p34("d")
        .with_additional_properties(far);
    let told = client.chain_echo().body(chain.clone()).send().await;
    assert_eq!(told.expect("a success").into_inner(), chain);

    let http = reqwest::Client::new();
    let post = async |body: Value| {
        let request = http.post(format!("{url}/chains")).json(&body);
        let response = request.send().await.expect("a response");
        let status = response.status().as_u16();
        (status, response.json::<Value>().await.expect("JSON"))
    };
    let body = json!({"p0": 1, "p1": "b", "p3": "c", "p34": "d", "more": [1]});
    assert_eq!(post(body.clone()).await, (200, body));
    for body in [
        json!({"p34": "d"}),
        json!({"p0": 1, "p1": 2}),
        json!({"p0": 1, "p34": 2}),
    ] {
        assert_eq!(post(body.clone()).await.0, 400, "{body}");
    }
}
