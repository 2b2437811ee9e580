//! The load balancers that run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::encoding::DescriptorEncoder;

use super::balancer::Balancer;
use super::declared::Key;
use super::engine::View;
use super::limits::{Limits, Share};
use super::metrics;
use super::status::{self, BalancerStatus};

/// All load balancers. The director alone changes which they are.
#[derive(Debug, Default)]
pub(super) struct Balancers(RwLock<BTreeMap<Key, Arc<Balancer>>>);

impl View for Balancers {
    fn balancers(&self) -> Vec<BalancerStatus> {
        self.all().iter().map(|it| status::of(it)).collect()
    }

    /// Returns `None`: a listener that fails stops no other, and says so itself.
    fn problem(&self) -> Option<String> {
        None
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        metrics::counts(&self.all(), encoder)
    }
}

impl Balancers {
    /// Returns all load balancers, sorted by project and id: also those that are gone while connections of them go
    /// on.
    pub(super) fn all(&self) -> Vec<Arc<Balancer>> {
        let balancers = self.0.read();
        let balancers = balancers.unwrap_or_else(PoisonError::into_inner);
        balancers.values().cloned().collect()
    }

    /// Returns the share of a load balancer's project: that of the others of the project, or a new one
    /// if there is none.
    pub(super) fn share(&self, key: &Key, limits: &Limits) -> Arc<Share> {
        let balancers = self.0.read();
        let balancers = balancers.unwrap_or_else(PoisonError::into_inner);
        // Those of a project are beside each other.
        let before = balancers.range(..=key).next_back();
        let neighbours = before.into_iter().chain(balancers.range(key..).next());
        let mut of_project = neighbours.filter(|((project, _), _)| *project == key.0);
        match of_project.next() {
            Some((_, other)) => Arc::clone(&other.share),
            None => Arc::new(Share::new(limits)),
        }
    }

    pub(super) fn add(&self, balancer: &Arc<Balancer>) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(balancer.key.clone(), Arc::clone(balancer));
    }

    pub(super) fn remove(&self, key: &Key) {
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }
}
