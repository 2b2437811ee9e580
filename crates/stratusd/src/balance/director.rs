//! The engine that forwards connections itself: brings the load balancers that run to what was read
//! from the database.

use std::collections::HashMap;
use std::sync::Arc;

use super::addresses::Addresses;
use super::balancer::{Balancer, LACKING_IPV6, addresses};
use super::balancers::Balancers;
use super::certificate::{self, Certificate, Issued};
use super::declared::{Declared, Key};
use super::engine::{self, Engine, View};
use super::health;
use super::listener::Listener;
use super::servers::Servers;
use super::shared::Shared;
use super::watch::Update;
use crate::provision::authority::Authority;
use crate::world::World;

/// What load balancers there are, and what they need to run.
pub(super) struct Director {
    shared: Arc<Shared>,
    /// Those that run, for the status and the metrics: also those that are gone while connections of them
    /// go on.
    running: Arc<Balancers>,
    world: World,
    addresses: Addresses,
    servers: Servers,
    authority: Option<Box<Authority>>,
    balancers: HashMap<Key, Arc<Balancer>>,
    /// Load balancers that are gone, and whose connections go on, with a virtual machine or without one yet.
    leaving: Vec<Arc<Balancer>>,
}

impl Engine for Director {
    fn apply(&mut self, update: Update) {
        self.update(update);
        self.addresses.save();
        self.serve();
    }

    fn tick(&mut self) {
        self.look_after();
        self.addresses.save();
        self.serve();
    }

    fn view(&self) -> Arc<dyn View> {
        Arc::<Balancers>::clone(&self.running)
    }

    /// Stops all listeners, waits until the file of their addresses is written, for a time, and lets
    /// open connections end, for a time.
    async fn stop(self) {
        for balancer in self.balancers.values() {
            balancer.listeners().values().for_each(Listener::stop);
        }
        self.addresses.close().await;
        tracing::info!("stopping: accepting no more connections, letting the open ones end");
        self.shared.drain().await;
    }
}

impl Director {
    /// Creates the engine without load balancers.
    pub(super) fn new(
        shared: Arc<Shared>,
        (addresses, servers): (Addresses, Servers),
        world: World,
    ) -> Self {
        Self {
            shared,
            running: Arc::default(),
            world,
            addresses,
            servers,
            authority: None,
            balancers: HashMap::new(),
            leaving: Vec::new(),
        }
    }

    fn update(&mut self, update: Update) {
        match update {
            Update::Begin(keys) => {
                let gone = self.balancers.keys().filter(|key| !keys.contains(*key));
                for key in gone.cloned().collect::<Vec<_>>() {
                    self.remove(&key);
                }
                // Before new ones get theirs, so that the addresses of those that are gone are free
                // again.
                self.addresses.keep(&keys);
            }
            Update::Changed(changed) => {
                for (key, declared) in changed {
                    match declared {
                        Some(declared) => self.declare(declared),
                        None => self.remove(&key),
                    }
                }
            }
            Update::Callers(callers) => {
                for (key, callers) in callers {
                    if let Some(balancer) = self.balancers.get(&key) {
                        balancer.admit(callers);
                    }
                }
            }
            Update::Complete => engine::log_complete(self.balancers.len()),
            Update::Authority(authority) => {
                self.authority = Some(authority);
                // Certificates of another authority are no longer trusted.
                for balancer in self.balancers.values() {
                    self.issue(balancer, &balancer.declared());
                }
                self.look_after();
            }
        }
    }

    /// Puts a load balancer in force: its certificate, its virtual machines and its listeners.
    fn declare(&mut self, declared: Declared) {
        let key = declared.key();
        let balancer = self.balancers.entry(key).or_insert_with_key(|key| {
            let share = self.running.share(key, &self.shared.limits);
            let shared = Arc::clone(&self.shared);
            let new = Arc::new(Balancer::new(shared, share, declared.clone()));
            self.running.add(&new);
            new
        });
        let balancer = Arc::clone(balancer);
        // Before the rest is in force: a connection that is accepted then needs it.
        self.certify(&balancer, &declared);
        // Before their first health checks, which otherwise find nothing.
        self.servers.start(&declared.vms);
        for target in balancer.declare(declared) {
            health::start(&balancer, target);
        }
        self.listen(&balancer);
    }

