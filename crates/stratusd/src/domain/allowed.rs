//! What firewalls allow, as values: networks of callers and ranges of ports.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::firewall::canonical_ports;

/// The maximum number of rules of a private subnet that are enforced: as many as its firewalls can
/// have through the API. Rules only allow, so those beyond let nobody in.
pub const MOST_ENFORCED: i64 = 2_000;

/// A network of IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    first: IpAddr,
    /// The number of leading bits that all addresses have in common.
    prefix: u8,
}

impl Network {
    /// Parses a network in CIDR notation, whose bits after the prefix are ignored. Returns `None` if it
    /// is none.
    #[must_use]
    pub fn parse(cidr: &str) -> Option<Self> {
        let (address, prefix) = cidr.split_once('/')?;
        let (address, prefix) = (address.parse::<IpAddr>().ok()?, prefix.parse::<u8>().ok()?);
        let most = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= most).then(|| Self {
            first: masked(address, prefix),
            prefix,
        })
    }

    /// Returns the network of one address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        Self {
            first: address,
            prefix,
        }
    }

    /// Returns whether the network has an address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && masked(address, self.prefix) == self.first
    }

    /// Returns whether the network is of IPv4.
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        self.first.is_ipv4()
    }

    /// Returns the first address of the network.
    #[must_use]
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// Returns the number of leading bits that all addresses have in common.
    #[must_use]
    pub fn prefix(&self) -> u8 {
        self.prefix
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// Returns an address with all bits after the first `prefix` set to zero.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or_default();
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or_default();
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

/// A range of ports, which includes both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports {
    /// The first port.
    pub first: u16,
    /// The last port.
    pub last: u16,
}

impl Ports {
    /// Parses a port or a range as a firewall rule has it, such as `80` or `80..90`. Returns `None` for
    /// another text, or if the first port is larger than the last.
    #[must_use]
    pub fn parse(range: &str) -> Option<Self> {
        let (first, last) = canonical_ports(range);
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some(Self { first, last })
    }

    /// Returns whether the range has a port.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

/// Who may connect to a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callers {
    /// Everybody.
    All,
    /// The addresses of these networks.
    Of(Vec<Network>),
}

impl Callers {
    /// Returns whether an address may connect.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        match self {
            Self::All => true,
            Self::Of(networks) => networks.iter().any(|network| network.contains(address)),
        }
    }
}

impl FromIterator<Network> for Callers {
    /// Collects networks, without those that others contain if these are all addresses of a version
    /// of IP.
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        let mut networks: Vec<Network> = networks.into_iter().collect();
        networks.sort_unstable();
        networks.dedup();
        for is_ipv4 in [true, false] {
            let is_all = |it: &Network| it.prefix == 0 && it.is_ipv4() == is_ipv4;
            if networks.iter().any(is_all) {
                networks.retain(|it| it.is_ipv4() != is_ipv4 || it.prefix == 0);
            }
        }
        Self::Of(networks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("it is an address")
    }

    #[test]
    fn a_network_has_its_addresses_and_no_others() {
        let has = |network: &str, text: &str| {
            let network = Network::parse(network).expect("it is a network");
            network.contains(address(text))
        };
        assert!(has("10.61.7.0/26", "10.61.7.63"));
        assert!(!has("10.61.7.0/26", "10.61.7.64"));
        assert!(has("0.0.0.0/0", "203.0.113.1"));
        assert!(!has("0.0.0.0/0", "::1"));
        assert!(has("::/0", "2001:db8::1"));
        assert!(!has("::/0", "10.0.0.1"));
        assert!(has("10.61.7.9/32", "10.61.7.9"));
        assert!(!has("2001:db8::/127", "2001:db8::2"));
        for wrong in ["10.0.0.0", "10.0.0.0/33", "::/129", "x/8", "10.0.0.0/-1"] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_range_has_both_ends() {
        let ports = |text| Ports::parse(text).expect("it is a range");
        assert!(ports("80..90").contains(80) && ports("80..90").contains(90));
        assert!(!ports("80..90").contains(91) && !ports("443").contains(442));
        assert_eq!(Ports::parse("90..80"), None);
        assert_eq!(Ports::parse("65536"), None);
    }

    #[test]
    fn callers_are_those_of_any_network() {
        let callers: Callers = ["10.0.0.0/8", "0.0.0.0/0", "fd00::/8"]
            .into_iter()
            .filter_map(Network::parse)
            .collect();
        assert!(callers.has(address("203.0.113.9")) && callers.has(address("fd12::1")));
        assert!(!callers.has(address("2001:db8::1")));
        assert!(matches!(&callers, Callers::Of(networks) if networks.len() == 2));
        assert!(!Callers::from_iter([]).has(address("127.0.0.1")));
        assert!(Callers::All.has(address("127.0.0.1")));
    }
}
