//! The operations tagged `firewall`.

use api_server::firewall::{
    FirewallApi, FirewallAttachSubnetError, FirewallAttachSubnetOk, FirewallAttachSubnetRequest,
    FirewallAttachSubnetResponse, FirewallCreateError, FirewallCreateOk, FirewallCreateRequest,
    FirewallCreateResponse, FirewallDeleteError, FirewallDeleteRequest, FirewallDeleteResponse,
    FirewallDetachSubnetError, FirewallDetachSubnetOk, FirewallDetachSubnetRequest,
    FirewallDetachSubnetResponse, FirewallListError, FirewallListRequest, FirewallListResponse,
    FirewallRuleCreateError, FirewallRuleCreateOk, FirewallRuleCreateRequest,
    FirewallRuleCreateResponse, FirewallRuleDeleteError, FirewallRuleDeleteRequest,
    FirewallRuleDeleteResponse, FirewallViewError, FirewallViewOk, FirewallViewRequest,
    FirewallViewResponse,
};
use api_types::{
    Firewall, FirewallDetails, FirewallDetailsFields, FirewallFields, FirewallId, FirewallListItem,
    FirewallListItemFields, FirewallPage, FirewallRule, FirewallRuleDetails,
    FirewallRuleDetailsFields, Name, Reference,
};

use super::{
    Caller, Memory, State, admit, admit_change, admit_conditional, admit_delete, entity_tag,
    invalid, not_found, page,
};

/// The id of the firewall that a create makes.
const NEW_FIREWALL: &str = "fwm8cswzvrts6qcxagqtxw4144";
/// The id of the rule that a create makes.
const NEW_RULE: &str = "fr87r4anja29txsyzygcwv29md";

/// Returns the firewall with an id or a name.
fn find<'s>(state: &'s mut State, reference: &Reference) -> Option<&'s mut FirewallDetails> {
    let reference = reference.as_str();
    state
        .firewalls
        .iter_mut()
        .find(|firewall| firewall.id.as_str() == reference || firewall.name.as_str() == reference)
}

impl FirewallApi<Caller> for Memory {
    async fn firewall_list(
        &self,
        caller: Caller,
        request: FirewallListRequest,
    ) -> Result<FirewallListResponse, FirewallListError> {
        let location = Some(request.location.as_str());
        admit::<FirewallListError>(&caller, request.project_id.as_str(), location)?;
        let key = |firewall: &FirewallDetails, by_name: bool| {
            if by_name {
                firewall.name.to_string()
            } else {
                firewall.id.to_string()
            }
        };
        let (count, found) = page(
            &self.state().firewalls,
            key,
            &request.order_column,
            request.start_after.as_ref(),
            request.page_size,
        )?;
        let item = |firewall: FirewallDetails| {
            FirewallListItem::from(FirewallListItemFields {
                description: firewall.description,
                id: firewall.id,
                location: firewall.location,
                name: firewall.name,
            })
        };
        Ok(FirewallPage::new(count, found.into_iter().map(item).collect()).into())
    }

