//! The engine that lets an Envoy beside this process forward the connections.
//!
//! Envoy reads its configuration from a `folder` of files (xDS over the file system), which this
//! process writes: `resources` has what is in them. So nothing crosses the network, and Envoy goes on
//! while this process is stopped. An `entry` is a load balancer as Envoy should have it. The admin
//! interface of Envoy (`admin`) says what it does, as `seen` reads it, and the `board` has both for the
//! management port.
//!
//! docs/scaling.md says what Envoy does otherwise than the engine of `director`.

mod admin;
mod board;
mod entry;
mod folder;
mod resources;
mod seen;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use api_types::ProjectId;
use serde_json::Value;
use tokio::time::{Duration, Instant};
use tokio_util::task::AbortOnDropHandle;

use super::addresses::Addresses;
use super::balancer::{LACKING_IPV6, addresses};
use super::certificate::{self, Issued};
use super::declared::{Declared, Key};
use super::engine::{self, Engine, View};
use super::limits::LISTENERS_OF_PROJECT;
use super::listener;
use super::servers::Servers;
use super::shared::Timing;
use super::watch::Update;
use crate::domain::allowed::Callers;
use crate::provision::authority::Authority;
use crate::settings::BalanceSettings;
use crate::world::World;
use admin::Admin;
use board::{Answer, Board};
use entry::Entry;
use folder::{Folder, Resource};
use resources::name;
use seen::{Seen, ServerInfo};

/// The shortest pause between two rounds of asking Envoy. A round that takes long is followed by a
/// longer one, so that Envoy spends at most a tenth of its main thread on it.
const POLL: Duration = Duration::from_millis(250);
/// How long Envoy may lack a listener or a cluster, before the lists are written again: it tries what
/// has failed again then, such as an address that was not on this machine. Each time twice as long as
/// the time before, because Envoy reads the whole lists.
const RETRY: Duration = Duration::from_secs(2);
/// How long it may lack something at most.
const LONGEST_RETRY: Duration = Duration::from_mins(1);

/// The maximum number of networks that callers come from, listed for all addresses of a project: the
/// lists are written and read as a whole whenever a project changes.
const NETWORKS: usize = 50_000;
/// Why a load balancer does not listen if there are more.
const TOO_MANY_NETWORKS: &str = "the firewalls of the project allow more than 50,000 networks at the addresses of its \
     load balancers, which Envoy would have to read at each change: allow fewer";

/// The engine.
pub(super) struct Envoy {
    timing: Timing,
    /// The maximum number of connections of a load balancer.
    connections: usize,
    /// The maximum number of addresses that are listened on.
    listeners: usize,
    world: World,
    addresses: Addresses,
    servers: Servers,
    authority: Option<Box<Authority>>,
    folder: Folder,
    board: Arc<Board>,
    /// Whether all load balancers were read: until then, the files of an earlier process stay.
    is_read: bool,
    /// Whether the lists of clusters and listeners are to be made anew.
    is_changed: bool,
    /// When the lists are written again because Envoy lacks something, and how long it was waited for
    /// that.
    retry: Option<(Instant, Duration)>,
    _poll: AbortOnDropHandle<()>,
}

impl Engine for Envoy {
    fn apply(&mut self, update: Update) {
        let board = Arc::clone(&self.board);
        let entries = &mut *board.entries_mut();
        match update {
            Update::Begin(keys) => {
                let gone = entries.keys().filter(|key| !keys.contains(*key));
                for key in gone.cloned().collect::<Vec<_>>() {
                    self.remove(entries, &key);
                }
                // Before new ones get theirs, so that the addresses of those that are gone are free
                // again.
                self.addresses.keep(&keys);
            }
            Update::Changed(changed) => {
                for (key, declared) in changed {
                    match declared {
                        Some(declared) => self.declare(entries, declared),
                        None => self.remove(entries, &key),
                    }
                }
            }
            Update::Callers(callers) => {
                for (key, callers) in callers {
                    if let Some(entry) = entries.get_mut(&key)
                        && entry.declared.callers != callers
                    {
                        // One that is not listed is listed if it needs less room than before.
                        let is_less = networks(&callers) < networks(&entry.declared.callers);
                        self.is_changed |= is_less || entry.open().next().is_some();
                        entry.declared.callers = callers;
                    }
                }
            }
            Update::Complete => {
                engine::log_complete(entries.len());
                (self.is_read, self.is_changed) = (true, true);
            }
            Update::Authority(authority) => {
                self.authority = Some(authority);
                // Certificates of another authority are no longer trusted.
                for (key, entry) in entries.iter_mut() {
                    self.issue(key, entry);
                }
            }
        }
        self.finish(entries);
    }

