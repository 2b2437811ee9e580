//! What is to be on the machine, derived from what the database declares. Nothing here looks at the
//! machine.

mod machines;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use api_types::{Name, PrivateSubnetId, ProjectId, VmId};

use super::declared::{Declared, DeclaredNic, DeclaredSubnet, DeclaredVm, LeftOut};
use super::inside::{End, Inside, Version};
use super::names::{LinkName, Place};
use super::ruleset::{self, Port, RouterRules};
use super::space::{Kind, Link, MAIN, Mac, Route, Space};
use crate::domain::allowed::Network;
use crate::settings::{Pools, Prefix};

/// The networks that all private subnets are in.
const PRIVATE: [&str; 2] = ["10.0.0.0/8", "fd00::/8"];
/// The length of the prefix of a private subnet's networks.
const SUBNET: [u8; 2] = [26, 64];

/// What decides what is made of what is declared.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub prefix: Prefix,
    pub pools: Pools,
    /// The maximum number of virtual machines.
    pub vms: usize,
    /// By what the machine's own link to the hub is known.
    pub alias: String,
}

/// What is to be on the machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub spaces: BTreeMap<Place, Space>,
    /// The rules of nftables of the hub and of routers.
    pub rulesets: BTreeMap<Place, String>,
    /// The virtual machines, in the order in which they are made: the first of each project, then the
    /// second of each.
    pub vms: Vec<PlannedVm>,
    /// What is declared and cannot be made, and why.
    pub problems: BTreeSet<String>,
    /// What projects have declared beyond their bounds, and is not made.
    pub left_out: BTreeSet<String>,
}

/// A virtual machine that is to be on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedVm {
    pub project: ProjectId,
    pub id: VmId,
    pub name: Name,
    pub public: Vec<IpAddr>,
    pub private: Vec<IpAddr>,
}

impl Plan {
    /// Plans what is to be made of the networks of all projects.
    pub(super) fn new(declared: &BTreeMap<ProjectId, Declared>, terms: &Terms) -> Self {
        let mut planner = Planner {
            plan: Self::default(),
            terms,
            inside: Inside::of(&terms.prefix),
            taken: BTreeMap::new(),
            hub: Hub::default(),
        };
        let chosen = planner.choose(declared);
        for (project, vms) in chosen {
            planner.project(project, &vms);
        }
        planner.finish()
    }
}

/// The links of the hub to projects, with the public addresses behind each.
#[derive(Default)]
struct Hub(BTreeMap<LinkName, BTreeSet<IpAddr>>);

/// The private subnets that each private subnet of a project is connected to.
type Neighbours<'d> = BTreeMap<&'d PrivateSubnetId, BTreeSet<&'d PrivateSubnetId>>;

struct Planner<'p> {
    plan: Plan,
    terms: &'p Terms,
    inside: Inside,
    /// The virtual machine that has a public address.
    taken: BTreeMap<IpAddr, VmId>,
    hub: Hub,
}

impl<'d> Planner<'_> {
    /// Chooses the virtual machines that are made, if there are too many: the first of each project, then
    /// the second of each, and so on, so that no project takes the place of others.
    fn choose(
        &mut self,
        declared: &'d BTreeMap<ProjectId, Declared>,
    ) -> Vec<(&'d Declared, Vec<&'d DeclaredVm>)> {
        let mut all: Vec<(usize, &Declared, &DeclaredVm)> = declared
            .values()
            .flat_map(|of| {
                of.vms
                    .iter()
                    .enumerate()
                    .map(move |(turn, vm)| (turn, of, vm))
            })
            .collect();
        all.sort_by_key(|(turn, of, _)| (*turn, &of.project));
        let many = declared
            .values()
            .any(|of| of.left_out.contains(&LeftOut::Vms));
        if many || all.len() > self.terms.vms {
            self.problem(format!(
                "there are more than network_vms = {} virtual machines: those beyond are not made",
                self.terms.vms
            ));
        }
        for what in LeftOut::IN_PROJECTS {
            let mut of = declared.values().filter(|of| of.left_out.contains(&what));
            if let Some(first) = of.next() {
                let others = match of.count() {
                    0 => String::new(),
                    count => format!(" and {count} others"),
                };
                self.plan.left_out.insert(format!(
                    "the project {}{others} has too many {what}: those beyond are not made",
                    first.project
                ));
            }
        }
        all.truncate(self.terms.vms);
        let mut chosen: BTreeMap<&ProjectId, (&Declared, Vec<&DeclaredVm>)> = BTreeMap::new();
        for (_, of, vm) in all {
            let public = self.public(vm);
            self.plan.vms.push(PlannedVm {
                project: of.project.clone(),
                id: vm.id.clone(),
                name: vm.name.clone(),
                public,
                private: Version::BOTH
                    .into_iter()
                    .flat_map(|version| vm.nics.iter().map(move |nic| private(nic, version)))
                    .collect(),
            });
            let (_, vms) = chosen.entry(&of.project).or_insert((of, Vec::new()));
            vms.push(vm);
        }
        chosen.into_values().collect()
    }