    async fn firewall_view(
        &self,
        caller: Caller,
        request: FirewallViewRequest,
    ) -> Result<FirewallViewResponse, FirewallViewError> {
        let location = Some(request.location.as_str());
        admit::<FirewallViewError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.firewall_reference).ok_or_else(not_found)?;
        Ok(FirewallViewOk::new(found.clone(), entity_tag()).into())
    }

    async fn firewall_create(
        &self,
        caller: Caller,
        request: FirewallCreateRequest,
    ) -> Result<FirewallCreateResponse, FirewallCreateError> {
        let location = Some(request.location.as_str());
        admit_change::<FirewallCreateError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        let name = request.firewall_reference.as_str();
        if find(&mut state, &request.firewall_reference).is_some() {
            return Err(invalid("name", "is already the name of a firewall").into());
        }
        let made = FirewallDetails::from(FirewallDetailsFields {
            description: request.body.unwrap_or_default().description.to_string(),
            firewall_rules: Vec::new(),
            id: FirewallId::try_from(NEW_FIREWALL).expect("the text is an id"),
            location: request.location,
            name: Name::try_from(name).expect("a reference has the form of a name"),
            private_subnets: Vec::new(),
        });
        state.firewalls.push(made.clone());
        Ok(FirewallCreateOk::new(made, entity_tag()).into())
    }

    async fn firewall_delete(
        &self,
        caller: Caller,
        request: FirewallDeleteRequest,
    ) -> Result<FirewallDeleteResponse, FirewallDeleteError> {
        let location = Some(request.location.as_str());
        admit_delete::<FirewallDeleteError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.firewall_reference);
        let found = found.map(|firewall| firewall.id.clone());
        state
            .firewalls
            .retain(|firewall| Some(&firewall.id) != found.as_ref());
        Ok(FirewallDeleteResponse::NoContent)
    }

    async fn firewall_attach_subnet(
        &self,
        caller: Caller,
        request: FirewallAttachSubnetRequest,
    ) -> Result<FirewallAttachSubnetResponse, FirewallAttachSubnetError> {
        let location = Some(request.location.as_str());
        admit_conditional::<FirewallAttachSubnetError>(
            &caller,
            request.project_id.as_str(),
            location,
        )?;
        let mut state = self.state();
        let subnet = request.body.private_subnet_id.as_str();
        let mut subnets = state.subnets.iter();
        let known = subnets.find(|known| known.id.as_str() == subnet);
        let known = known.map(|subnet| subnet.id.clone());
        let firewall = find(&mut state, &request.firewall_reference).ok_or_else(not_found)?;
        let Some(subnet) = known else {
            return Err(invalid("private_subnet_id", "there is no such private subnet").into());
        };
        if !firewall.private_subnets.contains(&subnet) {
            firewall.private_subnets.push(subnet);
        }
        Ok(FirewallAttachSubnetOk::new(firewall.clone(), entity_tag()).into())
    }

    async fn firewall_rule_create(
        &self,
        caller: Caller,
        request: FirewallRuleCreateRequest,
    ) -> Result<FirewallRuleCreateResponse, FirewallRuleCreateError> {
        let location = Some(request.location.as_str());
        admit_change::<FirewallRuleCreateError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        let firewall = find(&mut state, &request.firewall_reference).ok_or_else(not_found)?;
        let rule = FirewallRuleDetails::from(FirewallRuleDetailsFields {
            cidr: request.body.cidr,
            description: request.body.description.to_string(),
            id: NEW_RULE.parse().expect("the text is an id"),
            port_range: request.body.port_range,
            protocol: request.body.protocol,
        });
        firewall.firewall_rules.push(rule.clone());
        Ok(FirewallRuleCreateOk::new(rule).into())
    }

    async fn firewall_rule_delete(
        &self,
        caller: Caller,
        request: FirewallRuleDeleteRequest,
    ) -> Result<FirewallRuleDeleteResponse, FirewallRuleDeleteError> {
        let location = Some(request.location.as_str());
        admit_delete::<FirewallRuleDeleteError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        if let Some(firewall) = find(&mut state, &request.firewall_reference) {
            let rules = &mut firewall.firewall_rules;
            rules.retain(|rule| rule.id != request.firewall_rule_id);
        }
        Ok(FirewallRuleDeleteResponse::NoContent)
    }

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
        let subnet = request.body.private_subnet_id.as_str();
        let known = state
            .subnets
            .iter()
            .any(|other| other.id.as_str() == subnet);
        let firewall = find(&mut state, &request.firewall_reference).ok_or_else(not_found)?;
        if !known {
            return Err(invalid("private_subnet_id", "there is no such private subnet").into());
        }
        firewall
            .private_subnets
            .retain(|attached| attached.as_str() != subnet);
        Ok(FirewallDetachSubnetOk::new(without_details(firewall.clone()), entity_tag()).into())
    }
}

/// Returns a firewall without the protocols and descriptions of its rules.
#[must_use]
pub fn without_details(firewall: FirewallDetails) -> Firewall {
    let rules = firewall.firewall_rules.into_iter();
    Firewall::from(FirewallFields {
        description: firewall.description,
        firewall_rules: rules
            .map(|rule| FirewallRule::new(rule.cidr, rule.id, rule.port_range))
            .collect(),
        id: firewall.id,
        location: firewall.location,
        name: firewall.name,
        private_subnets: firewall.private_subnets,
    })
}
