//! The choice of what creates Postgres databases: real servers on this machine, the simulator, or
//! another process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use api_types::PostgresVersion;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::operations::Context;
use crate::provision::authority::Authority;
use crate::provision::local::{Binaries, Local, LocalConfig, Owner, Sharing};
#[cfg(feature = "provisioners")]
use crate::provision::remote::Remote;
use crate::provision::simulator::{Simulator, SimulatorConfig};
use crate::provision::{Offer, Offers};
use crate::reconcile::{Reconciler, ReconcilerConfig, Steps};
use crate::settings::{
    Folders, ProcessSettings, ProvisionerChoice, ProvisionerSettings, RemoteSettings, Switch,
};
use crate::storage::{
    self, Aborted, Change, Connection, DatabaseLocation, ReadOnlyStore, StorageError, Store,
};
use crate::world::World;

/// The name of the last choice in the table `service_state`.
const NAME: &str = "provisioner";

/// Why this program calls no provisioner.
#[cfg(not(feature = "provisioners"))]
pub(crate) const WITHOUT: &str = "databases are to be created by another process, and this program was built without the feature \
                       `provisioners`: build it with that feature";

/// What creates the databases of this service.
#[derive(Debug)]
pub(super) enum Chosen {
    /// Servers on this machine.
    Local(Local),
    /// A simulator: no servers run.
    Simulated(Box<Simulator>),
    /// Another process.
    #[cfg(feature = "provisioners")]
    Remote(Remote),
}

/// What is needed to run databases on this machine, or why it cannot be done, and the other process
/// that is to run them, if there is one.
#[derive(Debug)]
pub(super) struct Choice {
    wanted: ProvisionerChoice,
    local: Result<LocalConfig>,
    #[cfg(feature = "provisioners")]
    remote: Option<Remote>,
}

impl Choice {
    /// Looks at what this machine has.
    ///
    /// # Errors
    ///
    /// If the settings demand what it cannot do.
    pub(super) fn look(
        settings: &ProvisionerSettings,
        remote: &RemoteSettings,
        folder: Option<PathBuf>,
    ) -> Result<Self> {
        let wanted = settings.provisioner;
        let local = match wanted {
            ProvisionerChoice::Simulated | ProvisionerChoice::Http => {
                Err(anyhow!("the settings say so"))
            }
            ProvisionerChoice::Auto | ProvisionerChoice::Local => local(settings, folder),
        };
        if wanted == ProvisionerChoice::Local
            && let Err(error) = local
        {
            return Err(error.context("the databases cannot run on this machine"));
        }
        #[cfg(not(feature = "provisioners"))]
        if wanted == ProvisionerChoice::Http {
            let _ = remote;
            bail!(WITHOUT);
        }
        Ok(Self {
            wanted,
            local,
            #[cfg(feature = "provisioners")]
            remote: match wanted {
                ProvisionerChoice::Http => Some(Remote::open(remote)?),
                _ => None,
            },
        })
    }

    /// Chooses, records the choice in the store, and says it.
    ///
    /// # Errors
    ///
    /// If the store fails, or if it has databases that run on this machine, and they cannot.
    pub(super) async fn decide(
        self,
        of: (&ProcessSettings, &ProvisionerSettings),
        store: &Store,
        world: &World,
        authority: Authority,
    ) -> Result<Chosen> {
        match self.recorded(store).await? {
            Kind::Local => {
                run_here(self.local.context(NOT_HERE)?, authority, world).map(Chosen::Local)
            }
            Kind::Simulated => {
                let reason = simulated_because(self.local);
                Ok(Chosen::Simulated(Box::new(simulate(
                    &reason, of, world, authority,
                ))))
            }
            #[cfg(not(feature = "provisioners"))]
            Kind::Http => bail!(WITHOUT),
            #[cfg(feature = "provisioners")]
            Kind::Http => {
                let remote = self.remote.context(NOT_CALLED)?;
                remote.announce().await;
                Ok(Chosen::Remote(remote))
            }
        }
    }

    /// Chooses for a process without a store, and says it.
    ///
    /// # Errors
    ///
    /// If databases cannot run here and were not asked to be simulated: without a store, nothing would
    /// know that real ones are among them. If the folder of the databases cannot be used.
    #[cfg(feature = "provisioners")]
    pub(super) fn decide_alone(
        self,
        of: (&ProcessSettings, &ProvisionerSettings),
        world: &World,
        authority: Authority,
    ) -> Result<Chosen> {
        match self.local {
            Ok(config) => run_here(config, authority, world).map(Chosen::Local),
            Err(reason) if self.wanted != ProvisionerChoice::Simulated => Err(reason.context(
                "the databases cannot run on this machine; to simulate them, set provisioner = \"simulated\"",
            )),
            Err(reason) => Ok(Chosen::Simulated(Box::new(simulate(
                &reason, of, world, authority,
            )))),
        }
    }

