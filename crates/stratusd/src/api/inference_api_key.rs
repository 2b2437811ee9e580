//! Handlers of the tag `inference_api_key`.

use api_server::inference_api_key::{
    INFERENCE_API_KEY_CREATE, INFERENCE_API_KEY_DELETE, InferenceApiKeyApi,
    InferenceApiKeyCreateError, InferenceApiKeyCreateOk, InferenceApiKeyCreateRequest,
    InferenceApiKeyCreateResponse, InferenceApiKeyDeleteError, InferenceApiKeyDeleteRequest,
    InferenceApiKeyDeleteResponse, InferenceApiKeyListError, InferenceApiKeyListRequest,
    InferenceApiKeyListResponse, InferenceApiKeyViewError, InferenceApiKeyViewOk,
    InferenceApiKeyViewRequest, InferenceApiKeyViewResponse,
};
use api_types::NoStore;

use super::Service;
use crate::domain::Caller;
use crate::domain::entity_tag::Tagged;
use crate::domain::list::ListQuery;
use crate::operations::inference_api_key::{self, Create, Delete};

impl InferenceApiKeyApi<Caller> for Service {
    async fn inference_api_key_list(
        &self,
        caller: Caller,
        request: InferenceApiKeyListRequest,
    ) -> Result<InferenceApiKeyListResponse, InferenceApiKeyListError> {
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.page_reader(&caller, &query).await?;
        let page = inference_api_key::list(
            &mut reader.connection(),
            &caller,
            &request.project_id,
            &query,
        )
        .await?;
        reader.end().await?;
        Ok(page.into())
    }

    async fn inference_api_key_view(
        &self,
        caller: Caller,
        request: InferenceApiKeyViewRequest,
    ) -> Result<InferenceApiKeyViewResponse, InferenceApiKeyViewError> {
        let mut reader = self.reader(&caller).await?;
        let Tagged { shown, tag } = inference_api_key::view(
            &mut reader.connection(),
            &caller,
            &request.project_id,
            &request.inference_api_key_id,
        )
        .await?;
        Ok(InferenceApiKeyViewOk::new(shown, tag).into())
    }

    async fn inference_api_key_delete(
        &self,
        caller: Caller,
        request: InferenceApiKeyDeleteRequest,
    ) -> Result<InferenceApiKeyDeleteResponse, InferenceApiKeyDeleteError> {
        let author = Self::author(&caller, &INFERENCE_API_KEY_DELETE);
        let delete = Delete::new(
            caller,
            &request.project_id,
            request.inference_api_key_id,
            request.if_match,
        )?;
        self.change(author, delete).await?;
        Ok(InferenceApiKeyDeleteResponse::NoContent)
    }

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
