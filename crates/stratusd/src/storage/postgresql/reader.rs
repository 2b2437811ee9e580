//! A pooled connection to PostgreSQL that is read with.

use deadpool::managed::Object;

use super::server::Server;

/// A pooled connection that one reader holds.
pub(in crate::storage) struct PostgresReader {
    pub link: Box<Object<Server>>,
    /// Whether a transaction holds one state until the drop.
    pub is_snapshot: bool,
}

impl Drop for PostgresReader {
    fn drop(&mut self) {
        if self.is_snapshot {
            self.link.leave();
        }
    }
}
