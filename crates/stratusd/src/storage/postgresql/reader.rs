//! A pooled connection to PostgreSQL that is read with.

use deadpool::managed::Object;

use super::server::Server;

/// A connection to PostgreSQL, for one reader at a time.
pub(in crate::storage) struct PostgresReader {
    pub link: Box<Object<Server>>,
    /// Whether it sees one state of everything until it is dropped.
    pub is_snapshot: bool,
}

impl Drop for PostgresReader {
    fn drop(&mut self) {
        if self.is_snapshot {
            self.link.leave();
        }
    }
}
