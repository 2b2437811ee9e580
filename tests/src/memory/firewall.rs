//! The operations tagged `firewall`.

use api_server::firewall::{
    FirewallApi, FirewallDetachSubnetError, FirewallDetachSubnetOk, FirewallDetachSubnetRequest,
    FirewallDetachSubnetResponse,
};

use super::{Caller, Memory, admit_conditional, entity_tag, invalid, not_found};

impl FirewallApi<Caller> for Memory {
    async fn firewall_detach_subnet(
        &self,
        caller: Caller,
        request: FirewallDetachSubnetRequest,
    ) -> Result<FirewallDetachSubnetResponse, FirewallDetachSubnetError> {
        let location = Some(request.location.as_str());
        admit_conditional::<FirewallDetachSubnetError>(
            &caller,
            request.project_id.as_str(),
            location,
        )?;
        let mut state = self.state();
        let reference = request.firewall_reference.as_str();
        let subnet = request.body.private_subnet_id.as_str();
        let known = state
            .subnets
            .iter()
            .any(|other| other.id.as_str() == subnet);
        let firewall = state
            .firewalls
            .iter_mut()
            .find(|firewall| {
                firewall.id.as_str() == reference || firewall.name.as_str() == reference
            })
            .ok_or_else(not_found)?;
        if !known {
            return Err(invalid("private_subnet_id", "there is no such private subnet").into());
        }
        firewall
            .private_subnets
            .retain(|attached| attached.as_str() != subnet);
        Ok(FirewallDetachSubnetOk::new(firewall.clone(), entity_tag()).into())
    }
}
