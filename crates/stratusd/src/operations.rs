//! The operations of the API: changes, which run in a transaction, and queries, which only read.
//!
//! An operation reads rows from [`crate::storage`], decides by the rules of [`crate::domain`], and
//! returns types of the contract. It checks in the contract's order: project, location, resource,
//! permission, values, uniqueness; the first check that fails is the result.

pub mod firewall;
pub mod inference_api_key;
pub mod load_balancer;
pub mod postgres;
pub mod private_subnet;
mod scope;
pub mod vm;

use std::sync::Arc;

use crate::domain::Refusal;
use crate::seal::Sealer;
use crate::storage::Aborted;
use crate::world::World;

pub use scope::Scope;

/// The result of an operation.
pub type Result<T> = std::result::Result<T, Aborted<Refusal>>;

/// What operations need besides the store and the request.
#[derive(Debug, Clone)]
pub struct Context {
    /// The source of time and randomness.
    pub world: World,
    /// Seals and opens passwords.
    pub sealer: Arc<Sealer>,
    /// The domain that host names end in.
    pub service_domain: String,
}

impl From<Refusal> for Aborted<Refusal> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
