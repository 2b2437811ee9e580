//! The place that a connection comes from, as far as its caller cannot change it.

use std::net::{IpAddr, Ipv6Addr};

/// The bits of an IPv6 address that are the network of one site, by RFC 6177.
const SITE: u32 = 56;

/// The part of an address that its user cannot choose: an IPv4 address as a whole, and the first 56 bits
/// of an IPv6 address. Connections and invented credentials are counted by it.
///
/// Behind a proxy, all callers have the address of the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Site(IpAddr);

impl From<IpAddr> for Site {
    fn from(address: IpAddr) -> Self {
        // An IPv4 address may be written as an IPv6 address, on a socket that takes both.
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let bits = address.to_bits() & (u128::MAX << (Ipv6Addr::BITS - SITE));
                Ipv6Addr::from_bits(bits).into()
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_an_address_of_ipv4_or_a_network_of_ipv6() {
        let site = |address: &str| Site::from(address.parse::<IpAddr>().expect("it is an address"));
        for (one, other, is_same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.2", false),
            ("2001:db8::1", "2001:db8:0:ff:ffff::2", true),
            ("2001:db8::1", "2001:db8:0:100::1", false),
        ] {
            assert_eq!(site(one) == site(other), is_same, "{one} {other}");
        }
    }
}
