//! The handlers of the API: a file for each tag, and in it a method for each operation.
//!
//! A handler checks the project and the location of the request (`Service::scope`), runs a query or
//! a change of [`crate::operations`], and wraps the result as the contract's response. It knows no
//! rules: those are in [`crate::domain`].

mod admission;
mod details;
mod error;
mod firewall;
mod gate;
mod inference_api_key;
mod load_balancer;
mod page;
mod postgres;
mod private_subnet;
mod rejection;
mod vm;

use std::sync::Arc;
use std::time::Duration;

use api_server::server::{self, RequestId, Router};
use api_types::{IdempotencyKey, IdempotencyReplayed, Location, ProjectId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cache::Cache;
use crate::domain::audit::Author;
use crate::domain::{Caller, Refusal};
use crate::operations::audit::{Audited, Subject};
use crate::operations::idempotency::{Key, Once};
use crate::operations::{self, Context, Scope};
use crate::rate::RateLimit;
use crate::storage::{self, Aborted, Change, Owner, Reader, StorageError, Store};

pub use admission::{Admission, Admitted, Overload};
pub use error::retry_after;
pub use gate::Gate;
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
        let known = self.read_locations(caller).await?;
        Ok(Scope::new(caller, project, location, &known)?)
    }

    /// Returns who makes a change by the current request.
    fn author(caller: &Caller, operation: &server::Operation) -> Author {
        Author {
            caller: caller.clone(),
            operation: operation.id,
            request_id: RequestId::current().map(|id| id.as_str().to_owned()),
        }
    }

    /// Returns the idempotency key of a request, if it has one. `request` is everything of the
    /// request that its effect depends on, other than the project.
    fn key(
        &self,
        author: &Author,
        key: Option<&IdempotencyKey>,
        request: &impl Serialize,
    ) -> Option<Key> {
        let Author {
            caller, operation, ..
        } = author;
        key.map(|key| Key::new(caller, operation, key, request, &self.context))
    }

    /// Makes a change, and writes its entry of the audit trail.
    async fn change<C>(&self, author: Author, change: C) -> Result<C::Output, Aborted<Refusal>>
    where
        C: Change<Refusal = Refusal>,
        C::Output: Subject,
    {
        let project = author.caller.project_id.clone();
        let change = self.audited(author, change).await;
        self.store.change_of(&project, change).await
    }

    /// Makes a change once for each key, as [`change`](Self::change) does. Returns its output, and
    /// the header that says whether it was made before.
    async fn once<C>(
        &self,
        author: Author,
        change: C,
        key: Option<Key>,
    ) -> Result<(C::Output, Option<IdempotencyReplayed>), Aborted<Refusal>>
    where
        C: Change<Refusal = Refusal>,
        C::Output: Subject + Serialize + DeserializeOwned,
    {
        let project = author.caller.project_id.clone();
        let change = self.audited(author, change).await;
        let once = Once { change, key };
        let answer = self.store.change_of(&project, once).await?;
        let replayed = answer.is_replayed.then_some(IdempotencyReplayed::True);
        Ok((answer.output, replayed))
    }

    /// Returns a change that also writes its entry of the audit trail.
    async fn audited<C>(&self, author: Author, change: C) -> Audited<C> {
        rest().await;
        Audited {
            change,
            author,
            world: self.context.world.clone(),
        }
    }

    /// Returns a connection in the turn of the caller's project.
    async fn reader(&self, caller: &Caller) -> Result<Reader, StorageError> {
        rest().await;
        let owner = Owner::Project(caller.project_id.clone());
        self.store.reader_for(&owner).await
    }

    /// Returns a connection to read a long page with, in the turn of the caller's project, by a request that
    /// keeps its turn of long work.
    async fn reader_of_long(&self, caller: &Caller) -> Result<Reader, StorageError> {
        let owner = Owner::Project(caller.project_id.clone());
        self.store.long_reader_for(&owner).await
    }

    /// Returns a connection whose statements all see the same state, in the turn of the caller's
    /// project.
    async fn snapshot(&self, caller: &Caller) -> Result<Reader, StorageError> {
        rest().await;
        let owner = Owner::Project(caller.project_id.clone());
        self.store.snapshot_for(&owner).await
    }

    async fn locations(&self, caller: &Caller) -> Result<Locations, StorageError> {
        match self.locations.get(&()) {
            Some(known) => Ok(known),
            None => self.read_locations(caller).await,
        }
    }

    async fn read_locations(&self, caller: &Caller) -> Result<Locations, StorageError> {
        let mut reader = self.reader(caller).await?;
        let known: Locations = storage::location::all(&mut reader.connection())
            .await?
            .into();
        self.locations.insert((), Arc::clone(&known));
        Ok(known)
    }
}

/// Ends the turn of the current request among the long ones: it is parsed, and waits for the database
/// now, which must not keep others from parsing theirs.
async fn rest() {
    if let Some(Admitted(admission)) = Admitted::current() {
        admission.rest().await;
    }
}