    /// Returns what creates the databases of a store from now on, and records it. With `auto` it
    /// stays what it was.
    ///
    /// # Errors
    ///
    /// If there are databases of the other kind: a simulated database must not become a real, empty
    /// one, and a real one must not be forgotten.
    async fn recorded(&self, store: &Store) -> Result<Kind> {
        let recorded = store.change(self.record()).await;
        self.ensure_kind(recorded.map_err(Aborted::failure)?)
    }

    fn record(&self) -> Record {
        Record {
            kind: match self.wanted {
                ProvisionerChoice::Local => Some(Kind::Local),
                ProvisionerChoice::Simulated => Some(Kind::Simulated),
                ProvisionerChoice::Http => Some(Kind::Http),
                ProvisionerChoice::Auto => None,
            },
            possible: if self.local.is_ok() {
                Kind::Local
            } else {
                Kind::Simulated
            },
        }
    }

    fn ensure_kind(&self, kind: Option<Kind>) -> Result<Kind> {
        kind.with_context(|| {
            let wanted = self.wanted;
            format!(
                "provisioner = {wanted} is not that of the databases that exist: delete them first"
            )
        })
    }

    /// Says what creates the databases of a store if a service starts now. Changes nothing.
    ///
    /// # Errors
    ///
    /// If the service would not start.
    async fn foresee(self, store: Option<&ReadOnlyStore>) -> Result<Foreseen> {
        let record = self.record();
        let chosen = match store {
            Some(store) => {
                let mut reader = store.snapshot().await?;
                record.choose(&mut reader.connection()).await?
            }
            None => Some(record.kind.unwrap_or(record.possible)),
        };
        Ok(match self.ensure_kind(chosen)? {
            #[cfg(not(feature = "provisioners"))]
            Kind::Http => bail!(WITHOUT),
            #[cfg(feature = "provisioners")]
            Kind::Http => {
                self.remote.context(NOT_CALLED)?;
                Foreseen::Http
            }
            Kind::Local => {
                let config = self.local.context(NOT_HERE)?;
                Foreseen::Local {
                    versions: config.binaries.versions().map(str::to_owned).collect(),
                    is_isolated: config.owner != Owner::Itself,
                }
            }
            Kind::Simulated => Foreseen::Simulated {
                reason: format!("{:#}", simulated_because(self.local)),
            },
        })
    }
}

/// Why a service does not start whose databases run on this machine.
const NOT_HERE: &str = "its databases run on this machine, which is not possible now";

/// Why a service does not start whose databases another process creates.
#[cfg(feature = "provisioners")]
const NOT_CALLED: &str =
    "its databases are created by another process: set provisioner = \"http\" and provisioner_url";

/// Returns why databases are simulated.
fn simulated_because(local: Result<LocalConfig>) -> anyhow::Error {
    match local {
        Ok(_) => anyhow!("those that exist are"),
        Err(reason) => reason,
    }
}

/// What creates the databases of a store if a service starts with the same settings.
#[derive(Debug)]
pub enum Foreseen {
    /// Servers on this machine.
    Local {
        /// The versions of PostgreSQL that databases can have.
        versions: Vec<String>,
        /// Whether each database has a user of the operating system of its own.
        is_isolated: bool,
    },
    /// A simulator.
    Simulated {
        /// Why no servers run.
        reason: String,
    },
    /// Another process.
    Http,
}

/// Says what creates the databases of a store if a service starts now. `store` is `None` if there is none
/// yet. Changes nothing.
///
/// # Errors
///
/// If the service would not start for a reason that has to do with its databases.
pub async fn foresee(
    settings: (&ProvisionerSettings, &RemoteSettings),
    database: &DatabaseLocation,
    store: Option<&ReadOnlyStore>,
) -> Result<Foreseen> {
    let (provisioner, remote) = settings;
    remote.ensure_complete(provisioner.provisioner)?;
    let choice = Choice::look(provisioner, remote, folder_beside(database))?;
    choice.foresee(store).await
}

impl Chosen {
    /// Returns what databases can be created with, and changed to.
    pub(super) fn offers(&self) -> Offers {
        match self {
            Self::Local(local) => Offers::from(Offer {
                versions: Some(local.versions().map(PostgresVersion::from).collect()),
                upgrades: local.offered_upgrades().map(upgrade).collect(),
                flavors: Some(vec![Local::FLAVOR]),
                ..Offer::default()
            }),
            Self::Simulated(_) => Offers::default(),
            #[cfg(feature = "provisioners")]
            Self::Remote(remote) => remote.offers(),
        }
    }

    /// Starts the reconciler, and what its provisioner needs beside it: the supervisor of the servers, or
    /// the watch over the other process.
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
            #[cfg(feature = "provisioners")]
            Self::Remote(remote) => tokio::spawn(async move {
                let watch = tokio::spawn(remote.clone().watch(stop.clone()));
                Reconciler::new(store, context, remote, config, steps)
                    .run(stop)
                    .await;
                // It ends by the same signal. A panic was logged.
                let _ = watch.await;
            }),
        }
    }
}

