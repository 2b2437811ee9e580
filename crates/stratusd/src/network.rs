//! Private subnets, virtual machines and firewalls on Linux, made of network namespaces, pairs of virtual
//! links, bridges and nftables: a process that reads the database of the service, and brings the machine
//! to what is declared.
//!
//! A virtual machine is a namespace. Each project has a router, a namespace with a bridge for each private
//! subnet, so that projects may have the same private addresses. The hub is the namespace between the
//! machine and the routers, by which public addresses are reached. Of the machine's own network, one link
//! is changed, with the routes to public addresses.
//!
//! `crate::watch` reads the database by the rounds of `reads`. `plan` derives what is to be there,
//! `ruleset` the rules of nftables. `maker` compares that with `actual`, by the commands of `difference`,
//! which `programs` runs. `servers` are the servers of virtual machines for demonstrations.

mod actual;
mod declared;
mod difference;
mod inside;
mod maker;
mod names;
mod plan;
mod programs;
mod reads;
mod ruleset;
mod servers;
mod space;
mod status;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use api_types::ProjectId;
use rustix::thread::{CapabilitySet, capabilities};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::log::LogQueue;
use crate::serve::accept::open_files;
use crate::serve::listen::{bind, listen};
use crate::serve::management::Management;
use crate::serve::signals::Signals;
use crate::settings::{HttpPorts, NetworkSettings, Prefix, StoreSettings};
use crate::storage::DatabaseLocation;
use crate::watch::{BACKENDS, Progress, Watch};
use crate::world::World;

use declared::Declared;
use maker::Maker;
use names::Place;
use plan::{Plan, Terms};
use programs::Programs;
use reads::{Reads, Update};
use servers::Servers;
use status::{Shared, Status, VmStatus};

/// How often to look whether there is something to do, if nothing has changed.
const TICK: Duration = Duration::from_millis(500);
/// How long to bring the machine to the plan, before what has changed meanwhile is looked at.
const SLICE: Duration = Duration::from_millis(400);
/// How long to wait before the next part of a change is made.
const SETTLING: Duration = Duration::from_millis(10);
/// How long to wait before what has failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// After which time a namespace is compared with the plan again, one of them at each tick.
const DOUBT: Duration = Duration::from_secs(5);

/// What a process without the rights says. It is all that is in force then.
const WITHOUT: &str = "without them, virtual machines, private subnets and the connections between these are recorded \
                       only; firewalls are enforced by load balancers (`stratusd balance`), and the rules of Postgres \
                       databases by the databases";

/// What the process runs with.
#[derive(Debug)]
pub struct Networking<'s> {
    /// The database to read.
    pub store: &'s StoreSettings,
    /// The settings of its own.
    pub settings: &'s NetworkSettings,
    /// The queue of log lines.
    pub log: Arc<LogQueue>,
}

