//! Handlers of the tag `private_subnet`.

use api_server::private_subnet::{
    PrivateSubnetApi, PrivateSubnetConnectError, PrivateSubnetConnectOk,
    PrivateSubnetConnectRequest, PrivateSubnetConnectResponse, PrivateSubnetCreateError,
    PrivateSubnetCreateOk, PrivateSubnetCreateRequest, PrivateSubnetCreateResponse,
    PrivateSubnetViewError, PrivateSubnetViewOk, PrivateSubnetViewRequest,
    PrivateSubnetViewResponse,
};

use super::Service;
use crate::domain::Caller;
use crate::domain::entity_tag::Tagged;
use crate::operations::private_subnet::{self, Connect, Create};

impl PrivateSubnetApi<Caller> for Service {
    async fn private_subnet_view(
        &self,
        caller: Caller,
        request: PrivateSubnetViewRequest,
    ) -> Result<PrivateSubnetViewResponse, PrivateSubnetViewError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        // The view takes several statements, which must all see the same state.
        let mut snapshot = self.store.snapshot().await?;
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
        let Tagged { shown, tag } = self.store.change(create).await?;
        Ok(PrivateSubnetCreateOk::new(shown, tag).into())
    }

    async fn private_subnet_connect(
        &self,
        caller: Caller,
        request: PrivateSubnetConnectRequest,
    ) -> Result<PrivateSubnetConnectResponse, PrivateSubnetConnectError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let connect = Connect {
            scope,
            reference: request.private_subnet_reference,
            body: request.body,
            if_match: request.if_match,
        };
        let Tagged { shown, tag } = self.store.change(connect).await?;
        Ok(PrivateSubnetConnectOk::new(shown, tag).into())
    }
}
