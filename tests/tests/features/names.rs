//! Names in the contract that generated code uses for something else: in derives, for files, crates
//! and features, for methods of the client, and for other types.

use features_client::Client as Caller;
use features_client::prelude::*;
use features_server::{item, job_request, names};
use features_types::{A, D, E, FromIteratorType, I, Map, Properties, S};

macro_rules! tags {
    ($($module:ident: $tag:ident, $method:ident, $request:ident, $response:ident, $error:ident;)*) => {
        $(
            impl features_server::$module::$tag for crate::Features {
                async fn $method(
                    &self,
                    _: features_server::$module::$request,
                ) -> Result<features_server::$module::$response, features_server::$module::$error> {
                    Ok(features_server::$module::$response::NoContent)
                }
            }
        )*
    };
}

tags! {
    lib_: LibApi, lib_go, LibGoRequest, LibGoResponse, LibGoError;
    main_: MainApi, main_go, MainGoRequest, MainGoResponse, MainGoError;
    std_: StdApi, std_go, StdGoRequest, StdGoResponse, StdGoError;
    core_: CoreApi, core_go, CoreGoRequest, CoreGoResponse, CoreGoError;
    server_: ServerApi, server_go, ServerGoRequest, ServerGoResponse, ServerGoError;
    schemas_: SchemasApi, schemas_go, SchemasGoRequest, SchemasGoResponse, SchemasGoError;
    schemars_: SchemarsApi, schemars_go, SchemarsGoRequest, SchemarsGoResponse, SchemarsGoError;
    utoipa_: UtoipaApi, utoipa_go, UtoipaGoRequest, UtoipaGoResponse, UtoipaGoError;
    rustls_: RustlsApi, rustls_go, RustlsGoRequest, RustlsGoResponse, RustlsGoError;
    client: ClientApi, client_go, ClientGoRequest, ClientGoResponse, ClientGoError;
    runtime_: RuntimeApi, runtime_go, RuntimeGoRequest, RuntimeGoResponse, RuntimeGoError;
    reqwest_: ReqwestApi, reqwest_go, ReqwestGoRequest, ReqwestGoResponse, ReqwestGoError;
    api_runtime_: ApiRuntimeApi, api_runtime_go, ApiRuntimeGoRequest, ApiRuntimeGoResponse, ApiRuntimeGoError;
    serde_json_: SerdeJsonApi, serde_json_go, SerdeJsonGoRequest, SerdeJsonGoResponse, SerdeJsonGoError;
    default_: DefaultApi, default_go, DefaultGoRequest, DefaultGoResponse, DefaultGoError;
    types: TypesApi, types_go, TypesGoRequest, TypesGoResponse, TypesGoError;
    sealed: SealedApi, sealed_go, SealedGoRequest, SealedGoResponse, SealedGoError;
    schemes: SchemesApi, schemes_go, SchemesGoRequest, SchemesGoResponse, SchemesGoError;
    responses: ResponsesApi, responses_go, ResponsesGoRequest, ResponsesGoResponse, ResponsesGoError;
    router: RouterApi, router_go, RouterGoRequest, RouterGoResponse, RouterGoError;
    openapi: OpenapiApi, openapi_go, OpenapiGoRequest, OpenapiGoResponse, OpenapiGoError;
    shared_openapi: SharedOpenapiApi, shared_openapi_go, SharedOpenapiGoRequest, SharedOpenapiGoResponse, SharedOpenapiGoError;
    features_types2: FeaturesTypesApi, features_types_go, FeaturesTypesGoRequest, FeaturesTypesGoResponse, FeaturesTypesGoError;
    s: SApi, s_go, SGoRequest, SGoResponse, SGoError;
    api: ApiApi, api_go, ApiGoRequest, ApiGoResponse, ApiGoError;
    mod_: ModApi, mod_go, ModGoRequest, ModGoResponse, ModGoError;
    prelude_: PreludeApi, prelude_go, PreludeGoRequest, PreludeGoResponse, PreludeGoError;
    aux: AuxApi, aux_go, AuxGoRequest, AuxGoResponse, AuxGoError;
    com1: Com1Api, com1_go, Com1GoRequest, Com1GoResponse, Com1GoError;
}

