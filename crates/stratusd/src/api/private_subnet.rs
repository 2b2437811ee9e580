//! Handlers of the tag `private_subnet`.

use api_server::private_subnet::{
    PrivateSubnetApi, PrivateSubnetConnectError, PrivateSubnetConnectRequest,
    PrivateSubnetConnectResponse, PrivateSubnetCreateError, PrivateSubnetCreateRequest,
    PrivateSubnetCreateResponse, PrivateSubnetViewError, PrivateSubnetViewRequest,
    PrivateSubnetViewResponse,
};

use super::Service;
use crate::domain::Caller;
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
        let found = private_subnet::view(
            &mut snapshot.connection(),
            &scope,
            &request.private_subnet_reference,
        )
        .await?;
        Ok(found.into())
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
        Ok(self.store.change(create).await?.into())
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
        };
        Ok(self.store.change(connect).await?.into())
    }
}