fn upgrade((from, to): (&str, Vec<&str>)) -> (PostgresVersion, Vec<PostgresVersion>) {
    let to = to.into_iter().map(PostgresVersion::from);
    (PostgresVersion::from(from), to.collect())
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
pub(crate) enum Kind {
    Local,
    Simulated,
    Http,
}

impl Kind {
    /// Returns what creates the databases of a store, or `None` if that was not chosen yet.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub(crate) async fn lookup(c: &mut Connection<'_>) -> Result<Option<Self>, StorageError> {
        let recorded = storage::service_state::lookup(c, NAME).await?;
        Ok(match recorded.as_deref() {
            Some(b"local") => Some(Self::Local),
            Some(b"http") => Some(Self::Http),
            Some(b"simulated") => Some(Self::Simulated),
            // Real databases must not become simulated ones.
            Some(_) => {
                return Err(StorageError::Version(
                    "what creates the databases is recorded by a newer program: use that"
                        .to_owned(),
                ));
            }
            // A store of an earlier version, whose databases were all simulated.
            None if storage::database::is_any(c).await? => Some(Self::Simulated),
            None => None,
        })
    }
}

/// The change that records what creates databases from now on, and returns it. Returns `None`, and
/// records nothing, if there are databases of the other kind.
struct Record {
    /// What the settings say, if they do.
    kind: Option<Kind>,
    /// What is possible on this machine.
    possible: Kind,
}

impl Record {
    /// Returns what creates databases from now on, or `None` if there are databases of the other kind.
    async fn choose(&self, c: &mut Connection<'_>) -> Result<Option<Kind>, StorageError> {
        let recorded = Kind::lookup(c).await?;
        let kind = self.kind.or(recorded).unwrap_or(self.possible);
        if recorded.is_some_and(|recorded| recorded != kind) && storage::database::is_any(c).await?
        {
            return Ok(None);
        }
        Ok(Some(kind))
    }
}

impl Change for Record {
    type Output = Option<Kind>;
    type Refusal = std::convert::Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Option<Kind>, Aborted<Self::Refusal>> {
        let Some(kind) = self.choose(tx).await? else {
            return Ok(None);
        };
        let text: &[u8] = match kind {
            Kind::Local => b"local",
            Kind::Simulated => b"simulated",
            Kind::Http => b"http",
        };
        storage::service_state::put(tx, NAME, text).await?;
        Ok(Some(kind))
    }
}

/// Opens the folder of the databases of this machine, and says so.
fn run_here(config: LocalConfig, authority: Authority, world: &World) -> Result<Local> {
    let versions: Vec<_> = config.binaries.versions().collect();
    tracing::info!(
        folder = %config.folder.display(),
        versions = versions.join(", "),
        "Postgres databases run on this machine"
    );
    if config.owner == Owner::Itself {
        tracing::warn!(
            "these databases are not isolated: all run as the user of this process, so the owner of one can read all \
             others, and the files of this process with its encryption keys (local_shared_user = \"on\")"
        );
    }
    let local = Local::open(config, authority, world.clone());
    local.context("failed to open the folder of the databases")
}

/// Makes a simulator, and says why no database is created.
fn simulate(
    reason: &anyhow::Error,
    (process, settings): (&ProcessSettings, &ProvisionerSettings),
    world: &World,
    authority: Authority,
) -> Simulator {
    tracing::warn!("Postgres databases are simulated, not created: {reason:#}");
    let config = simulator_config(process, settings);
    Simulator::new(config, world.clone(), authority)
}

/// Returns what the local provisioner needs on this machine. `folder` is that of the databases if the
/// settings do not name one.
fn local(settings: &ProvisionerSettings, folder: Option<PathBuf>) -> Result<LocalConfig> {
    let folders = settings.local_binaries.as_ref();
    let folders = folders.map_or_else(Vec::new, Folders::paths);
    let binaries = Binaries::find(&folders);
    if binaries.is_empty() {
        bail!("no PostgreSQL 16, 17 or 18 is installed, or local_binaries does not name it");
    }
    let addresses = settings.local_addresses.clone();
    addresses.ensure_here().map_err(|(network, error)| {
        let wrong = format!("this machine has no addresses of {network} (local_addresses)");
        anyhow::Error::new(error).context(wrong)
    })?;
    let named = settings.local_folder.as_ref();
    let folder = named
        .map(|folder| folder.as_path().to_owned())
        .or(folder)
        .context("local_folder is not set, as it must be beside a store in PostgreSQL")?;
    let sharing = match settings.local_shared_user {
        Switch::On => Sharing::Allowed,
        Switch::Off => Sharing::Refused,
    };
    let first = settings.local_first_uid.get();
    let owner = Owner::find(settings.local_user.as_str(), first, sharing)?;
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

fn simulator_config(process: &ProcessSettings, settings: &ProvisionerSettings) -> SimulatorConfig {
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

/// Returns the folder of the databases beside a store in a file, or `None` for a store elsewhere.
pub(super) fn folder_beside(database: &DatabaseLocation) -> Option<PathBuf> {
    match database {
        DatabaseLocation::Sqlite(file) => Some(beside(file)),
        DatabaseLocation::Postgres(_) => None,
    }
}

fn beside(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push("-postgres");
    path.into()
}
