//! The addresses of databases. Each has one of its own, because a connection string of the contract
//! always has the port 5432.

use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::str::FromStr;

use api_types::Location;

use crate::provision::ProvisionError;

use super::files::{failed, remove_file, replace};

/// The port that all databases listen on.
pub(super) const PORT: u16 = 5432;

/// The number of networks at most.
const MOST_NETWORKS: usize = 64;

/// The networks of IPv4 addresses for databases, each for a location or for all others, such as
/// `127.54.0.0/16`, or `eu-central-h1=10.54.0.0/24,10.55.0.0/24`. On Linux, all of `127.0.0.0/8` is the
/// machine itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses(Vec<Pool>);

/// The network of a location, or of all that have none of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pool {
    location: Option<String>,
    network: Network,
}

/// A network of IPv4 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    first: Ipv4Addr,
    prefix: u8,
}

impl FromStr for Addresses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut pools: Vec<Pool> = Vec::new();
        for entry in text.split(',') {
            let (location, network) = match entry.split_once('=') {
                Some((location, network)) => (Some(location), network),
                None => (None, entry),
            };
            let location = match location.map(|it| Location::try_from(it.to_owned())) {
                None => None,
                Some(Ok(location)) => Some(location.as_str().to_owned()),
                Some(Err(_)) => {
                    return Err(format!(
                        "must name locations as the inventory does, and {entry:?} does not"
                    ));
                }
            };
            if pools.iter().any(|pool| pool.location == location) {
                return Err(format!(
                    "must have one network for each location, and one without a location at most, and {entry:?} is another one"
                ));
            }
            pools.push(Pool {
                location,
                network: network.parse()?,
            });
        }
        if pools.len() > MOST_NETWORKS {
            return Err(format!("must be at most {MOST_NETWORKS} networks"));
        }
        Ok(Self(pools))
    }
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (first, prefix) = text.split_once('/')?;
            let (first, prefix) = (first.parse::<Ipv4Addr>().ok()?, prefix.parse().ok()?);
            let is_network = (8..=30).contains(&prefix)
                && u32::from(first).trailing_zeros() >= 32 - u32::from(prefix);
            is_network.then_some(Self { first, prefix })
        };
        parse().ok_or("must be an IPv4 network of 4 or more addresses, such as 127.54.0.0/16")
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Pool { location, network }) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(",")?;
            }
            if let Some(location) = location {
                write!(f, "{location}=")?;
            }
            write!(f, "{network}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl Addresses {
    /// Checks that this machine has the first address of each network.
    ///
    /// # Errors
    ///
    /// If a server cannot listen on it, with the network.
    pub fn ensure_here(&self) -> Result<(), (String, io::Error)> {
        self.0.iter().try_for_each(|Pool { network, .. }| {
            let bound = TcpListener::bind((network.at(1), 0)).map(drop);
            bound.map_err(|error| (network.to_string(), error))
        })
    }

    /// Returns whether only this machine reaches one of the networks.
    #[must_use]
    pub fn has_loopback(&self) -> bool {
        self.0.iter().any(|pool| pool.network.first.is_loopback())
    }

    /// Returns the address that belongs to a database, or gives it one of its location that is free.
    /// `folder` has a file for each address that is taken, with the id of the database that has it.
    pub(super) fn take(
        &self,
        folder: &Path,
        id: &str,
        location: &str,
    ) -> Result<Ipv4Addr, ProvisionError> {
        if let Some(address) = find(folder, id)? {
            return Ok(address);
        }
        let own = |pool: &&Pool| pool.location.as_deref() == Some(location);
        let pool = self.0.iter().find(own);
        let pool = pool.or_else(|| self.0.iter().find(|pool| pool.location.is_none()));
        let pool = pool.ok_or_else(|| {
            ProvisionError::Failed(format!(
                "local_addresses has no network for the location {location}, and none for all others"
            ))
        })?;
        let io = |error| failed(&folder.display().to_string(), &error);
        // A link is made at once, with its content: a service that is killed leaves no file whose
        // owner nobody knows.
        let candidate = folder.join(id);
        replace(&candidate, id.as_bytes(), None)?;
        let taken = pool.network.link(folder, &candidate);
        // With the link, before the record that names the address.
        remove_file(&candidate).map_err(io)?;
        taken
    }
}

impl Network {
    fn link(self, folder: &Path, candidate: &Path) -> Result<Ipv4Addr, ProvisionError> {
        // Without the last address, which is that of a broadcast where the network is no loopback.
        for position in 1..(1_u32 << (32 - self.prefix)) - 1 {
            let address = self.at(position);
            let path = folder.join(address.to_string());
            match fs::hard_link(candidate, &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                linked => linked.map_err(|error| failed("an address", &error))?,
            }
            match TcpListener::bind((address, PORT)) {
                Ok(_) => return Ok(address),
                // Another program listens there.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    fs::remove_file(&path).map_err(|error| failed("an address", &error))?;
                }
                Err(error) => {
                    fs::remove_file(&path).map_err(|error| failed("an address", &error))?;
                    return Err(failed(&format!("failed to listen on {address}"), &error));
                }
            }
        }
        Err(ProvisionError::Failed(format!(
            "all addresses of {self} are taken, by databases or by a program that listens on port {PORT} of all addresses"
        )))
    }

    fn at(self, position: u32) -> Ipv4Addr {
        u32::from(self.first).saturating_add(position).into()
    }
}

/// Frees the address of a database, if it has one.
pub(super) fn free(folder: &Path, id: &str) -> Result<(), ProvisionError> {
    if let Some(address) = find(folder, id)? {
        let path = folder.join(address.to_string());
        remove_file(&path).map_err(|error| failed("an address", &error))?;
    }
    Ok(())
}

/// Finds the address of a database.
fn find(folder: &Path, id: &str) -> Result<Option<Ipv4Addr>, ProvisionError> {
    let find = || -> io::Result<Option<Ipv4Addr>> {
        for entry in folder.read_dir()? {
            let entry = entry?;
            let Some(address) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            // Another step may free its address meanwhile.
            if fs::read_to_string(entry.path()).is_ok_and(|owner| owner == id) {
                return Ok(Some(address));
            }
        }
        Ok(None)
    };
    find().map_err(|error| failed(&folder.display().to_string(), &error))
}
