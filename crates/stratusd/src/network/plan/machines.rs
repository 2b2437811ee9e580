//! The namespace of a virtual machine, and what its router has for it.

use std::collections::{BTreeMap, BTreeSet};

use api_types::PrivateSubnetId;

use super::{Neighbours, Planner, SUBNET, all, all_private, gateway, network, private, route};
use crate::domain::allowed::Network;
use crate::network::declared::{DeclaredSubnet, DeclaredVm};
use crate::network::inside::{End, Version};
use crate::network::names::{LinkName, Place};
use crate::network::ruleset::{Port, RouterRules};
use crate::network::space::{Kind, Link, Mac, Route, Space, TABLES};

impl Planner<'_> {
    /// Returns the namespace of a virtual machine with network interfaces, and adds their ends and the
    /// public addresses to the router.
    pub(super) fn in_subnets(
        &mut self,
        vm: &DeclaredVm,
        router_place: &Place,
        (subnets, neighbours): (
            &BTreeMap<&PrivateSubnetId, &DeclaredSubnet>,
            &Neighbours<'_>,
        ),
        router: &mut Space,
        rules: &mut RouterRules,
    ) -> Space {
        let mut space = Space::default();
        let mut known: BTreeSet<&PrivateSubnetId> = BTreeSet::new();
        let own_subnets: BTreeSet<&PrivateSubnetId> =
            vm.nics.iter().map(|nic| &nic.subnet).collect();
        for (number, nic) in vm.nics.iter().enumerate() {
            let Some(subnet) = subnets.get(&nic.subnet) else {
                continue;
            };
            let (bridge, upper) = (LinkName::subnet(&nic.subnet), LinkName::nic(&nic.id));
            if router.links.contains_key(&upper) {
                self.problem(format!(
                    "the id of the network interface {} ends as that of another one",
                    nic.id
                ));
                continue;
            }
            let mac = Mac::of(nic.ip4);
            let kind = Kind::Lower {
                place: router_place.clone(),
                name: upper.clone(),
                mac: Mac::of(subnet.net4.router()),
                alias: None,
            };
            let mut port = Link::new(Kind::Upper, Mac::of(subnet.net4.router()));
            port.master = Some(bridge.clone());
            router.links.insert(upper, port);
            let mut link = Link::new(kind, mac);
            let is_first = known.is_empty();
            for (version, bits) in Version::BOTH.into_iter().zip(SUBNET) {
                let own = private(nic, version);
                let gateway = gateway(subnet, version);
                link.addresses.insert((own, bits));
                if is_first {
                    let public = self.given(vm, version);
                    link.routes
                        .insert(route(all(version), Some(gateway), public.or(Some(own))));
                    link.routes
                        .insert(route(all_private(version), Some(gateway), Some(own)));
                    if let Some(public) = public {
                        link.addresses.insert((public, version.bits()));
                        let to = Network::of(public);
                        let bridge = router.links.get_mut(&bridge);
                        bridge.map(|it| it.routes.insert(route(to, Some(own), None)));
                        let port = rules
                            .ports
                            .iter_mut()
                            .find(|it| it.link == LinkName::subnet(&nic.subnet));
                        port.map(|it| it.sources.insert(to));
                    }
                    continue;
                }
                // What comes from the address of another interface leaves through that one, since routers
                // drop what cannot come from a subnet.
                let table = TABLES.start + u32::try_from(number).unwrap_or_default();
                space.rules.insert(own, table);
                let direct = route(network(subnet, version), None, Some(own));
                link.routes.insert(Route { table, ..direct });
                let other = route(all(version), Some(gateway), Some(own));
                link.routes.insert(Route { table, ..other });
                for (id, near) in connected(&nic.subnet, subnets, neighbours) {
                    // A subnet in which it has an interface itself has the route of that one.
                    if !known.contains(id) && !own_subnets.contains(id) {
                        link.routes
                            .insert(route(network(near, version), Some(gateway), Some(own)));
                    }
                }
            }
            known.insert(&nic.subnet);
            known.extend(connected(&nic.subnet, subnets, neighbours).map(|(id, _)| id));
            space.links.insert(LinkName::numbered(number), link);
        }
        space
    }

    /// Returns the namespace of a virtual machine that is in no private subnet, which load balancers
    /// alone can reach.
    pub(super) fn alone(
        &mut self,
        vm: &DeclaredVm,
        router_place: &Place,
        router: &mut Space,
        rules: &mut RouterRules,
    ) -> Space {
        let mut space = Space::default();
        let upper = LinkName::vm(&vm.id);
        if router.links.contains_key(&upper) {
            self.problem(format!(
                "the id of the virtual machine {} ends as that of another one",
                vm.id
            ));
            return space;
        }
        let mac = Mac::of(self.inside.v4(End::Gateway));
        let kind = Kind::Lower {
            place: router_place.clone(),
            name: upper.clone(),
            mac,
            alias: None,
        };
        let mut link = Link::new(kind, Mac::of(self.inside.v4(End::Vm)));
        let mut port = Link::new(Kind::Upper, mac);
        let mut sources = BTreeSet::new();
        for version in Version::BOTH {
            let Some(public) = self.given(vm, version) else {
                continue;
            };
            let own = self.inside.address(version, End::Vm);
            let gateway = self.inside.address(version, End::Gateway);
            link.addresses
                .extend([(own, version.bits()), (public, version.bits())]);
            link.routes
                .insert(route(all(version), Some(gateway), Some(public)));
            port.addresses.insert((gateway, version.bits()));
            port.routes
                .insert(route(Network::of(public), Some(own), None));
            sources.insert(Network::of(public));
        }
        router.links.insert(upper.clone(), port);
        rules.ports.push(Port {
            link: upper,
            sources,
            allowed: Vec::new(),
        });
        space.links.insert(LinkName::numbered(0), link);
        space
    }
}

/// Returns the subnets that a subnet is connected to.
fn connected<'s>(
    id: &PrivateSubnetId,
    subnets: &'s BTreeMap<&'s PrivateSubnetId, &'s DeclaredSubnet>,
    neighbours: &'s Neighbours<'s>,
) -> impl Iterator<Item = (&'s PrivateSubnetId, &'s DeclaredSubnet)> {
    let of = neighbours.get(id).into_iter().flatten();
    of.filter_map(|other| Some((*other, *subnets.get(other)?)))
}
