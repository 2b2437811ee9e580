//! What a file alone can tell of an inventory: values, names that are unique, names that are referred to.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use api_types::{
    Cidr, HealthCheckEndpoint, HealthCheckProtocol, Ipv4Address, Ipv6Address,
    LoadBalancerAlgorithm, Name, NetworkStack, Port, PortRange, StorageSizeGib, VmSize, VmState,
};
use serde_saphyr::Spanned;

use super::{
    Finding, FirewallEntry, Inventory, LoadBalancerEntry, NicEntry, PrivateSubnetEntry,
    ProjectEntry, VmEntry,
};
use crate::domain::id::Kind;
use crate::domain::network::{Net4, Net6};
use crate::domain::refusal::enumerate;

const NAME: &str = "a name: 1 to 63 characters of a-z, 0-9 and -, with no hyphen at either end";

/// Everything that is wrong.
pub(super) fn check(inventory: &Inventory) -> Vec<Finding> {
    let mut check = Check {
        locations: HashSet::new(),
        findings: Vec::new(),
    };
    let mut locations = Unique::new("a location");
    for location in &inventory.locations {
        check.value::<Name>(&location.name, NAME);
        locations.add(&mut check, "", &location.name);
        check.locations.insert(location.name.value.clone());
    }
    let mut addresses = Unique::new("a virtual machine with the address");
    let mut projects = Unique::new("a project");
    let mut ids = Unique::new("a project with the id");
    for project in &inventory.projects {
        check.value::<Name>(&project.name, NAME);
        if Kind::Project.is_id(&project.name.value) {
            check.found(&project.name, "must not look like the id of a project");
        }
        projects.add(&mut check, "", &project.name);
        if let Some(id) = &project.id {
            ids.add(&mut check, "", id);
            if !Kind::Project.is_id(&id.value) {
                check.found(id, "must be the id of a project, pj and 24 characters of 0-9 and a-z without i, l, o, u");
            }
        }
        check.project(project, &mut addresses);
    }
    check.findings
}

struct Check {
    locations: HashSet<String>,
    findings: Vec<Finding>,
}

/// The names of a project's resources, by their location.
struct Names<'i> {
    vms: HashSet<(&'i str, &'i str)>,
    firewalls: HashSet<(&'i str, &'i str)>,
    subnets: HashSet<(&'i str, &'i str)>,
}

impl Check {
    fn found<T>(&mut self, value: &Spanned<T>, message: impl Into<String>) {
        self.findings.push(Finding::at(value, message));
    }

    /// A value that the contract's type takes.
    fn value<T: FromStr>(&mut self, value: &Spanned<String>, what: &str) {
        if value.value.parse::<T>().is_err() {
            self.found(
                value,
                format!("`{}` is not {what}", value.value.escape_debug()),
            );
        }
    }

    /// A text that can be shown as it is.
    fn plain(&mut self, value: &Spanned<String>) {
        if value.value.chars().any(char::is_control) {
            self.found(value, "must have no control characters");
        }
    }

    fn optional<T: FromStr>(&mut self, value: Option<&Spanned<String>>, what: &str) {
        if let Some(value) = value {
            self.value::<T>(value, what);
        }
    }

    /// A value that the contract lists. What a newer contract may add is no use here.
    fn listed(&mut self, value: Option<&Spanned<String>>, listed: &[&str]) {
        if let Some(value) = value.filter(|value| !listed.contains(&value.value.as_str())) {
            let text = value.value.escape_debug();
            self.found(value, format!("`{text}` is none of {}", enumerate(listed)));
        }
    }

    fn location(&mut self, location: &Spanned<String>) {
        if !self.locations.contains(&location.value) {
            let mut known: Vec<&String> = self.locations.iter().collect();
            known.sort();
            let text = location.value.escape_debug();
            let message = format!(
                "there is no location `{text}`; there are {}",
                enumerate(&known)
            );
            self.found(location, message);
        }
    }