    /// Returns the public addresses of a virtual machine that can be made.
    fn public(&mut self, vm: &DeclaredVm) -> Vec<IpAddr> {
        let declared = [vm.ip4.map(IpAddr::from), vm.ip6.map(IpAddr::from)];
        let mut public = Vec::new();
        // A loopback address is one of this machine, such as those of `balance_http_ports`.
        let elsewhere = |address: &IpAddr| !address.is_loopback();
        for address in declared.into_iter().flatten().filter(elsewhere) {
            let is_reserved = PRIVATE
                .iter()
                .chain(&["169.254.0.0/16", "fc00::/8"])
                .filter_map(|network| Network::parse(network))
                .any(|network| network.contains(address));
            if is_reserved || !self.terms.pools.contain(address) {
                self.problem(format!(
                    "the public address {address} of the virtual machine {} is not in a network of \
                     network_addresses: it has none here",
                    vm.id
                ));
            } else if let Some(other) = self.taken.get(&address) {
                let words = format!(
                    "the public address {address} of the virtual machine {} is that of {other} too: it has none here",
                    vm.id
                );
                self.problem(words);
            } else {
                self.taken.insert(address, vm.id.clone());
                public.push(address);
            }
        }
        public
    }

    /// Returns which public address a virtual machine was given.
    fn given(&self, vm: &DeclaredVm, version: Version) -> Option<IpAddr> {
        let declared = match version {
            Version::V4 => vm.ip4.map(IpAddr::from),
            Version::V6 => vm.ip6.map(IpAddr::from),
        };
        declared.filter(|address| self.taken.get(address) == Some(&vm.id))
    }

    /// Plans the router of a project, and its virtual machines.
    fn project(&mut self, declared: &Declared, vms: &[&DeclaredVm]) {
        let place = Place::Project(declared.project.clone());
        let link = LinkName::project(&declared.project);
        if self.hub.0.contains_key(&link) {
            let words = format!("the id of the project {place:?} ends as that of another one");
            return self.problem(words);
        }
        let mut router = Space {
            forwards: true,
            ..Space::default()
        };
        let mut rules = RouterRules {
            host: Some((self.inside.v4(End::Host), self.inside.v6(End::Host))),
            ..RouterRules::default()
        };
        router.links.insert(LinkName::up(), self.up(&link));
        let used = vms.iter().flat_map(|vm| &vm.nics).map(|nic| &nic.subnet);
        let used: BTreeSet<&PrivateSubnetId> = used.collect();
        let subnets: BTreeMap<&PrivateSubnetId, &DeclaredSubnet> = declared
            .subnets
            .iter()
            .filter(|(id, _)| used.contains(id))
            .collect();
        let mut neighbours = Neighbours::new();
        for (id, subnet) in &subnets {
            let linked = subnet
                .links
                .iter()
                .filter_map(|it| subnets.get_key_value(it));
            for (other, _) in linked {
                neighbours.entry(id).or_default().insert(other);
                neighbours.entry(other).or_default().insert(id);
            }
        }
        for (id, subnet) in &subnets {
            let name = LinkName::subnet(id);
            if router.links.contains_key(&name) {
                self.problem(format!(
                    "the id of the private subnet {id} ends as that of another one"
                ));
                continue;
            }
            router.links.insert(name.clone(), bridge(subnet));
            let networks = [subnet.net4.to_string(), subnet.net6.to_string()];
            rules.ports.push(Port {
                link: name.clone(),
                sources: networks
                    .iter()
                    .filter_map(|it| Network::parse(it))
                    .collect(),
                allowed: subnet.allowed.clone(),
            });
            for other in subnet.links.iter().filter(|it| subnets.contains_key(it)) {
                let other = LinkName::subnet(other);
                rules.connected.insert((name.clone(), other.clone()));
                rules.connected.insert((other, name.clone()));
            }
        }
        let mut publics = BTreeSet::new();
        for vm in vms {
            for version in Version::BOTH {
                let Some(public) = self.given(vm, version) else {
                    continue;
                };
                publics.insert(public);
                match (public, vm.balanced) {
                    (IpAddr::V4(address), Some(port)) => {
                        rules.balanced4.insert((address, port));
                    }
                    (IpAddr::V6(address), Some(port)) => {
                        rules.balanced6.insert((address, port));
                    }
                    (_, None) => {}
                }
            }
            let space = if vm.nics.is_empty() {
                self.alone(vm, &place, &mut router, &mut rules)
            } else {
                let subnets = (&subnets, &neighbours);
                self.in_subnets(vm, &place, subnets, &mut router, &mut rules)
            };
            if self
                .plan
                .spaces
                .insert(Place::Vm(vm.id.clone()), space)
                .is_some()
            {
                self.problem(format!("two virtual machines have the id {}", vm.id));
            }
        }
        self.hub.0.insert(link, publics);
        self.plan
            .rulesets
            .insert(place.clone(), ruleset::router(&rules));
        self.plan.spaces.insert(place, router);
    }

