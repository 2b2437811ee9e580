//! The settings of `stratusd network`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::number::Machines;
use super::text::ListenAddress;
use super::{AddressPool, Origin, Setting, SettingsFile};

/// The maximum number of networks of public addresses.
const MOST_NETWORKS: usize = 64;
/// The maximum number of ports on which each virtual machine responds.
const MOST_PORTS: usize = 4;

settings! {
    /// The settings of `stratusd network`.
    NetworkSettings, from NetworkArguments:
    /// What the names of namespaces and links on this machine begin with: 1 to 8 of `a-z` and `0-9`. Each service on a machine needs another one.
    network_prefix("STRATUS_NETWORK_PREFIX", "NAME"): Prefix = "stratus";
    /// The networks, separated by commas, in which virtual machines get their public addresses. Not networks that this machine has to reach elsewhere.
    network_addresses("STRATUS_NETWORK_ADDRESSES", "NETWORKS"): Pools = "192.0.2.0/24,198.51.100.0/24,203.0.113.0/24,2001:db8::/32";
    /// The maximum number of virtual machines on this machine. If there are more, each project gets the same share.
    network_vms("STRATUS_NETWORK_VMS", "COUNT"): Machines = "1000";
    /// The ports, separated by commas, at which each virtual machine responds to HTTP with its name, for demonstrations. None if not set.
    network_http_ports("STRATUS_NETWORK_HTTP_PORTS", "PORTS"): HttpPorts;
    /// The address to serve health checks, metrics and the state of virtual machines on. Do not make it public.
    network_management_listen("STRATUS_NETWORK_MANAGEMENT_LISTEN", "ADDRESS"): ListenAddress = "127.0.0.1:9092";
}

/// What the names of all that a service makes on a machine begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Returns the prefix.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Prefix {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_valid = (1..=8).contains(&text.len())
            && text.bytes().all(is_inner)
            && text.starts_with(|first: char| first.is_ascii_lowercase());
        if is_valid {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be 1 to 8 of a-z and 0-9, and begin with a letter")
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Networks, separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pools(Vec<AddressPool>);

impl Pools {
    /// Returns whether one of the networks has an address.
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|pool| pool.contains(address))
    }
}

impl FromStr for Pools {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pools: Result<Vec<AddressPool>, _> = text.split(',').map(str::parse).collect();
        let pools = pools?;
        if pools.len() > MOST_NETWORKS {
            return Err(format!("must be at most {MOST_NETWORKS} networks"));
        }
        Ok(Self(pools))
    }
}

impl fmt::Display for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(&self.0, f)
    }
}

/// Ports, separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpPorts(Vec<u16>);

impl HttpPorts {
    /// Returns the ports.
    #[must_use]
    pub fn get(&self) -> &[u16] {
        &self.0
    }
}

impl FromStr for HttpPorts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ports: Result<Vec<u16>, _> = text.split(',').map(str::parse).collect();
        let mut ports = ports.unwrap_or_default();
        ports.sort_unstable();
        ports.dedup();
        if (1..=MOST_PORTS).contains(&ports.len()) && !ports.contains(&0) {
            Ok(Self(ports))
        } else {
            Err(format!(
                "must be 1 to {MOST_PORTS} ports from 1 to 65535, such as 80,8080"
            ))
        }
    }
}

impl fmt::Display for HttpPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(&self.0, f)
    }
}

/// Writes values, separated by commas.
fn list<T: fmt::Display>(values: &[T], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            f.write_str(",")?;
        }
        value.fmt(f)?;
    }
    Ok(())
}