/// Makes networks until the process receives SIGTERM or SIGINT, and leaves them as they are then.
///
/// # Errors
///
/// If the process cannot start, with what to do about it. A database that cannot be read is no reason: the
/// process tries again.
pub async fn run(networking: Networking<'_>) -> Result<()> {
    let Networking {
        store,
        settings,
        log,
    } = networking;
    // SIGHUP has nothing to reload, and must not end the process.
    let Signals {
        stop,
        hang_up: _hang_up,
    } = Signals::listen()?;
    let prefix = settings.network_prefix.clone();
    let programs = programs(&prefix)?;
    let database = store.database_url.database()?;
    let listener = management_listener(settings.network_management_listen.get())?;
    open_files(0);
    let shared = Arc::new(Shared::default());
    let router = status::router(&shared, log);
    let management = Management::start(listener, router, Arc::default())?;
    let terms = Terms {
        prefix: prefix.clone(),
        pools: settings.network_addresses.clone(),
        vms: usize::try_from(settings.network_vms.get()).unwrap_or(usize::MAX),
        alias: maker::alias(prefix.as_str(), &name_of(&database)),
    };
    let (sender, updates) = mpsc::channel(1);
    let watch = Watch {
        database,
        world: World::real(),
        reading: Arc::clone(&shared.reading),
        stop: stop.clone(),
        backends: BACKENDS,
        rounds: Reads {
            vms: settings.network_vms.get(),
            progress: Progress::default(),
        },
    };
    let ports = settings
        .network_http_ports
        .as_ref()
        .map_or(&[][..], HttpPorts::get);
    let work = Work {
        maker: Maker::new(programs, terms.alias.clone()),
        servers: Servers::new(ports, Handle::current(), Arc::default()),
        terms,
        shared,
        declared: BTreeMap::new(),
        has_failed: false,
    };
    let watching = watch.start(sender)?;
    announce(management.address());
    let ended = CancellationToken::new();
    let end = ended.clone().drop_guard();
    let (runtime, stopped) = (Handle::current(), stop.clone());
    // A thread of its own, since programs are waited for.
    let worker = thread::Builder::new()
        .name("network".to_owned())
        .spawn(move || {
            let _end = end;
            work.run(&runtime, updates, &stopped)
        })
        .context("failed to start the thread that makes networks")?;
    ended.cancelled().await;
    // The thread has seen the signal too; it may be in a statement, which ends by itself.
    drop(watching);
    let Ok(result) = worker.join() else {
        bail!(
            "the thread that makes networks has panicked, which is a bug: start the process again"
        );
    };
    result?;
    if !stop.is_cancelled() {
        bail!("the database is not read any more, which is a bug: start the process again");
    }
    tracing::info!(
        "stopped: the networks stay as they are, without the servers of virtual machines"
    );
    Ok(())
}

/// Deletes all that was made with the prefix of the settings, and returns the names of the namespaces.
///
/// # Errors
///
/// If the process may not, or something cannot be deleted.
pub fn remove(settings: &NetworkSettings) -> Result<Vec<String>> {
    maker::remove(programs(&settings.network_prefix)?)
}