    /// Returns the link of a router to the hub.
    fn up(&self, name: &LinkName) -> Link {
        let kind = Kind::Lower {
            place: Place::Hub,
            name: name.clone(),
            mac: Mac::of(self.inside.v4(End::Hub)),
            alias: None,
        };
        let mut link = Link::new(kind, Mac::of(self.inside.v4(End::Router)));
        for version in Version::BOTH {
            let own = self.inside.address(version, End::Router);
            let hub = self.inside.address(version, End::Hub);
            link.addresses.insert((own, version.bits()));
            link.routes.insert(route(all(version), Some(hub), None));
        }
        link
    }

    /// Plans the hub, and the machine's own link to it.
    fn finish(mut self) -> Plan {
        let mac = Mac::of(self.inside.v4(End::Hub));
        let host_mac = Mac::of(self.inside.v4(End::Host));
        let kind = Kind::Lower {
            place: Place::Host,
            name: LinkName::of_host(&self.terms.prefix),
            mac: host_mac,
            alias: Some(self.terms.alias.clone()),
        };
        let mut down = Link::new(kind, mac);
        let mut own = Link::new(Kind::Upper, host_mac);
        for version in Version::BOTH {
            let host = self.inside.address(version, End::Host);
            let hub = self.inside.address(version, End::Hub);
            down.addresses.insert((hub, version.bits()));
            down.routes.insert(route(Network::of(host), None, None));
            down.routes.insert(route(all(version), Some(host), None));
            own.addresses.insert((host, version.bits()));
            own.routes.insert(route(Network::of(hub), None, Some(host)));
        }
        let mut hub = Space {
            forwards: true,
            ..Space::default()
        };
        let mut publics = BTreeSet::new();
        for (name, addresses) in self.hub.0 {
            let mut link = Link::new(Kind::Upper, mac);
            for version in Version::BOTH {
                let own = self.inside.address(version, End::Hub);
                link.addresses.insert((own, version.bits()));
            }
            for address in addresses {
                let version = if address.is_ipv4() {
                    Version::V4
                } else {
                    Version::V6
                };
                let to = Network::of(address);
                let router = self.inside.address(version, End::Router);
                link.routes.insert(route(to, Some(router), None));
                let (host, via) = (
                    self.inside.address(version, End::Host),
                    self.inside.address(version, End::Hub),
                );
                own.routes.insert(route(to, Some(via), Some(host)));
                publics.insert((name.clone(), address));
            }
            hub.links.insert(name, link);
        }
        hub.links.insert(LinkName::host(), down);
        let mut host = Space::default();
        host.links
            .insert(LinkName::of_host(&self.terms.prefix), own);
        self.plan
            .rulesets
            .insert(Place::Hub, ruleset::hub(&publics));
        self.plan.spaces.insert(Place::Hub, hub);
        self.plan.spaces.insert(Place::Host, host);
        self.plan
    }

    fn problem(&mut self, words: String) {
        self.plan.problems.insert(words);
    }
}

/// Returns the bridge of a private subnet, which has the address of its router.
fn bridge(subnet: &DeclaredSubnet) -> Link {
    let mut bridge = Link::new(Kind::Bridge, Mac::of(subnet.net4.router()));
    for (version, bits) in Version::BOTH.into_iter().zip(SUBNET) {
        bridge.addresses.insert((gateway(subnet, version), bits));
    }
    bridge
}

fn route(to: Network, via: Option<IpAddr>, from: Option<IpAddr>) -> Route {
    Route {
        to,
        via,
        from,
        table: MAIN,
    }
}

fn all(version: Version) -> Network {
    parse(match version {
        Version::V4 => "0.0.0.0/0",
        Version::V6 => "::/0",
    })
}

fn all_private(version: Version) -> Network {
    let [v4, v6] = PRIVATE;
    parse(match version {
        Version::V4 => v4,
        Version::V6 => v6,
    })
}

fn network(subnet: &DeclaredSubnet, version: Version) -> Network {
    parse(&match version {
        Version::V4 => subnet.net4.to_string(),
        Version::V6 => subnet.net6.to_string(),
    })
}

fn parse(network: &str) -> Network {
    Network::parse(network).expect("it is in CIDR notation")
}

fn private(nic: &DeclaredNic, version: Version) -> IpAddr {
    match version {
        Version::V4 => nic.ip4.into(),
        Version::V6 => nic.ip6.into(),
    }
}

fn gateway(subnet: &DeclaredSubnet, version: Version) -> IpAddr {
    match version {
        Version::V4 => subnet.net4.router().into(),
        Version::V6 => subnet.net6.router().into(),
    }
}
