//! Firewalls and their rules: the networks and ports that a rule can have, and how many rules and
//! firewalls there can be.

use std::net::IpAddr;

use super::Refusal;

/// The maximum number of rules of a firewall, to which callers can add no more.
pub const MOST_RULES: usize = 100;
/// The maximum number of firewalls of a private subnet, to which callers can attach no more.
pub const MOST_FIREWALLS: i64 = 20;

/// Checks the network of a new rule.
///
/// # Errors
///
/// If it is not an IPv4 or IPv6 network, or has bits set after the prefix.
pub fn ensure_network(cidr: &str) -> Result<(), Refusal> {
    match host_bits(cidr) {
        Some(0) => Ok(()),
        Some(_) => Err(Refusal::invalid(
            "cidr",
            "must not have bits set after the prefix",
        )),
        None => Err(Refusal::invalid(
            "cidr",
            "must be a network, such as 10.0.0.0/8 or fd00::/8",
        )),
    }
}

/// Checks the ports of a new rule.
///
/// # Errors
///
/// If the first port is larger than the last.
pub fn ensure_ports(range: &str) -> Result<(), Refusal> {
    match wrong_order(range) {
        Some(right) => Err(Refusal::invalid(
            "port_range",
            format!("the lower port must come first: {right}"),
        )),
        None => Ok(()),
    }
}

/// Checks the description of a new firewall or rule.
///
/// # Errors
///
/// If it has control characters, which would break the lines that show it.
pub fn ensure_description(text: &str) -> Result<(), Refusal> {
    if text.chars().any(char::is_control) {
        return Err(Refusal::invalid(
            "description",
            "must not have control characters",
        ));
    }
    Ok(())
}

/// Returns the bits of a network's address that follow its prefix, or `None` if `network` is not a
/// network in CIDR notation.
#[must_use]
pub fn host_bits(network: &str) -> Option<u128> {
    let (address, prefix) = network.split_once('/')?;
    let (address, prefix) = (address.parse::<IpAddr>().ok()?, prefix.parse::<u32>().ok()?);
    // A shift by the whole width overflows; no bits follow such a prefix.
    Some(match address {
        IpAddr::V4(address) => {
            u128::from(address.to_bits() & u32::MAX.checked_shr(prefix).unwrap_or_default())
        }
        IpAddr::V6(address) => {
            address.to_bits() & u128::MAX.checked_shr(prefix).unwrap_or_default()
        }
    })
}

/// Returns a range of ports in the right order if its first port is larger than its last.
#[must_use]
pub fn wrong_order(range: &str) -> Option<String> {
    let (low, high) = range.split_once("..")?;
    let (low, high) = (low.parse::<u16>().ok()?, high.parse::<u16>().ok()?);
    (low > high).then(|| format!("{high}..{low}"))
}

/// Returns the first and the last port of a range, such as `80..90`, or a single port as both.
#[must_use]
pub fn canonical_ports(text: &str) -> (&str, &str) {
    text.split_once("..").unwrap_or((text, text))
}

/// Returns a network in CIDR notation with its address in canonical form. Returns a string that is
/// not a network unchanged.
#[must_use]
pub fn canonical_network(text: &str) -> String {
    let parsed = text
        .split_once('/')
        .and_then(|(address, bits)| Some((address.parse::<IpAddr>().ok()?, bits)));
    parsed.map_or_else(
        || text.to_owned(),
        |(address, bits)| format!("{address}/{bits}"),
    )
}
