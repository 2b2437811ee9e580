//! Whoever makes databases: what the service asks of a provisioner, and one that simulates.

pub mod authority;
pub mod simulator;

use std::fmt;
use std::time::Duration;

use thiserror::Error;
use zeroize::Zeroizing;

/// Makes databases what they shall be.
///
/// Each call may come again, also after it succeeded: a service that dies before it has noted an answer asks once
/// more. So each step must do nothing where everything is done. No two calls for one database come at the same time.
///
/// A call begins something and returns; how far that has come is asked for later. One that takes too long is dropped
/// where it waits, counts as failed, and comes again.
pub trait Provisioner: Send + Sync + 'static {
    /// What a database is like now; `None` if there is none.
    fn observe(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<Option<Observed>, ProvisionError>> + Send;

    /// Begins to make a database, or goes on with it.
    fn create(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<Progress, ProvisionError>> + Send;

    /// Begins to give a database its size, storage, version and availability, or goes on with it.
    fn resize(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<Progress, ProvisionError>> + Send;

    /// Sets the password of the user `postgres`.
    fn set_password(
        &self,
        wanted: &Wanted,
        password: &Password,
    ) -> impl Future<Output = Result<(), ProvisionError>> + Send;

    /// How a database is reached.
    fn connection(
        &self,
        wanted: &Wanted,
    ) -> impl Future<Output = Result<ConnectionDetails, ProvisionError>> + Send;
}

/// What a database shall be, and what was last known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The project's id.
    pub project_id: String,
    /// The database's id.
    pub id: String,
    /// Its location.
    pub location: String,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub flavor: String,
    /// The networks that may reach it, in CIDR notation. They are settled when it is created.
    pub open_to: Vec<String>,
    /// What it shall be made of.
    pub shape: Shape,
    /// What was last noted of it, by this replica or another; `None` while it is being created. Its `ha_type` is not
    /// noted: there it is what the owner wants.
    pub known: Option<Observed>,
}

/// What a database is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The major version of PostgreSQL.
    pub version: String,
    /// The size of the virtual machine.
    pub vm_size: String,
    /// The storage in GiB.
    pub storage_size_gib: i64,
    /// How it stays available: by how many standbys, and whether they are in step.
    pub ha_type: String,
}

/// What a database is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Whether it answers.
    pub is_available: bool,
    /// What it is made of.
    pub shape: Shape,
    /// The space that its data takes, in bytes.
    pub used_bytes: i64,
    /// The earliest moment that it can be restored to, in seconds since 1970; none before the first backup.
    pub earliest_restore_time: Option<i64>,
    /// The latest moment that it can be restored to, in seconds since 1970.
    pub latest_restore_time: i64,
}

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is done.
    Done,
    /// It goes on by itself: ask again after this time.
    Pending(Duration),
}

/// How a database is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionDetails {
    /// The host, on port 5432.
    pub host: String,
    /// The certificates of the authority that has signed the server's, in PEM.
    pub ca_certificates: String,
    /// The server's own certificate, in PEM.
    pub server_certificate: String,
}

/// A password that is never printed.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// Hides a password.
    #[must_use]
    pub fn new(text: Zeroizing<String>) -> Self {
        Self(text)
    }

    /// The password.
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

/// A step that failed: it is tried again later. The text is for the operator's log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ProvisionError(pub String);
