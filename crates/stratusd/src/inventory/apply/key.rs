//! The key of a resource among those of its kind in a project: location and name. An entry of the
//! inventory and a row of the database with the same key are the same resource.

use std::collections::HashMap;

use crate::inventory::{FirewallEntry, LoadBalancerEntry, PrivateSubnetEntry, VmEntry};
use crate::storage::firewall::Firewall;
use crate::storage::load_balancer::LoadBalancer;
use crate::storage::private_subnet::PrivateSubnet;
use crate::storage::vm::Vm;

/// The ids of the resources of a kind in a project, by location and name.
pub(super) type Ids<I> = HashMap<(String, String), I>;

/// Returns a location and a name as a key of [`Ids`].
pub(super) fn key(location: &str, name: &str) -> (String, String) {
    (location.to_owned(), name.to_owned())
}

/// The location and the name of a resource.
pub(super) type Key<'e> = (&'e str, &'e str);

/// A type of inventory entries or database rows that have a location and a name.
pub(super) trait Keyed {
    /// Returns the location and the name of the entry or row.
    fn key(&self) -> Key<'_>;
}

macro_rules! keyed {
    ($($entry:ty),*; $($row:ty),*) => {
        $(impl Keyed for $entry {
            fn key(&self) -> Key<'_> {
                (&self.location.value, &self.name.value)
            }
        })*
        $(impl Keyed for $row {
            fn key(&self) -> Key<'_> {
                (self.location.as_str(), self.name.as_str())
            }
        })*
    };
}

keyed!(VmEntry, FirewallEntry, PrivateSubnetEntry, LoadBalancerEntry; Vm, Firewall, PrivateSubnet, LoadBalancer);

/// Returns a map of entries or rows by location and name. A linear search for each entry would take
/// time quadratic in the size of the inventory.
pub(super) fn by_key<T: Keyed>(all: &[T]) -> HashMap<Key<'_>, &T> {
    all.iter().map(|one| (one.key(), one)).collect()
}
