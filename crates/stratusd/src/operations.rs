//! The operations of the API: changes, which run in a transaction, and queries, which only read.
//!
//! An operation reads rows from [`crate::storage`], decides by the rules of [`crate::domain`], and
//! returns types of the contract. It checks in the contract's order: project, location, resource,
//! permission, values, uniqueness; the first check that fails is the result.

pub mod audit;
pub mod firewall;
pub mod firewall_rule;
pub mod idempotency;
pub mod inference_api_key;
pub mod load_balancer;
pub mod load_balancer_vm;
pub mod postgres;
pub mod postgres_delete;
pub mod postgres_firewall_rule;
pub mod postgres_maintenance;
pub mod postgres_restore;
pub mod private_subnet;
mod scope;
pub mod vm;

use std::sync::Arc;

use api_types::ProjectId;

use crate::domain::Refusal;
use crate::domain::quota::{Kind, Quotas};
use crate::provision::Offers;
use crate::seal::Sealer;
use crate::storage::{self, Aborted, Connection};
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
    /// The quotas of projects without their own.
    pub quotas: Quotas,
    /// What databases can be created with, and changed to.
    pub postgres_offers: Offers,
    /// The number of idempotency keys that a project may have in use.
    pub idempotency_keys: u32,
}

/// Checks that a project may have one more resource of a kind.
///
/// Called by creates after their other checks and before they write: a change that refuses after it
/// has written makes the others of its batch run again.
async fn ensure_room(
    tx: &mut Connection<'_>,
    project: &ProjectId,
    kind: Kind,
    quotas: &Quotas,
) -> Result<()> {
    let usage = storage::quota::usage(tx, project, kind, quotas).await?;
    if usage.items < usage.most {
        Ok(())
    } else {
        Err(Refusal::QuotaExceeded(usage).into())
    }
}

impl From<Refusal> for Aborted<Refusal> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
