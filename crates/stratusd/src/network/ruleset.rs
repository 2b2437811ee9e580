//! The rules of nftables, as the text that `nft` reads. It is written from addresses, numbers and names of
//! links alone, which need no quoting beyond that of the names.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::declared::{Allowed, Protocol};
use super::names::LinkName;
use crate::domain::allowed::Network;

/// The networks that all private subnets are in.
const PRIVATE: [&str; 2] = ["ip {} 10.0.0.0/8", "ip6 {} fd00::/8"];

/// The head of a ruleset. `nft` loads a text as a whole or not at all, so the table is replaced at once.
const HEAD: &str = "table inet stratus\ndelete table inet stratus\ntable inet stratus {\n";

/// What the router of a project lets through.
#[derive(Debug, Default)]
pub(super) struct RouterRules {
    /// The links to private subnets, and to virtual machines that are in none.
    pub ports: Vec<Port>,
    /// The links of subnets that are connected, in both directions.
    pub connected: BTreeSet<(LinkName, LinkName)>,
    /// The address of the machine, from which load balancers connect.
    pub host: Option<(Ipv4Addr, Ipv6Addr)>,
    /// The public addresses and ports to which load balancers forward.
    pub balanced4: BTreeSet<(Ipv4Addr, u16)>,
    pub balanced6: BTreeSet<(Ipv6Addr, u16)>,
}

/// A link of a router.
#[derive(Debug)]
pub(super) struct Port {
    pub link: LinkName,
    /// The addresses that packets can come from.
    pub sources: BTreeSet<Network>,
    /// What may connect to it from elsewhere.
    pub allowed: Vec<Allowed>,
}

/// Returns the rules of the router of a project.
pub(super) fn router(rules: &RouterRules) -> String {
    let mut text = HEAD.to_owned();
    let pairs = rules.connected.iter();
    set(
        &mut text,
        "connected",
        "ifname . ifname",
        pairs.map(|(from, to)| format!("\"{from}\" . \"{to}\"")),
    );
    let balanced = rules.balanced4.iter();
    set(
        &mut text,
        "balanced4",
        "ipv4_addr . inet_service",
        balanced.map(|(address, port)| format!("{address} . {port}")),
    );
    let balanced = rules.balanced6.iter();
    set(
        &mut text,
        "balanced6",
        "ipv6_addr . inet_service",
        balanced.map(|(address, port)| format!("{address} . {port}")),
    );
    for port in &rules.ports {
        port.write(&mut text);
    }
    // A disconnected subnet is cut off before connections that were open are let through.
    text.push_str("chain forward {\ntype filter hook forward priority filter; policy drop;\n");
    // Within a subnet: where bridges pass packets to nftables, also those by which neighbours find each
    // other.
    for port in &rules.ports {
        let link = &port.link;
        text.push_str(&format!("iifname \"{link}\" oifname \"{link}\" accept\n"));
    }
    map(&mut text, "iifname", "from", &rules.ports);
    text.push_str("iifname . oifname @connected goto inbound\n");
    for network in PRIVATE {
        for end in ["saddr", "daddr"] {
            text.push_str(&format!("{} drop\n", network.replace("{}", end)));
        }
    }
    text.push_str("oifname \"up\" accept\ngoto inbound\n}\n");
    text.push_str("chain inbound {\nct state established,related accept\nct state != new drop\n");
    if let Some((host, host6)) = rules.host {
        text.push_str(&format!(
            "ip saddr {host} ip daddr . tcp dport @balanced4 accept\n\
             ip6 saddr {host6} ip6 daddr . tcp dport @balanced6 accept\n"
        ));
    }
    map(&mut text, "oifname", "to", &rules.ports);
    text.push_str("}\n}\n");
    text
}

/// Returns the rules of the hub: the machine reaches virtual machines, and those of one project those of
/// others, by public addresses. Nothing connects to the machine.
pub(super) fn hub(publics: &BTreeSet<(LinkName, IpAddr)>) -> String {
    let mut text = HEAD.to_owned();
    for (name, of, is_ipv4) in [("own4", "ipv4_addr", true), ("own6", "ipv6_addr", false)] {
        let own = publics
            .iter()
            .filter(|(_, address)| address.is_ipv4() == is_ipv4);
        set(
            &mut text,
            name,
            &format!("ifname . {of}"),
            own.map(|(link, address)| format!("\"{link}\" . {address}")),
        );
    }
    text.push_str(
        "chain forward {\ntype filter hook forward priority filter; policy drop;\n\
         iifname \"host\" accept\nct state established,related accept\noifname \"host\" drop\n\
         iifname . ip saddr @own4 accept\niifname . ip6 saddr @own6 accept\n}\n}\n",
    );
    text
}

impl Port {
    /// Writes a chain for packets from the link, and one for new connections to it.
    fn write(&self, text: &mut String) {
        text.push_str(&format!("chain from_{} {{\n", self.link));
        for source in &self.sources {
            let family = family(source);
            text.push_str(&format!("{family} saddr {source} return\n"));
        }
        text.push_str("drop\n}\n");
        text.push_str(&format!("chain to_{} {{\n", self.link));
        for rule in &self.allowed {
            let (family, from) = (family(&rule.from), &rule.from);
            let protocol = match rule.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
            };
            let (first, last) = (rule.ports.first, rule.ports.last);
            text.push_str(&format!(
                "{family} saddr {from} {protocol} dport {first}-{last} accept\n"
            ));
        }
        text.push_str("}\n");
    }
}

fn family(network: &Network) -> &'static str {
    if network.is_ipv4() { "ip" } else { "ip6" }
}

/// Writes a set, which may be empty.
fn set(text: &mut String, name: &str, of: &str, elements: impl Iterator<Item = String>) {
    let elements: Vec<String> = elements.collect();
    text.push_str(&format!("set {name} {{\ntype {of}\n"));
    if !elements.is_empty() {
        text.push_str(&format!("elements = {{ {} }}\n", elements.join(", ")));
    }
    text.push_str("}\n");
}

/// Writes a rule that jumps to the chain of a link, by the link of a packet.
fn map(text: &mut String, by: &str, chain: &str, ports: &[Port]) {
    if ports.is_empty() {
        return;
    }
    let jumps = ports.iter();
    let jumps: Vec<String> = jumps
        .map(|port| format!("\"{0}\" : jump {chain}_{0}", port.link))
        .collect();
    text.push_str(&format!("{by} vmap {{ {} }}\n", jumps.join(", ")));
}
