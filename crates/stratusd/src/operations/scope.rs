//! The project and the location that a request names.

use api_types::{Location, ProjectId};

use crate::domain::{Access, Caller, Refusal, ensure_project};
use crate::storage::location;

/// The project and the location of a request, both known to exist, and the access of its caller.
#[derive(Debug, Clone)]
pub struct Scope {
    pub(super) project: ProjectId,
    pub(super) location: Location,
    pub(super) access: Access,
}

impl Scope {
    /// Checks the project and the location of a request, and returns its scope. `known` are all
    /// locations.
    ///
    /// # Errors
    ///
    /// If the project is not the caller's, or the location does not exist.
    pub fn new(
        caller: &Caller,
        project: &ProjectId,
        location: Location,
        known: &[location::Location],
    ) -> Result<Self, Refusal> {
        ensure_project(caller, project)?;
        if known.iter().any(|known| known.name == location) {
            return Ok(Self {
                project: caller.project_id.clone(),
                location,
                access: caller.access,
            });
        }
        Err(Refusal::UnknownLocation(
            known.iter().map(|known| known.name.to_string()).collect(),
        ))
    }

    /// Returns the project and the location, by which the storage looks up the rows of resources.
    pub(super) fn key(&self) -> (&ProjectId, &Location) {
        (&self.project, &self.location)
    }
}
