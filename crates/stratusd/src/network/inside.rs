//! The addresses of the links between the machine, the hub, the routers of projects, and virtual
//! machines in no private subnet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sha2::{Digest as _, Sha256};

use crate::settings::Prefix;

/// The addresses of the links inside, as link-local ones of IPv4, and as unique local ones of IPv6 in the
/// half of these that no private subnet is in. They depend on the prefix, because the machine has those
/// of each service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inside {
    first: Ipv4Addr,
    first6: Ipv6Addr,
}

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V4,
    V6,
}

impl Version {
    pub(super) const BOTH: [Self; 2] = [Self::V4, Self::V6];

    /// Returns the number of bits of an address.
    pub(super) fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

/// An end of a link inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The machine, on its link to the hub.
    Host = 1,
    /// The hub, on all of its links.
    Hub = 2,
    /// The router of a project, on its link to the hub.
    Router = 3,
    /// The router of a project, on its links to virtual machines in no private subnet.
    Gateway = 4,
    /// A virtual machine in no private subnet.
    Vm = 5,
}

impl Inside {
    pub(super) fn of(prefix: &Prefix) -> Self {
        let hash = Sha256::digest(prefix.as_str());
        // Below 169.254.128.0: clouds have services for their machines above it.
        let (third, fourth) = (hash[0] % 127 + 1, hash[1] & 0xf8);
        let group = u16::from_be_bytes([hash[2], hash[3]]);
        Self {
            first: Ipv4Addr::new(169, 254, third, fourth),
            first6: Ipv6Addr::new(0xfc00, 0x7374, group, 0, 0, 0, 0, 0),
        }
    }

    pub(super) fn v4(&self, end: End) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() + end as u32)
    }

    pub(super) fn v6(&self, end: End) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.first6.to_bits() + end as u128)
    }

    pub(super) fn address(&self, version: Version, end: End) -> IpAddr {
        match version {
            Version::V4 => self.v4(end).into(),
            Version::V6 => self.v6(end).into(),
        }
    }
}
