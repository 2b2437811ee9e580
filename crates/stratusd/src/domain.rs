//! The types and rules of the API.
//!
//! Nothing here knows HTTP, SQL or the store: a rule is a function of values. [`crate::operations`]
//! applies the rules to what is stored.

pub mod allowed;
pub mod audit;
pub mod catalogue;
pub mod entity_tag;
pub mod firewall;
pub mod id;
pub mod list;
pub mod load_balancer;
pub mod network;
pub mod password;
pub mod postgres;
pub mod private_subnet;
pub mod quota;
pub mod refusal;
pub mod token;

use api_types::ProjectId;

pub use refusal::Refusal;

/// The authenticated caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The only project that the caller can see.
    pub project_id: ProjectId,
    /// The kinds of operations that the caller may call.
    pub access: Access,
    /// The id of the token that the caller sends.
    pub token_id: String,
}

/// The kinds of operations that a caller may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Queries and changes.
    Full,
    /// Queries only.
    ReadOnly,
}

impl Access {
    /// Checks that changes are allowed.
    ///
    /// # Errors
    ///
    /// If they are not.
    pub fn ensure_full(self) -> Result<(), Refusal> {
        match self {
            Self::Full => Ok(()),
            Self::ReadOnly => Err(Refusal::ReadOnly),
        }
    }
}

/// Checks that a project is the caller's.
///
/// # Errors
///
/// If it is not, with the same refusal as for a project that does not exist: callers cannot find
/// out which exist.
pub fn ensure_project(caller: &Caller, project: &ProjectId) -> Result<(), Refusal> {
    if caller.project_id == *project {
        Ok(())
    } else {
        Err(Refusal::ProjectNotFound)
    }
}