impl names::NamesApi for crate::Features {
    async fn word_echo(
        &self,
        request: names::WordEchoRequest,
    ) -> Result<names::WordEchoResponse, names::WordEchoError> {
        Ok(request.body.into())
    }

    async fn clone_(
        &self,
        _: names::CloneTypeRequest,
    ) -> Result<names::CloneTypeResponse, names::CloneTypeError> {
        Ok(names::CloneTypeResponse::NoContent)
    }

    async fn base_url_(
        &self,
        _: names::BaseUrlRequest,
    ) -> Result<names::BaseUrlResponse, names::BaseUrlError> {
        Ok(names::BaseUrlResponse::NoContent)
    }

    async fn into_(
        &self,
        _: names::IntoTypeRequest,
    ) -> Result<names::IntoTypeResponse, names::IntoTypeError> {
        Ok(names::IntoTypeResponse::NoContent)
    }

    async fn to_owned_(
        &self,
        _: names::ToOwnedTypeRequest,
    ) -> Result<names::ToOwnedTypeResponse, names::ToOwnedTypeError> {
        Ok(names::ToOwnedTypeResponse::NoContent)
    }

    async fn try_into_(
        &self,
        _: names::TryIntoTypeRequest,
    ) -> Result<names::TryIntoTypeResponse, names::TryIntoTypeError> {
        Ok(names::TryIntoTypeResponse::NoContent)
    }

    async fn transport_(
        &self,
        _: names::TransportRequest,
    ) -> Result<names::TransportResponse, names::TransportError> {
        Ok(names::TransportResponse::NoContent)
    }

    async fn new_(&self, _: names::NewRequest) -> Result<names::NewResponse, names::NewError> {
        Ok(names::NewResponse::NoContent)
    }

    async fn describe(
        &self,
        _: names::DescribeRequest,
    ) -> Result<names::DescribeResponse, names::DescribeError> {
        Ok(names::DescribeResponse::NoContent)
    }
}

impl job_request::JobRequestApi for crate::Features {
    async fn job(
        &self,
        _: job_request::JobRequest,
    ) -> Result<job_request::JobResponse, job_request::JobError> {
        Ok(job_request::JobResponse::NoContent)
    }

    async fn client_job_request_ext(
        &self,
        _: job_request::ClientJobRequestExt2Request,
    ) -> Result<job_request::ClientJobRequestExt2Response, job_request::ClientJobRequestExt2Error>
    {
        Ok(job_request::ClientJobRequestExt2Response::NoContent)
    }
}

impl item::ItemApi for crate::Features {
    async fn item(&self, _: item::ItemRequest) -> Result<item::ItemResponse, item::ItemError> {
        Ok(item::ItemOk::new(item::ItemOkBody::Text("one".to_owned())).into())
    }

    async fn item_ok(
        &self,
        request: item::ItemOk2Request,
    ) -> Result<item::ItemOk2Response, item::ItemOk2Error> {
        assert!(matches!(request.body, item::ItemOk2Body::Text(text) if text == "two"));
        Ok(item::ItemOk2Response::NoContent)
    }
}

pub async fn check(client: &Caller, _: &str) {
    let a: A = "a".parse().expect("the text is long enough for the schema");
    let d = D::try_from(1).expect("1 is large enough for the schema");
    let map: Map = [("b".to_owned(), E::from(d))]
        .into_iter()
        .collect::<std::collections::BTreeMap<_, _>>()
        .try_into()
        .expect("the map is small enough for the schema");
    let list = I::try_from(vec![map]).expect("the list is short enough for the schema");
    let sent = Properties::new(a, d, S::Two)
        .with_i(list)
        .with_from(FromIteratorType::True);
    let response = client
        .word_echo()
        .body(sent.clone())
        .send()
        .await
        .expect("a success")
        .into_inner();
    assert_eq!(response, sent);
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
    client
        .client_job_request_ext()
        .send()
        .await
        .expect("a success");
    client.item().send().await.expect("a success");
    client
        .item_ok()
        .body_plain("two")
        .send()
        .await
        .expect("a success");
}
