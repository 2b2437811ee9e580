//! Firewalls.

use api_types::{Firewall, FirewallDetachSubnet, FirewallFields, FirewallRule, Reference};

use super::{Outcome, Scope, private_subnet, stored};
use crate::domain::Refusal;
use crate::domain::id::{Kind, Referred};
use crate::storage::{self, Change, Connection, StorageError};

/// Takes a private subnet out of a firewall.
#[derive(Debug)]
pub struct DetachSubnet {
    /// Where.
    pub scope: Scope,
    /// The firewall.
    pub reference: Reference,
    /// The private subnet.
    pub body: FirewallDetachSubnet,
}

impl Change for DetachSubnet {
    type Output = Firewall;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<Firewall> {
        let project = &self.scope.project;
        let firewall = match Referred::of(Kind::Firewall, &self.reference) {
            Referred::Id(id) => storage::firewall::lookup_id(tx, self.scope.key(), id).await?,
            Referred::Name(name) => {
                storage::firewall::lookup_name(tx, self.scope.key(), name).await?
            }
        };
        let firewall = firewall.ok_or(Refusal::NotFound)?;
        self.scope.access.ensure_full()?;
        let field = "private_subnet_id";
        let subnet =
            private_subnet::of_body(tx, &self.scope, field, self.body.private_subnet_id.as_str())
                .await?;
        storage::firewall::detach(tx, project, &firewall.id, &subnet.id).await?;
        let subnets = storage::firewall::subnets(tx, project, &firewall.id).await?;
        let rules = storage::firewall::rules(tx, project, &firewall.id).await?;
        Ok(shown(&firewall, &rules, &subnets)?)
    }
}

fn shown(
    firewall: &storage::firewall::Firewall,
    rules: &[storage::firewall::Rule],
    subnets: &[String],
) -> Result<Firewall, StorageError> {
    let rules: Result<Vec<_>, _> = rules.iter().map(rule).collect();
    let subnets: Result<Vec<_>, _> = subnets.iter().map(|id| stored(id, "an id")).collect();
    Ok(Firewall::from(FirewallFields {
        description: firewall.description.clone(),
        firewall_rules: rules?,
        id: stored(&firewall.id, "an id")?,
        location: stored(&firewall.location, "a location")?,
        name: stored(&firewall.name, "a name")?,
        private_subnets: subnets?,
    }))
}

/// A rule as answers show it.
pub(super) fn rule(rule: &storage::firewall::Rule) -> Result<FirewallRule, StorageError> {
    Ok(FirewallRule::new(
        stored(&rule.cidr, "a network")?,
        stored(&rule.id, "an id")?,
        stored(&rule.port_range, "a range of ports")?,
    ))
}