    fn project(&mut self, project: &ProjectEntry, addresses: &mut Unique) {
        let names = Names {
            vms: project
                .vms
                .iter()
                .map(|it| (&*it.location.value, &*it.name.value))
                .collect(),
            firewalls: project
                .firewalls
                .iter()
                .map(|it| (&*it.location.value, &*it.name.value))
                .collect(),
            subnets: project
                .private_subnets
                .iter()
                .map(|it| (&*it.location.value, &*it.name.value))
                .collect(),
        };
        let mut vms = Unique::new("a virtual machine");
        for vm in &project.vms {
            for address in [&vm.ip4, &vm.ip6].into_iter().flatten() {
                let parsed = address
                    .value
                    .parse::<IpAddr>()
                    .map(|parsed| parsed.to_string());
                addresses.add_as(
                    self,
                    "",
                    parsed.unwrap_or_else(|_| address.value.clone()),
                    address,
                );
            }
            self.resource(&mut vms, Kind::Vm, &vm.location, &vm.name);
            self.vm(vm);
        }
        let mut firewalls = Unique::new("a firewall");
        for firewall in &project.firewalls {
            self.resource(
                &mut firewalls,
                Kind::Firewall,
                &firewall.location,
                &firewall.name,
            );
            self.firewall(firewall);
        }
        let mut subnets = Unique::new("a private subnet");
        let mut networks = Unique::new("a private subnet with the network");
        for subnet in &project.private_subnets {
            self.resource(
                &mut subnets,
                Kind::PrivateSubnet,
                &subnet.location,
                &subnet.name,
            );
            for network in [&subnet.net4, &subnet.net6].into_iter().flatten() {
                networks.add(self, "", network);
            }
            self.subnet(subnet, &names);
        }
        let mut load_balancers = Unique::new("a load balancer");
        let mut attached = Unique::new("a load balancer with the virtual machine");
        for load_balancer in &project.load_balancers {
            let LoadBalancerEntry {
                location,
                name,
                vms,
                ..
            } = load_balancer;
            self.resource(&mut load_balancers, Kind::LoadBalancer, location, name);
            for vm in vms {
                attached.add(self, &location.value, vm);
            }
            self.load_balancer(load_balancer, &names);
        }
    }

    /// A name and a place, as every resource has them.
    fn resource(
        &mut self,
        unique: &mut Unique,
        kind: Kind,
        location: &Spanned<String>,
        name: &Spanned<String>,
    ) {
        self.location(location);
        self.value::<Name>(name, NAME);
        if kind.is_id(&name.value) {
            self.found(
                name,
                "must not look like an id of its own kind, for nothing could refer to it by name",
            );
        }
        unique.add(self, &location.value, name);
    }

    fn vm(&mut self, vm: &VmEntry) {
        self.optional::<Ipv4Address>(vm.ip4.as_ref(), "an IPv4 address, such as 203.0.113.21");
        self.optional::<Ipv6Address>(vm.ip6.as_ref(), "an IPv6 address, such as 2001:db8::2");
        self.listed(Some(&vm.size), VmSize::VALUES);
        self.listed(vm.state.as_ref(), VmState::VALUES);
        self.plain(&vm.unix_user);
        if vm.unix_user.value.is_empty() {
            self.found(&vm.unix_user, "must name a user");
        }
        if StorageSizeGib::try_from(vm.storage_size_gib.value).is_err() {
            self.found(&vm.storage_size_gib, "must be at least 1");
        }
        if let (Some(ip4), Some(false)) = (&vm.ip4, vm.ip4_enabled) {
            self.found(ip4, "contradicts `ip4_enabled: false`");
        }
    }

    fn firewall(&mut self, firewall: &FirewallEntry) {
        if let Some(description) = &firewall.description {
            self.plain(description);
        }
        let mut rules = HashSet::new();
        for rule in &firewall.rules {
            self.cidr(&rule.cidr);
            self.ports(&rule.port_range);
            if !rules.insert((
                same_network(&rule.cidr.value),
                same_ports(&rule.port_range.value),
            )) {
                self.found(&rule.cidr, "is in another rule with the same ports already");
            }
        }
    }

