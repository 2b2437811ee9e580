//! Operations of the methods OPTIONS, TRACE and QUERY, and of one that only the contract knows.

use features_client::prelude::*;
use features_server::methods::{
    MethodCopyError, MethodCopyRequest, MethodCopyResponse, MethodOptionsError,
    MethodOptionsRequest, MethodOptionsResponse, MethodQueryError, MethodQueryRequest,
    MethodQueryResponse, MethodTraceError, MethodTraceRequest, MethodTraceResponse, MethodsApi,
};

impl MethodsApi for crate::Features {
    async fn method_options(
        &self,
        _: MethodOptionsRequest,
    ) -> Result<MethodOptionsResponse, MethodOptionsError> {
        Ok("options".to_owned().into())
    }

    async fn method_trace(
        &self,
        _: MethodTraceRequest,
    ) -> Result<MethodTraceResponse, MethodTraceError> {
        Ok("trace".to_owned().into())
    }

    async fn method_query(
        &self,
        request: MethodQueryRequest,
    ) -> Result<MethodQueryResponse, MethodQueryError> {
        Ok((request.body * 2).into())
    }

    async fn method_copy(
        &self,
        _: MethodCopyRequest,
    ) -> Result<MethodCopyResponse, MethodCopyError> {
        Ok("copy".to_owned().into())
    }
}

pub async fn check(client: &Client, url: &str) {
    let options = client.method_options().send().await.expect("a success");
    assert_eq!(options.into_inner(), "options");
    let trace = client.method_trace().send().await.expect("a success");
    assert_eq!(trace.into_inner(), "trace");
    let query = client.method_query().body(21).send().await;
    assert_eq!(query.expect("a success").into_inner(), 42);
    let copy = client.method_copy().send().await.expect("a success");
    assert_eq!(copy.into_inner(), "copy");
    by_hand(url).await;
}

/// The methods as another client spells them.
async fn by_hand(url: &str) {
    let method = |name: &str| reqwest::Method::from_bytes(name.as_bytes()).expect("a method");
    let call = |name: &str| reqwest::Client::new().request(method(name), format!("{url}/methods"));
    let query = call("QUERY").json(&4).send().await.expect("a response");
    assert_eq!(query.json::<i64>().await.expect("a number"), 8);
    let copy = call("COPY").send().await.expect("a response");
    assert_eq!(copy.status(), 200);
    // A method has a case, and one that the contract does not list is refused with those that it
    // lists.
    for unlisted in ["Copy", "MOVE"] {
        let refused = call(unlisted).send().await.expect("a response");
        assert_eq!(refused.status(), 405, "{unlisted}");
        let allow = refused.headers()["allow"].to_str().expect("text");
        for listed in ["COPY", "OPTIONS", "QUERY", "TRACE"] {
            assert!(allow.split(", ").any(|method| method == listed), "{allow}");
        }
    }
}
