//! A connection to read with, returned to its pool when it is dropped.

use sqlx::pool::PoolConnection;
use sqlx::{Postgres, Sqlite, Transaction};

use super::Connection;

/// A connection to read with.
#[derive(Debug)]
pub struct Reader(pub(super) Held);

#[derive(Debug)]
pub(super) enum Held {
    Sqlite(PoolConnection<Sqlite>),
    SqliteSnapshot(Transaction<'static, Sqlite>),
    Postgres(PoolConnection<Postgres>),
    PostgresSnapshot(Transaction<'static, Postgres>),
}

impl Reader {
    /// The connection.
    pub fn connection(&mut self) -> Connection<'_> {
        match &mut self.0 {
            Held::Sqlite(held) => Connection::sqlite(held),
            Held::SqliteSnapshot(held) => Connection::sqlite(held),
            Held::Postgres(held) => Connection::postgres(held),
            Held::PostgresSnapshot(held) => Connection::postgres(held),
        }
    }
}
