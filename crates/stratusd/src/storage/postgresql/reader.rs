//! Pooled connections to PostgreSQL, for queries.

use deadpool::managed::Object;

use super::link::Link;
use super::places::Place;
use super::server::Server;

/// A pooled connection to PostgreSQL, which one [`Reader`](crate::storage::Reader) holds.
pub(in crate::storage) struct PostgresReader {
    /// The connection, `Some` until the reader is dropped.
    link: Option<Box<Object<Server>>>,
    /// Whether the connection is in a transaction, whose statements all read the same state. The
    /// transaction ends when the reader is dropped.
    is_snapshot: bool,
    /// The place of the query. It ends after the connection is back in the pool.
    place: Option<Place>,
}

impl PostgresReader {
    pub(super) fn new(link: Object<Server>, place: Option<Place>) -> Self {
        Self {
            link: Some(Box::new(link)),
            is_snapshot: false,
            place,
        }
    }

    /// Begins a read-only transaction, whose statements all read the same committed state.
    pub(super) async fn begin(&mut self) -> Result<(), crate::storage::StorageError> {
        self.is_snapshot = true;
        // By default, each statement of a transaction would read the latest committed state.
        self.link()
            .begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
    }

    /// Returns the connection.
    pub(in crate::storage) fn link(&mut self) -> &mut Link {
        self.link.as_mut().expect("it is there until the drop")
    }
}

impl Drop for PostgresReader {
    fn drop(&mut self) {
        let Some(mut link) = self.link.take() else {
            return;
        };
        if self.is_snapshot && !link.is_unfinished() {
            link.leave();
        }
        // Not back to the pool with a statement that nobody waits for: the next reader would wait
        // for it. Without a pool the whole process ends.
        if link.is_abandoned()
            && let Some(pool) = Object::pool(&link)
        {
            let place = self.place.take();
            pool.manager().spawn(async move {
                if !link.reclaim().await {
                    drop(Object::take(*link));
                }
                drop(place);
            });
        }
    }
}