    fn tick(&mut self) {
        let board = Arc::clone(&self.board);
        let entries = &mut *board.entries_mut();
        let answer = board.answer();
        for (key, entry) in entries.iter_mut() {
            if entry.drain(&name(key), &answer, self.timing.drain) {
                self.write_endpoints(key, entry);
            }
            self.certify(key, entry);
        }
        self.retry(entries, &answer);
        self.finish(entries);
    }

    fn view(&self) -> Arc<dyn View> {
        Arc::<Board>::clone(&self.board)
    }

    /// Waits until all files are written, for a time. Envoy goes on.
    async fn stop(self) {
        self.addresses.close().await;
        self.folder.close().await;
        tracing::info!("stopping: Envoy goes on with what it has");
    }
}

impl Envoy {
    /// Prepares the folder, and begins to ask Envoy what it does.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used.
    pub(super) fn start(
        settings: &BalanceSettings,
        (addresses, servers): (Addresses, Servers),
        world: World,
    ) -> Result<Self> {
        let path = settings.balance_envoy_folder.as_ref();
        let path = path.context("balance_engine = \"envoy\" needs balance_envoy_folder")?;
        let folder = Folder::open(path.as_path())?;
        let connections = settings.balance_connections.get();
        folder.write_bootstrap(&resources::bootstrap(&folder, connections))?;
        let timing = Timing::of(settings);
        let board = Arc::new(Board::new());
        let poll = Poll {
            admin: Admin::new(folder.socket()),
            board: Arc::clone(&board),
            bootstrap: folder.bootstrap(),
            drain: timing.drain,
        };
        announce(&poll);
        Ok(Self {
            timing,
            connections: settings.balance_connections_each.get() as usize,
            listeners: settings.balance_listeners.get() as usize,
            world,
            addresses,
            servers,
            authority: None,
            folder,
            board,
            is_read: false,
            is_changed: false,
            retry: None,
            _poll: AbortOnDropHandle::new(tokio::spawn(poll.run())),
        })
    }

    fn declare(&mut self, entries: &mut BTreeMap<Key, Entry>, declared: Declared) {
        let key = declared.key();
        let given = self.addresses.give(&key);
        let wanted = addresses(&declared, given);
        // Before their first health checks, which otherwise find nothing.
        self.servers.start(&declared.vms);
        let is_new = !entries.contains_key(&key);
        let entry = entries.entry(key.clone()).or_insert_with(|| {
            Entry::new(Declared {
                vms: Vec::new(),
                ..declared.clone()
            })
        });
        let before = entry.declare(declared);
        let now = &entry.declared;
        self.is_changed |= is_new || before.row != now.row || before.callers != now.callers;
        entry.listen(wanted);
        self.certify(&key, entry);
        self.write_endpoints(&key, entry);
    }

    fn remove(&mut self, entries: &mut BTreeMap<Key, Entry>, key: &Key) {
        if entries.remove(key).is_some() {
            self.addresses.forget(key);
            self.folder.remove(Resource::Endpoints(name(key)));
            self.folder.remove(Resource::Secret(name(key)));
            self.is_changed = true;
        }
    }

    /// Issues a certificate for a load balancer, unless the one in force is good.
    fn certify(&mut self, key: &Key, entry: &mut Entry) {
        let now = self.world.now();
        let hostname = &entry.declared.hostname;
        let in_force = entry.certificate.as_ref();
        if !in_force.is_some_and(|term| term.is_good(hostname, now)) {
            self.issue(key, entry);
        }
    }

