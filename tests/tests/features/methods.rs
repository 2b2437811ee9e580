//! Operations of the methods OPTIONS and TRACE.

use features_client::prelude::*;
use features_server::methods::{
    MethodOptionsError, MethodOptionsRequest, MethodOptionsResponse, MethodTraceError,
    MethodTraceRequest, MethodTraceResponse, MethodsApi,
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
}

pub async fn check(client: &Client, _: &str) {
    let options = client.method_options().send().await.expect("a success");
    assert_eq!(options.into_inner(), "options");
    let trace = client.method_trace().send().await.expect("a success");
    assert_eq!(trace.into_inner(), "trace");
}
