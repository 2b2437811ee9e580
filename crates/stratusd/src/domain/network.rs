//! Networks of private subnets: a /26 of 10.0.0.0/8 and a /64 of `fd00::/8` for each.

use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use api_types::{Ipv4Cidr, Ipv6Cidr};

use crate::world::World;

/// The number of addresses in a /26.
const HOSTS4: u32 = 64;
/// The number of networks of 64 addresses in 10.0.0.0/8.
const NETWORKS4: u32 = 1 << 18;
/// The number of IPv4 networks in a [`Block`].
const BLOCK: u32 = NETWORKS4 / 256;
/// The last of the host numbers at the start of a network that no host can have: 0 to 3 are for the
/// network itself, such as for its router. The last number of a network is not usable either.
const RESERVED: u32 = 3;

/// An IPv4 network of a private subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Net4(u32);

impl Net4 {
    /// Draws a network at random.
    #[must_use]
    pub fn random(world: &World) -> Self {
        // A power of two, so that all networks are equally likely.
        Self(u32::from_be_bytes(world.random::<4>()) % NETWORKS4)
    }

    /// Parses a /26 network of `10.0.0.0/8` in CIDR notation. Returns `None` if the text is not exactly
    /// as `Display` writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let address = text
            .strip_suffix("/26")?
            .parse::<Ipv4Addr>()
            .ok()?
            .to_bits();
        // No second form of an address has to be refused: the standard library reads only one.
        let is_ours = address >> 24 == 10 && address.is_multiple_of(HOSTS4);
        is_ours.then_some(Self((address & 0x00ff_ffff) / HOSTS4))
    }

    /// Returns whether a host of the network can have an address.
    #[must_use]
    pub fn has_host(self, address: Ipv4Addr) -> bool {
        address
            .to_bits()
            .checked_sub(self.first())
            .is_some_and(|host| host > RESERVED && host < HOSTS4 - 1)
    }

    /// Returns the address of the network's router, which no host has.
    #[must_use]
    pub fn router(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first() + 1)
    }

    /// Returns the addresses that hosts can have.
    pub fn hosts(self) -> impl Iterator<Item = Ipv4Addr> {
        (RESERVED + 1..HOSTS4 - 1).map(move |host| Ipv4Addr::from_bits(self.first() + host))
    }

    fn first(self) -> u32 {
        (10 << 24) + self.0 * HOSTS4
    }
}

/// The 1,024 IPv4 networks whose first two numbers are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block(u8);

impl Block {
    /// Returns all blocks once, from a random one on.
    pub fn all(world: &World) -> impl Iterator<Item = Self> + use<> {
        let [first] = world.random();
        (0..=u8::MAX).map(move |number| Self(first.wrapping_add(number)))
    }

    /// Returns a text before and a text after those of all networks of the block, and of no others.
    #[must_use]
    pub fn texts(self) -> (String, String) {
        // The slash is the next character after the dot.
        (format!("10.{}.", self.0), format!("10.{}/", self.0))
    }

    /// Returns the first network of the block that is not taken.
    #[must_use]
    pub fn first_free(self, taken: &HashSet<Net4>) -> Option<Net4> {
        let first = u32::from(self.0) * BLOCK;
        (first..first + BLOCK)
            .map(Net4)
            .find(|network| !taken.contains(network))
    }
}

impl From<Net4> for Ipv4Cidr {
    fn from(network: Net4) -> Self {
        Self::try_from(network.to_string()).expect("a network is in CIDR notation")
    }
}

impl std::fmt::Display for Net4 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/26", Ipv4Addr::from_bits(self.first()))
    }
}

/// An IPv6 network of a private subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Net6(u64);

impl Net6 {
    /// Draws one of 2⁵⁶ networks at random.
    #[must_use]
    pub fn random(world: &World) -> Self {
        Self((0xfd << 56) | (u64::from_be_bytes(world.random::<8>()) >> 8))
    }

