//! Schemas that refer to themselves in every large alternative, and schemas that few values fit: their
//! examples, which the feature `fake` makes, go there and back.

use features_client::prelude::*;
use features_server::narrow::{NarrowApi, NarrowEchoError, NarrowEchoRequest, NarrowEchoResponse};
use features_types::{Narrow, NarrowKinds, NarrowPairs};

impl NarrowApi for crate::Features {
    async fn narrow_echo(
        &self,
        request: NarrowEchoRequest,
    ) -> Result<NarrowEchoResponse, NarrowEchoError> {
        Ok(request.body.into())
    }
}

pub async fn check(client: &Client, _: &str) {
    let narrow = Narrow::example();
    let response = client.narrow_echo().body(narrow.clone()).send().await;
    assert_eq!(response.expect("a success").into_inner(), narrow);
    assert_eq!(narrow.kinds.len(), 3);
    // What comes after too many items is not read, or the message would be that it is not JSON.
    let kinds = serde_json::from_str::<NarrowKinds>(r#"["a", "b", "c", "a", ..."#);
    let pairs = serde_json::from_str::<NarrowPairs>(r#"{"a": 1, "b": 2, "c": 3, ..."#);
    for (refused, rule) in [
        (kinds.err(), "must have at most 3 items"),
        (pairs.err(), "must have at most 2 properties"),
    ] {
        let message = refused.expect("an error").to_string();
        assert!(message.starts_with(rule), "{message}");
    }
}
