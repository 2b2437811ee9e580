//! The names of what is made on the machine. All of it is found again by its name, and nothing of
//! another name is touched.

use std::fmt;

use api_types::{NicId, PrivateSubnetId, ProjectId, VmId};

use crate::settings::Prefix;

/// The number of characters of an id that the name of a link has: its last ones, which are random.
/// Linux allows 15 in a name.
const TAIL: usize = 13;

/// A place for links: a network namespace, or the machine itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    /// The namespace of this process, with the machine's own links.
    Host,
    /// The namespace that leads from the machine to the projects.
    Hub,
    /// The router of a project, with the bridges of its private subnets.
    Project(ProjectId),
    /// A virtual machine.
    Vm(VmId),
}

impl Place {
    /// Returns the name of the namespace, or `None` for the machine itself.
    pub(super) fn name(&self, prefix: &Prefix) -> Option<String> {
        match self {
            Self::Host => None,
            Self::Hub => Some(format!("{prefix}-hub")),
            Self::Project(id) => Some(format!("{prefix}-{id}")),
            Self::Vm(id) => Some(format!("{prefix}-{id}")),
        }
    }

    /// Parses the name of a namespace. Returns `None` if it is not one of those that
    /// [`name`](Self::name) returns for the prefix.
    pub(super) fn parse(prefix: &Prefix, name: &str) -> Option<Self> {
        let rest = name.strip_prefix(prefix.as_str())?.strip_prefix('-')?;
        if rest == "hub" {
            return Some(Self::Hub);
        }
        let project = ProjectId::try_from(rest.to_owned()).ok();
        let vm = || VmId::try_from(rest.to_owned()).ok();
        project.map(Self::Project).or_else(|| vm().map(Self::Vm))
    }
}

/// The name of a link: at most 15 lower-case letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LinkName(String);

impl LinkName {
    /// The link of the machine to the hub.
    pub(super) fn of_host(prefix: &Prefix) -> Self {
        Self(prefix.as_str().to_owned())
    }

    /// The link of the hub to the machine.
    pub(super) fn host() -> Self {
        Self("host".to_owned())
    }

    /// The link of a router to the hub.
    pub(super) fn up() -> Self {
        Self("up".to_owned())
    }

    /// The link of the hub to the router of a project.
    pub(super) fn project(id: &ProjectId) -> Self {
        Self(format!("p{}", tail(id.as_str())))
    }

    /// The bridge of a private subnet.
    pub(super) fn subnet(id: &PrivateSubnetId) -> Self {
        Self(format!("s{}", tail(id.as_str())))
    }

    /// The link of a router to a network interface.
    pub(super) fn nic(id: &NicId) -> Self {
        Self(format!("n{}", tail(id.as_str())))
    }

    /// The link of a router to a virtual machine that is in no private subnet.
    pub(super) fn vm(id: &VmId) -> Self {
        Self(format!("v{}", tail(id.as_str())))
    }

    /// The link of a virtual machine with a number.
    pub(super) fn numbered(number: usize) -> Self {
        Self(format!("n{number}"))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the last characters of an id. Ids are ASCII.
fn tail(id: &str) -> &str {
    &id[id.len().saturating_sub(TAIL)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_same_prefix_are_ours() {
        let prefix: Prefix = "stratus".parse().expect("it is valid");
        for name in [
            "stratus-hub",
            "stratus-pjj99grz61ddttq24cf6gc6atm",
            "stratus-vmj99grz61ddttq24cf6gc6atm",
        ] {
            let place = Place::parse(&prefix, name).expect("it is ours");
            assert_eq!(place.name(&prefix).as_deref(), Some(name));
        }
        for name in [
            "stratus",
            "stratus-",
            "stratus-hub2",
            "stratus2-hub",
            "my-stratus-hub",
            "stratus-vm1",
            "stratus-psj99grz61ddttq24cf6gc6atm",
            "vmj99grz61ddttq24cf6gc6atm",
        ] {
            assert_eq!(Place::parse(&prefix, name), None, "{name}");
        }
    }
}
