//! Private subnets.

use std::collections::HashSet;

use api_types::{
    FirewallSummary, FirewallSummaryFields, Name, Nic, NicFields, PrivateSubnet,
    PrivateSubnetConnect, PrivateSubnetCreate, PrivateSubnetFields, PrivateSubnetState, Reference,
};

use super::{Outcome, Scope, firewall, stored};
use crate::domain::Refusal;
use crate::domain::id::{Kind, Referred};
use crate::domain::network::{Net4, Net6};
use crate::storage::{self, Change, Connection, StorageError};
use crate::world::World;

/// How often free networks are guessed before they are searched for.
const GUESSES: u32 = 8;

/// Everything about a private subnet.
pub async fn view(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Outcome<PrivateSubnet> {
    let found = lookup(c, scope, reference).await?;
    shown(c, scope, &found).await
}

/// Makes a private subnet.
#[derive(Debug)]
pub struct Create {
    /// Where.
    pub scope: Scope,
    /// Its name.
    pub reference: Reference,
    /// How it begins.
    pub body: Option<PrivateSubnetCreate>,
    /// Randomness for its ids and networks.
    pub world: World,
}

impl Change for Create {
    type Output = PrivateSubnet;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<PrivateSubnet> {
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
            Some(id) => id,
            None => self.default_firewall(tx, name).await?,
        };
        let (net4, net6) = free_networks(tx, project, &self.world, &HashSet::new()).await?;
        let subnet = storage::private_subnet::PrivateSubnet {
            id: Kind::PrivateSubnet.new_id(&self.world),
            location: self.scope.location.to_string(),
            name: name.to_owned(),
            net4: net4.to_string(),
            net6: net6.to_string(),
            state: PrivateSubnetState::Available.as_str().to_owned(),
            is_declared: false,
        };
        storage::private_subnet::insert(tx, project, &subnet).await?;
        storage::firewall::attach(tx, project, &firewall, &subnet.id).await?;
        shown(tx, &self.scope, &subnet).await
    }
}

