//! A connection to either database.
//!
//! On SQLite a statement runs in the calling thread, although it blocks: it ends sooner than
//! another thread would wake up.

use std::fmt;

use diesel::SqliteConnection;
use diesel::connection::DefaultLoadingMode;

use super::StorageError;
use super::postgresql::Link;
use super::record::{Present, Read, Record};
use super::statement::{Parameter, Sql, Statement};

/// A connection of either database, usually within a transaction.
pub struct Connection<'c> {
    inner: Inner<'c>,
    /// Whether a statement wrote. A change that refuses after reads alone leaves nothing to roll
    /// back, so the others of its batch can still be committed.
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

    /// Returns whether other transactions may write beside this one.
    pub(super) fn is_postgres(&self) -> bool {
        matches!(self.inner, Inner::Postgres(_))
    }

    /// Returns all rows of a query.
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

    /// Returns the rows of a query up to the first that is the last one. SQLite does not read the
    /// rows after it.
    pub(super) async fn fetch_until<R: Record>(
        &mut self,
        sql: impl Into<Sql>,
        parameters: &[&dyn Parameter],
        mut is_last: impl FnMut(&R) -> bool,
    ) -> Result<Vec<R>, StorageError> {
        let statement = Statement::new(sql.into(), parameters);
        let mut taken = Vec::new();
        match &mut self.inner {
            Inner::Sqlite(connection) => {
                let rows = diesel::RunQueryDsl::load_iter::<Read<R>, DefaultLoadingMode>(
                    statement,
                    *connection,
                )?;
                for row in rows {
                    let Read(record) = row?;
                    let is_last = is_last(&record);
                    taken.push(record);
                    if is_last {
                        break;
                    }
                }
            }
            Inner::Postgres(link) => {
                for Read(record) in link.load(statement).await? {
                    let is_last = is_last(&record);
                    taken.push(record);
                    if is_last {
                        break;
                    }
                }
            }
        }
        Ok(taken)
    }

    /// Returns the first row of a query, if there is one.
    pub(super) async fn fetch_optional<R: Record>(
        &mut self,
        sql: impl Into<Sql>,
        parameters: &[&dyn Parameter],
    ) -> Result<Option<R>, StorageError> {
        Ok(self.fetch_all(sql, parameters).await?.into_iter().next())
    }

    /// Returns whether a query has a row.
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

    /// Runs a statement that writes, and returns the number of rows that it changed.
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
