//! The choice of what creates Postgres databases: real servers on this machine, or the simulator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use api_types::PostgresVersion;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::operations::Context;
use crate::provision::authority::Authority;
use crate::provision::local::{Binaries, Local, LocalConfig, Owner};
use crate::provision::simulator::{Simulator, SimulatorConfig};
use crate::reconcile::{Reconciler, ReconcilerConfig, Steps};
use crate::settings::{Folders, ProcessSettings, ProvisionerChoice, ServiceSettings};
use crate::storage::{self, Aborted, Change, Connection, DatabaseLocation, Store};
use crate::world::World;

/// The name of the last choice in the table `service_state`.
const NAME: &str = "provisioner";

/// What creates the databases of this service.
#[derive(Debug)]
pub(super) enum Chosen {
    /// Servers on this machine.
    Local(Local),
    /// A simulator: no servers run.
    Simulated(Box<Simulator>),
}

/// What is needed to run databases on this machine, or why it cannot be done.
#[derive(Debug)]
pub(super) struct Choice {
    wanted: ProvisionerChoice,
    local: Result<LocalConfig>,
}

impl Choice {
    /// Looks at what this machine has.
    ///
    /// # Errors
    ///
    /// If the settings demand what it cannot do.
    pub(super) fn look(settings: &ServiceSettings, database: &DatabaseLocation) -> Result<Self> {
        let wanted = settings.provisioner;
        let local = match wanted {
            ProvisionerChoice::Simulated => Err(anyhow!("the settings say so")),
            ProvisionerChoice::Auto | ProvisionerChoice::Local => local(settings, database),
        };
        if wanted == ProvisionerChoice::Local
            && let Err(error) = local
        {
            return Err(error.context("the databases cannot run on this machine"));
        }
        Ok(Self { wanted, local })
    }

    /// Chooses, records the choice in the store, and says it.
    ///
    /// # Errors
    ///
    /// If the store fails, or if it has databases that run on this machine, and they cannot.
    pub(super) async fn decide(
        self,
        (process, settings): (&ProcessSettings, &ServiceSettings),
        store: &Store,
        world: &World,
        authority: Authority,
    ) -> Result<Chosen> {
        let recorded = self.recorded(store).await?;
        let config = match (recorded, self.local) {
            (Kind::Local, local) => Some(
                local.context("its databases run on this machine, which is not possible now")?,
            ),
            (Kind::Simulated, local) => {
                let reason = local.err().map_or_else(
                    || "those that exist are".to_owned(),
                    |error| format!("{error:#}"),
                );
                tracing::warn!("Postgres databases are simulated, not created: {reason}");
                None
            }
        };
        let Some(config) = config else {
            let config = simulator_config(process, settings);
            return Ok(Chosen::Simulated(Box::new(Simulator::new(
                config,
                world.clone(),
                authority,
            ))));
        };
        let versions: Vec<_> = config.binaries.versions().collect();
        tracing::info!(
            folder = %config.folder.display(),
            versions = versions.join(", "),
            "Postgres databases run on this machine"
        );
        let local = Local::open(config, authority, world.clone());
        Ok(Chosen::Local(
            local.context("failed to open the folder of the databases")?,
        ))
    }

    /// Returns what creates the databases of a store from now on, and records it. With `auto` it
    /// stays what it was.
    ///
    /// # Errors
    ///
    /// If there are databases of the other kind: a simulated database must not become a real, empty
    /// one, and a real one must not be forgotten.
    async fn recorded(&self, store: &Store) -> Result<Kind> {
        let kind = match self.wanted {
            ProvisionerChoice::Local => Some(Kind::Local),
            ProvisionerChoice::Simulated => Some(Kind::Simulated),
            ProvisionerChoice::Auto => None,
        };
        let possible = if self.local.is_ok() {
            Kind::Local
        } else {
            Kind::Simulated
        };
        let record = Record { kind, possible };
        let recorded = store.change(record).await.map_err(Aborted::failure)?;
        recorded.with_context(|| {
            let wanted = self.wanted;
            format!(
                "provisioner = {wanted} is not that of the databases that exist: delete them first"
            )
        })
    }
}

impl Chosen {
    /// Returns the versions of PostgreSQL that databases can have, or `None` for all.
    pub(super) fn versions(&self) -> Option<Vec<PostgresVersion>> {
        match self {
            Self::Local(local) => Some(local.versions().map(PostgresVersion::from).collect()),
            Self::Simulated(_) => None,
        }
    }

