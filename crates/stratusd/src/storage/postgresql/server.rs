//! A PostgreSQL server and the connections to it.

use std::time::Duration;

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use diesel_async::AsyncPgConnection;
use tokio_postgres::config::{LoadBalanceHosts, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Config, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::TaskTracker;

use super::address::Address;
use super::link::{Link, silent};
use super::tls::client_config;
use crate::causes::Causes;
use crate::storage::{StorageError, WAIT};
use crate::world::World;

/// A server: its hosts, and TLS if the address asks for it.
#[derive(Clone)]
pub struct Server {
    /// The hosts, at least one. They are tried in turn.
    hosts: Vec<Config>,
    /// Whether the first host to try is drawn at random.
    is_balanced: bool,
    tls: Option<MakeRustlsConnect>,
    links: TaskTracker,
    patience: Duration,
    world: World,
}

impl Server {
    /// Creates a server from an address, and reads the files that the address names.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or does not hold certificates or a key.
    pub fn new(address: &Address, patience: Duration, world: World) -> Result<Self, StorageError> {
        let is_balanced = address.config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        let tls = if address.config.get_ssl_mode() == SslMode::Disable {
            None
        } else {
            Some(MakeRustlsConnect::new(
                client_config(&address.tls).map_err(StorageError::Unavailable)?,
            ))
        };
        let hosts = address.hosts();
        Ok(Self {
            hosts,
            is_balanced,
            tls,
            links: TaskTracker::new(),
            patience,
            world,
        })
    }

    /// Returns how long a statement may take.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Connects to the first host that accepts. Each host has an equal share of [`WAIT`], so a host
    /// that does not respond leaves time for the next.
    ///
    /// # Errors
    ///
    /// The error of the last host, after [`WAIT`] at the latest.
    pub async fn connect(&self) -> Result<Link, StorageError> {
        let hosts = self.hosts.len();
        let share = WAIT / u32::try_from(hosts).unwrap_or(u32::MAX);
        let mut made = Err(silent());
        for host in self.hosts.iter().cycle().skip(self.first()).take(hosts) {
            let making = async {
                match &self.tls {
                    Some(tls) => self.connect_with(host, tls.clone()).await,
                    None => self.connect_with(host, NoTls).await,
                }
            };
            made = tokio::time::timeout(share, making)
                .await
                .unwrap_or_else(|_| Err(silent()));
            if made.is_ok() {
                break;
            }
        }
        made
    }

    /// Returns the index of the host that is tried first.
    fn first(&self) -> usize {
        let drawn = if self.is_balanced {
            usize::from_be_bytes(self.world.random())
        } else {
            0
        };
        drawn % self.hosts.len()
    }

    async fn connect_with<T>(&self, host: &Config, tls: T) -> Result<Link, StorageError>
    where
        T: MakeTlsConnect<Socket, Stream: Send + 'static>,
    {
        let (client, connection) = host.connect(tls).await.map_err(unconnected)?;
        // This task ends with the client, or when the server closes the connection; then statements
        // fail as closed.
        let carrier = self.links.spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(error = %Causes(&error), "a connection to the database was lost");
            }
        });
        let connection = AsyncPgConnection::try_from(client).await;
        let connection = connection.map_err(|error| StorageError::Unavailable(error.into()))?;
        Ok(Link::new(connection, carrier.abort_handle(), self.patience))
    }

    /// Waits until all connections are closed in order. None of them may be in use.
    pub async fn close(&self) {
        self.links.close();
        // It takes longer only if a connection is still held or the server is gone.
        let _ = tokio::time::timeout(WAIT, self.links.wait()).await;
    }
}

impl Manager for Server {
    type Type = Link;
    type Error = StorageError;

    async fn create(&self) -> Result<Link, StorageError> {
        self.connect().await
    }

    /// Checks whether the connection was lost, without a round trip to the server for each request.
    async fn recycle(&self, link: &mut Link, _: &Metrics) -> RecycleResult<StorageError> {
        if link.is_lost() {
            Err(RecycleError::message("the connection was lost"))
        } else {
            Ok(())
        }
    }
}

/// Classifies the error of a connection that was not established. A rejected user or a missing
/// database stays wrong; any other error may pass.
fn unconnected(error: tokio_postgres::Error) -> StorageError {
    // Classes 28 (invalid authorization) and 3D (no such database).
    let is_final = error
        .code()
        .is_some_and(|code| code.code().starts_with("28") || code.code().starts_with("3D"));
    if is_final {
        StorageError::Other(error.into())
    } else {
        StorageError::Unavailable(error.into())
    }
}
