//! The addresses of databases. Each has one of its own, because a connection string of the contract
//! always has the port 5432.

use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::str::FromStr;

use crate::provision::ProvisionError;

use super::files::failed;

/// The port that all databases listen on.
pub(super) const PORT: u16 = 5432;

/// A network of IPv4 addresses for databases, such as `127.54.0.0/16`. On Linux, all of
/// `127.0.0.0/8` is the machine itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    network: Ipv4Addr,
    prefix: u8,
}

impl FromStr for Addresses {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (network, prefix) = text.split_once('/')?;
            let (network, prefix) = (network.parse::<Ipv4Addr>().ok()?, prefix.parse().ok()?);
            let is_network = (8..=30).contains(&prefix)
                && u32::from(network).trailing_zeros() >= 32 - u32::from(prefix);
            is_network.then_some(Self { network, prefix })
        };
        parse().ok_or("must be an IPv4 network of 4 or more addresses, such as 127.54.0.0/16")
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

impl Addresses {
    /// Returns whether this machine has the first address of the network.
    ///
    /// # Errors
    ///
    /// If a server cannot listen on it.
    pub fn ensure_here(self) -> io::Result<()> {
        TcpListener::bind((self.at(1), 0)).map(drop)
    }

    /// Returns whether only this machine reaches the network.
    #[must_use]
    pub fn is_loopback(self) -> bool {
        self.network.is_loopback()
    }

    /// Returns the address that belongs to a database, or gives it one that is free. `folder` has a
    /// file for each address that is taken, with the id of the database that has it.
    pub(super) fn take(self, folder: &Path, id: &str) -> Result<Ipv4Addr, ProvisionError> {
        if let Some(address) = find(folder, id)? {
            return Ok(address);
        }
        let io = |error| failed(&folder.display().to_string(), &error);
        // A link is made at once, with its content: a service that is killed leaves no file whose
        // owner nobody knows.
        let candidate = folder.join(format!("{id}.new"));
        fs::write(&candidate, id).map_err(io)?;
        let taken = self.link(folder, &candidate);
        fs::remove_file(&candidate).map_err(io)?;
        taken
    }

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
        u32::from(self.network).saturating_add(position).into()
    }
}

/// Frees the address of a database, if it has one.
pub(super) fn free(folder: &Path, id: &str) -> Result<(), ProvisionError> {
    if let Some(address) = find(folder, id)? {
        let path = folder.join(address.to_string());
        fs::remove_file(path).map_err(|error| failed("an address", &error))?;
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
