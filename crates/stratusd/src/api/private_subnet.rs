//! Operations tagged `private_subnet`.

use api_server::private_subnet::{
    PrivateSubnetApi, PrivateSubnetConnectError, PrivateSubnetConnectRequest,
    PrivateSubnetConnectResponse, PrivateSubnetCreateError, PrivateSubnetCreateRequest,
    PrivateSubnetCreateResponse, PrivateSubnetViewError, PrivateSubnetViewRequest,
    PrivateSubnetViewResponse,
};

use super::{Service, error};
use crate::domain::Caller;
use crate::operations::private_subnet::{Connect, Create};
use crate::operations::{self, Outcome};

impl PrivateSubnetApi<Caller> for Service {
    async fn private_subnet_view(
        &self,
        caller: Caller,
        request: PrivateSubnetViewRequest,
    ) -> Result<PrivateSubnetViewResponse, PrivateSubnetViewError> {
        Ok(self
            .subnet(caller, request)
            .await
            .map_err(error::of_view::<PrivateSubnetViewError>)?
            .into())
    }

    async fn private_subnet_create(
        &self,
        caller: Caller,
        request: PrivateSubnetCreateRequest,
    ) -> Result<PrivateSubnetCreateResponse, PrivateSubnetCreateError> {
        Ok(self
            .create_subnet(caller, request)
            .await
            .map_err(error::of_change::<PrivateSubnetCreateError>)?
            .into())
    }

    async fn private_subnet_connect(
        &self,
        caller: Caller,
        request: PrivateSubnetConnectRequest,
    ) -> Result<PrivateSubnetConnectResponse, PrivateSubnetConnectError> {
        Ok(self
            .connect_subnet(caller, request)
            .await
            .map_err(error::of_change::<PrivateSubnetConnectError>)?
            .into())
    }
}

impl Service {
    async fn subnet(
        &self,
        caller: Caller,
        request: PrivateSubnetViewRequest,
    ) -> Outcome<api_types::PrivateSubnet> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let mut snapshot = self.store.snapshot().await?;
        operations::private_subnet::view(
            &mut snapshot.connection(),
            &scope,
            &request.private_subnet_reference,
        )
        .await
    }

    async fn create_subnet(
        &self,
        caller: Caller,
        request: PrivateSubnetCreateRequest,
    ) -> Outcome<api_types::PrivateSubnet> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let PrivateSubnetCreateRequest {
            private_subnet_reference: reference,
            body,
            ..
        } = request;
        self.store
            .change(Create {
                scope,
                reference,
                body,
                world: self.context.world.clone(),
            })
            .await
    }

    async fn connect_subnet(
        &self,
        caller: Caller,
        request: PrivateSubnetConnectRequest,
    ) -> Outcome<api_types::PrivateSubnet> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        self.store
            .change(Connect {
                scope,
                reference: request.private_subnet_reference,
                body: request.body,
            })
            .await
    }
}
