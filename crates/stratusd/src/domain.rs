//! The types and rules of the API.
//!
//! Nothing here knows HTTP, SQL or the store: a rule is a function of values. [`crate::operations`] applies the rules
//! to what is stored.

pub mod catalogue;
pub mod id;
pub mod list;
pub mod network;
pub mod password;
pub mod postgres;
pub mod refusal;
pub mod token;

use api_types::ProjectId;

pub use refusal::Refusal;

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
