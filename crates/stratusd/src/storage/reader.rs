//! A connection for queries, which goes back to its pool when it is dropped.

use std::fmt;

use super::Connection;
use super::postgresql::PostgresReader;
use super::sqlite::SqliteReader;

/// A connection for queries, which goes back to its pool when it is dropped.
pub struct Reader(pub(super) Held);

pub(super) enum Held {
    Sqlite(SqliteReader),
    Postgres(PostgresReader),
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    /// Returns the connection, to run queries on.
    ///
    /// # Panics
    ///
    /// Never: a reader has its connection until it is dropped.
    pub fn connection(&mut self) -> Connection<'_> {
        match &mut self.0 {
            Held::Sqlite(held) => Connection::sqlite(
                held.connection
                    .as_mut()
                    .expect("the connection is held until the drop"),
            ),
            Held::Postgres(held) => Connection::postgres(held.link()),
        }
    }
}
