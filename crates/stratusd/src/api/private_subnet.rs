//! Handlers of the tag `private_subnet`.

use api_server::private_subnet::{
    PRIVATE_SUBNET_CONNECT, PRIVATE_SUBNET_CREATE, PRIVATE_SUBNET_DELETE,
    PRIVATE_SUBNET_DISCONNECT, PrivateSubnetApi, PrivateSubnetConnectError, PrivateSubnetConnectOk,
    PrivateSubnetConnectRequest, PrivateSubnetConnectResponse, PrivateSubnetCreateError,
    PrivateSubnetCreateOk, PrivateSubnetCreateRequest, PrivateSubnetCreateResponse,
    PrivateSubnetDeleteError, PrivateSubnetDeleteRequest, PrivateSubnetDeleteResponse,
    PrivateSubnetDisconnectError, PrivateSubnetDisconnectOk, PrivateSubnetDisconnectRequest,
    PrivateSubnetDisconnectResponse, PrivateSubnetListError, PrivateSubnetListRequest,
    PrivateSubnetListResponse, PrivateSubnetViewError, PrivateSubnetViewOk,
    PrivateSubnetViewRequest, PrivateSubnetViewResponse, ProjectPrivateSubnetListError,
    ProjectPrivateSubnetListRequest, ProjectPrivateSubnetListResponse,
};

use api_types::PrivateSubnetCreate;

use super::Service;
use crate::domain::Caller;
use crate::domain::entity_tag::Tagged;
use crate::domain::list::ListQuery;
use crate::operations::private_subnet::{self, Connect, Create, Delete, Disconnect};

impl PrivateSubnetApi<Caller> for Service {
    async fn private_subnet_list(
        &self,
        caller: Caller,
        request: PrivateSubnetListRequest,
    ) -> Result<PrivateSubnetListResponse, PrivateSubnetListError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.page_reader(&caller, &query).await?;
        let page = private_subnet::list(&mut reader.connection(), &scope, &query).await?;
        reader.end().await?;
        Ok(page.into())
    }

    async fn project_private_subnet_list(
        &self,
        caller: Caller,
        request: ProjectPrivateSubnetListRequest,
    ) -> Result<ProjectPrivateSubnetListResponse, ProjectPrivateSubnetListError> {
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.page_reader(&caller, &query).await?;
        let mut connection = reader.connection();
        let project = &request.project_id;
        let page =
            private_subnet::list_of_project(&mut connection, &caller, project, &query).await?;
        reader.end().await?;
        Ok(page.into())
    }

    async fn private_subnet_view(
        &self,
        caller: Caller,
        request: PrivateSubnetViewRequest,
    ) -> Result<PrivateSubnetViewResponse, PrivateSubnetViewError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        // The view takes several statements, which must all see the same state.
        let mut snapshot = self.snapshot(&caller).await?;
        let Tagged { shown, tag } = private_subnet::view(
            &mut snapshot.connection(),
            &scope,
            &request.private_subnet_reference,
        )
        .await?;
        Ok(PrivateSubnetViewOk::new(shown, tag).into())
    }

    async fn private_subnet_create(
        &self,
        caller: Caller,
        request: PrivateSubnetCreateRequest,
    ) -> Result<PrivateSubnetCreateResponse, PrivateSubnetCreateError> {
        let author = Self::author(&caller, &PRIVATE_SUBNET_CREATE);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.private_subnet_reference,
                request
                    .body
                    .as_ref()
                    .unwrap_or(&PrivateSubnetCreate::default()),
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let create = Create {
            scope,
            reference: request.private_subnet_reference,
            body: request.body,
            world: self.context.world.clone(),
            quotas: self.context.quotas,
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, create, key).await?;
        let mut ok = PrivateSubnetCreateOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn private_subnet_connect(
        &self,
        caller: Caller,
        request: PrivateSubnetConnectRequest,
    ) -> Result<PrivateSubnetConnectResponse, PrivateSubnetConnectError> {
        let author = Self::author(&caller, &PRIVATE_SUBNET_CONNECT);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.private_subnet_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let connect = Connect {
            scope,
            reference: request.private_subnet_reference,
            body: request.body,
            if_match: request.if_match,
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, connect, key).await?;
        let mut ok = PrivateSubnetConnectOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn private_subnet_disconnect(
        &self,
        caller: Caller,
        request: PrivateSubnetDisconnectRequest,
    ) -> Result<PrivateSubnetDisconnectResponse, PrivateSubnetDisconnectError> {
        let author = Self::author(&caller, &PRIVATE_SUBNET_DISCONNECT);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.private_subnet_reference,
                &request.private_subnet_id,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let disconnect = Disconnect {
            scope,
            reference: request.private_subnet_reference,
            other: request.private_subnet_id,
            if_match: request.if_match,
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, disconnect, key).await?;
        let mut ok = PrivateSubnetDisconnectOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn private_subnet_delete(
        &self,
        caller: Caller,
        request: PrivateSubnetDeleteRequest,
    ) -> Result<PrivateSubnetDeleteResponse, PrivateSubnetDeleteError> {
        let author = Self::author(&caller, &PRIVATE_SUBNET_DELETE);
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let delete = Delete {
            scope,
            reference: request.private_subnet_reference,
            if_match: request.if_match,
        };
        self.change(author, delete).await?;
        Ok(PrivateSubnetDeleteResponse::NoContent)
    }
}
