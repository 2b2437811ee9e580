//! Names of the contract that are also those of something else: of what derives write, of files, crates and features,
//! of a client's methods, and of each other's types.

use features_client::Client as Caller;
use features_client::prelude::*;
use features_server::{item, job_request, names};
use features_types::{A, D, E, FromIteratorType, I, Map, Properties, S};

macro_rules! tags {
    ($($module:ident: $tag:ident, $method:ident, $request:ident, $answer:ident, $error:ident;)*) => {
        $(
            impl features_server::$module::$tag for crate::Features {
                async fn $method(
                    &self,
                    _: features_server::$module::$request,
                ) -> Result<features_server::$module::$answer, features_server::$module::$error> {
                    Ok(features_server::$module::$answer::NoContent)
                }
            }
        )*
    };
}

tags! {
    lib_: Lib, lib_go, LibGoRequest, LibGoAnswer, LibGoError;
    main_: Main, main_go, MainGoRequest, MainGoAnswer, MainGoError;
    std_: Std, std_go, StdGoRequest, StdGoAnswer, StdGoError;
    core_: Core, core_go, CoreGoRequest, CoreGoAnswer, CoreGoError;
    server_: Server, server_go, ServerGoRequest, ServerGoAnswer, ServerGoError;
    schemas_: Schemas, schemas_go, SchemasGoRequest, SchemasGoAnswer, SchemasGoError;
    schemars_: Schemars, schemars_go, SchemarsGoRequest, SchemarsGoAnswer, SchemarsGoError;
    utoipa_: Utoipa, utoipa_go, UtoipaGoRequest, UtoipaGoAnswer, UtoipaGoError;
    rustls_: Rustls, rustls_go, RustlsGoRequest, RustlsGoAnswer, RustlsGoError;
    client: Client, client_go, ClientGoRequest, ClientGoAnswer, ClientGoError;
    runtime_: Runtime, runtime_go, RuntimeGoRequest, RuntimeGoAnswer, RuntimeGoError;
    reqwest_: Reqwest, reqwest_go, ReqwestGoRequest, ReqwestGoAnswer, ReqwestGoError;
    api_runtime_: ApiRuntime, api_runtime_go, ApiRuntimeGoRequest, ApiRuntimeGoAnswer, ApiRuntimeGoError;
    serde_json_: SerdeJson, serde_json_go, SerdeJsonGoRequest, SerdeJsonGoAnswer, SerdeJsonGoError;
    default_: DefaultType, default_go, DefaultGoRequest, DefaultGoAnswer, DefaultGoError;
    types: Types, types_go, TypesGoRequest, TypesGoAnswer, TypesGoError;
    sealed: Sealed, sealed_go, SealedGoRequest, SealedGoAnswer, SealedGoError;
    schemes: Schemes, schemes_go, SchemesGoRequest, SchemesGoAnswer, SchemesGoError;
    responses: Responses, responses_go, ResponsesGoRequest, ResponsesGoAnswer, ResponsesGoError;
    router: Router, router_go, RouterGoRequest, RouterGoAnswer, RouterGoError;
    openapi: Openapi, openapi_go, OpenapiGoRequest, OpenapiGoAnswer, OpenapiGoError;
    shared_openapi: SharedOpenapi, shared_openapi_go, SharedOpenapiGoRequest, SharedOpenapiGoAnswer, SharedOpenapiGoError;
    features_types2: FeaturesTypes, features_types_go, FeaturesTypesGoRequest, FeaturesTypesGoAnswer, FeaturesTypesGoError;
    s: SOperations, s_go, SGoRequest, SGoAnswer, SGoError;
    api: Api, api_go, ApiGoRequest, ApiGoAnswer, ApiGoError;
    mod_: Mod, mod_go, ModGoRequest, ModGoAnswer, ModGoError;
}

impl names::Names for crate::Features {
    async fn word_echo(&self, request: names::WordEchoRequest) -> Result<names::WordEchoAnswer, names::WordEchoError> {
        Ok(request.body.into())
    }

    async fn clone_(&self, _: names::CloneTypeRequest) -> Result<names::CloneTypeAnswer, names::CloneTypeError> {
        Ok(names::CloneTypeAnswer::NoContent)
    }

    async fn base_url_(&self, _: names::BaseUrlRequest) -> Result<names::BaseUrlAnswer, names::BaseUrlError> {
        Ok(names::BaseUrlAnswer::NoContent)
    }

    async fn into_(&self, _: names::IntoTypeRequest) -> Result<names::IntoTypeAnswer, names::IntoTypeError> {
        Ok(names::IntoTypeAnswer::NoContent)
    }

