//! What the API means: its rules, and each operation as a change or a reading of the store.
//!
//! Nothing here knows of HTTP or SQL. Checks come in the contract's order: project, location, resource, permission,
//! values, uniqueness; whatever fails first is the answer.

pub mod catalogue;
pub mod firewall;
pub mod id;
pub mod inference_api_key;
pub mod list;
pub mod load_balancer;
pub mod network;
pub mod password;
pub mod postgres;
pub mod private_subnet;
pub mod refusal;
pub mod token;
pub mod vm;

use std::str::FromStr;
use std::sync::Arc;

use api_types::{Location, ProjectId};

use crate::seal::Sealer;
use crate::storage::{Aborted, StorageError};

use crate::world::World;
pub use refusal::Refusal;

/// What an operation ends in.
pub type Outcome<T> = Result<T, Aborted<Refusal>>;

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The only project that the caller may see.
    pub project_id: String,
    /// What the caller may do there.
    pub access: Access,
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everything.
    Full,
    /// Nothing that changes anything.
    ReadOnly,
}

impl Access {
    /// Refuses changes to those who may only read.
    pub fn ensure_full(self) -> Result<(), Refusal> {
        match self {
            Self::Full => Ok(()),
            Self::ReadOnly => Err(Refusal::ReadOnly),
        }
    }
}

/// A location of a project, both known to exist, and what the caller may do there.
#[derive(Debug, Clone)]
pub struct Place {
    project: String,
    location: Location,
    access: Access,
}

impl Place {
    /// The place of a request, if the caller may know of it.
    ///
    /// # Errors
    ///
    /// A project that is not the caller's, then a location that is none of `known`.
    pub fn new(
        caller: &Caller,
        project: &ProjectId,
        location: Location,
        known: &Locations,
    ) -> Result<Self, Refusal> {
        ensure_project(caller, project)?;
        if known.iter().any(|known| known.name == location.as_str()) {
            return Ok(Self {
                project: caller.project_id.clone(),
                location,
                access: caller.access,
            });
        }
        Err(Refusal::UnknownLocation(
            known.iter().map(|known| known.name.clone()).collect(),
        ))
    }

    fn key(&self) -> (&str, &str) {
        (&self.project, self.location.as_str())
    }
}

/// Every location there is.
pub type Locations = [crate::storage::location::Location];

/// Hides every project but the caller's own.
///
/// # Errors
///
/// If it is another one.
pub fn ensure_project(caller: &Caller, project: &ProjectId) -> Result<(), Refusal> {
    if caller.project_id == project.as_str() {
        Ok(())
    } else {
        Err(Refusal::ProjectNotFound)
    }
}

/// What operations share.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Time and randomness.
    pub world: World,
    /// Seals passwords.
    pub sealer: Arc<Sealer>,
    /// The domain that host names end in.
    pub service_domain: String,
}

/// A stored text as what it was when it was stored.
fn stored<T: FromStr>(text: &str, what: &'static str) -> Result<T, StorageError> {
    text.parse().map_err(|_| StorageError::Corrupt(what))
}

/// The same of a text that is its own.
fn owned<T: TryFrom<String>>(text: String, what: &'static str) -> Result<T, StorageError> {
    text.try_into().map_err(|_| StorageError::Corrupt(what))
}

/// A stored number as what it was when it was stored.
fn stored_number<T: TryFrom<i32>>(number: i64, what: &'static str) -> Result<T, StorageError> {
    let number = i32::try_from(number)
        .ok()
        .and_then(|number| T::try_from(number).ok());
    number.ok_or(StorageError::Corrupt(what))
}
