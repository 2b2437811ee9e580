//! The addresses of load balancers: which one each listens on, kept in a file over restarts.
//!
//! An address is derived from the load balancer's id, so that most are the same even without the
//! file. The file is needed for the others: of two load balancers with the same derived address the
//! second gets the next one, and must keep it when the first is gone. It is a file of the data plane
//! and not a column, because the data plane only reads the database.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::choose::vm_hash;
use super::declared::Key;
use super::state_file::{Contents, StateFile};
use crate::settings::{AddressPool, BalanceSettings};

/// The number of addresses that are tried for a load balancer, before it shares one with another.
const TRIES: u64 = 65_536;

/// The addresses that load balancers were given.
#[derive(Debug)]
pub(super) struct Addresses {
    ipv4: AddressPool,
    ipv6: Option<AddressPool>,
    file: StateFile,
    given: Contents,
    /// How many load balancers have an address.
    taken: HashMap<IpAddr, usize>,
    is_changed: bool,
}

/// The addresses of a load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Given {
    pub ipv4: IpAddr,
    /// `None` if the settings have no network of IPv6.
    pub ipv6: Option<IpAddr>,
}

impl Given {
    fn all(self) -> impl Iterator<Item = IpAddr> {
        [Some(self.ipv4), self.ipv6].into_iter().flatten()
    }
}

impl Addresses {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not one that the data plane has written, or the thread that writes it
    /// cannot be started.
    pub(super) fn load(settings: &BalanceSettings) -> Result<Self> {
        let (file, given) = StateFile::open(settings.balance_state.as_path())?;
        let mut taken = HashMap::new();
        for address in given.values().flat_map(|given| given.all()) {
            *taken.entry(address).or_default() += 1;
        }
        Ok(Self {
            ipv4: settings.balance_addresses,
            ipv6: settings.balance_addresses_v6,
            file,
            given,
            taken,
            is_changed: false,
        })
    }

    /// Returns the addresses of a load balancer, which are new ones if it has none, or if its own are
    /// of another network than that of the settings.
    pub(super) fn give(&mut self, key: &Key) -> Given {
        let name = name(key);
        let before = self.given.get(&name).copied();
        let hash = vm_hash(key.1.as_str());
        // Each by itself: another network of the one leaves the other as it is.
        let choose = |pool: &AddressPool, kept: Option<IpAddr>| {
            let kept = kept.filter(|address| pool.contains(*address));
            kept.unwrap_or_else(|| self.free(pool, hash))
        };
        let given = Given {
            ipv4: choose(&self.ipv4, before.map(|given| given.ipv4)),
            ipv6: self
                .ipv6
                .map(|pool| choose(&pool, before.and_then(|given| given.ipv6))),
        };
        if before == Some(given) {
            return given;
        }
        self.forget(key);
        for address in given.all() {
            *self.taken.entry(address).or_default() += 1;
        }
        self.given.insert(name, given);
        self.is_changed = true;
        given
    }

    /// Returns whether there are addresses of IPv6.
    pub(super) fn have_ipv6(&self) -> bool {
        self.ipv6.is_some()
    }

    /// Takes the addresses of a load balancer back, which others may get then.
    pub(super) fn forget(&mut self, key: &Key) {
        let Some(given) = self.given.remove(&name(key)) else {
            return;
        };
        self.is_changed = true;
        for address in given.all() {
            if let Some(count) = self.taken.get_mut(&address) {
                *count -= 1;
                if *count == 0 {
                    self.taken.remove(&address);
                }
            }
        }
    }

    /// Forgets all load balancers but some.
    pub(super) fn keep(&mut self, keys: &HashSet<Key>) {
        let kept: HashSet<String> = keys.iter().map(name).collect();
        let gone = self.given.keys().filter(|name| !kept.contains(*name));
        for name in gone.cloned().collect::<Vec<_>>() {
            if let Some((project, id)) = name.split_once('/')
                && let (Ok(project), Ok(id)) = (project.try_into(), id.try_into())
            {
                self.forget(&(project, id));
            }
        }
    }

    /// Saves the addresses if one was given or taken back. Does not wait until the file is written.
    pub(super) fn save(&mut self) {
        if std::mem::take(&mut self.is_changed) {
            self.file.save(self.given.clone());
        }
    }

    /// Waits until the file is written, for a time.
    pub(super) async fn close(self) {
        self.file.close().await;
    }

    /// Returns an address of a network that no load balancer has, beginning with the one of a hash. If
    /// all have one, returns that of the hash.
    fn free(&self, pool: &AddressPool, hash: u64) -> IpAddr {
        let size = pool.size();
        let derived = hash % size;
        let tried = (0..size.min(TRIES)).map(|step| pool.address((derived + step) % size));
        let mut free = tried.filter(|address| !self.taken.contains_key(address));
        free.next().unwrap_or_else(|| pool.address(derived))
    }
}

fn name((project, id): &Key) -> String {
    format!("{project}/{id}")
}
