//! Path items, schemas inside schemas and schemas that are `true` or `false`, all by reference.

use features_client::prelude::*;
use features_server::references::{
    PostTreesError, PostTreesRequest, PostTreesResponse, ReferencesApi,
};
use features_types::{Tree, TreeLeaves};

impl ReferencesApi for crate::Features {
    async fn post_trees(
        &self,
        request: PostTreesRequest,
    ) -> Result<PostTreesResponse, PostTreesError> {
        fn leaves(tree: &Tree) -> i32 {
            let own = tree.leaves.map_or(0, TreeLeaves::get);
            own + tree.branches.iter().flatten().map(leaves).sum::<i32>()
        }
        Ok(TreeLeaves::try_from(leaves(&request.body))
            .expect("a test sends only a few leaves")
            .into())
    }
}

pub async fn check(client: &Client, url: &str) {
    let leaf = |count: i32| {
        Tree::new().with_leaves(
            count
                .try_into()
                .expect("the count is in the range of the schema"),
        )
    };
    let tree = leaf(1).with_branches(vec![leaf(2), leaf(3).with_branches(vec![leaf(4)])]);
    assert_eq!(
        client
            .post_trees()
            .body(tree)
            .send()
            .await
            .expect("a success")
            .into_inner()
            .get(),
        10
    );
    for (body, status) in [
        (r#"{"note": [1]}"#, 200),
        (r#"{"never": 1}"#, 400),
        (r#"{"leaves": 3001}"#, 400),
    ] {
        let request = reqwest::Client::new()
            .post(format!("{url}/trees"))
            .header("content-type", "application/json");
        assert_eq!(
            request
                .body(body)
                .send()
                .await
                .expect("a response")
                .status(),
            status,
            "{body}"
        );
    }
}
