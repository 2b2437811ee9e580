//! The load balancers that Envoy should have, and what it says of them: for the management port.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use prometheus_client::encoding::DescriptorEncoder;

use super::super::declared::Key;
use super::super::engine::View;
use super::super::metrics::gauge;
use super::super::status::{BalancerStatus, ListenerStatus, VmStatus};
use super::entry::Entry;
use super::resources::{listener_name, name};
use super::seen::Seen;

/// What is known of Envoy.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// What it has said when it was asked last.
    Seen(Arc<Seen>),
    /// Why it is not known what it does, and what to do about it.
    Failed(Arc<str>),
}

/// The load balancers, and what Envoy says of them.
#[derive(Debug)]
pub(super) struct Board {
    balancers: RwLock<BTreeMap<Key, Entry>>,
    answer: RwLock<Answer>,
    /// Why the files of Envoy cannot be written.
    failure: RwLock<Option<String>>,
}

impl Board {
    pub(super) fn new() -> Self {
        let words = "Envoy was not asked yet";
        Self {
            balancers: RwLock::default(),
            answer: RwLock::new(Answer::Failed(words.into())),
            failure: RwLock::default(),
        }
    }

    pub(super) fn entries(&self) -> RwLockReadGuard<'_, BTreeMap<Key, Entry>> {
        let balancers = self.balancers.read();
        balancers.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn entries_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<Key, Entry>> {
        let balancers = self.balancers.write();
        balancers.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn answer(&self) -> Answer {
        let answer = self.answer.read();
        answer.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_answer(&self, answer: Answer) {
        *self.answer.write().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    pub(super) fn set_failure(&self, failure: Option<String>) {
        *self.failure.write().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// Returns the names of the listeners that Envoy should have.
    pub(super) fn listeners(&self) -> HashSet<String> {
        let entries = self.entries();
        let names = entries.iter().flat_map(|(key, entry)| {
            let open = entry.open();
            open.map(|address| listener_name(key, address))
        });
        names.collect()
    }
}

impl View for Board {
    fn balancers(&self) -> Vec<BalancerStatus> {
        let answer = self.answer();
        let entries = self.entries();
        entries
            .iter()
            .map(|(key, it)| status(key, it, &answer))
            .collect()
    }

    fn problem(&self) -> Option<String> {
        let failure = self.failure.read();
        let failure = failure.unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(failure) = failure {
            return Some(format!("the files of Envoy cannot be written: {failure}"));
        }
        match self.answer() {
            Answer::Seen(_) => None,
            Answer::Failed(reason) => Some(reason.to_string()),
        }
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Whether Envoy has responded when it was asked last";
        let responds = i64::from(matches!(self.answer(), Answer::Seen(_)));
        gauge(encoder, "balance_envoy_responds", help)?.encode_gauge(&responds)
    }
}

fn status(key: &Key, entry: &Entry, answer: &Answer) -> BalancerStatus {
    let declared = &entry.declared;
    let cluster = name(key);
    let mut listeners: Vec<ListenerStatus> = entry
        .listeners
        .iter()
        .map(|it| ListenerStatus {
            address: it.address,
            problem: match it.lack {
                Some(lack) => Some(lack.to_owned()),
                None => problem(key, &cluster, it.address, answer),
            },
        })
        .collect();
    listeners.sort_by_key(|listener| listener.address);
    let vm = |id: String, name: String, address: Option<SocketAddr>, state: Option<&str>| {
        let host = match (answer, address) {
            (Answer::Seen(seen), Some(address)) => seen.host(&cluster, address),
            _ => None,
        };
        let host = host.unwrap_or_default();
        let state = state.unwrap_or(match (answer, address) {
            (Answer::Failed(_), Some(_)) => "unknown",
            _ if host.is_up => "up",
            _ => "down",
        });
        VmStatus {
            id,
            name,
            address,
            state: state.to_owned(),
            connections: host.connections,
        }
    };
    let attached = declared.vms.iter().map(|it| {
        let address = entry.address_of(it);
        vm(it.id.to_string(), it.name.to_string(), address, None)
    });
    let detaching = entry.detaching.iter().map(|it| {
        let (id, name) = (it.vm.to_string(), it.name.to_string());
        vm(id, name, Some(it.address), Some("detaching"))
    });
    // Until Envoy says how many connections it has, one that is detached may have some.
    let is_shown = |vm: &VmStatus| {
        vm.state != "detaching" || vm.connections > 0 || matches!(answer, Answer::Failed(_))
    };
    let vms: Vec<_> = attached.chain(detaching).filter(is_shown).collect();
    BalancerStatus {
        project: key.0.to_string(),
        id: key.1.to_string(),
        name: declared.row.name.to_string(),
        hostname: declared.hostname.clone(),
        algorithm: declared.row.algorithm.as_str().to_owned(),
        dst_port: declared.row.dst_port.get(),
        listeners,
        certificate_ends: entry
            .certificate
            .as_ref()
            .map(|certificate| certificate.ends)
            .filter(|_| declared.row.cert_enabled),
        connections: vms.iter().map(|vm| vm.connections).sum(),
        vms,
    }
}

/// Returns why Envoy does not listen on an address as it should, if so.
fn problem(key: &Key, cluster: &str, address: SocketAddr, answer: &Answer) -> Option<String> {
    let seen = match answer {
        Answer::Seen(seen) => seen,
        Answer::Failed(reason) => return Some(reason.to_string()),
    };
    let listener = listener_name(key, address);
    if let Some(error) = seen.error(&listener) {
        return Some(format!("Envoy says: {error}"));
    }
    let has_all = seen.has_listener(&listener) && seen.has_cluster(cluster);
    (!has_all).then(|| "Envoy has not taken it up yet: if it does not, its log says why".to_owned())
}
