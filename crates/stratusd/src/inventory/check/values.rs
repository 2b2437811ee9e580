//! Checks of single values.

use std::collections::HashSet;
use std::str::FromStr;

use api_types::{Cidr, PortRange};
use serde_saphyr::Spanned;

use super::Check;
use crate::domain::firewall::{host_bits, wrong_order};
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
        if let Some(right) = wrong_order(&value.value) {
            self.report(value, format!("the lower port must come first: {right}"));
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
