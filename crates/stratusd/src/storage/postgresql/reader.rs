//! Pooled connections to PostgreSQL, for queries.

use deadpool::managed::Object;

use super::server::Server;

/// A pooled connection that one reader holds.
pub(in crate::storage) struct PostgresReader {
    pub link: Box<Object<Server>>,
    /// Whether the connection is in a transaction, whose statements all read the same state. It
    /// ends when the reader is dropped.
    pub is_snapshot: bool,
}

impl Drop for PostgresReader {
    fn drop(&mut self) {
        if self.is_snapshot {
            self.link.leave();
        }
    }
}
