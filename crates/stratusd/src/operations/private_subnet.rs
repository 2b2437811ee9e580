//! Operations on private subnets.

use std::collections::HashSet;

use api_types::{
    Cidr, FirewallId, FirewallProtocol, FirewallRuleId, FirewallSummary, FirewallSummaryFields,
    IfMatch, Location, Name, Nic, NicFields, PortRange, PrivateSubnet, PrivateSubnetConnect,
    PrivateSubnetCreate, PrivateSubnetFields, PrivateSubnetId, PrivateSubnetPage,
    PrivateSubnetState, PrivateSubnetSummary, PrivateSubnetSummaryFields, ProjectId, Reference,
};

use super::audit::Deleted;
use super::firewall::{find_subnet, shown_rule};
use super::{Result, Scope, ensure_room};
use crate::domain::entity_tag::{Tagged, ensure_match};
use crate::domain::id::{Id, Kind, Referred, name_of};
use crate::domain::list::ListQuery;
use crate::domain::network::{Block, Net4, Net6};
use crate::domain::private_subnet::{MOST_CONNECTIONS, ensure_unused};
use crate::domain::quota::{self, Quotas};
use crate::domain::refusal::MOST_USERS;
use crate::domain::{Caller, Refusal, ensure_project};
use crate::storage::firewall::{Firewall, Rule};
use crate::storage::{self, Change, Connection};
use crate::world::World;

/// A row of a private subnet.
type Row = storage::private_subnet::PrivateSubnet;

/// How many networks are drawn at random before the blocks of networks are searched. A draw that
/// fails is rare until a project has many thousands of subnets, and needs no look at the others.
const GUESSES: u32 = 8;

/// The query `private_subnet_list`: returns a page of the private subnets of a location.
pub async fn list(
    c: &mut Connection<'_>,
    scope: &Scope,
    query: &ListQuery,
) -> Result<PrivateSubnetPage> {
    page(c, (&scope.project, Some(&scope.location)), query).await
}

/// The query `project_private_subnet_list`: returns a page of the private subnets of a project.
pub async fn list_of_project(
    c: &mut Connection<'_>,
    caller: &Caller,
    project: &ProjectId,
    query: &ListQuery,
) -> Result<PrivateSubnetPage> {
    ensure_project(caller, project)?;
    page(c, (&caller.project_id, None), query).await
}

async fn page(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, Option<&Location>),
    query: &ListQuery,
) -> Result<PrivateSubnetPage> {
    let page = query.page(Kind::PrivateSubnet)?;
    let (size, items) = storage::private_subnet::page(c, project, location, &page).await?;
    Ok(PrivateSubnetPage::new(
        size,
        items.into_iter().map(list_item).collect(),
    ))
}

