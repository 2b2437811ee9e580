//! The operations of the API: changes, which run in a transaction, and queries, which only read.
//!
//! An operation reads rows from [`crate::storage`], decides by the rules of [`crate::domain`], and returns types of
//! the contract. It checks in the contract's order: project, location, resource, permission, values, uniqueness; the
//! first check that fails is the result.

pub mod firewall;
pub mod inference_api_key;
pub mod load_balancer;
pub mod postgres;
pub mod private_subnet;
pub mod vm;

use std::str::FromStr;
use std::sync::Arc;

use api_types::{Location, ProjectId};

use crate::domain::{Access, Caller, Refusal, ensure_project};
use crate::seal::Sealer;
use crate::storage::{Aborted, StorageError};
use crate::world::World;

/// What an operation ends in.
pub type Outcome<T> = Result<T, Aborted<Refusal>>;

/// A location of a project, both known to exist, and what the caller may do there.
#[derive(Debug, Clone)]
pub struct Scope {
    project: String,
    location: Location,
    access: Access,
}

impl Scope {
    /// The scope of a request, if the caller may know of it.
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

/// What operations share.
#[derive(Debug, Clone)]
pub struct Context {
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

impl From<Refusal> for Aborted<Refusal> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The size of a list.
pub(super) fn count(count: i64) -> std::result::Result<api_types::Count, StorageError> {
    api_types::Count::try_from(count).map_err(|_| StorageError::Corrupt("a count"))
}