    /// Parses a /64 network of `fd00::/8` in CIDR notation. Returns `None` if the text is not exactly
    /// as `Display` writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let address = text
            .strip_suffix("/64")?
            .parse::<Ipv6Addr>()
            .ok()?
            .to_bits();
        let network = u64::try_from(address >> 64).ok()?;
        let is_ours = network >> 56 == 0xfd && address.trailing_zeros() >= 64;
        is_ours
            .then_some(Self(network))
            .filter(|network| network.to_string() == text)
    }

    /// Returns whether a host of the network can have an address.
    #[must_use]
    pub fn has_host(self, address: Ipv6Addr) -> bool {
        let address = address.to_bits();
        address >> 64 == u128::from(self.0) && address & u128::from(u64::MAX) > u128::from(RESERVED)
    }

    /// Returns the address of the network's router, which no host has.
    #[must_use]
    pub fn router(self) -> Ipv6Addr {
        self.host(1)
    }

    /// Returns the address of the host with a number.
    #[must_use]
    pub fn host(self, number: u32) -> Ipv6Addr {
        Ipv6Addr::from_bits((u128::from(self.0) << 64) + u128::from(number))
    }
}

impl From<Net6> for Ipv6Cidr {
    fn from(network: Net6) -> Self {
        Self::try_from(network.to_string()).expect("a network is in CIDR notation")
    }
}

impl std::fmt::Display for Net6 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/64", Ipv6Addr::from_bits(u128::from(self.0) << 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source whose random bytes are all the same.
    fn drawing(byte: u8) -> World {
        World::new(|| 0, move |bytes| bytes.fill(byte))
    }

    #[test]
    fn networks_are_drawn_from_the_whole_range() {
        for (byte, net4, net6) in [
            (0x00, "10.0.0.0/26", "fd00::/64"),
            (0xff, "10.255.255.192/26", "fdff:ffff:ffff:ffff::/64"),
            (0x5a, "10.150.150.128/26", "fd5a:5a5a:5a5a:5a5a::/64"),
        ] {
            assert_eq!(Net4::random(&drawing(byte)).to_string(), net4);
            assert_eq!(Net6::random(&drawing(byte)).to_string(), net6);
        }
    }

    #[test]
    fn only_networks_of_private_subnets_are_parsed() {
        for net4 in ["10.0.0.0/26", "10.61.7.64/26", "10.255.255.192/26"] {
            let parsed = Net4::parse(net4).map(|net4| net4.to_string());
            assert_eq!(parsed.as_deref(), Some(net4));
        }
        for other in [
            "11.0.0.0/26",
            "9.255.255.192/26",
            "10.0.0.1/26",
            "10.0.0.0/25",
            "10.0.0.0",
        ] {
            assert_eq!(Net4::parse(other), None, "{other}");
        }
        for net6 in [
            "fd00::/64",
            "fd61:7a0c:55e1:9200::/64",
            "fdff:ffff:ffff:ffff::/64",
        ] {
            let parsed = Net6::parse(net6).map(|net6| net6.to_string());
            assert_eq!(parsed.as_deref(), Some(net6));
        }
        for other in [
            "2001:db8::/64",
            "fc00::/64",
            "fe80::/64",
            "fd00::1/64",
            "fd00:0::/64",
            "fd00::/63",
            "fd00::",
        ] {
            assert_eq!(Net6::parse(other), None, "{other}");
        }
    }

    #[test]
    fn hosts_have_the_addresses_of_their_numbers() {
        let net4 = Net4::parse("10.61.7.64/26").expect("it is a network");
        let hosts: Vec<String> = net4.hosts().map(|host| host.to_string()).collect();
        let expected: Vec<String> = (68..=126).map(|last| format!("10.61.7.{last}")).collect();
        assert_eq!(hosts, expected);
        assert_eq!(net4.router().to_string(), "10.61.7.65");
        let net6 = Net6::parse("fd61:7a0c::/64").expect("it is a network");
        assert_eq!(net6.host(68).to_string(), "fd61:7a0c::44");
        assert_eq!(net6.router().to_string(), "fd61:7a0c::1");
    }
}