/// The query `private_subnet_view`: returns everything about a private subnet.
pub async fn view(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Tagged<PrivateSubnet>> {
    let found = load(c, scope, reference).await?;
    shown(c, scope, found).await
}

/// The change `private_subnet_create`: creates a private subnet, with a firewall if the body names
/// none.
#[derive(Debug)]
pub struct Create {
    /// The scope of the request.
    pub scope: Scope,
    /// The name.
    pub reference: Reference,
    /// The firewall, if the body names one.
    pub body: Option<PrivateSubnetCreate>,
    /// The source of randomness for ids and networks.
    pub world: World,
    /// The quotas of projects without their own.
    pub quotas: Quotas,
}

impl Change for Create {
    type Output = Tagged<PrivateSubnet>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<PrivateSubnet>> {
        self.scope.access.ensure_full()?;
        let project = &self.scope.project;
        let name = match Referred::of(Kind::PrivateSubnet, &self.reference) {
            Referred::Name(name) => name,
            Referred::Id(_) => {
                return Err(
                    Refusal::invalid("name", "must not have the form of a subnet's id").into(),
                );
            }
        };
        let given = self
            .body
            .as_ref()
            .and_then(|body| body.firewall_id.as_ref());
        let firewall = match given {
            Some(id) => Some(self.given_firewall(tx, id.as_str()).await?),
            None => None,
        };
        if storage::private_subnet::lookup_name(tx, self.scope.key(), name)
            .await?
            .is_some()
        {
            return Err(Refusal::invalid(
                "name",
                "is already the name of a private subnet in this location",
            )
            .into());
        }
        let firewall = match firewall {
            Some(id) => Wanted::Given(id),
            None => Wanted::Default(self.default_firewall_name(tx, name).await?),
        };
        let quotas = &self.quotas;
        ensure_room(tx, project, quota::Kind::PrivateSubnet, quotas).await?;
        if matches!(firewall, Wanted::Default(_)) {
            ensure_room(tx, project, quota::Kind::Firewall, quotas).await?;
        }
        // Created after the checks above: a change that refuses after it has written makes the
        // others of its batch run again.
        let firewall = match firewall {
            Wanted::Given(id) => id,
            Wanted::Default(own) => self.default_firewall(tx, name, own).await?,
        };
        let (net4, net6) = free_networks(tx, project, &self.world, &HashSet::new()).await?;
        let subnet = Row {
            id: PrivateSubnetId::generate(&self.world),
            location: self.scope.location.clone(),
            name: name_of(&self.reference),
            net4: net4.into(),
            net6: net6.into(),
            state: PrivateSubnetState::Available,
            is_declared: false,
        };
        storage::private_subnet::insert(tx, project, &subnet).await?;
        storage::firewall::attach(tx, project, &firewall, &subnet.id).await?;
        shown(tx, &self.scope, subnet).await
    }
}

/// The firewall of a new subnet.
enum Wanted {
    /// The one that the body names.
    Given(FirewallId),
    /// A new one with this name.
    Default(Name),
}

impl Create {
    async fn given_firewall(&self, tx: &mut Connection<'_>, id: &str) -> Result<FirewallId> {
        let found = if Kind::Firewall.is_id(id) {
            storage::firewall::lookup_id(tx, self.scope.key(), id).await?
        } else {
            None
        };
        let wrong = "must be the id of a firewall in this project and location";
        Ok(found
            .ok_or_else(|| Refusal::invalid("firewall_id", wrong))?
            .id)
    }

    /// Returns the name of the firewall of the subnet's own.
    ///
    /// # Errors
    ///
    /// If the name is too long or taken.
    async fn default_firewall_name(&self, tx: &mut Connection<'_>, subnet: &str) -> Result<Name> {
        let name = format!("{subnet}-default");
        let Ok(name) = Name::try_from(name.as_str()) else {
            return Err(Refusal::invalid(
                "name",
                format!("is too long: the name of its firewall, `{name}`, has over 63 characters"),
            )
            .into());
        };
        if storage::firewall::lookup_name(tx, self.scope.key(), name.as_str())
            .await?
            .is_some()
        {
            return Err(Refusal::invalid(
                "name",
                format!("needs a firewall `{name}`, but that name is already taken"),
            )
            .into());
        }
        Ok(name)
    }

    /// Creates a firewall of the subnet's own, which lets everything in.
    async fn default_firewall(
        &self,
        tx: &mut Connection<'_>,
        subnet: &str,
        name: Name,
    ) -> Result<FirewallId> {
        let project = &self.scope.project;
        let firewall = Firewall {
            id: FirewallId::generate(&self.world),
            location: self.scope.location.clone(),
            name,
            description: format!("Default firewall of {subnet}"),
            is_declared: false,
        };
        storage::firewall::insert(tx, project, &firewall).await?;
        for cidr in ["0.0.0.0/0", "::/0"] {
            let rule = Rule {
                firewall_id: firewall.id.clone(),
                id: FirewallRuleId::generate(&self.world),
                cidr: Cidr::try_from(cidr).expect("the text is a network"),
                port_range: PortRange::try_from("0..65535").expect("the text is a range of ports"),
                protocol: FirewallProtocol::Tcp,
                description: String::new(),
                is_declared: false,
            };
            storage::firewall::insert_rule(tx, project, &rule).await?;
        }
        Ok(firewall.id)
    }
}

/// Returns an IPv4 and an IPv6 network that no subnet of the project has and that are not in
/// `promised`.
///
/// # Errors
///
/// If the project has no free IPv4 network left.
pub(crate) async fn free_networks(
    tx: &mut Connection<'_>,
    project: &ProjectId,
    world: &World,
    promised: &HashSet<&str>,
) -> Result<(Net4, Net6)> {
    for _ in 0..GUESSES {
        let (net4, net6) = (Net4::random(world), Net6::random(world));
        let (text4, text6) = (net4.to_string(), net6.to_string());
        let is_promised = promised.contains(&*text4) || promised.contains(&*text6);
        if !is_promised && !storage::private_subnet::has_network(tx, project, net4, net6).await? {
            return Ok((net4, net6));
        }
    }
    // So many draws fail only if most networks are taken. Then a block at a time is searched, so that
    // no create reads all subnets of a project, unless it has nearly all networks.
    let promised: HashSet<Net4> = promised.iter().copied().filter_map(Net4::parse).collect();
    for block in Block::all(world) {
        let mut taken: HashSet<Net4> = storage::private_subnet::networks_in(tx, project, block)
            .await?
            .into_iter()
            .collect();
        taken.extend(&promised);
        if let Some(net4) = block.first_free(&taken) {
            // Not checked: one of 2⁵⁶ networks is not taken in practice, and if it is, the unique
            // key rejects it.
            return Ok((net4, Net6::random(world)));
        }
    }
    let wrong = "cannot be created: the project has no free network left in 10.0.0.0/8";
    Err(Refusal::invalid("name", wrong).into())
}

/// The change `private_subnet_connect`: connects two private subnets.
#[derive(Debug)]
pub struct Connect {
    /// The scope of the request.
    pub scope: Scope,
    /// The id or name of the first subnet.
    pub reference: Reference,
    /// The request body, which names the second subnet.
    pub body: PrivateSubnetConnect,
    /// The tags that the one subnet may have.
    pub if_match: Option<IfMatch>,
}

impl Change for Connect {
    type Output = Tagged<PrivateSubnet>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<PrivateSubnet>> {
        let field = "connected-subnet-id";
        let found = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let Some(other) = &self.body.connected_subnet_id else {
            return Err(Refusal::invalid(field, "is required").into());
        };
        let other = find_subnet(tx, &self.scope, field, other.as_str()).await?;
        if other.id == found.id {
            return Err(Refusal::invalid(field, "must not be the subnet of the path").into());
        }
        let project = &self.scope.project;
        // Both are locked, so that no other connection is made between the count and the write. Always
        // in this order, and before `If-Match` locks one, so that two changes do not wait for each other.
        for id in [(&found.id).min(&other.id), (&found.id).max(&other.id)] {
            storage::lock::private_subnet(tx, project, id).await?;
        }
        let found = matching(tx, &self.scope, self.if_match.as_ref(), found).await?;
        // The key of the table would reject this too, but could not say why.
        if storage::private_subnet::is_linked(tx, project, &found.id, &other.id).await? {
            return Err(
                Refusal::invalid(field, "is already connected to the subnet of the path").into(),
            );
        }
        for (id, which) in [
            (&found.id, "the subnet of the path"),
            (&other.id, "the subnet"),
        ] {
            let links = storage::private_subnet::count_links(tx, project, id).await?;
            if links >= MOST_CONNECTIONS {
                let wrong = format!(
                    "cannot be connected: {which} has {links} connections, and may have {MOST_CONNECTIONS}"
                );
                return Err(Refusal::invalid(field, wrong).into());
            }
        }
        storage::private_subnet::link(tx, project, &found.id, &other.id).await?;
        shown(tx, &self.scope, found).await
    }
}

/// The change `private_subnet_disconnect`: disconnects two private subnets. Subnets that are not
/// connected are not an error.
#[derive(Debug)]
pub struct Disconnect {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the first subnet.
    pub reference: Reference,
    /// The id of the second subnet.
    pub other: PrivateSubnetId,
    /// The `If-Match` of the request: the entity tags that the first subnet may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
}

impl Change for Disconnect {
    type Output = Tagged<PrivateSubnet>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<PrivateSubnet>> {
        let found = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let found = matching(tx, &self.scope, self.if_match.as_ref(), found).await?;
        let field = "private_subnet_id";
        let other = find_subnet(tx, &self.scope, field, self.other.as_str()).await?;
        storage::private_subnet::unlink(tx, &self.scope.project, &found.id, &other.id).await?;
        shown(tx, &self.scope, found).await
    }
}

/// The change `private_subnet_delete`: deletes a private subnet that nothing uses. A subnet that
/// does not exist is not an error.
#[derive(Debug)]
pub struct Delete {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the private subnet.
    pub reference: Reference,
    /// The `If-Match` of the request: the entity tags that the subnet may have, or `None` for any.
    pub if_match: Option<IfMatch>,
}

impl Change for Delete {
    type Output = Deleted;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Deleted> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let Some(found) = found else {
            return Ok(Deleted(self.reference.to_string()));
        };
        // Locked, so that nothing begins to use the subnet before it is deleted.
        let if_match = self.if_match.as_ref();
        if let Some(locked) = locked(tx, &self.scope, if_match, &found.id).await? {
            let project = &self.scope.project;
            let nics = storage::private_subnet::nic_names(tx, project, &locked.id).await?;
            // One more than is named, to see whether there are others.
            let most = MOST_USERS + 1;
            let balancers =
                storage::private_subnet::load_balancer_names(tx, project, &locked.id, most).await?;
            ensure_unused(nics, balancers)?;
            storage::private_subnet::delete(tx, project, &locked).await?;
        }
        Ok(Deleted(found.id.to_string()))
    }
}

