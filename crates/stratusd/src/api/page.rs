//! The connections by which pages of lists are read. Making a long page keeps a processor busy for
//! milliseconds, in which no other request runs there, so long pages wait for their turn.
//!
//! A page is long by its items, which the caller asks for, or by its bytes, which are known only once it
//! is read. So a page of few items ends early if it gets large, and is then read again as a long one.

use super::Service;
use super::admission::{Admitted, Overload};
use crate::domain::Caller;
use crate::domain::list::ListQuery;
use crate::storage::{Connection, Reader, StorageError};

/// The number of items above which a page is long.
const LONG: i64 = 100;

/// A connection by which a page of a list is read.
#[derive(Debug)]
pub(super) struct PageReader {
    reader: Reader,
    is_long: bool,
}

impl Service {
    /// Returns a connection to read a page with. Waits for the turn of a page of many items.
    pub(super) async fn page_reader(
        &self,
        caller: &Caller,
        query: &ListQuery,
    ) -> Result<PageReader, StorageError> {
        if query.page_size.get() > LONG {
            return self.long_page_reader(caller).await;
        }
        Ok(PageReader {
            reader: self.reader(caller).await?,
            is_long: false,
        })
    }

    /// Waits for the turn of a long page, and returns a connection to read it with.
    pub(super) async fn long_page_reader(
        &self,
        caller: &Caller,
    ) -> Result<PageReader, StorageError> {
        if let Some(Admitted(admission)) = Admitted::current() {
            admission.turn().await.map_err(crowded)?;
            // SQLite reads in this thread, and PostgreSQL elsewhere.
            if !self.store.is_postgres() {
                admission.processor().await.map_err(crowded)?;
            }
        }
        Ok(PageReader {
            reader: self.reader_of_long(caller).await?,
            is_long: true,
        })
    }
}

impl PageReader {
    /// Returns the connection.
    pub(super) fn connection(&mut self) -> Connection<'_> {
        self.reader.connection()
    }

    /// Returns the connection to read a page with that is read again if it gets large. One that is not
    /// long ends early on it then.
    pub(super) fn short_connection(&mut self) -> Connection<'_> {
        let connection = self.reader.connection();
        if self.is_long {
            connection
        } else {
            connection.with_short_pages()
        }
    }

    /// Ends the reading. A long page from PostgreSQL waits for a processor now, to be written. Its
    /// connection waits with it, so that there are no more such pages in memory than connections.
    pub(super) async fn end(mut self) -> Result<(), StorageError> {
        if self.is_long
            && self.reader.connection().is_postgres()
            && let Some(Admitted(admission)) = Admitted::current()
        {
            admission.processor().await.map_err(crowded)?;
        }
        Ok(())
    }
}

fn crowded(_: Overload) -> StorageError {
    StorageError::Crowded("the long pages before it take too long")
}
