//! Handlers of the tag `private_subnet`.

use api_server::private_subnet::{
    PRIVATE_SUBNET_CONNECT, PRIVATE_SUBNET_CREATE, PrivateSubnetApi, PrivateSubnetConnectError,
    PrivateSubnetConnectOk, PrivateSubnetConnectRequest, PrivateSubnetConnectResponse,
    PrivateSubnetCreateError, PrivateSubnetCreateOk, PrivateSubnetCreateRequest,
    PrivateSubnetCreateResponse, PrivateSubnetViewError, PrivateSubnetViewOk,
    PrivateSubnetViewRequest, PrivateSubnetViewResponse,
};

use api_types::PrivateSubnetCreate;

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
}
