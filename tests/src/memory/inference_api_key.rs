//! The operations tagged `inference_api_key`.

use api_server::inference_api_key::{
    InferenceApiKeyApi, InferenceApiKeyCreateError, InferenceApiKeyCreateOk,
    InferenceApiKeyCreateRequest, InferenceApiKeyCreateResponse,
};
use api_types::NoStore;

use super::{Caller, Memory, admit_change};

impl InferenceApiKeyApi<Caller> for Memory {
    async fn inference_api_key_create(
        &self,
        caller: Caller,
        request: InferenceApiKeyCreateRequest,
    ) -> Result<InferenceApiKeyCreateResponse, InferenceApiKeyCreateError> {
        admit_change::<InferenceApiKeyCreateError>(&caller, request.project_id.as_str(), None)?;
        let id = "akmagvrjz7cptgqmw5121gqp0c"
            .parse()
            .expect("the text is an id");
        let key = "0123456789abcdefghijABCDEFGHIJ01"
            .parse()
            .expect("the text is an API key");
        Ok(
            InferenceApiKeyCreateOk::new(
                api_types::InferenceApiKey::new(id, key),
                NoStore::NoStore,
            )
            .into(),
        )
    }
}
