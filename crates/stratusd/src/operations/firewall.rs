//! Operations on firewalls.

use api_types::{
    Firewall, FirewallDetachSubnet, FirewallFields, FirewallRule, PrivateSubnetId, Reference,
};

use super::{Result, Scope};
use crate::domain::Refusal;
use crate::domain::id::{Kind, Referred};
use crate::storage::firewall::Rule;
use crate::storage::{self, Change, Connection};

/// The change `firewall_detach_subnet`: takes a private subnet out of a firewall.
#[derive(Debug)]
pub struct DetachSubnet {
    /// The scope of the request.
    pub scope: Scope,
    /// The firewall.
    pub reference: Reference,
    /// The private subnet.
    pub body: FirewallDetachSubnet,
}

impl Change for DetachSubnet {
    type Output = Firewall;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Firewall> {
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
            find_subnet(tx, &self.scope, field, self.body.private_subnet_id.as_str()).await?;
        // Whether the subnet was attached makes no difference: detaching it again changes nothing.
        storage::firewall::detach(tx, project, &firewall.id, &subnet.id).await?;
        let subnets = storage::firewall::subnets(tx, project, &firewall.id).await?;
        let rules = storage::firewall::rules(tx, project, &firewall.id).await?;
        Ok(shown(firewall, rules, subnets))
    }
}

/// Looks up the subnet that a field of a body names by its id.
pub(super) async fn find_subnet(
    tx: &mut Connection<'_>,
    scope: &Scope,
    field: &'static str,
    id: &str,
) -> Result<storage::private_subnet::PrivateSubnet> {
    let found = if Kind::PrivateSubnet.is_id(id) {
        storage::private_subnet::lookup_id(tx, scope.key(), id).await?
    } else {
        None
    };
    let wrong = "must be the id of a private subnet in this project and location";
    Ok(found.ok_or_else(|| Refusal::invalid(field, wrong))?)
}

fn shown(
    firewall: storage::firewall::Firewall,
    rules: Vec<Rule>,
    subnets: Vec<PrivateSubnetId>,
) -> Firewall {
    Firewall::from(FirewallFields {
        description: firewall.description,
        firewall_rules: rules.into_iter().map(shown_rule).collect(),
        id: firewall.id,
        location: firewall.location,
        name: firewall.name,
        private_subnets: subnets,
    })
}

/// Returns a rule as responses show it.
pub(super) fn shown_rule(rule: Rule) -> FirewallRule {
    FirewallRule::new(rule.cidr, rule.id, rule.port_range)
}