    fn remove(&mut self, key: &Key) {
        let Some(balancer) = self.balancers.remove(key) else {
            return;
        };
        for (_, listener) in balancer.listeners().drain() {
            listener.stop();
        }
        balancer.withdraw();
        self.addresses.forget(key);
        self.leaving.push(balancer);
    }

    /// Issues a certificate for a load balancer, unless the one in force is good.
    fn certify(&self, balancer: &Balancer, declared: &Declared) {
        if !balancer.has_certificate(&declared.hostname, self.world.now()) {
            self.issue(balancer, declared);
        }
    }

    /// Issues a certificate for a load balancer, if its row enables certificates.
    fn issue(&self, balancer: &Balancer, declared: &Declared) {
        let Some(authority) = self
            .authority
            .as_ref()
            .filter(|_| declared.row.cert_enabled)
        else {
            return;
        };
        let lifetime = self.shared.timing.certificate_lifetime;
        let now = self.world.now();
        let issued = Issued::new(authority, &declared.hostname, lifetime, now);
        let certificate = issued.and_then(|issued| Ok(Certificate::try_from(issued)?));
        match certificate {
            Ok(certificate) => balancer.set_certificate(certificate),
            Err(error) => tracing::error!(
                error = format!("{error:#}"),
                load_balancer = %balancer.key.1,
                "the certificate of a load balancer cannot be issued"
            ),
        }
    }

    /// Opens the listeners that a load balancer should have, and then stops the others. Tries those
    /// again that have failed. While a certificate that it needs is missing, stops all of them.
    fn listen(&mut self, balancer: &Arc<Balancer>) {
        let declared = balancer.declared();
        let given = self.addresses.give(&balancer.key);
        let wanted = addresses(&declared, given);
        let lacks_certificate = declared.row.cert_enabled && balancer.tls().is_none();
        let mut listeners = balancer.listeners();
        for address in &wanted {
            let before = listeners.get(address);
            let lacking = if given.ipv6.is_none() && address.is_ipv6() {
                Some(LACKING_IPV6)
            } else {
                lacks_certificate.then_some(certificate::LACKING)
            };
            if let Some(words) = lacking {
                let failed = Listener::Failed(words.to_owned());
                if let Some(listener) = listeners.insert(*address, failed) {
                    listener.stop();
                }
            } else if before.is_none_or(|listener| !listener.is_open()) {
                let opened = Listener::open(balancer, *address);
                log(balancer, before, &opened);
                listeners.insert(*address, opened);
            }
        }
        listeners.retain(|address, listener| {
            let is_wanted = wanted.contains(address);
            if !is_wanted {
                listener.stop();
            }
            is_wanted
        });
    }

    /// Brings the servers in place of virtual machines to those that are attached.
    fn serve(&mut self) {
        if self.servers.are_on() {
            let declared: Vec<_> = self.balancers.values().map(|it| it.declared()).collect();
            self.servers.keep(declared.iter().flat_map(|it| &it.vms));
            for declared in &declared {
                self.servers.start(&declared.vms);
            }
        }
    }

    /// Looks for listeners that have failed, certificates to renew, and virtual machines whose
    /// connections have ended.
    fn look_after(&mut self) {
        let balancers: Vec<_> = self.balancers.values().cloned().collect();
        for balancer in balancers {
            balancer.drain();
            self.certify(&balancer, &balancer.declared());
            if balancer.listeners().values().any(|it| !it.is_open()) {
                self.listen(&balancer);
            }
        }
        self.leaving.retain(|balancer| {
            // A connection in its handshake too still has a place in the share of the project, which the
            // next load balancer of the project must find.
            let is_drained = balancer.drain() && balancer.open() == 0;
            // Unless there is one with the same id again, which has replaced it.
            if is_drained && !self.balancers.contains_key(&balancer.key) {
                self.running.remove(&balancer.key);
            }
            !is_drained
        });
    }
}

/// Logs why a listener has failed, unless it has failed for the same reason before.
fn log(balancer: &Balancer, before: Option<&Listener>, opened: &Listener) {
    let Listener::Failed(reason) = opened else {
        return;
    };
    if matches!(before, Some(Listener::Failed(known)) if known == reason) {
        return;
    }
    tracing::error!(
        reason,
        load_balancer = %balancer.key.1,
        "a load balancer cannot listen, and tries again"
    );
}
