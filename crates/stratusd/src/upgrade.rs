//! The change by which the operator gives a database another major version of PostgreSQL.

use api_types::{PostgresId, PostgresState, PostgresVersion, ProjectId};
use thiserror::Error;

use crate::domain::audit::OPERATOR;
use crate::domain::refusal::enumerate;
use crate::provision::Offer;
use crate::provision::local::{Binaries, CannotUpgrade};
#[cfg(feature = "provisioners")]
use crate::provision::remote::Remote;
use crate::serve::Kind;
use crate::settings::RemoteSettings;
use crate::storage::audit::{NewEntry, insert};
use crate::storage::database::Part;
use crate::storage::{self, Aborted, Change, Connection, StorageError, Store};
use crate::world::World;

/// The change that records the version that a database is to have, to which the reconciler then brings it.
/// Its output is the version that it has.
#[derive(Debug)]
pub struct Upgrade {
    /// The project of the database.
    pub project: ProjectId,
    /// The id of the database.
    pub id: PostgresId,
    /// The version. That which the database has takes an upgrade back that has not been made.
    pub to: PostgresVersion,
    /// The upgrades that can be made.
    pub possible: Possible,
    /// The source of time.
    pub world: World,
}

/// What says which upgrades can be made.
#[derive(Debug)]
pub enum Possible {
    /// The programs of PostgreSQL on this machine, on which the databases are servers.
    Programs(Binaries),
    /// What the provisioner offers.
    Offered(Offer),
    /// The provisioner has not said it, for this reason.
    Unknown(String),
}

impl Possible {
    /// Returns which upgrades the databases of a store can get. Asks the provisioner if it is another process.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn find(
        store: &Store,
        programs: Binaries,
        remote: &RemoteSettings,
    ) -> Result<Self, StorageError> {
        let mut reader = store.reader().await?;
        let kind = Kind::lookup(&mut reader.connection()).await?;
        drop(reader);
        Ok(match kind {
            Some(Kind::Local) => Self::Programs(programs),
            Some(Kind::Http) => Self::ask(remote).await,
            Some(Kind::Simulated) | None => Self::Offered(Offer::default()),
        })
    }

    #[cfg(feature = "provisioners")]
    async fn ask(remote: &RemoteSettings) -> Self {
        let remote = match Remote::open(remote) {
            Ok(remote) => remote,
            Err(error) => return Self::Unknown(format!("{error:#}")),
        };
        match remote.ask().await {
            Ok(offer) => Self::Offered(offer),
            Err(error) => Self::Unknown(error.to_string()),
        }
    }

    #[cfg(not(feature = "provisioners"))]
    #[expect(clippy::unused_async, reason = "it is with the feature")]
    async fn ask(_: &RemoteSettings) -> Self {
        Self::Unknown(crate::serve::WITHOUT.to_owned())
    }

    /// Checks that databases can be upgraded from one version to a later one.
    ///
    /// # Errors
    ///
    /// If they cannot, or if that is not known.
    fn ensure(&self, from: &PostgresVersion, to: &PostgresVersion) -> Result<(), UpgradeRefused> {
        match self {
            Self::Programs(programs) => {
                Ok(programs.ensure_upgrade(&from.to_string(), &to.to_string())?)
            }
            Self::Offered(offer) => {
                let offered = offer.upgrades_from(from);
                if offered.contains(to) {
                    return Ok(());
                }
                Err(UpgradeRefused::NotOffered(NotOffered {
                    from: from.clone(),
                    to: to.clone(),
                    offered,
                }))
            }
            Self::Unknown(reason) => Err(UpgradeRefused::NotSaid(reason.clone())),
        }
    }
}

/// An upgrade that the provisioner does not offer.
#[derive(Debug, Error)]
#[error("the provisioner cannot upgrade a database of version {from} to {to}: {}", ways(.offered))]
pub struct NotOffered {
    from: PostgresVersion,
    to: PostgresVersion,
    offered: Vec<PostgresVersion>,
}

/// Why a database is not upgraded. Nothing is recorded.
#[derive(Debug, Error)]
pub enum UpgradeRefused {
    /// There is no such database.
    #[error("the project has no database with this id: the API lists them with their ids")]
    NotFound,
    /// The database is not complete.
    #[error("the database is being created: wait until it runs")]
    Creating,
    /// PostgreSQL cannot do it.
    #[error("the database has version {0}, and PostgreSQL cannot go back to an older one")]
    Older(PostgresVersion),
    /// Another database is being made out of its backups.
    #[error("a database is being restored from it: wait until that runs")]
    Restored,
    /// The databases are servers on this machine, which lacks what an upgrade needs.
    #[error(transparent)]
    Programs(#[from] CannotUpgrade),
    /// The provisioner does not offer it.
    #[error(transparent)]
    NotOffered(NotOffered),
    /// It is not known what the provisioner offers.
    #[error(
        "the provisioner must say which upgrades it can make, and it has not: {0}; the command needs the settings of \
         the service for it, such as provisioner_url and provisioner_token_file"
    )]
    NotSaid(String),
}

/// Says which upgrades are possible.
fn ways(offered: &[PostgresVersion]) -> String {
    match offered {
        [] => "its databases of that version cannot be upgraded".to_owned(),
        offered => format!("it can upgrade to {}", enumerate(offered)),
    }
}

impl From<UpgradeRefused> for Aborted<UpgradeRefused> {
    fn from(refused: UpgradeRefused) -> Self {
        Self::Refused(refused)
    }
}

impl Change for Upgrade {
    type Output = PostgresVersion;
    type Refusal = UpgradeRefused;

    async fn apply(
        &self,
        tx: &mut Connection<'_>,
    ) -> Result<PostgresVersion, Aborted<UpgradeRefused>> {
        storage::lock::database(tx, &self.project, &self.id).await?;
        let found = storage::database::lookup_anywhere(tx, &self.project, &self.id).await?;
        let found = found.filter(|it| it.state != PostgresState::Deleting);
        let mut found = found.ok_or(UpgradeRefused::NotFound)?;
        if found.state == PostgresState::Creating {
            return Err(UpgradeRefused::Creating.into());
        }
        if is_older(&self.to, &found.version) {
            return Err(UpgradeRefused::Older(found.version).into());
        }
        let restored = storage::database::restoring_from(tx, &self.project, &self.id, 1).await?;
        if self.to != found.version && !restored.is_empty() {
            return Err(UpgradeRefused::Restored.into());
        }
        if self.to != found.version {
            self.possible.ensure(&found.version, &self.to)?;
        }
        if found.target_version != self.to {
            found.target_version = self.to.clone();
            let now = storage::clock::now(tx, &self.world).await?;
            storage::database::set(tx, &self.project, &found, Part::TargetVersion, now).await?;
            let entry = NewEntry {
                project_id: self.project.clone(),
                principal: OPERATOR.to_owned(),
                operation: "postgres_upgrade".to_owned(),
                resource: self.id.as_str().to_owned(),
                request_id: None,
            };
            insert(tx, &entry, &self.world).await?;
        }
        Ok(found.version)
    }
}

fn is_older(one: &PostgresVersion, other: &PostgresVersion) -> bool {
    let number = |version: &PostgresVersion| version.to_string().parse::<u32>().ok();
    number(one) < number(other)
}