    async fn to_owned_(&self, _: names::ToOwnedTypeRequest) -> Result<names::ToOwnedTypeAnswer, names::ToOwnedTypeError> {
        Ok(names::ToOwnedTypeAnswer::NoContent)
    }

    async fn try_into_(&self, _: names::TryIntoTypeRequest) -> Result<names::TryIntoTypeAnswer, names::TryIntoTypeError> {
        Ok(names::TryIntoTypeAnswer::NoContent)
    }

    async fn transport_(&self, _: names::TransportRequest) -> Result<names::TransportAnswer, names::TransportError> {
        Ok(names::TransportAnswer::NoContent)
    }

    async fn new_(&self, _: names::NewRequest) -> Result<names::NewAnswer, names::NewError> {
        Ok(names::NewAnswer::NoContent)
    }

    async fn describe(&self, _: names::DescribeRequest) -> Result<names::DescribeAnswer, names::DescribeError> {
        Ok(names::DescribeAnswer::NoContent)
    }
}

impl job_request::JobRequest for crate::Features {
    async fn job(&self, _: job_request::Job2Request) -> Result<job_request::Job2Answer, job_request::Job2Error> {
        Ok(job_request::Job2Answer::NoContent)
    }

    async fn client_job_request_ext(
        &self,
        _: job_request::ClientJobRequestExt2Request,
    ) -> Result<job_request::ClientJobRequestExt2Answer, job_request::ClientJobRequestExt2Error> {
        Ok(job_request::ClientJobRequestExt2Answer::NoContent)
    }
}

impl item::Item for crate::Features {
    async fn item(&self, _: item::ItemRequest) -> Result<item::ItemAnswer, item::ItemError> {
        Ok(item::ItemOk::new(item::ItemOkBody::Text("one".to_owned())).into())
    }

    async fn item_ok(&self, request: item::ItemOk2Request) -> Result<item::ItemOk2Answer, item::ItemOk2Error> {
        assert!(matches!(request.body, item::ItemOk2Body::Text(text) if text == "two"));
        Ok(item::ItemOk2Answer::NoContent)
    }
}

pub async fn check(client: &Caller, _: &str) {
    let a: A = "a".parse().expect("it is long enough");
    let d = D::try_from(1).expect("it is large enough");
    let map: Map = [("b".to_owned(), E::from(d))].into_iter().collect::<std::collections::BTreeMap<_, _>>().try_into().expect("it is small enough");
    let list = I::try_from(vec![map]).expect("it is short enough");
    let sent = Properties::new(a, d, S::Two).with_i(list).with_from(FromIteratorType::True);
    let answer = client.word_echo().body(sent.clone()).send().await.expect("a success").into_inner();
    assert_eq!(answer, sent);
    client.lib_go().send().await.expect("a success");
    client.main_go().send().await.expect("a success");
    client.std_go().send().await.expect("a success");
    client.core_go().send().await.expect("a success");
    client.server_go().send().await.expect("a success");
    client.schemas_go().send().await.expect("a success");
    client.schemars_go().send().await.expect("a success");
    client.utoipa_go().send().await.expect("a success");
    client.rustls_go().send().await.expect("a success");
    client.client_go().send().await.expect("a success");
    client.runtime_go().send().await.expect("a success");
    client.reqwest_go().send().await.expect("a success");
    client.api_runtime_go().send().await.expect("a success");
    client.serde_json_go().send().await.expect("a success");
    client.default_go().send().await.expect("a success");
    client.types_go().send().await.expect("a success");
    client.sealed_go().send().await.expect("a success");
    client.schemes_go().send().await.expect("a success");
    client.responses_go().send().await.expect("a success");
    client.router_go().send().await.expect("a success");
    client.openapi_go().send().await.expect("a success");
    client.shared_openapi_go().send().await.expect("a success");
    client.features_types_go().send().await.expect("a success");
    client.s_go().send().await.expect("a success");
    client.api_go().send().await.expect("a success");
    client.mod_go().send().await.expect("a success");
    client.clone_().send().await.expect("a success");
    client.base_url_().send().await.expect("a success");
    client.into_().send().await.expect("a success");
    client.to_owned_().send().await.expect("a success");
    client.try_into_().send().await.expect("a success");
    client.transport_().send().await.expect("a success");
    client.new_().send().await.expect("a success");
    client.describe().send().await.expect("a success");
    client.job().send().await.expect("a success");
    client.client_job_request_ext().send().await.expect("a success");
    client.item().send().await.expect("a success");
    client.item_ok().body_plain("two").send().await.expect("a success");
}
