//! Schemas that refer to themselves in every large alternative, and schemas that few values fit: their
//! examples, which the feature `fake` makes, go there and back.

use features_client::prelude::*;
use features_server::narrow::{NarrowApi, NarrowEchoError, NarrowEchoRequest, NarrowEchoResponse};
use features_types::Narrow;

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
}