impl Create {
    async fn given_firewall(&self, tx: &mut Connection<'_>, id: &str) -> Outcome<String> {
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

    /// A firewall of the subnet's own, open for everything.
    async fn default_firewall(&self, tx: &mut Connection<'_>, subnet: &str) -> Outcome<String> {
        let name = format!("{subnet}-default");
        if Name::try_from(name.as_str()).is_err() {
            return Err(Refusal::invalid(
                "name",
                format!("is too long: the name of its firewall, `{name}`, has over 63 characters"),
            )
            .into());
        }
        if storage::firewall::lookup_name(tx, self.scope.key(), &name)
            .await?
            .is_some()
        {
            return Err(Refusal::invalid(
                "name",
                format!("needs a firewall `{name}`, but that name is already taken"),
            )
            .into());
        }
        let project = &self.scope.project;
        let firewall = storage::firewall::Firewall {
            id: Kind::Firewall.new_id(&self.world),
            location: self.scope.location.to_string(),
            name,
            description: format!("Default firewall of {subnet}"),
            is_declared: false,
        };
        storage::firewall::insert(tx, project, &firewall).await?;
        for cidr in ["0.0.0.0/0", "::/0"] {
            let rule = storage::firewall::Rule {
                firewall_id: firewall.id.clone(),
                id: Kind::FirewallRule.new_id(&self.world),
                cidr: cidr.to_owned(),
                port_range: "0..65535".to_owned(),
            };
            storage::firewall::insert_rule(tx, project, &rule).await?;
        }
        Ok(firewall.id)
    }
}

/// Networks that no subnet of the project has, and that are promised to none.
pub(crate) async fn free_networks(
    tx: &mut Connection<'_>,
    project: &str,
    world: &World,
    promised: &HashSet<&str>,
) -> Outcome<(Net4, Net6)> {
    for _ in 0..GUESSES {
        let (net4, net6) = (Net4::random(world), Net6::random(world));
        let (text4, text6) = (net4.to_string(), net6.to_string());
        let is_promised = promised.contains(&*text4) || promised.contains(&*text6);
        if !is_promised
            && !storage::private_subnet::has_network(tx, project, &text4, &text6).await?
        {
            return Ok((net4, net6));
        }
    }
    let all = storage::private_subnet::of_project(tx, project).await?;
    let all = all
        .iter()
        .map(|subnet| &*subnet.net4)
        .chain(promised.iter().copied());
    let mut taken: Vec<Net4> = all.filter_map(Net4::parse).collect();
    taken.sort_unstable();
    let net4 = Net4::first_free(&taken);
    let net4 = net4.ok_or_else(|| {
        Refusal::invalid(
            "name",
            "cannot be created: the project has no free network left in 10.0.0.0/8",
        )
    })?;
    Ok((net4, Net6::random(world)))
}

/// Connects two private subnets.
#[derive(Debug)]
pub struct Connect {
    /// Where.
    pub scope: Scope,
    /// One subnet.
    pub reference: Reference,
    /// The other.
    pub body: PrivateSubnetConnect,
}

impl Change for Connect {
    type Output = PrivateSubnet;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<PrivateSubnet> {
        let field = "connected-subnet-id";
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let Some(other) = &self.body.connected_subnet_id else {
            return Err(Refusal::invalid(field, "is required").into());
        };
        let other = of_body(tx, &self.scope, field, other.as_str()).await?;
        if other.id == found.id {
            return Err(Refusal::invalid(field, "must not be the subnet of the path").into());
        }
        let project = &self.scope.project;
        if storage::private_subnet::is_linked(tx, project, &found.id, &other.id).await? {
            return Err(
                Refusal::invalid(field, "is already connected to the subnet of the path").into(),
            );
        }
        storage::private_subnet::link(tx, project, &found.id, &other.id).await?;
        shown(tx, &self.scope, &found).await
    }
}

/// A subnet that a body names by its id.
pub(super) async fn of_body(
    tx: &mut Connection<'_>,
    scope: &Scope,
    field: &'static str,
    id: &str,
) -> Outcome<storage::private_subnet::PrivateSubnet> {
    let found = if Kind::PrivateSubnet.is_id(id) {
        storage::private_subnet::lookup_id(tx, scope.key(), id).await?
    } else {
        None
    };
    let wrong = "must be the id of a private subnet in this project and location";
    Ok(found.ok_or_else(|| Refusal::invalid(field, wrong))?)
}

async fn lookup(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Outcome<storage::private_subnet::PrivateSubnet> {
    let found = match Referred::of(Kind::PrivateSubnet, reference) {
        Referred::Id(id) => storage::private_subnet::lookup_id(c, scope.key(), id).await?,
        Referred::Name(name) => storage::private_subnet::lookup_name(c, scope.key(), name).await?,
    };
    Ok(found.ok_or(Refusal::NotFound)?)
}

async fn shown(
    c: &mut Connection<'_>,
    scope: &Scope,
    subnet: &storage::private_subnet::PrivateSubnet,
) -> Outcome<PrivateSubnet> {
    let project = &scope.project;
    let firewalls = storage::firewall::of_subnet(c, project, &subnet.id).await?;
    let rules = storage::firewall::rules_of_subnet(c, project, &subnet.id).await?;
    let nics = storage::private_subnet::nics(c, project, &subnet.id).await?;
    let firewalls: Result<Vec<_>, _> = firewalls
        .iter()
        .map(|firewall| summary(firewall, &rules))
        .collect();
    let nics: Result<Vec<_>, _> = nics.iter().map(nic).collect();
    Ok(PrivateSubnet::from(PrivateSubnetFields {
        firewalls: firewalls?,
        id: stored(&subnet.id, "an id")?,
        location: stored(&subnet.location, "a location")?,
        name: stored(&subnet.name, "a name")?,
        net4: stored(&subnet.net4, "a network")?,
        net6: stored(&subnet.net6, "a network")?,
        nics: nics?,
        state: stored(&subnet.state, "a state")?,
    }))
}

fn summary(
    of: &storage::firewall::Firewall,
    rules: &[storage::firewall::Rule],
) -> Result<FirewallSummary, StorageError> {
    let rules = rules.iter().filter(|rule| rule.firewall_id == of.id);
    let rules: Result<Vec<_>, _> = rules.map(firewall::rule).collect();
    Ok(FirewallSummary::from(FirewallSummaryFields {
        description: of.description.clone(),
        firewall_rules: rules?,
        id: stored(&of.id, "an id")?,
        location: stored(&of.location, "a location")?,
        name: stored(&of.name, "a name")?,
    }))
}

fn nic(of: &storage::private_subnet::Nic) -> Result<Nic, StorageError> {
    let mut nic = Nic::from(NicFields {
        id: stored(&of.id, "an id")?,
        name: stored(&of.name, "a name")?,
        private_ipv4: stored(&of.private_ipv4, "an address")?,
        private_ipv6: stored(&of.private_ipv6, "an address")?,
    });
    nic.vm_name = of
        .vm_name
        .as_deref()
        .map(|name| stored(name, "a name"))
        .transpose()?;
    Ok(nic)
}
