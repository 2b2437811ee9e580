//! What a namespace is to hold: links with their addresses and routes, and rules of nftables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Range;

use super::names::{LinkName, Place};
use crate::domain::allowed::Network;

/// The table of routes that packets take unless a rule says otherwise.
pub(super) const MAIN: u32 = 254;

/// The tables of routes that the network interfaces of a virtual machine have after the first one.
pub(super) const TABLES: Range<u32> = 100..116;

/// What a namespace is to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Space {
    pub links: BTreeMap<LinkName, Link>,
    /// The tables of routes for packets from addresses of its own, other than [`MAIN`].
    pub rules: BTreeMap<IpAddr, u32>,
    /// Whether packets are forwarded between links, by the rules of nftables.
    pub forwards: bool,
}

/// A link of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    pub kind: Kind,
    pub mac: Mac,
    /// The bridge that it is a port of.
    pub master: Option<LinkName>,
    /// The addresses, each with the length of its prefix.
    pub addresses: BTreeSet<(IpAddr, u8)>,
    pub routes: BTreeSet<Route>,
}

/// The kind of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Bridge,
    /// The end of a pair that makes both ends: the other one is in another place.
    Lower {
        place: Place,
        name: LinkName,
        mac: Mac,
        /// What the other end is known by, if that is in the machine's own namespace.
        alias: Option<String>,
    },
    /// The end of a pair that the other end makes.
    Upper,
}

impl Link {
    pub(super) fn new(kind: Kind, mac: Mac) -> Self {
        Self {
            kind,
            mac,
            master: None,
            addresses: BTreeSet::new(),
            routes: BTreeSet::new(),
        }
    }
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    pub to: Network,
    /// The next hop, or `None` if the network is on the link itself.
    pub via: Option<IpAddr>,
    /// The address that packets of the namespace itself come from.
    pub from: Option<IpAddr>,
    pub table: u32,
}

/// The hardware address of a link. It is derived from the link's IPv4 address, so that neighbours need
/// not learn another one when a link is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mac([u8; 6]);

impl Mac {
    pub(super) fn of(address: Ipv4Addr) -> Self {
        let [a, b, c, d] = address.octets();
        // The second bit of the first byte: assigned by us, and not by a manufacturer.
        Self([0x02, 0x53, a, b, c, d])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, byte) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(":")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}
