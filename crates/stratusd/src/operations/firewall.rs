//! Operations on firewalls.

use api_types::{
    Firewall, FirewallAttachSubnet, FirewallCreate, FirewallDetachSubnet, FirewallDetails,
    FirewallDetailsFields, FirewallFields, FirewallId, FirewallListItem, FirewallListItemFields,
    FirewallPage, FirewallRule, IfMatch, Reference,
};

use super::audit::Deleted;
use super::firewall_rule::shown_details;
use super::{Result, Scope, ensure_room};
use crate::domain::Refusal;
use crate::domain::entity_tag::{Tagged, ensure_match};
use crate::domain::firewall::{MOST_FIREWALLS, ensure_description};
use crate::domain::id::{Id, Kind, Referred, name_of};
use crate::domain::list::ListQuery;
use crate::domain::quota::{self, Quotas};
use crate::storage::firewall::Rule;
use crate::storage::{self, Change, Connection};
use crate::world::World;

/// A row of the table `firewall`.
pub(super) type Row = storage::firewall::Firewall;

/// The query `firewall_list`: returns a page of the firewalls of a location.
pub async fn list(
    c: &mut Connection<'_>,
    scope: &Scope,
    query: &ListQuery,
) -> Result<FirewallPage> {
    let page = query.page(Kind::Firewall)?;
    let (size, items) = storage::firewall::page(c, &scope.project, &scope.location, &page).await?;
    let item = |row: Row| {
        FirewallListItem::from(FirewallListItemFields {
            description: row.description,
            id: row.id,
            location: row.location,
            name: row.name,
        })
    };
    Ok(FirewallPage::new(
        size,
        items.into_iter().map(item).collect(),
    ))
}

/// The query `firewall_view`: returns everything about a firewall.
pub async fn view(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Tagged<FirewallDetails>> {
    let found = load(c, scope, reference).await?;
    shown(c, scope, found).await
}

/// The change `firewall_create`: creates a firewall without rules.
#[derive(Debug)]
pub struct Create {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The name of the new firewall.
    pub reference: Reference,
    /// The request body, with the description of the new firewall.
    pub body: FirewallCreate,
    /// The source of randomness for the id.
    pub world: World,
    /// The quotas of projects without their own.
    pub quotas: Quotas,
}

impl Change for Create {
    type Output = Tagged<FirewallDetails>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<FirewallDetails>> {
        self.scope.access.ensure_full()?;
        let Referred::Name(name) = Referred::of(Kind::Firewall, &self.reference) else {
            let wrong = "must not have the form of a firewall's id";
            return Err(Refusal::invalid("name", wrong).into());
        };
        let description = self.body.description.as_str();
        ensure_description(description)?;
        // The unique key would reject the name too, but could not say why.
        let existing = storage::firewall::lookup_name(tx, self.scope.key(), name).await?;
        if existing.is_some() {
            let wrong = "is already the name of a firewall in this location";
            return Err(Refusal::invalid("name", wrong).into());
        }
        let project = &self.scope.project;
        ensure_room(tx, project, quota::Kind::Firewall, &self.quotas).await?;
        let firewall = Row {
            id: FirewallId::generate(&self.world),
            location: self.scope.location.clone(),
            name: name_of(&self.reference),
            description: description.to_owned(),
            is_declared: false,
        };
        storage::firewall::insert(tx, project, &firewall).await?;
        shown(tx, &self.scope, firewall).await
    }
}

/// The change `firewall_delete`: detaches a firewall from its private subnets and deletes it with
/// its rules. A firewall that does not exist is not an error.
#[derive(Debug)]
pub struct Delete {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the firewall.
    pub reference: Reference,
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
        let Some(found) = found else {
            return Ok(Deleted(self.reference.to_string()));
        };
        // Locked, so that no rule is added and no subnet is attached before it is deleted.
        let if_match = self.if_match.as_ref();
        if let Some(locked) = locked(tx, &self.scope, if_match, &found.id).await? {
            storage::firewall::delete(tx, &self.scope.project, &locked).await?;
        }
        Ok(Deleted(found.id.to_string()))
    }
}

/// The change `firewall_attach_subnet`: attaches a private subnet to a firewall. A subnet that is
/// attached already is not an error.
#[derive(Debug)]
pub struct AttachSubnet {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the firewall.
    pub reference: Reference,
    /// The request body, with the id of the private subnet.
    pub body: FirewallAttachSubnet,
    /// The `If-Match` of the request: the entity tags that the firewall may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
}