/// Finds the programs, and checks that this process may make networks.
fn programs(prefix: &Prefix) -> Result<Programs> {
    let effective = capabilities(None)
        .context("failed to read the capabilities")?
        .effective;
    let needed = [
        (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
        (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN"),
    ];
    let lacking = needed.iter().filter(|(it, _)| !effective.contains(*it));
    let lacking: Vec<&str> = lacking.map(|(_, name)| *name).collect();
    if !lacking.is_empty() {
        bail!(
            "this process may not make networks: it lacks {}, so run it as root; {WITHOUT}",
            lacking.join(" and ")
        );
    }
    Programs::open(prefix)
}

fn management_listener(address: SocketAddr) -> Result<std::net::TcpListener> {
    let socket = bind(address).with_context(|| {
        format!("failed to listen on {address}, which is set by `network_management_listen`")
    })?;
    listen(socket)
}

/// Prints the address of the management port to standard output, and logs it.
fn announce(management: SocketAddr) {
    crate::announce::announce(format!(
        "making networks, health and metrics on http://{management}\n"
    ));
    tracing::info!(%management, "making networks");
}

/// Returns a name of a database that shows nothing of its URL, which sets the networks of a prefix apart
/// from those of another database.
fn name_of(database: &DatabaseLocation) -> String {
    let text = match database {
        DatabaseLocation::Sqlite(file) => {
            let folder = file.parent().filter(|it| *it != Path::new(""));
            let folder = folder.unwrap_or(Path::new(".")).canonicalize();
            let file = file.file_name().unwrap_or_default();
            folder.unwrap_or_default().join(file).display().to_string()
        }
        // Without the password, which may change, and the options.
        DatabaseLocation::Postgres(url) => {
            let address = url
                .rsplit_once('@')
                .map_or(url.as_str(), |(_, after)| after);
            address.split('?').next().unwrap_or_default().to_owned()
        }
    };
    let hash = Sha256::digest(text);
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the thread that makes networks has.
struct Work {
    maker: Maker,
    servers: Servers,
    terms: Terms,
    shared: Arc<Shared>,
    declared: BTreeMap<ProjectId, Declared>,
    /// Whether the last pass has failed somewhere, so that the next one waits for longer.
    has_failed: bool,
}

impl Work {
    /// Works until `stop`, or until nobody sends updates any more.
    fn run(
        mut self,
        runtime: &Handle,
        mut updates: mpsc::Receiver<Update>,
        stop: &CancellationToken,
    ) -> Result<()> {
        // Nothing is made before the database was read: it would be taken away.
        let Some(Some(first)) = runtime.block_on(stop.run_until_cancelled(updates.recv())) else {
            return Ok(());
        };
        self.take(first);
        let mut plan = Plan::new(&self.declared, &self.terms);
        let mut is_done = false;
        let mut doubted = Instant::now();
        loop {
            if !is_done {
                is_done = self.pass(&plan)?;
            }
            let wait = if is_done {
                TICK
            } else {
                let pause = if self.has_failed || self.maker.rests() {
                    PAUSE
                } else {
                    SETTLING
                };
                let rest = self.maker.rests_until();
                let rest = rest.map(|until| until.saturating_duration_since(Instant::now()));
                rest.map_or(pause, |rest| rest.clamp(SETTLING, pause))
            };
            // Within the runtime, which has the clock.
            let waiting = async { timeout(wait, updates.recv()).await };
            let received = runtime.block_on(stop.run_until_cancelled(waiting));
            match received {
                // Stopped, or nobody sends any more.
                None | Some(Ok(None)) => return Ok(()),
                Some(Ok(Some(update))) => {
                    self.take(update);
                    plan = Plan::new(&self.declared, &self.terms);
                    is_done = false;
                }
                Some(Err(_)) => {}
            }
            // Also while something changes all the time.
            if doubted.elapsed() >= TICK {
                self.maker.doubt(DOUBT);
                doubted = Instant::now();
                is_done = false;
            }
        }
    }

    fn take(&mut self, update: Update) {
        let changed = match update {
            Update::All(all) => {
                self.declared.clear();
                all
            }
            Update::Changed(changed) => changed,
        };
        for of in changed {
            if of.vms.is_empty() {
                self.declared.remove(&of.project);
            } else {
                self.declared.insert(of.project.clone(), of);
            }
        }
    }

    /// Brings the machine towards the plan. Returns whether there is nothing left to do.
    ///
    /// # Errors
    ///
    /// If nothing can be done.
    fn pass(&mut self, plan: &Plan) -> Result<bool> {
        let is_done = self.maker.pass(plan, SLICE)?;
        let mut failures = self.servers.bring(plan, &self.maker);
        failures.extend(self.maker.failures.clone());
        self.has_failed = !failures.is_empty();
        let prefix = self.maker.programs().prefix();
        let name = |place: &Place| {
            place
                .name(prefix)
                .unwrap_or_else(|| "this machine".to_owned())
        };
        let failed = failures
            .iter()
            .map(|(place, words)| format!("{}: {words}", name(place)));
        let is_up = |vm: &plan::PlannedVm| {
            let places = [Place::Vm(vm.id.clone()), Place::Project(vm.project.clone())];
            places
                .iter()
                .all(|it| self.maker.has(it) && !failures.contains_key(it))
        };
        let vms = plan.vms.iter().map(|vm| VmStatus {
            project: vm.project.to_string(),
            id: vm.id.to_string(),
            name: vm.name.to_string(),
            namespace: name(&Place::Vm(vm.id.clone())),
            public: vm.public.clone(),
            private: vm.private.clone(),
            is_up: is_up(vm),
        });
        self.shared.set(Status {
            is_in_force: is_done || self.maker.rests(),
            vms: vms.collect(),
            problems: failed.chain(plan.problems.iter().cloned()).collect(),
            left_out: plan.left_out.iter().cloned().collect(),
        });
        Ok(is_done && failures.is_empty())
    }
}
