//! Handlers of the tag `inference_api_key`.

use api_server::inference_api_key::{
    InferenceApiKeyApi, InferenceApiKeyCreateError, InferenceApiKeyCreateOk,
    InferenceApiKeyCreateRequest, InferenceApiKeyCreateResponse,
};
use api_types::NoStore;

use super::Service;
use crate::domain::Caller;
use crate::operations::inference_api_key::Create;

impl InferenceApiKeyApi<Caller> for Service {
    async fn inference_api_key_create(
        &self,
        caller: Caller,
        request: InferenceApiKeyCreateRequest,
    ) -> Result<InferenceApiKeyCreateResponse, InferenceApiKeyCreateError> {
        let create = Create::new(caller, &request.project_id, self.context.clone())?;
        let created = self.store.change(create).await?;
        Ok(InferenceApiKeyCreateOk::new(created, NoStore::NoStore).into())
    }
}
