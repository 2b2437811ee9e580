//! Operations tagged `firewall`.

use api_server::firewall::{
    FirewallApi, FirewallDetachSubnetError, FirewallDetachSubnetRequest,
    FirewallDetachSubnetResponse,
};

use super::{Service, error};
use crate::domain::Caller;
use crate::operations::Outcome;
use crate::operations::firewall::DetachSubnet;

impl FirewallApi<Caller> for Service {
    async fn firewall_detach_subnet(
        &self,
        caller: Caller,
        request: FirewallDetachSubnetRequest,
    ) -> Result<FirewallDetachSubnetResponse, FirewallDetachSubnetError> {
        Ok(self
            .detach_subnet(caller, request)
            .await
            .map_err(error::of_change::<FirewallDetachSubnetError>)?
            .into())
    }
}

impl Service {
    async fn detach_subnet(
        &self,
        caller: Caller,
        request: FirewallDetachSubnetRequest,
    ) -> Outcome<api_types::Firewall> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        self.store
            .change(DetachSubnet {
                scope,
                reference: request.firewall_reference,
                body: request.body,
            })
            .await
    }
}
