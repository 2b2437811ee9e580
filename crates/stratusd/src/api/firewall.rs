//! Handlers of the tag `firewall`.

use api_server::firewall::{
    FIREWALL_DETACH_SUBNET, FirewallApi, FirewallDetachSubnetError, FirewallDetachSubnetOk,
    FirewallDetachSubnetRequest, FirewallDetachSubnetResponse,
};

use super::Service;
use crate::domain::Caller;
use crate::domain::entity_tag::Tagged;
use crate::operations::firewall::DetachSubnet;

impl FirewallApi<Caller> for Service {
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
}
