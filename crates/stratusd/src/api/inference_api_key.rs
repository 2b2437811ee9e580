//! Operations tagged `inference_api_key`.

use api_server::inference_api_key::{
    InferenceApiKeyApi, InferenceApiKeyCreateError, InferenceApiKeyCreateOk,
    InferenceApiKeyCreateRequest, InferenceApiKeyCreateResponse,
};
use api_types::NoStore;

use super::{Service, error};
use crate::domain::Caller;
use crate::operations::Outcome;
use crate::operations::inference_api_key::Create;

impl InferenceApiKeyApi<Caller> for Service {
    async fn inference_api_key_create(
        &self,
        caller: Caller,
        request: InferenceApiKeyCreateRequest,
    ) -> Result<InferenceApiKeyCreateResponse, InferenceApiKeyCreateError> {
        let made = self
            .create_key(caller, &request)
            .await
            .map_err(error::of_change::<InferenceApiKeyCreateError>)?;
        Ok(InferenceApiKeyCreateOk::new(made, NoStore::NoStore).into())
    }
}

impl Service {
    async fn create_key(
        &self,
        caller: Caller,
        request: &InferenceApiKeyCreateRequest,
    ) -> Outcome<api_types::InferenceApiKey> {
        self.store
            .change(Create::new(
                caller,
                &request.project_id,
                self.context.clone(),
            )?)
            .await
    }
}
