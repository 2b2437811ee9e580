//! Checks of the inventory entries of each kind of resource.

use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use api_types::{
    HealthCheckEndpoint, HealthCheckProtocol, Ipv4Address, Ipv6Address, LoadBalancerAlgorithm,
    Name, NetworkStack, Port, StorageSizeGib, VmSize, VmState,
};

use super::unique::Unique;
use super::{Check, NAME, Names};
use crate::domain::firewall::{canonical_network, canonical_ports};
use crate::domain::load_balancer::MOST_VMS;
use crate::domain::network::{Net4, Net6};
use crate::inventory::{FirewallEntry, LoadBalancerEntry, NicEntry, PrivateSubnetEntry, VmEntry};

impl Check {
    pub(super) fn vm(&mut self, vm: &VmEntry) {
        self.optional::<Ipv4Address>(vm.ip4.as_ref(), "an IPv4 address, such as 203.0.113.21");
        self.optional::<Ipv6Address>(vm.ip6.as_ref(), "an IPv6 address, such as 2001:db8::2");
        self.one_of(Some(&vm.size), VmSize::VALUES);
        self.one_of(vm.state.as_ref(), VmState::VALUES);
        self.printable(&vm.unix_user);
        if let Some(image) = &vm.boot_image {
            self.printable(image);
        }
        for text in [Some(&vm.unix_user), vm.boot_image.as_ref()]
            .into_iter()
            .flatten()
        {
            if text.value.is_empty() {
                self.report(text, "must not be empty");
            }
        }
        if StorageSizeGib::try_from(vm.storage_size_gib.value).is_err() {
            self.report(&vm.storage_size_gib, "must be at least 1");
        }
        if let (Some(ip4), Some(false)) = (&vm.ip4, vm.ip4_enabled) {
            self.report(ip4, "contradicts `ip4_enabled: false`: remove one of them");
        }
    }

    pub(super) fn firewall(&mut self, firewall: &FirewallEntry) {
        if let Some(description) = &firewall.description {
            self.printable(description);
        }
        let mut rules = HashSet::new();
        for rule in &firewall.rules {
            self.cidr(&rule.cidr);
            self.ports(&rule.port_range);
            let canonical = (
                canonical_network(&rule.cidr.value),
                canonical_ports(&rule.port_range.value),
            );
            if !rules.insert(canonical) {
                self.report(&rule.cidr, "another rule has the same network and ports");
            }
        }
    }

    pub(super) fn subnet(&mut self, subnet: &PrivateSubnetEntry, names: &Names<'_>) {
        let (mut net4, mut net6) = (None, None);
        if let Some(text) = &subnet.net4 {
            net4 = Net4::parse(&text.value);
            if net4.is_none() {
                self.report(text, "must be a /26 of 10.0.0.0/8, such as 10.61.7.0/26");
            }
        }
        if let Some(text) = &subnet.net6 {
            net6 = Net6::parse(&text.value);
            if net6.is_none() {
                self.report(
                    text,
                    "must be a /64 of fd00::/8 in its shortest form, such as fd61:7a0c:55e1:9200::/64",
                );
            }
        }
        let mut firewalls = Unique::new("the firewall");
        for firewall in &subnet.firewalls {
            firewalls.add(self, "", firewall);
            self.refers(&names.firewalls, "firewall", &subnet.location, firewall);
        }
        let mut unique = Unique::new("a network interface");
        let mut addresses = Unique::new("a network interface with the address");
        for nic in &subnet.nics {
            self.parses::<Name>(&nic.name, NAME);
            unique.add(self, "", &nic.name);
            if let Some(vm) = &nic.vm {
                self.refers(&names.vms, "virtual machine", &subnet.location, vm);
            }
            for address in [&nic.private_ipv4, &nic.private_ipv6].into_iter().flatten() {
                addresses.add(self, "", address);
            }
            self.nic(nic, net4, net6);
        }
    }

    /// Checks that the addresses of a network interface are host addresses of the networks of its
    /// subnet. An entry may set an address only if the entry of the subnet sets the network,
    /// because other networks are not known before the inventory is applied.
    fn nic(&mut self, nic: &NicEntry, net4: Option<Net4>, net6: Option<Net6>) {
        if let Some(address) = &nic.private_ipv4 {
            let parsed = address.value.parse::<Ipv4Addr>().ok();
            if !parsed
                .zip(net4)
                .is_some_and(|(address, net4)| net4.has_host(address))
            {
                self.report(
                    address,
                    "must be a host address in the `net4` of the subnet, which must be set too",
                );
            }
        }
        if let Some(address) = &nic.private_ipv6 {
            let parsed = address.value.parse::<Ipv6Addr>().ok();
            // The database compares addresses as strings, so each must have only one form.
            let is_shortest = parsed.is_some_and(|parsed| parsed.to_string() == address.value);
            if !is_shortest
                || !parsed
                    .zip(net6)
                    .is_some_and(|(address, net6)| net6.has_host(address))
            {
                self.report(
                    address,
                    "must be a host address in its shortest form, in the `net6` of the subnet, which must be set too",
                );
            }
        }
    }

    pub(super) fn load_balancer(&mut self, entry: &LoadBalancerEntry, names: &Names<'_>) {
        let subnets = &names.subnets;
        self.refers(subnets, "private subnet", &entry.location, &entry.subnet);
        self.one_of(entry.algorithm.as_ref(), LoadBalancerAlgorithm::VALUES);
        self.one_of(
            entry.health_check_protocol.as_ref(),
            HealthCheckProtocol::VALUES,
        );
        self.one_of(entry.stack.as_ref(), NetworkStack::VALUES);
        self.parses::<HealthCheckEndpoint>(
            &entry.health_check_endpoint,
            "a path or URL for health checks",
        );
        self.printable(&entry.health_check_endpoint);
        for port in [&entry.src_port, &entry.dst_port] {
            if Port::try_from(port.value).is_err() {
                self.report(port, "must be a port, 1 to 65535");
            }
        }
        // The API accepts no more in `load_balancer_update`, and a caller must be able to send back
        // the list that it read.
        if let Some(first) = entry.vms.get(MOST_VMS) {
            let message =
                format!("is one too many: a load balancer has at most {MOST_VMS} virtual machines");
            self.report(first, message);
        }
        for vm in &entry.vms {
            self.refers(&names.vms, "virtual machine", &entry.location, vm);
        }
    }
}
