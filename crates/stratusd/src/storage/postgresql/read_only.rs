//! A PostgreSQL database that other processes write, and this one only reads.

use deadpool::managed::Pool;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::server::Server;
use super::session::Limits;
use super::{Address, AddressError, PostgresReader, pooled};
use crate::storage::backend::Backend;
use crate::storage::job::{Job, Owner};
use crate::storage::reader::Held;
use crate::storage::{Reader, StorageError, StoreConfig, WAIT};

/// A database that is read over a single connection, in transactions that are read-only.
pub(in crate::storage) struct ReadOnlyPostgres {
    server: Server,
    readers: Pool<Server>,
}

impl ReadOnlyPostgres {
    /// Creates a database from a URL, without connecting. It uses one connection; more are for while the
    /// server has not ended the backends of earlier ones.
    ///
    /// # Errors
    ///
    /// If the URL is invalid, or a file that it names cannot be used.
    pub(in crate::storage) fn open(url: &str, config: &StoreConfig) -> Result<Self, StorageError> {
        let address: Address = url
            .parse()
            .map_err(|error: AddressError| StorageError::Other(error.into()))?;
        let limits = Limits::new(config.patience, config.silence);
        let backends = usize::try_from(config.connections).unwrap_or(usize::MAX);
        let server = Server::new(&address, backends, limits, config.world.clone())?;
        let pool = Pool::builder(server.clone()).max_size(1).build();
        Ok(Self {
            server,
            readers: pool.map_err(|error| StorageError::Other(error.into()))?,
        })
    }
}

impl Backend for ReadOnlyPostgres {
    // Read-only too: outside of a transaction, a connection could write.
    fn reader<'a>(&'a self, owner: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        self.snapshot(owner)
    }

    // One thread reads, so nobody waits for a turn.
    fn snapshot<'a>(&'a self, _: &'a Owner) -> BoxFuture<'a, Result<Reader, StorageError>> {
        Box::pin(async {
            let link = pooled(&self.readers, Instant::now() + WAIT).await?;
            let mut reader = PostgresReader::new(link, None);
            reader.begin().await?;
            Ok(Reader(Held::Postgres(reader)))
        })
    }

    // Never called: the store has no method that submits.
    fn submit(&self, _: Box<dyn Job>) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.readers.close();
            self.server.close().await;
        })
    }
}
