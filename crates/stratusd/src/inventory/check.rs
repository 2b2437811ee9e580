//! Checks an inventory without the database: values, unique names, and names that entries refer to.

mod resources;
mod unique;
mod values;

use std::collections::HashSet;
use std::net::IpAddr;

use api_types::Name;
use serde_saphyr::Spanned;

use super::{Diagnostic, Inventory, ProjectEntry};
use crate::domain::id::Kind;
use crate::domain::quota;
use crate::domain::refusal::enumerate;
use unique::Unique;

const NAME: &str =
    "a name: 1 to 63 characters of a-z, 0-9 and -, not starting or ending with a hyphen";

/// The largest quota that an inventory may set.
const MOST_QUOTA: i64 = 1_000_000_000;

/// Returns a diagnostic for each error in an inventory, unsorted.
pub(super) fn check(inventory: &Inventory) -> Vec<Diagnostic> {
    let mut check = Check {
        locations: HashSet::new(),
        diagnostics: Vec::new(),
    };
    // Before the projects, whose resources must be in one of the locations.
    check.locations(inventory);
    check.projects(inventory);
    check.diagnostics
}

/// The state of checking an inventory.
struct Check {
    /// The names of all locations in the inventory.
    locations: HashSet<String>,
    diagnostics: Vec<Diagnostic>,
}

/// The locations and names of a project's resources, for the kinds that other entries refer to by
/// name.
struct Names<'i> {
    vms: HashSet<(&'i str, &'i str)>,
    firewalls: HashSet<(&'i str, &'i str)>,
    subnets: HashSet<(&'i str, &'i str)>,
}

impl<'i> Names<'i> {
    fn of(project: &'i ProjectEntry) -> Self {
        let key = |location: &'i Spanned<String>, name: &'i Spanned<String>| {
            (&*location.value, &*name.value)
        };
        let (vms, firewalls) = (project.vms.iter(), project.firewalls.iter());
        let subnets = project.private_subnets.iter();
        Self {
            vms: vms.map(|vm| key(&vm.location, &vm.name)).collect(),
            firewalls: firewalls
                .map(|firewall| key(&firewall.location, &firewall.name))
                .collect(),
            subnets: subnets
                .map(|subnet| key(&subnet.location, &subnet.name))
                .collect(),
        }
    }
}

impl Check {
    fn report<T>(&mut self, value: &Spanned<T>, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::at(value, message));
    }

    fn locations(&mut self, inventory: &Inventory) {
        let mut unique = Unique::new("a location");
        for location in &inventory.locations {
            self.parses::<Name>(&location.name, NAME);
            unique.add(self, "", &location.name);
            self.locations.insert(location.name.value.clone());
        }
    }

    fn projects(&mut self, inventory: &Inventory) {
        // One set for all projects: public addresses are unique across projects. No key of the
        // database checks this.
        let mut addresses = Unique::new("a virtual machine with the address");
        let mut names = Unique::new("a project");
        let mut ids = Unique::new("a project with the id");
        for project in &inventory.projects {
            self.parses::<Name>(&project.name, NAME);
            if Kind::Project.is_id(&project.name.value) {
                self.report(&project.name, "must not have the form of a project id");
            }
            names.add(self, "", &project.name);
            if let Some(id) = &project.id {
                ids.add(self, "", id);
                if !Kind::Project.is_id(&id.value) {
                    self.report(
                        id,
                        "must be a project id: pj and 24 characters of 0-9 and a-z without i, l, o and u",
                    );
                }
            }
            self.project(project, &mut addresses);
        }
    }

    /// Checks the quotas and resources of a project. `addresses` are the public addresses of all
    /// projects, which must be unique across projects.
    fn project(&mut self, project: &ProjectEntry, addresses: &mut Unique) {
        for quota in quota::Kind::ALL
            .into_iter()
            .filter_map(|kind| project.quotas.of(kind))
        {
            if !(0..=MOST_QUOTA).contains(&quota.value) {
                self.report(quota, format!("must be a number from 0 to {MOST_QUOTA}"));
            }
        }
        let names = Names::of(project);
        let mut vms = Unique::new("a virtual machine");
        for vm in &project.vms {
            for address in [&vm.ip4, &vm.ip6].into_iter().flatten() {
                // Compared as addresses: an IPv6 address has several forms.
                let parsed = address.value.parse::<IpAddr>();
                let parsed = parsed.map_or_else(|_| address.value.clone(), |it| it.to_string());
                addresses.add_as(self, "", parsed, address);
            }
            self.resource(&mut vms, Kind::Vm, (&vm.location, &vm.name));
            self.vm(vm);
        }
        let mut firewalls = Unique::new("a firewall");
        for firewall in &project.firewalls {
            let key = (&firewall.location, &firewall.name);
            self.resource(&mut firewalls, Kind::Firewall, key);
            self.firewall(firewall);
        }
        let mut subnets = Unique::new("a private subnet");
        let mut networks = Unique::new("a private subnet with the network");
        for subnet in &project.private_subnets {
            let key = (&subnet.location, &subnet.name);
            self.resource(&mut subnets, Kind::PrivateSubnet, key);
            for network in [&subnet.net4, &subnet.net6].into_iter().flatten() {
                networks.add(self, "", network);
            }
            self.subnet(subnet, &names);
        }
        let mut load_balancers = Unique::new("a load balancer");
        let mut attached = Unique::new("a load balancer with the virtual machine");
        for load_balancer in &project.load_balancers {
            let key = (&load_balancer.location, &load_balancer.name);
            self.resource(&mut load_balancers, Kind::LoadBalancer, key);
            for vm in &load_balancer.vms {
                attached.add(self, &load_balancer.location.value, vm);
            }
            self.load_balancer(load_balancer, &names);
        }
    }

    /// Checks that the location of a resource exists, and that its name is valid, not of the form
    /// of an id of its kind, and unique in the location.
    fn resource(
        &mut self,
        unique: &mut Unique,
        kind: Kind,
        (location, name): (&Spanned<String>, &Spanned<String>),
    ) {
        self.location(location);
        self.parses::<Name>(name, NAME);
        if kind.is_id(&name.value) {
            self.report(
                name,
                "must not have the form of an id of this kind of resource: the API would take it for an id",
            );
        }
        unique.add(self, &location.value, name);
    }

    fn location(&mut self, location: &Spanned<String>) {
        if !self.locations.contains(&location.value) {
            let mut known: Vec<&String> = self.locations.iter().collect();
            // A set has another order in each run.
            known.sort();
            let message = format!(
                "there is no location `{}`; the locations are {}",
                location.value.escape_debug(),
                enumerate(&known)
            );
            self.report(location, message);
        }
    }
}
