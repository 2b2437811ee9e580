//! Handlers of the tag `firewall`.

use api_server::firewall::{
    FIREWALL_ATTACH_SUBNET, FIREWALL_CREATE, FIREWALL_DELETE, FIREWALL_DETACH_SUBNET,
    FIREWALL_RULE_CREATE, FIREWALL_RULE_DELETE, FirewallApi, FirewallAttachSubnetError,
    FirewallAttachSubnetOk, FirewallAttachSubnetRequest, FirewallAttachSubnetResponse,
    FirewallCreateError, FirewallCreateOk, FirewallCreateRequest, FirewallCreateResponse,
    FirewallDeleteError, FirewallDeleteRequest, FirewallDeleteResponse, FirewallDetachSubnetError,
    FirewallDetachSubnetOk, FirewallDetachSubnetRequest, FirewallDetachSubnetResponse,
    FirewallListError, FirewallListRequest, FirewallListResponse, FirewallRuleCreateError,
    FirewallRuleCreateOk, FirewallRuleCreateRequest, FirewallRuleCreateResponse,
    FirewallRuleDeleteError, FirewallRuleDeleteRequest, FirewallRuleDeleteResponse,
    FirewallViewError, FirewallViewOk, FirewallViewRequest, FirewallViewResponse,
};

use super::Service;
use crate::domain::Caller;
use crate::domain::entity_tag::Tagged;
use crate::domain::list::ListQuery;
use crate::operations::firewall::{self, AttachSubnet, Create, Delete, DetachSubnet};
use crate::operations::firewall_rule;

impl FirewallApi<Caller> for Service {
    async fn firewall_list(
        &self,
        caller: Caller,
        request: FirewallListRequest,
    ) -> Result<FirewallListResponse, FirewallListError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.page_reader(&caller, &query).await?;
        let page = firewall::list(&mut reader.connection(), &scope, &query).await?;
        reader.end().await?;
        Ok(page.into())
    }

    async fn firewall_view(
        &self,
        caller: Caller,
        request: FirewallViewRequest,
    ) -> Result<FirewallViewResponse, FirewallViewError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        // The view takes several statements, which must all see the same state.
        let mut snapshot = self.snapshot(&caller).await?;
        let Tagged { shown, tag } = firewall::view(
            &mut snapshot.connection(),
            &scope,
            &request.firewall_reference,
        )
        .await?;
        Ok(FirewallViewOk::new(shown, tag).into())
    }

    async fn firewall_create(
        &self,
        caller: Caller,
        request: FirewallCreateRequest,
    ) -> Result<FirewallCreateResponse, FirewallCreateError> {
        let author = Self::author(&caller, &FIREWALL_CREATE);
        let body = request.body.unwrap_or_default();
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(&request.location, &request.firewall_reference, &body),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let create = Create {
            scope,
            reference: request.firewall_reference,
            body,
            world: self.context.world.clone(),
            quotas: self.context.quotas,
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, create, key).await?;
        let mut ok = FirewallCreateOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn firewall_delete(
        &self,
        caller: Caller,
        request: FirewallDeleteRequest,
    ) -> Result<FirewallDeleteResponse, FirewallDeleteError> {
        let author = Self::author(&caller, &FIREWALL_DELETE);
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let delete = Delete {
            scope,
            reference: request.firewall_reference,
            if_match: request.if_match,
        };
        self.change(author, delete).await?;
        Ok(FirewallDeleteResponse::NoContent)
    }

    async fn firewall_attach_subnet(
        &self,
        caller: Caller,
        request: FirewallAttachSubnetRequest,
    ) -> Result<FirewallAttachSubnetResponse, FirewallAttachSubnetError> {
        let author = Self::author(&caller, &FIREWALL_ATTACH_SUBNET);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.firewall_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let attach = AttachSubnet {
            scope,
            reference: request.firewall_reference,
            body: request.body,
            if_match: request.if_match,
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, attach, key).await?;
        let mut ok = FirewallAttachSubnetOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn firewall_detach_subnet(
        &self,
        caller: Caller,
        request: FirewallDetachSubnetRequest,
    ) -> Result<FirewallDetachSubnetResponse, FirewallDetachSubnetError> {
        let author = Self::author(&caller, &FIREWALL_DETACH_SUBNET);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.firewall_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let detach = DetachSubnet {
            scope,
            reference: request.firewall_reference,
            body: request.body,
            if_match: request.if_match,
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, detach, key).await?;
        let mut ok = FirewallDetachSubnetOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn firewall_rule_create(
        &self,
        caller: Caller,
        request: FirewallRuleCreateRequest,
    ) -> Result<FirewallRuleCreateResponse, FirewallRuleCreateError> {
        let author = Self::author(&caller, &FIREWALL_RULE_CREATE);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.firewall_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let create = firewall_rule::Create {
            scope,
            reference: request.firewall_reference,
            body: request.body,
            world: self.context.world.clone(),
        };
        let (created, replayed) = self.once(author, create, key).await?;
        let mut ok = FirewallRuleCreateOk::new(created);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn firewall_rule_delete(
        &self,
        caller: Caller,
        request: FirewallRuleDeleteRequest,
    ) -> Result<FirewallRuleDeleteResponse, FirewallRuleDeleteError> {
        let author = Self::author(&caller, &FIREWALL_RULE_DELETE);
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let delete = firewall_rule::Delete {
            scope,
            reference: request.firewall_reference,
            rule: request.firewall_rule_id,
            if_match: request.if_match,
        };
        self.change(author, delete).await?;
        Ok(FirewallRuleDeleteResponse::NoContent)
    }
}