async fn lookup(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Option<Row>> {
    Ok(match Referred::of(Kind::PrivateSubnet, reference) {
        Referred::Id(id) => storage::private_subnet::lookup_id(c, scope.key(), id).await?,
        Referred::Name(name) => storage::private_subnet::lookup_name(c, scope.key(), name).await?,
    })
}

async fn load(c: &mut Connection<'_>, scope: &Scope, reference: &Reference) -> Result<Row> {
    let found = lookup(c, scope, reference).await?;
    Ok(found.ok_or(Refusal::NotFound)?)
}

/// Locks a subnet until the end of the change, reads it again, and checks that it has one of the
/// tags in `if_match`, if there is one. Returns `None` if the subnet does not exist any more.
async fn locked(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    id: &PrivateSubnetId,
) -> Result<Option<Row>> {
    storage::lock::private_subnet(tx, &scope.project, id).await?;
    let locked = storage::private_subnet::lookup_id(tx, scope.key(), id.as_str()).await?;
    if let (Some(locked), Some(if_match)) = (&locked, if_match) {
        ensure_match(if_match, &shown(tx, scope, locked.clone()).await?.tag)?;
    }
    Ok(locked)
}

/// Locks a subnet and checks its tag, as [`locked`] does. Without `if_match`, returns `found`
/// unchecked and unlocked.
async fn matching(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    found: Row,
) -> Result<Row> {
    if if_match.is_none() {
        return Ok(found);
    }
    let locked = locked(tx, scope, if_match, &found.id).await?;
    Ok(locked.ok_or(Refusal::NotFound)?)
}

/// Returns a subnet as lists show it.
fn list_item(subnet: Row) -> PrivateSubnetSummary {
    PrivateSubnetSummary::from(PrivateSubnetSummaryFields {
        id: subnet.id,
        location: subnet.location,
        name: subnet.name,
        net4: subnet.net4,
        net6: subnet.net6,
        state: subnet.state,
    })
}

/// Returns a subnet as responses show it, with its firewalls and interfaces.
async fn shown(
    c: &mut Connection<'_>,
    scope: &Scope,
    subnet: Row,
) -> Result<Tagged<PrivateSubnet>> {
    let firewalls = firewalls(c, &scope.project, &subnet.id).await?;
    let nics = storage::private_subnet::nics(c, &scope.project, &subnet.id).await?;
    Ok(Tagged::of(PrivateSubnet::from(PrivateSubnetFields {
        firewalls,
        id: subnet.id,
        location: subnet.location,
        name: subnet.name,
        net4: subnet.net4,
        net6: subnet.net6,
        nics: nics.into_iter().map(shown_nic).collect(),
        state: subnet.state,
    })))
}

/// Returns the firewalls of a subnet, with their rules.
pub(super) async fn firewalls(
    c: &mut Connection<'_>,
    project: &ProjectId,
    subnet: &PrivateSubnetId,
) -> Result<Vec<FirewallSummary>> {
    let firewalls = storage::firewall::of_subnet(c, project, subnet).await?;
    if firewalls.is_empty() {
        return Ok(Vec::new());
    }
    // One statement for the rules of all firewalls: one for each would cost a round trip for each.
    let rules = storage::firewall::rules_of_subnet(c, project, subnet).await?;
    Ok(firewalls
        .into_iter()
        .map(|firewall| summary(firewall, &rules))
        .collect())
}

/// Returns a firewall as responses about its subnet show it. `rules` are those of all the subnet's
/// firewalls.
fn summary(of: Firewall, rules: &[Rule]) -> FirewallSummary {
    let rules = rules.iter().filter(|rule| rule.firewall_id == of.id);
    FirewallSummary::from(FirewallSummaryFields {
        description: of.description,
        firewall_rules: rules.cloned().map(shown_rule).collect(),
        id: of.id.clone(),
        location: of.location,
        name: of.name,
    })
}

fn shown_nic(of: storage::private_subnet::Nic) -> Nic {
    let mut nic = Nic::from(NicFields {
        id: of.id,
        name: of.name,
        private_ipv4: of.private_ipv4,
        private_ipv6: of.private_ipv6,
    });
    nic.vm_name = of.vm_name;
    nic
}