    /// Starts the reconciler, and the supervisor of the servers if there are any.
    pub(super) fn start(self, with: Reconciling, stop: &CancellationToken) -> JoinHandle<()> {
        let Reconciling {
            store,
            context,
            config,
            steps,
        } = with;
        let stop = stop.clone();
        match self {
            Self::Local(local) => tokio::spawn(async move {
                let supervisor = tokio::spawn(local.clone().supervise(stop.clone()));
                Reconciler::new(store, context, local, config, steps)
                    .run(stop)
                    .await;
                // It ends by the same signal. A panic was logged.
                let _ = supervisor.await;
            }),
            Self::Simulated(simulator) => {
                tokio::spawn(Reconciler::new(store, context, *simulator, config, steps).run(stop))
            }
        }
    }
}

/// What the reconciler needs beside a provisioner.
pub(super) struct Reconciling {
    pub(super) store: Store,
    pub(super) context: Context,
    pub(super) config: ReconcilerConfig,
    pub(super) steps: Arc<Steps>,
}

/// What creates the databases of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Local,
    Simulated,
}

/// The change that records what creates databases from now on, and returns it. Returns `None`, and
/// records nothing, if there are databases of the other kind.
struct Record {
    /// What the settings say, if they do.
    kind: Option<Kind>,
    /// What is possible on this machine.
    possible: Kind,
}

impl Change for Record {
    type Output = Option<Kind>;
    type Refusal = std::convert::Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Option<Kind>, Aborted<Self::Refusal>> {
        let recorded = storage::service_state::lookup(tx, NAME).await?;
        let recorded = match recorded.as_deref() {
            Some(b"local") => Some(Kind::Local),
            Some(_) => Some(Kind::Simulated),
            // A store of an earlier version, whose databases were all simulated.
            None if storage::database::is_any(tx).await? => Some(Kind::Simulated),
            None => None,
        };
        let kind = self.kind.or(recorded).unwrap_or(self.possible);
        if recorded.is_some_and(|recorded| recorded != kind)
            && storage::database::is_any(tx).await?
        {
            return Ok(None);
        }
        let text: &[u8] = match kind {
            Kind::Local => b"local",
            Kind::Simulated => b"simulated",
        };
        storage::service_state::put(tx, NAME, text).await?;
        Ok(Some(kind))
    }
}

/// Returns what the local provisioner needs on this machine.
fn local(settings: &ServiceSettings, database: &DatabaseLocation) -> Result<LocalConfig> {
    let folders = settings.local_binaries.as_ref();
    let folders = folders.map_or_else(Vec::new, Folders::paths);
    let binaries = Binaries::find(&folders);
    if binaries.is_empty() {
        bail!("no PostgreSQL 16, 17 or 18 is installed, or local_binaries does not name it");
    }
    let addresses = settings.local_addresses;
    addresses.ensure_here().with_context(|| {
        format!("this machine has no addresses of {addresses} (local_addresses)")
    })?;
    let folder = match (&settings.local_folder, database) {
        (Some(folder), _) => folder.as_path().to_owned(),
        (None, DatabaseLocation::Sqlite(file)) => beside(file),
        (None, DatabaseLocation::Postgres(_)) => {
            bail!("local_folder is not set, as it must be beside a store in PostgreSQL")
        }
    };
    let owner = Owner::find(settings.local_user.as_str(), settings.local_first_uid.get())?;
    let backup_folder = settings.local_backup_folder.as_ref();
    let backup_folder =
        backup_folder.map_or_else(|| folder.join("backups"), |it| it.as_path().to_owned());
    for folder in binaries.folders().chain([&*folder, &*backup_folder]) {
        owner.ensure_reachable(folder)?;
    }
    Ok(LocalConfig {
        folder,
        binaries,
        addresses,
        owner,
        bytes_per_gib: settings.local_bytes_per_gib.get(),
        backup_folder,
        backup_every: settings.local_backup_every.get(),
    })
}

fn simulator_config(process: &ProcessSettings, settings: &ServiceSettings) -> SimulatorConfig {
    SimulatorConfig {
        delay: settings.simulate_delay.get(),
        jitter: settings.simulate_jitter.get(),
        failures: settings.simulate_failures.get(),
        outages: settings.simulate_outages.get(),
        used: settings.simulate_used.get(),
        seed: settings.simulate_seed,
        service_domain: process.service_domain.as_str().to_owned(),
    }
}

/// Returns the folder of the databases beside a store in a file.
fn beside(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push("-postgres");
    path.into()
}
