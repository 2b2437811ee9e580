//! How a load balancer chooses among its virtual machines.

use std::net::IpAddr;
use std::sync::Arc;

use api_types::LoadBalancerAlgorithm;
use sha2::{Digest, Sha256};

use super::target::{Health, Target};

/// The virtual machines of a load balancer, and how one is chosen for a connection.
#[derive(Debug)]
pub(super) struct Routing {
    pub algorithm: LoadBalancerAlgorithm,
    /// The attached virtual machines, sorted by id.
    pub targets: Vec<Arc<Target>>,
}

impl Routing {
    /// Returns whether a virtual machine is attached.
    pub(super) fn has(&self, target: &Arc<Target>) -> bool {
        self.targets.iter().any(|other| Arc::ptr_eq(other, target))
    }

    /// Returns the virtual machines that are up, in the order in which a connection tries them. `turn`
    /// is the number of the connection.
    ///
    /// By `hash_based`, a caller's address gets the same virtual machine each time, by rendezvous
    /// hashing: that with the highest hash of address and virtual machine, and if it refuses, that
    /// with the next one. So when one of ten goes, exactly its own tenth of the callers moves. A ring
    /// or a table would choose faster among thousands, but needs to be built anew at each change; a
    /// load balancer has at most a hundred virtual machines.
    pub(super) fn order(&self, caller: IpAddr, turn: usize) -> Vec<Arc<Target>> {
        let up = |target: &&Arc<Target>| target.health() == Health::Up;
        let mut up: Vec<Arc<Target>> = self.targets.iter().filter(up).cloned().collect();
        if up.is_empty() {
            return up;
        }
        if self.algorithm == LoadBalancerAlgorithm::HashBased {
            let caller = address_hash(caller);
            up.sort_by_cached_key(|target| std::cmp::Reverse(mixed(caller ^ target.hash)));
        } else {
            let first = turn % up.len();
            up.rotate_left(first);
        }
        up
    }

    /// Returns whether the health of a virtual machine is not known yet.
    pub(super) fn is_one_unchecked(&self) -> bool {
        let mut targets = self.targets.iter();
        targets.any(|target| target.health() == Health::Unchecked)
    }
}

/// Returns the hash of a virtual machine's id. It is the same in every process, so that a caller keeps
/// its virtual machine over a restart.
pub(super) fn vm_hash(id: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(id.as_bytes()).into();
    number(&digest[..8])
}

/// Returns the number whose eight bytes these are, the most significant first.
fn number(bytes: &[u8]) -> u64 {
    let join = |number, byte: &u8| (number << 8) | u64::from(*byte);
    bytes.iter().fold(0, join)
}

/// Returns the hash of an address. That of an IPv4 address is the same if it comes over IPv6.
fn address_hash(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => mixed(u64::from(address.to_bits())),
        IpAddr::V6(address) => {
            let octets = address.octets();
            let (high, low) = octets.split_at(8);
            mixed(mixed(number(high)) ^ number(low))
        }
    }
}

/// Returns a number in which each bit depends on all bits of another one: the last step of `SplitMix64`.
fn mixed(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