    /// A network: an address, and as many bits of it as are the network's, with none set behind these.
    fn cidr(&mut self, value: &Spanned<String>) {
        let network = || {
            let (address, bits) = value.value.split_once('/')?;
            let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse::<u32>().ok()?);
            let host = match address {
                IpAddr::V4(address) => {
                    address.to_bits() & u32::MAX.checked_shr(bits).unwrap_or_default() == 0
                }
                IpAddr::V6(address) => {
                    address.to_bits() & u128::MAX.checked_shr(bits).unwrap_or_default() == 0
                }
            };
            Some(host)
        };
        let wrong = "a network, such as 10.0.0.0/8 or fd00::/8";
        if value.value.parse::<Cidr>().is_err() {
            self.value::<Cidr>(value, wrong);
        } else if network() != Some(true) {
            let text = value.value.escape_debug();
            self.found(
                value,
                format!("`{text}` is not {wrong}, with no bits set behind the network's own"),
            );
        }
    }

    /// A port, or a range that has its lower end first.
    fn ports(&mut self, value: &Spanned<String>) {
        self.value::<PortRange>(value, "a port or a range of ports, such as 80 or 80..90");
        let ends = value
            .value
            .split_once("..")
            .map(|(low, high)| (low.parse::<u16>(), high.parse::<u16>()));
        if let Some((Ok(low), Ok(high))) = ends
            && low > high
        {
            self.found(value, format!("the lower port comes first: {high}..{low}"));
        }
    }

    fn subnet(&mut self, subnet: &PrivateSubnetEntry, names: &Names<'_>) {
        let (mut net4, mut net6) = (None, None);
        if let Some(text) = &subnet.net4 {
            net4 = Net4::parse(&text.value);
            if net4.is_none() {
                self.found(text, "must be a /26 of 10.0.0.0/8, such as 10.61.7.0/26");
            }
        }
        if let Some(text) = &subnet.net6 {
            net6 = Net6::parse(&text.value);
            if net6.is_none() {
                self.found(text, "must be a /64 of fd00::/8 in its shortest form, such as fd61:7a0c:55e1:9200::/64");
            }
        }
        let mut firewalls = Unique::new("this subnet with the firewall");
        for firewall in &subnet.firewalls {
            firewalls.add(self, "", firewall);
            self.known(&names.firewalls, "firewall", &subnet.location, firewall);
        }
        let mut unique = Unique::new("a network interface");
        let mut addresses = Unique::new("a network interface with the address");
        for nic in &subnet.nics {
            self.value::<Name>(&nic.name, NAME);
            unique.add(self, "", &nic.name);
            if let Some(vm) = &nic.vm {
                self.known(&names.vms, "virtual machine", &subnet.location, vm);
            }
            for address in [&nic.private_ipv4, &nic.private_ipv6].into_iter().flatten() {
                addresses.add(self, "", address);
            }
            self.nic(nic, net4, net6);
        }
    }

    fn nic(&mut self, nic: &NicEntry, net4: Option<Net4>, net6: Option<Net6>) {
        if let Some(address) = &nic.private_ipv4 {
            let parsed = address.value.parse::<Ipv4Addr>().ok();
            if !parsed
                .zip(net4)
                .is_some_and(|(address, net4)| net4.has_host(address))
            {
                self.found(
                    address,
                    "must be a host's address in the subnet's `net4`, which must be given too",
                );
            }
        }
        if let Some(address) = &nic.private_ipv6 {
            let parsed = address.value.parse::<Ipv6Addr>().ok();
            // In another form it would be another address to whoever compares texts.
            let is_shortest = parsed.is_some_and(|parsed| parsed.to_string() == address.value);
            if !is_shortest
                || !parsed
                    .zip(net6)
                    .is_some_and(|(address, net6)| net6.has_host(address))
            {
                let wrong = "must be a host's address in the subnet's `net6`, which must be given too, in its shortest form";
                self.found(address, wrong);
            }
        }
    }

    fn load_balancer(&mut self, entry: &LoadBalancerEntry, names: &Names<'_>) {
        self.known(
            &names.subnets,
            "private subnet",
            &entry.location,
            &entry.subnet,
        );
        self.listed(entry.algorithm.as_ref(), LoadBalancerAlgorithm::VALUES);
        self.listed(
            entry.health_check_protocol.as_ref(),
            HealthCheckProtocol::VALUES,
        );
        self.listed(entry.stack.as_ref(), NetworkStack::VALUES);
        self.value::<HealthCheckEndpoint>(
            &entry.health_check_endpoint,
            "an endpoint of health checks, a path or URL that is not blank",
        );
        self.plain(&entry.health_check_endpoint);
        for port in [&entry.src_port, &entry.dst_port] {
            if Port::try_from(port.value).is_err() {
                self.found(port, "must be a port, 1 to 65535");
            }
        }
        for vm in &entry.vms {
            self.known(&names.vms, "virtual machine", &entry.location, vm);
        }
    }

    /// A name that something of the same project and location has.
    fn known(
        &mut self,
        names: &HashSet<(&str, &str)>,
        what: &str,
        location: &Spanned<String>,
        name: &Spanned<String>,
    ) {
        if !names.contains(&(&*location.value, &*name.value)) {
            let (name_shown, location) = (name.value.escape_debug(), location.value.escape_debug());
            let message = format!("the project has no {what} `{name_shown}` in {location}");
            self.found(name, message);
        }
    }
}

/// Names that may come once, each within its scope.
struct Unique {
    what: &'static str,
    lines: HashMap<(String, String), u64>,
}

impl Unique {
    fn new(what: &'static str) -> Self {
        Self {
            what,
            lines: HashMap::new(),
        }
    }

    fn add(&mut self, check: &mut Check, scope: &str, name: &Spanned<String>) {
        self.add_as(check, scope, name.value.clone(), name);
    }

    /// Adds what may be written in several ways, by the one that all of them mean.
    fn add_as(&mut self, check: &mut Check, scope: &str, meant: String, name: &Spanned<String>) {
        let line = name.referenced.line();
        if let Some(first) = self.lines.insert((scope.to_owned(), meant), line) {
            let message = format!(
                "line {first} has {} `{}` already",
                self.what,
                name.value.escape_debug()
            );
            check.found(name, message);
        }
    }
}

/// Ports as a range, one alone too.
fn same_ports(text: &str) -> (&str, &str) {
    text.split_once("..").unwrap_or((text, text))
}

/// A network in the one way that all ways to write it have in common.
fn same_network(text: &str) -> String {
    let parsed = text
        .split_once('/')
        .and_then(|(address, bits)| Some((address.parse::<IpAddr>().ok()?, bits)));
    parsed.map_or_else(
        || text.to_owned(),
        |(address, bits)| format!("{address}/{bits}"),
    )
}