    /// Issues a certificate for a load balancer, if its row enables certificates.
    fn issue(&mut self, key: &Key, entry: &mut Entry) {
        let Some(authority) = self
            .authority
            .as_ref()
            .filter(|_| entry.declared.row.cert_enabled)
        else {
            return;
        };
        let lifetime = self.timing.certificate_lifetime;
        let now = self.world.now();
        match Issued::new(authority, &entry.declared.hostname, lifetime, now) {
            Ok(issued) => {
                let (certificate, private_key) = issued.pem();
                let secret = resources::secret(key, &certificate, &private_key);
                self.folder.write(Resource::Secret(name(key)), &secret);
                // The listeners name the file once there is one. Envoy notices another one itself.
                self.is_changed |= entry.certificate.replace(issued.term).is_none();
            }
            Err(error) => tracing::error!(
                error = format!("{error:#}"),
                load_balancer = %key.1,
                "the certificate of a load balancer cannot be issued"
            ),
        }
    }

    fn write_endpoints(&mut self, key: &Key, entry: &Entry) {
        let endpoints = resources::endpoints(&entry.declared, &entry.endpoints());
        let resource = Resource::Endpoints(name(key));
        self.folder.write(resource, &endpoints);
    }

    /// Does what follows each update and each tick.
    fn finish(&mut self, entries: &mut BTreeMap<Key, Entry>) {
        if self.is_read && std::mem::take(&mut self.is_changed) {
            self.write_lists(entries);
        }
        self.board.set_failure(self.folder.failure());
        self.addresses.save();
        if self.servers.are_on() {
            let vms = entries.values().flat_map(|it| &it.declared.vms);
            self.servers.keep(vms);
            for entry in entries.values() {
                self.servers.start(&entry.declared.vms);
            }
        }
    }

    /// Writes the lists of clusters and listeners, and removes the files that they no longer name.
    fn write_lists(&mut self, entries: &mut BTreeMap<Key, Entry>) {
        self.allot(entries);
        let (mut clusters, mut listeners) = (Vec::new(), Vec::new());
        let mut kept = HashSet::new();
        for (key, entry) in entries {
            let endpoints = Resource::Endpoints(name(key));
            clusters.push(self.cluster(entry, &self.folder.file(&endpoints)));
            kept.insert(endpoints);
            let secret = Resource::Secret(name(key));
            let file = self.folder.file(&secret);
            let file = entry.declared.row.cert_enabled.then_some(&*file);
            for address in entry.open() {
                let listener = resources::listener(&entry.declared, address, file, &self.timing);
                listeners.push(listener);
            }
            // Also while no listener names it: certificates may be enabled again.
            if entry.certificate.is_some() {
                kept.insert(secret);
            }
        }
        let clusters = resources::list(&clusters);
        self.folder.write(Resource::Clusters, &clusters);
        let listeners = resources::list(&listeners);
        self.folder.write(Resource::Listeners, &listeners);
        self.folder.keep(&kept);
    }

    /// Decides which addresses Envoy is told to listen on. Those that it listens on already come first,
    /// so that no new load balancer takes the place of another one.
    fn allot(&self, entries: &mut BTreeMap<Key, Entry>) {
        let mut room = Room::new(self.listeners);
        let lacks_ipv6 = !self.addresses.have_ipv6();
        for is_first in [true, false] {
            for (key, entry) in entries.iter_mut() {
                let row = &entry.declared.row;
                let lacks_certificate = row.cert_enabled && entry.certificate.is_none();
                let listeners = entry.listeners.iter_mut();
                for listener in listeners.filter(|it| it.lack.is_none() == is_first) {
                    listener.lack = if lacks_ipv6 && listener.address.is_ipv6() {
                        Some(LACKING_IPV6)
                    } else if lacks_certificate {
                        Some(certificate::LACKING)
                    } else {
                        room.take(&key.0, &entry.declared.callers).err()
                    };
                }
            }
        }
    }

    fn cluster(&self, entry: &Entry, endpoints: &Path) -> Value {
        resources::cluster(&entry.declared, endpoints, self.connections, &self.timing)
    }

    /// Has the lists written again if Envoy has lacked something of them for a time.
    fn retry(&mut self, entries: &BTreeMap<Key, Entry>, answer: &Answer) {
        let mut keys = entries.iter();
        let lacks = match answer {
            Answer::Seen(seen) => keys.any(|(key, entry)| {
                let has = |address| seen.has_listener(&resources::listener_name(key, address));
                !seen.has_cluster(&name(key)) || !entry.open().all(has)
            }),
            Answer::Failed(_) => false,
        };
        let now = Instant::now();
        self.retry = match self.retry {
            _ if !lacks => None,
            None => Some((now + RETRY, RETRY)),
            Some((at, pause)) if at <= now => {
                self.folder.forget(&Resource::Clusters);
                self.folder.forget(&Resource::Listeners);
                self.is_changed = true;
                let pause = LONGEST_RETRY.min(2 * pause);
                Some((now + pause, pause))
            }
            waiting => waiting,
        };
    }
}

