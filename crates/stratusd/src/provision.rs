//! The trait through which the service creates and changes Postgres databases, a provisioner that
//! runs them on this machine, a simulator, and a provisioner in another process, which is called over
//! HTTP.

pub mod authority;
#[cfg(feature = "provisioners")]
pub mod check;
mod line;
pub mod local;
mod offer;
#[cfg(feature = "provisioners")]
pub mod remote;
#[cfg(feature = "provisioners")]
pub mod served;
pub mod simulator;
#[cfg(feature = "provisioners")]
mod token;
#[cfg(feature = "provisioners")]
mod wire;

pub(crate) use line::line;
pub use offer::{Offer, Offers};

use std::fmt;
use std::future;
use std::time::Duration;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use zeroize::Zeroizing;

/// A type that creates, observes and changes Postgres databases.
///
/// Every method must be idempotent: the reconciler repeats a call if the service stops before it
/// has recorded the result, even after the call succeeded. It never makes two calls for the same
/// database at the same time.
///
/// A call should start the work and return. The reconciler calls again to see the progress. A call
/// that takes too long is cancelled (its future is dropped), counts as failed, and is repeated
/// later.
pub trait Provisioner: Send + Sync + 'static {
    /// Returns the current state of a database, or `None` if it does not exist or is still being
    /// created. A database that `wanted.known` says was created, and that does not exist, is
    /// [lost](ProvisionError::NoDatabase): the reconciler does not create it again.
    fn observe(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<Option<Observed>, ProvisionError>> + Send;

    /// Starts to create a database, with the data of `wanted.restored` if that is set. If its
    /// creation has started already, returns the progress.
    fn create(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<Progress, ProvisionError>> + Send;

    /// Starts to change a database to `wanted.shape`. If that change has started already, returns
    /// the progress. What interrupts the database waits for `wanted.maintenance_window`, and other
    /// parts of the change do not wait for it.
    fn resize(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<Progress, ProvisionError>> + Send;

    /// Starts a restart of a database. If the restart with this number has started already, returns
    /// the progress. A later restart of the same database has a greater number.
    fn restart(
        &self,
        wanted: &Wanted,
        number: i64,
    ) -> impl Future<Output = Result<Progress, ProvisionError>> + Send;

    /// Starts to make a standby of a database its primary, in a planned switch that loses nothing.
    /// If the switch with this number has started already, returns the progress. A later switch of
    /// the same database has a greater number. A database that `wanted` leaves without standbys
    /// stays as it is.
    fn promote(
        &self,
        wanted: &Wanted,
        number: i64,
    ) -> impl Future<Output = Result<Progress, ProvisionError>> + Send;

    /// Starts to delete a database with its data and backups, also one whose creation has not ended.
    /// If that has started already, returns the progress: `Done` once nothing of the database exists.
    fn delete(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<Progress, ProvisionError>> + Send;

    /// Lets exactly the networks of `wanted.open_to` connect to a database.
    fn restrict(&self, wanted: &Wanted) -> impl Future<Output = Result<(), ProvisionError>> + Send;

    /// Sets the password of the user `postgres` of a database.
    fn set_password(
        &self,
        wanted: &Wanted,
        password: &Password,
    ) -> impl Future<Output = Result<(), ProvisionError>> + Send;

    /// Returns the host and the certificates that clients need to connect to a database.
    fn connection(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<ConnectionDetails, ProvisionError>> + Send;

    /// Begins to say which databases change for another reason than a call, such as a fail-over. Returns
    /// `None` if the provisioner does not say so now, as by default: the reconciler asks again.
    ///
    /// An event is a hint, on which the reconciler observes the database. Events may be lost: it observes all
    /// databases from time to time in any case.
    fn events(&self) -> impl Future<Output = Result<Option<Events>, ProvisionError>> + Send {
        future::ready(Ok(None))
    }
}

/// The ids of databases whose state has changed, as they change. They end with an error, or without one.
pub type Events = BoxStream<'static, Result<String, ProvisionError>>;

/// The wanted state of a database, and the state that the service has recorded last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The id of the project.
    pub project_id: String,
    /// The id of the database.
    pub id: String,
    /// The location of the database.
    pub location: String,
    /// The name of the database.
    pub name: String,
    /// The flavor of the database.
    pub flavor: String,
    /// The networks that may connect to the database, in CIDR notation.
    pub open_to: Vec<String>,
    /// The wanted version, size, storage and high availability.
    pub shape: Shape,
    /// The hour of the day, in UTC, in which changes that the owner has asked for may interrupt the
    /// database, or `None` if they may at any time. A restart or a promotion does not wait for it.
    pub maintenance_window: Option<u8>,
    /// The data that the database is created with, or `None` if it is created empty.
    pub restored: Option<Restored>,
    /// The state that this or another replica of the service recorded last, or `None` before the
    /// database is created. Its `ha_type` is always the wanted one, because it is not recorded.
    pub known: Option<Observed>,
}

impl Wanted {
    /// Returns how long a change of the size has to wait for the maintenance window, or `None` if it
    /// need not. `now` is in milliseconds since 1970.
    #[must_use]
    pub fn until_maintenance(&self, now: i64) -> Option<Duration> {
        const HOUR: i64 = 60 * 60 * 1000;
        const DAY: i64 = 24 * HOUR;
        let since_start = (now - i64::from(self.maintenance_window?) * HOUR).rem_euclid(DAY);
        let is_open = since_start < HOUR;
        let left = u64::try_from(DAY - since_start).unwrap_or_default();
        (!is_open).then(|| Duration::from_millis(left))
    }

    /// Returns the shape that a database may change to from `shape`: the wanted one, without its size if
    /// that has to wait for the maintenance window. `now` is in milliseconds since 1970.
    #[must_use]
    pub fn shape_at(&self, now: i64, shape: &Shape) -> Shape {
        let mut allowed = self.shape.clone();
        if self.until_maintenance(now).is_some() {
            allowed.vm_size.clone_from(&shape.vm_size);
        }
        allowed
    }
}

/// The data of another database at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The id of the other database. It is not deleted as long as this one is being created.
    pub from: String,
    /// The time, in microseconds since 1970. What was committed later is not in the data.
    pub until: i64,
}

/// The resources and configuration of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The major version of PostgreSQL.
    pub version: String,
    /// The size of the virtual machine.
    pub vm_size: String,
    /// The storage in GiB.
    pub storage_size_gib: i64,
    /// The kind of high availability: the number of standbys, and whether they replicate
    /// synchronously.
    pub ha_type: String,
}

impl Shape {
    /// Returns whether this shape has an earlier major version than another one. PostgreSQL cannot go back
    /// to one.
    #[must_use]
    pub fn is_older_than(&self, other: &Self) -> bool {
        let number = |shape: &Self| shape.version.parse::<u32>().ok();
        number(self)
            .zip(number(other))
            .is_some_and(|(this, other)| this < other)
    }
}

/// The observed state of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Whether the database accepts connections.
    pub is_available: bool,
    /// The version, size, storage and high availability that the database has now.
    pub shape: Shape,
    /// The size of the data in bytes.
    pub used_bytes: i64,
    /// The earliest time that the database can be restored to, in seconds since 1970. `None` before
    /// the first backup.
    pub earliest_restore_time: Option<i64>,
    /// The latest time that the database can be restored to, in seconds since 1970.
    pub latest_restore_time: i64,
    /// The backups of the database, the oldest first. The service records the newest
    /// [`MOST_BACKUPS`].
    pub backups: Vec<Backup>,
}

