//! Operations on the rules of firewalls.

use api_types::{
    FirewallRuleCreate, FirewallRuleDetails, FirewallRuleDetailsFields, FirewallRuleId, IfMatch,
    Reference,
};

use super::audit::Deleted;
use super::firewall::{load, locked, lookup};
use super::{Result, Scope};
use crate::domain::Refusal;
use crate::domain::firewall::{
    MOST_RULES, canonical_network, canonical_ports, ensure_description, ensure_network,
    ensure_ports,
};
use crate::domain::id::Id;
use crate::storage::firewall::Rule;
use crate::storage::{self, Change, Connection};
use crate::world::World;

/// The change `firewall_rule_create`: adds a rule to a firewall.
#[derive(Debug)]
pub struct Create {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the firewall.
    pub reference: Reference,
    /// The request body, with the properties of the rule.
    pub body: FirewallRuleCreate,
    /// The source of randomness for the id.
    pub world: World,
}

impl Change for Create {
    type Output = FirewallRuleDetails;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<FirewallRuleDetails> {
        let firewall = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let body = &self.body;
        ensure_network(body.cidr.as_str())?;
        ensure_ports(body.port_range.as_str())?;
        ensure_description(body.description.as_str())?;
        // Locked, so that no other rule is added between the check and the write.
        let firewall = locked(tx, &self.scope, None, &firewall.id).await?;
        let firewall = firewall.ok_or(Refusal::NotFound)?;
        let project = &self.scope.project;
        let new = Rule {
            firewall_id: firewall.id,
            id: FirewallRuleId::generate(&self.world),
            cidr: body.cidr.clone(),
            port_range: body.port_range.clone(),
            protocol: body.protocol.clone(),
            description: body.description.to_string(),
            is_declared: false,
        };
        let rules = storage::firewall::rules(tx, project, &new.firewall_id).await?;
        if let Some(same) = rules.iter().find(|rule| allows(rule) == allows(&new)) {
            let wrong = format!(
                "the firewall has a rule of the same network, ports and protocol: {}",
                same.id
            );
            return Err(Refusal::invalid("cidr", wrong).into());
        }
        if rules.len() >= MOST_RULES {
            let wrong = format!(
                "the firewall has {} rules, and may have {MOST_RULES}",
                rules.len()
            );
            return Err(Refusal::invalid("body", wrong).into());
        }
        storage::firewall::insert_rule(tx, project, &new).await?;
        Ok(shown_details(new))
    }
}

/// Returns what a rule allows, in one form for all rules that allow the same.
fn allows(rule: &Rule) -> (String, (&str, &str), &str) {
    (
        canonical_network(rule.cidr.as_str()),
        canonical_ports(rule.port_range.as_str()),
        rule.protocol.as_str(),
    )
}

/// The change `firewall_rule_delete`: deletes a rule of a firewall. A rule or a firewall that does
/// not exist is not an error.
#[derive(Debug)]
pub struct Delete {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the firewall.
    pub reference: Reference,
    /// The id of the rule.
    pub rule: FirewallRuleId,
    /// The `If-Match` of the request: the entity tags that the firewall may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
}

impl Change for Delete {
    type Output = Deleted;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Deleted> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        if let Some(found) = found {
            let if_match = self.if_match.as_ref();
            // Locked, so that another change cannot make the tag stale before the write.
            if let Some(locked) = locked(tx, &self.scope, if_match, &found.id).await? {
                let project = &self.scope.project;
                storage::firewall::delete_rule(tx, project, &locked.id, &self.rule).await?;
            }
        }
        Ok(Deleted(self.rule.to_string()))
    }
}

/// Returns a firewall rule as responses about its firewall show it.
pub(super) fn shown_details(rule: Rule) -> FirewallRuleDetails {
    FirewallRuleDetails::from(FirewallRuleDetailsFields {
        cidr: rule.cidr,
        description: rule.description,
        id: rule.id,
        port_range: rule.port_range,
        protocol: rule.protocol,
    })
}