/// How many addresses may still be listened on, and how many networks of callers may still be listed:
/// of all load balancers, and of those of each project.
struct Room {
    left: usize,
    each: usize,
    of_projects: HashMap<ProjectId, Taken>,
}

#[derive(Default)]
struct Taken {
    listeners: usize,
    networks: usize,
}

impl Room {
    fn new(listeners: usize) -> Self {
        Self {
            left: listeners,
            each: listeners.div_ceil(LISTENERS_OF_PROJECT),
            of_projects: HashMap::new(),
        }
    }

    /// Takes the room of an address, or returns what there is not enough of.
    fn take(&mut self, project: &ProjectId, callers: &Callers) -> Result<(), &'static str> {
        let taken = self.of_projects.entry(project.clone()).or_default();
        let networks = networks(callers);
        if self.left == 0 || taken.listeners >= self.each {
            return Err(listener::TOO_MANY);
        }
        if taken.networks + networks > NETWORKS {
            return Err(TOO_MANY_NETWORKS);
        }
        taken.listeners += 1;
        taken.networks += networks;
        self.left -= 1;
        Ok(())
    }
}

/// Returns how many networks the lists have for callers.
fn networks(callers: &Callers) -> usize {
    match callers {
        Callers::All => 0,
        Callers::Of(networks) => networks.len(),
    }
}

/// Asks Envoy what it does, again and again.
struct Poll {
    admin: Admin,
    board: Arc<Board>,
    bootstrap: PathBuf,
    drain: Duration,
}

impl Poll {
    async fn run(self) {
        let mut failure = None;
        let mut is_known = false;
        loop {
            let begun = Instant::now();
            let wanted = self.board.listeners();
            match Seen::ask(&self.admin, &wanted).await {
                Ok(seen) => {
                    self.board.set_answer(Answer::Seen(Arc::new(seen)));
                    failure = None;
                    if !std::mem::replace(&mut is_known, true) {
                        self.greet().await;
                    }
                }
                Err(error) => {
                    is_known = false;
                    let reason = format!(
                        "Envoy does not say what it does ({error:#}): start it by `{}`",
                        self.command()
                    );
                    if failure.as_ref() != Some(&reason) {
                        tracing::warn!("{reason}");
                    }
                    self.board
                        .set_answer(Answer::Failed(reason.as_str().into()));
                    failure = Some(reason);
                }
            }
            tokio::time::sleep(POLL.max(begun.elapsed() * 9)).await;
        }
    }

    /// Logs which Envoy it is, and whether it was started as it should be.
    async fn greet(&self) {
        let info: ServerInfo = match self.admin.ask("/server_info").await {
            Ok(info) => info,
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "Envoy does not say how it was started");
                return;
            }
        };
        let ServerInfo {
            version,
            command_line_options: options,
        } = info;
        tracing::info!(version, "Envoy forwards the connections");
        let wanted = format!("{}s", seconds(self.drain));
        if options.drain_time != wanted {
            tracing::warn!(
                drain_time = options.drain_time,
                "connections of a deleted load balancer, or of its earlier port, go on for another time than \
                 balance_drain_timeout: start Envoy by `{}`",
                self.command()
            );
        }
    }

    fn command(&self) -> String {
        format!(
            "envoy -c {} --drain-time-s {} --drain-strategy immediate",
            self.bootstrap.display(),
            seconds(self.drain)
        )
    }
}

/// Logs how to start Envoy, and what of the settings and promises it does not keep.
fn announce(poll: &Poll) {
    tracing::info!(
        "an Envoy beside this process forwards the connections: start it as the same user by `{}`; it goes on when \
         this process is stopped",
        poll.command()
    );
    tracing::info!(
        "what Envoy does otherwise: it ends no connection of a detached virtual machine after \
         balance_drain_timeout, but those of a load balancer whose firewalls or cert_enabled have changed; it has no \
         limit for the connections of a project (balance_connections_project), and makes all health checks that are \
         due at once"
    );
}

/// Returns a duration in whole seconds, at least the duration.
fn seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