impl Change for AttachSubnet {
    type Output = Tagged<FirewallDetails>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<FirewallDetails>> {
        let project = &self.scope.project;
        let firewall = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let firewall = matching(tx, &self.scope, self.if_match.as_ref(), firewall).await?;
        let field = "private_subnet_id";
        let subnet =
            find_subnet(tx, &self.scope, field, self.body.private_subnet_id.as_str()).await?;
        // The firewall first, as with `If-Match`, so that two changes do not wait for each other.
        storage::lock::firewall(tx, project, &firewall.id).await?;
        // Locked, so that no other firewall is attached between the count and the write.
        storage::lock::private_subnet(tx, project, &subnet.id).await?;
        let others =
            storage::firewall::count_of_subnet(tx, project, &subnet.id, &firewall.id).await?;
        if others >= MOST_FIREWALLS {
            let wrong =
                format!("has {others} other firewalls, and may have {MOST_FIREWALLS} in all");
            return Err(Refusal::invalid(field, wrong).into());
        }
        storage::firewall::attach(tx, project, &firewall.id, &subnet.id).await?;
        shown(tx, &self.scope, firewall).await
    }
}

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
        let firewall = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let firewall = matching(tx, &self.scope, self.if_match.as_ref(), firewall).await?;
        let field = "private_subnet_id";
        let subnet =
            find_subnet(tx, &self.scope, field, self.body.private_subnet_id.as_str()).await?;
        // Whether the subnet was attached makes no difference: detaching it again changes nothing.
        storage::firewall::detach(tx, project, &firewall.id, &subnet.id).await?;
        let Tagged { shown, tag } = shown(tx, &self.scope, firewall).await?;
        Ok(Tagged {
            shown: without_details(shown),
            tag,
        })
    }
}

/// Looks up a firewall by the reference of a request.
pub(super) async fn lookup(
    tx: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Option<Row>> {
    Ok(match Referred::of(Kind::Firewall, reference) {
        Referred::Id(id) => storage::firewall::lookup_id(tx, scope.key(), id).await?,
        Referred::Name(name) => storage::firewall::lookup_name(tx, scope.key(), name).await?,
    })
}

/// Returns the firewall that a request refers to.
///
/// # Errors
///
/// Refuses the request if there is no such firewall.
pub(super) async fn load(
    tx: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Row> {
    let found = lookup(tx, scope, reference).await?;
    Ok(found.ok_or(Refusal::NotFound)?)
}

/// Locks a firewall until the end of the change, reads it again, and checks that it has one of the
/// entity tags in `if_match`, if that is set. Returns `None` if the firewall does not exist any more.
///
/// # Errors
///
/// Refuses the change if the firewall has none of the tags.
pub(super) async fn locked(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    id: &FirewallId,
) -> Result<Option<Row>> {
    storage::lock::firewall(tx, &scope.project, id).await?;
    let locked = storage::firewall::lookup_id(tx, scope.key(), id.as_str()).await?;
    if let (Some(locked), Some(if_match)) = (&locked, if_match) {
        ensure_match(if_match, &shown(tx, scope, locked.clone()).await?.tag)?;
    }
    Ok(locked)
}

/// Locks a firewall and checks its entity tag, as [`locked`] does. Without `if_match`, returns
/// `found` unchecked and unlocked.
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
    if if_match.is_none() {
        return Ok(found);
    }
    let locked = locked(tx, scope, if_match, &found.id).await?;
    Ok(locked.ok_or(Refusal::NotFound)?)
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

/// Returns a firewall as responses show it, with its rules and subnets, and its entity tag. The tag
/// is the same for responses that leave out some of the details.
async fn shown(
    tx: &mut Connection<'_>,
    scope: &Scope,
    firewall: Row,
) -> Result<Tagged<FirewallDetails>> {
    let project = &scope.project;
    let subnets = storage::firewall::subnets(tx, project, &firewall.id).await?;
    let rules = storage::firewall::rules(tx, project, &firewall.id).await?;
    Ok(Tagged::of(FirewallDetails::from(FirewallDetailsFields {
        description: firewall.description,
        firewall_rules: rules.into_iter().map(shown_details).collect(),
        id: firewall.id,
        location: firewall.location,
        name: firewall.name,
        private_subnets: subnets,
    })))
}

/// Returns a firewall without the protocols and descriptions of its rules.
fn without_details(firewall: FirewallDetails) -> Firewall {
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

/// Returns a firewall rule as responses about its subnet show it.
pub(super) fn shown_rule(rule: Rule) -> FirewallRule {
    FirewallRule::new(rule.cidr, rule.id, rule.port_range)
}