/// The maximum number of backups of a database that the service records.
pub const MOST_BACKUPS: usize = 100;

/// A backup of all data of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The name of the backup, unique in its database, of 1 to 255 characters. The keys of later
    /// backups are greater.
    pub key: String,
    /// When the backup was complete, in seconds since 1970.
    pub last_modified: i64,
}

/// The progress of a step: of the creation of a database, or of a change to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The step is complete.
    Done,
    /// The step is in progress. The service should call again after this time.
    Pending(Duration),
}

/// The host and the certificates that clients need to connect to a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionDetails {
    /// The host name. The port is 5432.
    pub host: String,
    /// The certificates of the authority that issued the server certificate, in PEM.
    pub ca_certificates: String,
    /// The server certificate, in PEM.
    pub server_certificate: String,
}

/// A password that is never printed, and erased from memory when dropped.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// Wraps a password.
    #[must_use]
    pub fn new(text: Zeroizing<String>) -> Self {
        Self(text)
    }

    /// Returns the password.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// The reason why a call of a [`Provisioner`] failed, for the log. The reconciler repeats the call
/// later.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProvisionError {
    /// The call failed.
    #[error("{0}")]
    Failed(String),
    /// The provisioner does not have the database, or has lost it.
    #[error("{0}")]
    NoDatabase(String),
    /// The provisioner cannot make the call now, and is well.
    #[error("{reason}")]
    Busy {
        /// What it says.
        reason: String,
        /// How long to wait before the next call for the same database.
        wait: Duration,
    },
}

impl ProvisionError {
    /// Returns the error of a step of a database that does not exist.
    #[must_use]
    pub fn no_database() -> Self {
        Self::NoDatabase("the database does not exist".to_owned())
    }
}
