//! The operations tagged `inference_api_key`.

use api_server::inference_api_key::{
    InferenceApiKeyApi, InferenceApiKeyCreateError, InferenceApiKeyCreateOk,
    InferenceApiKeyCreateRequest, InferenceApiKeyCreateResponse, InferenceApiKeyDeleteError,
    InferenceApiKeyDeleteRequest, InferenceApiKeyDeleteResponse, InferenceApiKeyListError,
    InferenceApiKeyListRequest, InferenceApiKeyListResponse, InferenceApiKeyViewError,
    InferenceApiKeyViewOk, InferenceApiKeyViewRequest, InferenceApiKeyViewResponse,
};
use api_types::{InferenceApiKeyPage, InferenceApiKeySummary, NoStore};

use super::{
    Caller, Memory, admit, admit_change, admit_delete, entity_tag, invalid, not_found, page,
};

impl InferenceApiKeyApi<Caller> for Memory {
    async fn inference_api_key_list(
        &self,
        caller: Caller,
        request: InferenceApiKeyListRequest,
    ) -> Result<InferenceApiKeyListResponse, InferenceApiKeyListError> {
        admit::<InferenceApiKeyListError>(&caller, request.project_id.as_str(), None)?;
        if request.order_column.as_str() != "id" {
            return Err(invalid("order_column", "must be id").into());
        }
        let (count, items) = page(
            &self.state().inference_api_keys,
            |key: &InferenceApiKeySummary, _| key.id.to_string(),
            &request.order_column,
            request.start_after.as_ref(),
            request.page_size,
        )?;
        Ok(InferenceApiKeyPage::new(count, items).into())
    }

    async fn inference_api_key_view(
        &self,
        caller: Caller,
        request: InferenceApiKeyViewRequest,
    ) -> Result<InferenceApiKeyViewResponse, InferenceApiKeyViewError> {
        admit::<InferenceApiKeyViewError>(&caller, request.project_id.as_str(), None)?;
        let state = self.state();
        let mut keys = state.inference_api_keys.iter();
        let found = keys.find(|key| key.id == request.inference_api_key_id);
        let found = found.cloned().ok_or_else(not_found)?;
        Ok(InferenceApiKeyViewOk::new(found, entity_tag()).into())
    }

    async fn inference_api_key_delete(
        &self,
        caller: Caller,
        request: InferenceApiKeyDeleteRequest,
    ) -> Result<InferenceApiKeyDeleteResponse, InferenceApiKeyDeleteError> {
        admit_delete::<InferenceApiKeyDeleteError>(&caller, request.project_id.as_str(), None)?;
        let keys = &mut self.state().inference_api_keys;
        keys.retain(|key| key.id != request.inference_api_key_id);
        Ok(InferenceApiKeyDeleteResponse::NoContent)
    }

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
