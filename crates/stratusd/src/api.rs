//! The generated traits, implemented: a file for each tag, a method for each operation.
//!
//! A method finds out where it is (`Service::scope`), reads from the store or gives it a change, and says what
//! came out in the contract's words. It knows no rules: those are in [`crate::domain`].

mod details;
mod error;
mod firewall;
mod gate;
mod inference_api_key;
mod load_balancer;
mod postgres;
mod private_subnet;
mod refuse;
mod vm;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use api_server::server::{self, Router};
use api_types::{Location, ProjectId};

use crate::domain::{Caller, Refusal};
use crate::operations::{Context, Outcome, Scope};
use crate::storage::{self, StorageError, Store};

pub use error::{head_too_large, retry_after};
pub use gate::{Gate, RateLimit};
pub use refuse::ContractErrors;

/// How old the known locations may be. `stratusd apply` may change them at any time.
const FRESH: Duration = Duration::from_secs(1);

/// The API over a store.
#[derive(Debug)]
pub struct Service {
    store: Store,
    context: Context,
    /// As they were not long ago, and when.
    locations: RwLock<Option<(Instant, Locations)>>,
}

type Locations = Arc<[storage::location::Location]>;

/// The API over a store as a router, with its tokens and its errors.
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
    /// The API over a store.
    #[must_use]
    pub fn new(store: Store, context: Context) -> Self {
        Self {
            store,
            context,
            locations: RwLock::new(None),
        }
    }

    /// The scope of a request, if the caller may know of it.
    async fn scope(
        &self,
        caller: &Caller,
        project: &ProjectId,
        location: Location,
    ) -> Outcome<Scope> {
        crate::domain::ensure_project(caller, project)?;
        if let Some(known) = self.fresh_locations() {
            match Scope::new(caller, project, location.clone(), &known) {
                // It may be there by now.
                Err(Refusal::UnknownLocation(_)) => {}
                found => return Ok(found?),
            }
        }
        let known = self.read_locations().await?;
        Ok(Scope::new(caller, project, location, &known)?)
    }

    async fn locations(&self) -> Result<Locations, StorageError> {
        match self.fresh_locations() {
            Some(known) => Ok(known),
            None => self.read_locations().await,
        }
    }

    fn fresh_locations(&self) -> Option<Locations> {
        let known = self
            .locations
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        known
            .as_ref()
            .filter(|(since, _)| since.elapsed() < FRESH)
            .map(|(_, known)| Arc::clone(known))
    }

    async fn read_locations(&self) -> Result<Locations, StorageError> {
        let mut reader = self.store.reader().await?;
        let known: Locations = storage::location::all(&mut reader.connection())
            .await?
            .into();
        *self
            .locations
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), Arc::clone(&known)));
        Ok(known)
    }
}
