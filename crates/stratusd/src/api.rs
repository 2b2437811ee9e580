//! The handlers of the API: a file for each tag, and in it a method for each operation.
//!
//! A handler checks the project and the location of the request (`Service::scope`), runs a query or
//! a change of [`crate::operations`], and wraps the result as the contract's response. It knows no
//! rules: those are in [`crate::domain`].

mod cache;
mod details;
mod error;
mod firewall;
mod gate;
mod inference_api_key;
mod load_balancer;
mod postgres;
mod private_subnet;
mod rejection;
mod vm;

use std::sync::Arc;
use std::time::Duration;

use api_server::server::{self, Router};
use api_types::{Location, ProjectId};

use crate::domain::{Caller, Refusal};
use crate::operations::{self, Context, Scope};
use crate::storage::{self, StorageError, Store};

use cache::Cache;
pub use error::{head_too_large, retry_after, too_many_bytes};
pub use gate::{Gate, RateLimit};
pub use rejection::ContractErrors;

/// How long locations are cached. `stratusd apply` may change them at any time.
const LIFETIME: Duration = Duration::from_secs(1);

/// The API over a store.
#[derive(Debug)]
pub struct Service {
    store: Store,
    context: Context,
    locations: Cache<(), Locations>,
}

/// All locations, by name.
type Locations = Arc<[storage::location::Location]>;

/// Creates the router of the API, with authentication and the contract's errors.
pub fn router(
    store: &Store,
    context: &Context,
    limit: Option<RateLimit>,
    config: server::Config,
) -> Router {
    let gate = Gate::new(store.clone(), context.world.clone(), limit);
    api_server::router(
        Service::new(store.clone(), context.clone()),
        gate,
        ContractErrors,
        config,
    )
}

impl Service {
    /// Creates the API over a store.
    #[must_use]
    pub fn new(store: Store, context: Context) -> Self {
        Self {
            store,
            context,
            locations: Cache::new(LIFETIME, 1),
        }
    }

    /// Returns the scope of a request.
    ///
    /// # Errors
    ///
    /// If the project is not the caller's; then, if the location does not exist.
    async fn scope(
        &self,
        caller: &Caller,
        project: &ProjectId,
        location: Location,
    ) -> operations::Result<Scope> {
        crate::domain::ensure_project(caller, project)?;
        if let Some(known) = self.locations.get(&()) {
            match Scope::new(caller, project, location.clone(), &known) {
                // The location may have been added since the others were cached.
                Err(Refusal::UnknownLocation(_)) => {}
                found => return Ok(found?),
            }
        }
        let known = self.read_locations().await?;
        Ok(Scope::new(caller, project, location, &known)?)
    }

    async fn locations(&self) -> Result<Locations, StorageError> {
        match self.locations.get(&()) {
            Some(known) => Ok(known),
            None => self.read_locations().await,
        }
    }

    async fn read_locations(&self) -> Result<Locations, StorageError> {
        let mut reader = self.store.reader().await?;
        let known: Locations = storage::location::all(&mut reader.connection())
            .await?
            .into();
        self.locations.insert((), Arc::clone(&known));
        Ok(known)
    }
}
