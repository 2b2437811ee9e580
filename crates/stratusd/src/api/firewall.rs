//! Handlers of the tag `firewall`.

use api_server::firewall::{
    FirewallApi, FirewallDetachSubnetError, FirewallDetachSubnetOk, FirewallDetachSubnetRequest,
    FirewallDetachSubnetResponse,
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
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let detach = DetachSubnet {
            scope,
            reference: request.firewall_reference,
            body: request.body,
            if_match: request.if_match,
        };
        let Tagged { shown, tag } = self.store.change(detach).await?;
        Ok(FirewallDetachSubnetOk::new(shown, tag).into())
    }
}
