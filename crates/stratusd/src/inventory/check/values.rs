//! Checks of single values.

use std::collections::HashSet;
use std::net::IpAddr;
use std::str::FromStr;

use api_types::{Cidr, PortRange};
use serde_saphyr::Spanned;

use super::Check;
use crate::domain::refusal::enumerate;

impl Check {
    /// Reports a value that cannot be parsed as a `T`. The message says that it is not `what`.
    pub(super) fn parses<T: FromStr>(&mut self, value: &Spanned<String>, what: &str) {
        if value.value.parse::<T>().is_err() {
            let text = value.value.escape_debug();
            self.report(value, format!("`{text}` is not {what}"));
        }
    }

    /// Reports an optional value that is set and cannot be parsed as a `T`. The message says that
    /// it is not `what`.
    pub(super) fn optional<T: FromStr>(&mut self, value: Option<&Spanned<String>>, what: &str) {
        if let Some(value) = value {
            self.parses::<T>(value, what);
        }
    }

    /// Reports a value that contains control characters, which would break the lines that show it.
    pub(super) fn printable(&mut self, value: &Spanned<String>) {
        if value.value.chars().any(char::is_control) {
            self.report(value, "must not contain control characters");
        }
    }

    /// Reports an optional value that is set and is not one of `values`, the values that the
    /// contract lists.
    ///
    /// [`Check::parses`] cannot check this: the type of an extensible enumeration also accepts
    /// values that the contract does not list.
    pub(super) fn one_of(&mut self, value: Option<&Spanned<String>>, values: &[&str]) {
        if let Some(value) = value.filter(|value| !values.contains(&value.value.as_str())) {
            let text = value.value.escape_debug();
            let message = format!("`{text}` is not one of {}", enumerate(values));
            self.report(value, message);
        }
    }

    /// Reports a value that is not an IPv4 or IPv6 network in CIDR notation, or that has bits set
    /// after the prefix.
    pub(super) fn cidr(&mut self, value: &Spanned<String>) {
        const FORM: &str = "a network, such as 10.0.0.0/8 or fd00::/8";
        let text = value.value.escape_debug();
        let network = value.value.parse::<Cidr>();
        match network.ok().and_then(|_| host_bits(&value.value)) {
            Some(0) => {}
            Some(_) => {
                let message = format!("`{text}` is not {FORM}: it has bits set after the prefix");
                self.report(value, message);
            }
            None => self.report(value, format!("`{text}` is not {FORM}")),
        }
    }

    /// Reports a value that is not a port or a range of ports, or is a range whose first port is
    /// larger than its last.
    pub(super) fn ports(&mut self, value: &Spanned<String>) {
        self.parses::<PortRange>(value, "a port or a range of ports, such as 80 or 80..90");
        let ends = value.value.split_once("..");
        if let Some((Ok(low), Ok(high))) =
            ends.map(|(low, high)| (low.parse::<u16>(), high.parse::<u16>()))
            && low > high
        {
            let message = format!("the lower port must come first: {high}..{low}");
            self.report(value, message);
        }
    }

    /// Reports a reference by name to a resource that the project does not have in `location`.
    /// `names` are the locations and names of the project's resources of the kind; `what` is the
    /// kind, for the message.
    pub(super) fn refers(
        &mut self,
        names: &HashSet<(&str, &str)>,
        what: &str,
        location: &Spanned<String>,
        name: &Spanned<String>,
    ) {
        if !names.contains(&(&*location.value, &*name.value)) {
            let message = format!(
                "the project has no {what} `{}` in {}",
                name.value.escape_debug(),
                location.value.escape_debug()
            );
            self.report(name, message);
        }
    }
}

/// Returns the bits of a network's address that follow its prefix, or `None` if `network` is not a
/// network in CIDR notation.
fn host_bits(network: &str) -> Option<u128> {
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

/// Returns the first and the last port of a range, such as `80..90`, or a single port as both.
pub(super) fn canonical_ports(text: &str) -> (&str, &str) {
    text.split_once("..").unwrap_or((text, text))
}

/// Returns a network in CIDR notation with its address in canonical form. Returns a string that is
/// not a network unchanged.
pub(super) fn canonical_network(text: &str) -> String {
    let parsed = text
        .split_once('/')
        .and_then(|(address, bits)| Some((address.parse::<IpAddr>().ok()?, bits)));
    parsed.map_or_else(
        || text.to_owned(),
        |(address, bits)| format!("{address}/{bits}"),
    )
}
