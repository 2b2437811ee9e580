//! A connection to either database.
//!
//! On SQLite a statement runs in the calling thread, although it blocks: it ends sooner than
//! another thread would wake up.

use std::fmt;
use std::pin::Pin;

use diesel::SqliteConnection;
use diesel::connection::DefaultLoadingMode;

use super::StorageError;
use super::page::{PAGE_BYTES, SHORT_PAGE_BYTES};
use super::postgresql::Link;
use super::record::{Present, Read, Record};
use super::statement::{Parameter, Statement, StatementText, Typed};

/// The number of rows for which memory is reserved before a page is read.
const PAGE: usize = 16;

/// A connection of either database, usually within a transaction.
pub struct Connection<'c> {
    inner: Inner<'c>,
    /// Whether a statement wrote. A change that refuses after reads alone leaves nothing to roll
    /// back, so the others of its batch can still be committed.
    pub(super) wrote: bool,
    /// Whether a statement has changed a row, so that the commit writes to the disk.
    pub(super) has_changed: bool,
    /// The number of rows that statements have changed.
    changed: usize,
    /// The size in bytes that ends a page.
    page_bytes: i64,
    /// Whether that size has ended a page.
    has_cut_a_page: bool,
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
            has_changed: false,
            changed: 0,
            page_bytes: PAGE_BYTES,
            has_cut_a_page: false,
        }
    }

    pub(super) fn postgres(link: &'c mut Link) -> Self {
        Self {
            inner: Inner::Postgres(link),
            wrote: false,
            has_changed: false,
            changed: 0,
            page_bytes: PAGE_BYTES,
            has_cut_a_page: false,
        }
    }

    /// Ends each page at [`SHORT_PAGE_BYTES`], which [`has_cut_a_page`](Self::has_cut_a_page) then
    /// tells.
    pub(crate) fn with_short_pages(self) -> Self {
        Self {
            page_bytes: SHORT_PAGE_BYTES,
            ..self
        }
    }

    /// Returns whether a page has ended before the size at which it would end otherwise.
    pub(crate) fn has_cut_a_page(&self) -> bool {
        self.has_cut_a_page
    }

    /// Returns the size in bytes that ends a page.
    pub(super) fn page_bytes(&self) -> i64 {
        self.page_bytes
    }

    /// Notes the size of a page that was read.
    pub(super) fn note_page(&mut self, bytes: i64) {
        self.has_cut_a_page |= bytes >= self.page_bytes && self.page_bytes < PAGE_BYTES;
    }

    /// Returns whether other transactions may write beside this one.
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.inner, Inner::Postgres(_))
    }

    /// Returns the number of rows that were changed through this connection.
    pub(crate) fn changed(&self) -> usize {
        self.changed
    }

    /// Returns all rows of a query.
    pub(super) async fn fetch_all<R: Record>(
        &mut self,
        text: impl StatementText,
        parameters: &[&dyn Parameter],
    ) -> Result<Vec<R>, StorageError> {
        let rows: Vec<Read<R>> = match &mut self.inner {
            Inner::Sqlite(connection) => {
                sent(text.sql().sqlite);
                diesel::RunQueryDsl::load(Typed::new(text, parameters), *connection)?
            }
            Inner::Postgres(link) => {
                let sql = text.sql();
                sent(sql.postgres);
                apart(link.load(Statement::new(sql, parameters))).await?
            }
        };
        Ok(rows.into_iter().map(|Read(record)| record).collect())
    }

    /// Returns the rows of a query up to the first that is the last one. SQLite does not read the
    /// rows after it.
    pub(super) async fn fetch_until<R: Record>(
        &mut self,
        text: impl StatementText,
        parameters: &[&dyn Parameter],
        mut is_last: impl FnMut(&R) -> bool,
    ) -> Result<Vec<R>, StorageError> {
        let mut taken = Vec::with_capacity(PAGE);
        match &mut self.inner {
            Inner::Sqlite(connection) => {
                sent(text.sql().sqlite);
                let rows = diesel::RunQueryDsl::load_iter::<Read<R>, DefaultLoadingMode>(
                    Typed::new(text, parameters),
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
                let sql = text.sql();
                sent(sql.postgres);
                // Here all rows have arrived already, so the end only keeps both databases alike.
                for Read(record) in apart(link.load(Statement::new(sql, parameters))).await? {
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

    /// Returns the rows that a statement returns about what it writes.
    pub(super) async fn fetch_changed<R: Record>(
        &mut self,
        text: impl StatementText,
        parameters: &[&dyn Parameter],
    ) -> Result<Vec<R>, StorageError> {
        // Before the statement runs, since a failed one may leave something to roll back too.
        self.wrote = true;
        let rows = self.fetch_all(text, parameters).await?;
        self.changed += rows.len();
        self.has_changed |= !rows.is_empty();
        Ok(rows)
    }

    /// Returns the first row of a query, if there is one.
    pub(super) async fn fetch_optional<R: Record>(
        &mut self,
        text: impl StatementText,
        parameters: &[&dyn Parameter],
    ) -> Result<Option<R>, StorageError> {
        Ok(self.fetch_all(text, parameters).await?.into_iter().next())
    }

    /// Returns whether a query has a row.
    pub(super) async fn exists(
        &mut self,
        text: impl StatementText,
        parameters: &[&dyn Parameter],
    ) -> Result<bool, StorageError> {
        Ok(self
            .fetch_optional::<Present>(text, parameters)
            .await?
            .is_some())
    }

    /// Runs a statement that writes, and returns the number of rows that it changed.
    pub(super) async fn execute(
        &mut self,
        text: impl StatementText,
        parameters: &[&dyn Parameter],
    ) -> Result<usize, StorageError> {
        let rows = self.touch(text, parameters).await?;
        self.changed += rows;
        Ok(rows)
    }

    /// Runs a statement that inserts one row, or changes the one that is there, at the latest when the
    /// transaction is committed. If it fails, the next statement or the commit has its error.
    ///
    /// PostgreSQL gets it together with the next statement, which saves a round trip.
    pub(super) async fn insert(
        &mut self,
        text: impl StatementText,
        parameters: &[&dyn Parameter],
    ) -> Result<(), StorageError> {
        let Inner::Postgres(link) = &mut self.inner else {
            self.execute(text, parameters).await?;
            return Ok(());
        };
        self.wrote = true;
        let sql = text.sql();
        sent(sql.postgres);
        apart(link.execute_later(Statement::new(sql, parameters))).await?;
        self.changed += 1;
        self.has_changed = true;
        Ok(())
    }

    /// Runs a statement that writes what no caller can see, such as a revision, and returns the
    /// number of rows that it changed. They do not count as [changed](Self::changed).
    pub(super) async fn touch(
        &mut self,
        text: impl StatementText,
        parameters: &[&dyn Parameter],
    ) -> Result<usize, StorageError> {
        self.wrote = true;
        let rows = match &mut self.inner {
            Inner::Sqlite(connection) => {
                sent(text.sql().sqlite);
                let statement = Typed::new(text, parameters);
                diesel::RunQueryDsl::execute(statement, *connection)?
            }
            Inner::Postgres(link) => {
                let sql = text.sql();
                sent(sql.postgres);
                apart(link.execute(Statement::new(sql, parameters))).await?
            }
        };
        self.has_changed |= rows > 0;
        Ok(rows)
    }
}

/// Puts a future of PostgreSQL into memory of its own. It is large, and all futures around it would have
/// its size on SQLite too, where it never runs.
fn apart<F: Future>(future: F) -> Pin<Box<F>> {
    Box::pin(future)
}

/// Logs the text of a statement, without its parameters, for a reader of plans: the filter
/// `stratusd::statement=trace` selects these events alone.
fn sent(sql: &'static str) {
    tracing::trace!(target: "stratusd::statement", sql);
}
