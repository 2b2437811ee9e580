//! The setting of a network whose addresses are given to load balancers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network of IPv4 or IPv6 in CIDR notation, such as `127.1.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressPool {
    first: IpAddr,
    /// The number of leading bits that all addresses have in common.
    prefix: u8,
}

impl AddressPool {
    /// Returns whether the network is of IPv4.
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        self.first.is_ipv4()
    }

    /// Returns the number of addresses that can be given to load balancers, at most `u64::MAX`.
    ///
    /// The first and the last address of a network of IPv4 are those of the network itself, and so is
    /// the first one of IPv6, unless the network is too small to have others.
    #[must_use]
    pub fn size(&self) -> u64 {
        let bits = self.bits() - self.prefix;
        let all = 1_u64.checked_shl(u32::from(bits)).unwrap_or(u64::MAX);
        match (bits, self.is_ipv4()) {
            (0 | 1, _) => all,
            (_, true) => all - 2,
            (_, false) => all - 1,
        }
    }

    /// Returns the address with a number from 0 to below the [size](Self::size).
    #[must_use]
    pub fn address(&self, number: u64) -> IpAddr {
        let skipped = u64::from(self.bits() - self.prefix > 1);
        match self.first {
            IpAddr::V4(first) => {
                // Below the size, which fits.
                let host = u32::try_from(number + skipped).unwrap_or_default();
                Ipv4Addr::from_bits(first.to_bits().wrapping_add(host)).into()
            }
            IpAddr::V6(first) => {
                let host = u128::from(number) + u128::from(skipped);
                Ipv6Addr::from_bits(first.to_bits().wrapping_add(host)).into()
            }
        }
    }

    /// Returns whether the network has an address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => masked4(address, self.prefix) == first,
            (IpAddr::V6(first), IpAddr::V6(address)) => masked6(address, self.prefix) == first,
            _ => false,
        }
    }

    fn bits(&self) -> u8 {
        if self.is_ipv4() { 32 } else { 128 }
    }
}

/// Returns an address with all bits after the first `prefix` set to zero.
fn masked4(address: Ipv4Addr, prefix: u8) -> Ipv4Addr {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix));
    Ipv4Addr::from_bits(address.to_bits() & mask.unwrap_or_default())
}

fn masked6(address: Ipv6Addr, prefix: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix));
    Ipv6Addr::from_bits(address.to_bits() & mask.unwrap_or_default())
}

impl FromStr for AddressPool {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "must be a network, such as 127.1.0.0/16 or fd00:1::/64";
        let (address, prefix) = text.split_once('/').ok_or(FORM)?;
        let prefix: u8 = prefix.parse().map_err(|_| FORM)?;
        let first = match address.parse().map_err(|_| FORM)? {
            IpAddr::V4(address) if prefix <= 32 => IpAddr::V4(masked4(address, prefix)),
            IpAddr::V6(address) if prefix <= 128 => IpAddr::V6(masked6(address, prefix)),
            IpAddr::V4(_) | IpAddr::V6(_) => return Err(FORM),
        };
        if address.parse() != Ok(first) {
            return Err("must begin with the first address of the network, such as 127.1.0.0/16");
        }
        Ok(Self { first, prefix })
    }
}

impl fmt::Display for AddressPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}
