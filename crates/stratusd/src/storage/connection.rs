//! One connection, whichever the database.
//!
//! On SQLite statements run to their end in the calling thread: a statement is over sooner than another thread would
//! be awake.

use std::fmt;

use diesel::SqliteConnection;

use super::StorageError;
use super::postgresql::Link;
use super::record::{Present, Read, Record};
use super::statement::{Parameter, Sql, Statement};

/// A connection of either database, usually within a transaction.
pub struct Connection<'c> {
    inner: Inner<'c>,
    /// Whether anything was written: a transaction that has read only may be shared with others that fail.
    pub(super) wrote: bool,
}

enum Inner<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut Link),
}

impl fmt::Debug for Connection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("wrote", &self.wrote)
            .finish_non_exhaustive()
    }
}

impl<'c> Connection<'c> {
    pub(super) fn sqlite(connection: &'c mut SqliteConnection) -> Self {
        Self {
            inner: Inner::Sqlite(connection),
            wrote: false,
        }
    }

    pub(super) fn postgres(link: &'c mut Link) -> Self {
        Self {
            inner: Inner::Postgres(link),
            wrote: false,
        }
    }

    /// All rows of a query.
    pub(super) async fn fetch_all<R: Record>(
        &mut self,
        sql: impl Into<Sql>,
        parameters: &[&dyn Parameter],
    ) -> Result<Vec<R>, StorageError> {
        let statement = Statement::new(sql.into(), parameters);
        let rows: Vec<Read<R>> = match &mut self.inner {
            Inner::Sqlite(connection) => diesel::RunQueryDsl::load(statement, *connection)?,
            Inner::Postgres(link) => link.load(statement).await?,
        };
        Ok(rows.into_iter().map(|Read(record)| record).collect())
    }

    /// The only row of a query, or none.
    pub(super) async fn fetch_optional<R: Record>(
        &mut self,
        sql: impl Into<Sql>,
        parameters: &[&dyn Parameter],
    ) -> Result<Option<R>, StorageError> {
        Ok(self.fetch_all(sql, parameters).await?.into_iter().next())
    }

    /// Whether a query has a row.
    pub(super) async fn exists(
        &mut self,
        sql: impl Into<Sql>,
        parameters: &[&dyn Parameter],
    ) -> Result<bool, StorageError> {
        Ok(self
            .fetch_optional::<Present>(sql, parameters)
            .await?
            .is_some())
    }

    /// Runs a statement that writes; gives how many rows it touched.
    pub(super) async fn execute(
        &mut self,
        sql: impl Into<Sql>,
        parameters: &[&dyn Parameter],
    ) -> Result<usize, StorageError> {
        self.wrote = true;
        let statement = Statement::new(sql.into(), parameters);
        match &mut self.inner {
            Inner::Sqlite(connection) => Ok(diesel::RunQueryDsl::execute(statement, *connection)?),
            Inner::Postgres(link) => link.execute(statement).await,
        }
    }
}
