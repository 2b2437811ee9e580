//! Handlers of the tag `inference_api_key`.

use api_server::inference_api_key::{
    INFERENCE_API_KEY_CREATE, InferenceApiKeyApi, InferenceApiKeyCreateError,
    InferenceApiKeyCreateOk, InferenceApiKeyCreateRequest, InferenceApiKeyCreateResponse,
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
        let author = Self::author(&caller, &INFERENCE_API_KEY_CREATE);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &request.body.unwrap_or_default(),
        );
        let create = Create::new(caller, &request.project_id, self.context.clone())?;
        let (created, replayed) = self.once(author, create, key).await?;
        let mut ok = InferenceApiKeyCreateOk::new(created, NoStore::NoStore);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }
}
