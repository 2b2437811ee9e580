//! Operations tagged `inference_api_key`.

use api_server::inference_api_key::{
    InferenceApiKey, InferenceApiKeyCreateAnswer, InferenceApiKeyCreateError, InferenceApiKeyCreateOk,
    InferenceApiKeyCreateRequest,
};
use api_types::NoStore;

use super::{Service, error};
use crate::domain::inference_api_key::Create;
use crate::domain::{Caller, Outcome};

impl InferenceApiKey<Caller> for Service {
    async fn inference_api_key_create(
        &self,
        caller: Caller,
        request: InferenceApiKeyCreateRequest,
    ) -> Result<InferenceApiKeyCreateAnswer, InferenceApiKeyCreateError> {
        let made = self.create_key(caller, &request).await.map_err(error::of_change::<InferenceApiKeyCreateError>)?;
        Ok(InferenceApiKeyCreateOk::new(made, NoStore::NoStore).into())
    }
}

impl Service {
    async fn create_key(
        &self,
        caller: Caller,
        request: &InferenceApiKeyCreateRequest,
    ) -> Outcome<api_types::InferenceApiKey> {
        self.store.change(Create::new(caller, &request.project_id, self.around.clone())?).await
    }
}
