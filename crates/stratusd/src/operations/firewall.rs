//! Operations on firewalls.

use api_types::{Firewall, FirewallDetachSubnet, FirewallFields, FirewallRule, IfMatch, Reference};

use super::{Result, Scope};
use crate::domain::Refusal;
use crate::domain::entity_tag::{Tagged, ensure_match};
use crate::domain::id::{Kind, Referred};
use crate::storage::firewall::Rule;
use crate::storage::{self, Change, Connection};

/// A row of the table `firewall`.
type Row = storage::firewall::Firewall;

/// The change `firewall_detach_subnet`: detaches a private subnet from a firewall. A subnet that is
/// not attached is not an error.
#[derive(Debug)]
pub struct DetachSubnet {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the firewall.
    pub reference: Reference,
    /// The request body, with the id of the private subnet.
    pub body: FirewallDetachSubnet,
    /// The `If-Match` of the request: the entity tags that the firewall may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
}

impl Change for DetachSubnet {
    type Output = Tagged<Firewall>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<Firewall>> {
        let project = &self.scope.project;
        let firewall = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let firewall = matching(tx, &self.scope, self.if_match.as_ref(), firewall).await?;
        let field = "private_subnet_id";
        let subnet =
            find_subnet(tx, &self.scope, field, self.body.private_subnet_id.as_str()).await?;
        // Whether the subnet was attached makes no difference: detaching it again changes nothing.
        storage::firewall::detach(tx, project, &firewall.id, &subnet.id).await?;
        shown(tx, &self.scope, firewall).await
    }
}

async fn lookup(tx: &mut Connection<'_>, scope: &Scope, reference: &Reference) -> Result<Row> {
    let found = match Referred::of(Kind::Firewall, reference) {
        Referred::Id(id) => storage::firewall::lookup_id(tx, scope.key(), id).await?,
        Referred::Name(name) => storage::firewall::lookup_name(tx, scope.key(), name).await?,
    };
    Ok(found.ok_or(Refusal::NotFound)?)
}

/// Locks a firewall until the end of the change, reads it again, and checks that it has one of the
/// entity tags in `if_match`. Without `if_match`, returns `found` unchecked and unlocked.
///
/// # Errors
///
/// Refuses the change if the firewall has none of the tags, or does not exist any more.
async fn matching(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    found: Row,
) -> Result<Row> {
    let Some(if_match) = if_match else {
        return Ok(found);
    };
    storage::lock::firewall(tx, &scope.project, &found.id).await?;
    let locked = storage::firewall::lookup_id(tx, scope.key(), found.id.as_str()).await?;
    let locked = locked.ok_or(Refusal::NotFound)?;
    ensure_match(if_match, &shown(tx, scope, locked.clone()).await?.tag)?;
    Ok(locked)
}

/// Returns the private subnet with an id that a request body has in `field`.
///
/// # Errors
///
/// Refuses the request, with a message about `field`, if there is no such private subnet in the
/// project and location.
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

/// Returns a firewall as responses show it, with its rules and subnets, and its entity tag.
async fn shown(tx: &mut Connection<'_>, scope: &Scope, firewall: Row) -> Result<Tagged<Firewall>> {
    let project = &scope.project;
    let subnets = storage::firewall::subnets(tx, project, &firewall.id).await?;
    let rules = storage::firewall::rules(tx, project, &firewall.id).await?;
    Ok(Tagged::of(Firewall::from(FirewallFields {
        description: firewall.description,
        firewall_rules: rules.into_iter().map(shown_rule).collect(),
        id: firewall.id,
        location: firewall.location,
        name: firewall.name,
        private_subnets: subnets,
    })))
}

/// Returns a firewall rule as responses show it.
pub(super) fn shown_rule(rule: Rule) -> FirewallRule {
    FirewallRule::new(rule.cidr, rule.id, rule.port_range)
}
