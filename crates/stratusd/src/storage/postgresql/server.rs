//! A PostgreSQL server and the connections to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use diesel_async::AsyncPgConnection;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::config::{Host as HostName, LoadBalanceHosts, SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::address::Address;
use super::cancel::Canceller;
use super::link::{Link, Wire, silent};
use super::session::{Limits, unlimited};
use super::socket::{Peer, Socket};
use super::tls::client_config;
use crate::causes::Causes;
use crate::storage::{Cause, StorageError, WAIT};
use crate::world::World;

/// A PostgreSQL server, on one or several hosts. It makes connections, also for a pool (as the
/// `Manager` of deadpool). Clones share their limits.
#[derive(Clone)]
pub struct Server {
    /// The hosts, at least one. A connection is to the first of them that accepts it.
    hosts: Arc<[Host]>,
    /// Whether the first host to try is chosen at random (`load_balance_hosts=random`).
    is_balanced: bool,
    tls: Option<MakeRustlsConnect>,
    links: TaskTracker,
    /// The runtime in which all connections run, also those that a task of another runtime asks for.
    runtime: Handle,
    limits: Limits,
    world: World,
}

/// A host of a server, with the limit on the backends (server processes, one per connection) that
/// run on it for this process.
#[derive(Clone)]
struct Host {
    config: Config,
    /// A permit for each backend, held from before the connection is requested until the backend
    /// has ended.
    ///
    /// The pool and the workers do not count connections, because a backend may outlive its client:
    /// it ends only when it notices that the client is gone, which it does not while it runs a
    /// statement.
    backends: Arc<Semaphore>,
}

impl Server {
    /// Creates a server from an address, and reads the files that the address names, without
    /// connecting. At most `backends` backends run on each host, and have the limits.
    ///
    /// # Errors
    ///
    /// [`StorageError::Unavailable`] if a file cannot be read or does not hold certificates or a
    /// key.
    ///
    /// # Panics
    ///
    /// Outside of a runtime.
    pub(super) fn new(
        address: &Address,
        backends: usize,
        limits: Limits,
        world: World,
    ) -> Result<Self, StorageError> {
        let is_balanced = address.config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        let tls = if address.config.get_ssl_mode() == SslMode::Disable {
            None
        } else {
            Some(MakeRustlsConnect::new(
                client_config(&address.tls).map_err(StorageError::Unavailable)?,
            ))
        };
        let hosts = address.hosts().into_iter().map(|config| Host {
            config,
            backends: Arc::new(Semaphore::new(backends)),
        });
        Ok(Self {
            hosts: hosts.collect(),
            is_balanced,
            tls,
            links: TaskTracker::new(),
            runtime: Handle::current(),
            limits,
            world,
        })
    }

    /// Returns the same server, for connections whose statements wait for a lock for at most
    /// `lock_wait`. Both share their backends.
    pub fn with_lock_wait(&self, lock_wait: Duration) -> Self {
        Self {
            limits: self.limits.with_lock_wait(lock_wait),
            ..self.clone()
        }
    }

    /// Returns the same server, for connections that run in another runtime. Both share their backends.
    pub fn on(&self, runtime: Handle) -> Self {
        Self {
            runtime,
            ..self.clone()
        }
    }

    /// Returns how long a statement may take.
    pub fn patience(&self) -> Duration {
        self.limits.patience
    }

    /// Connects to a host, and sets the time limits and the durability of the session.
    ///
    /// # Errors
    ///
    /// As [`Server::connect_with`].
    pub async fn connect(&self) -> Result<Link, StorageError> {
        self.connect_with(self.limits.set_up()).await
    }

    /// Connects to a host for migrations, without time limits on statements.
    ///
    /// # Errors
    ///
    /// As [`Server::connect_with`].
    pub async fn connect_to_migrate(&self) -> Result<AsyncPgConnection, StorageError> {
        Ok(self.connect_with(unlimited()).await?.into_inner())
    }

    /// Connects to the first host that accepts the connection, and runs the statements `set_up`.
    /// Each host has an equal share of [`WAIT`], so that a host that does not respond leaves time
    /// for the next one.
    ///
    /// # Errors
    ///
    /// The error of the last host, after [`WAIT`] at the latest.
    async fn connect_with(&self, set_up: String) -> Result<Link, StorageError> {
        let hosts = self.hosts.len();
        let share = WAIT / u32::try_from(hosts).unwrap_or(u32::MAX);
        let mut made = Err(silent());
        for host in self.hosts.iter().cycle().skip(self.first()).take(hosts) {
            made = self.connect_to(host, &set_up, Instant::now() + share).await;
            if made.is_ok() {
                break;
            }
        }
        made
    }

    async fn connect_to(
        &self,
        host: &Host,
        set_up: &str,
        until: Instant,
    ) -> Result<Link, StorageError> {
        let backend = timeout_at(until, Arc::clone(&host.backends).acquire_owned()).await;
        let Ok(Ok(backend)) = backend else {
            return Err(StorageError::Unavailable(
                "the backends of earlier connections have not ended".into(),
            ));
        };
        let (server, config, set_up) = (self.clone(), host.config.clone(), set_up.to_owned());
        let making = async move {
            match server.tls.clone() {
                Some(tls) => server.connect_by(&config, tls, backend, &set_up).await,
                None => server.connect_by(&config, NoTls, backend, &set_up).await,
            }
        };
        // In a task, which goes on if its caller goes away or waits no longer: the server may have begun
        // a backend, whose permit is held until it has responded or must have ended.
        let making = self.links.spawn_on(making, &self.runtime);
        match timeout_at(until, making).await {
            Ok(Ok(made)) => made,
            _ => Err(silent()),
        }
    }

    /// Runs a task where the connections run.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
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

    async fn connect_by<T>(
        &self,
        config: &Config,
        tls: T,
        backend: OwnedSemaphorePermit,
        set_up: &str,
    ) -> Result<Link, StorageError>
    where
        T: MakeTlsConnect<Socket, Stream: Send + 'static>,
    {
        let reached = timeout(self.limits.to_connect(), reached(config, tls));
        let (peer, client, connection) = reached.await.unwrap_or_else(|_| Err(silent()))?;
        let is_limited = Arc::new(AtomicBool::new(false));
        let given_up = CancellationToken::new();
        let canceller = Canceller {
            backend: client.cancel_token(),
            peer,
            config: config.clone(),
            tls: self.tls.clone(),
        };
        let carrier = Carrier {
            links: self.links.clone(),
            given_up: given_up.clone(),
            without_client: self.limits.without_client(),
            begun: Instant::now(),
            is_limited: Arc::clone(&is_limited),
            canceller: canceller.clone(),
            backend,
        };
        let carrier = self.links.spawn(carrier.carry(connection));
        let (carrier, given_up) = (carrier.abort_handle(), given_up.drop_guard());
        // First of all, so that the backend has its limits soon. Their time is waited for here: the
        // caller has gone by then, and the permit is held for as long in any case.
        let set_up = format!("{set_up}; SHOW lc_messages");
        let set_up = timeout(self.limits.without_client(), client.simple_query(&set_up));
        let rows = set_up.await.map_err(|_| silent())?;
        let rows = rows.map_err(|error| StorageError::Unavailable(error.into()))?;
        is_limited.store(true, Ordering::Relaxed);
        let wire = Wire {
            carrier,
            given_up,
            canceller,
            is_english: last(&rows).is_some_and(is_english),
        };
        let finished = async {
            ensure_wanted(&client, config).await?;
            Ok::<_, Cause>(AsyncPgConnection::try_from(client).await?)
        };
        let finished = timeout(self.limits.patience, finished).await;
        let connection = finished.map_err(|_| silent())?;
        let connection = connection.map_err(StorageError::Unavailable)?;
        Ok(Link::new(connection, wire, self.limits))
    }

    /// Waits until all connections are closed, for at most [`WAIT`]. The caller must have dropped
    /// them all.
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

    /// Fails if the connection is known to be lost. It does not query the server, which would cost
    /// each request a round trip.
    async fn recycle(&self, link: &mut Link, _: &Metrics) -> RecycleResult<StorageError> {
        if link.is_lost() {
            Err(RecycleError::message("the connection was lost"))
        } else if link.is_abandoned() {
            Err(RecycleError::message(
                "nobody waits for its statement, and it was not reclaimed",
            ))
        } else {
            Ok(())
        }
    }
}

/// Connects to the only host of a configuration: to the first of its addresses that accepts the
/// connection, which is returned too.
async fn reached<T>(
    config: &Config,
    mut tls: T,
) -> Result<(Peer, Client, Connection<Socket, T::Stream>), StorageError>
where
    T: MakeTlsConnect<Socket>,
{
    let mut failed = silent();
    let peers = Peer::all(config).await;
    for peer in peers.map_err(|error| StorageError::Unavailable(error.into()))? {
        let socket = match peer.connect(config).await {
            Ok(socket) => socket,
            Err(error) => {
                failed = StorageError::Unavailable(error.into());
                continue;
            }
        };
        let tls = tls.make_tls_connect(name(config));
        let tls = tls.map_err(|error| StorageError::Unavailable(error.into()))?;
        match config.connect_raw(socket, tls).await {
            Ok((client, connection)) => return Ok((peer, client, connection)),
            Err(error) => failed = unconnected(error),
        }
    }
    Err(failed)
}

/// Returns the name that the certificate of the only host of a configuration must be for. It is
/// empty if the host is given by its address alone, or by the folder of a Unix socket.
pub(super) fn name(config: &Config) -> &str {
    match config.get_hosts().first() {
        Some(HostName::Tcp(name)) => name,
        _ => "",
    }
}

/// Checks that a server accepts writes if `target_session_attrs` is `read-write`, and that it does
/// not if that is `read-only`. Any other value accepts every server.
async fn ensure_wanted(client: &Client, config: &Config) -> Result<(), Cause> {
    let (wanted, words) = match config.get_target_session_attrs() {
        TargetSessionAttrs::ReadWrite => ("off", "the database does not accept writes"),
        TargetSessionAttrs::ReadOnly => ("on", "the database accepts writes"),
        _ => return Ok(()),
    };
    let shown = client.simple_query("SHOW transaction_read_only").await?;
    if last(&shown) == Some(wanted) {
        Ok(())
    } else {
        Err(words.into())
    }
}

/// Returns the value of the last row.
fn last(messages: &[SimpleQueryMessage]) -> Option<&str> {
    messages.iter().rev().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    })
}

/// Returns whether a server with this value of `lc_messages` writes its messages in English. An empty
/// value stands for the environment of the server, which is not known.
fn is_english(locale: &str) -> bool {
    matches!(locale, "C" | "POSIX") || locale.starts_with("C.") || locale.starts_with("en")
}

/// The task of a connection, which holds the permit of its backend.
struct Carrier {
    links: TaskTracker,
    /// Cancelled when the client is dropped.
    given_up: CancellationToken,
    without_client: Duration,
    /// When the set-up was sent.
    begun: Instant,
    /// Whether the server has responded to the set-up, so that the backend has its limits.
    is_limited: Arc<AtomicBool>,
    canceller: Canceller,
    backend: OwnedSemaphorePermit,
}

impl Carrier {
    /// Moves bytes between the client of a connection and its socket. Ends when the server has
    /// closed the connection: after the client was dropped and its last statement has ended, or by
    /// itself, and then the client's statements fail. The backend has then ended too (`socket.rs`),
    /// so its permit is released.
    ///
    /// If the server has not said why it closed the connection, the network may have done so, and
    /// the permit is held until the backend has ended.
    ///
    /// After `given_up` is cancelled, it ends within `without_client` in any case, by when the server has
    /// ended the backend. If the server has not responded to the set-up, that time counts from when it
    /// was sent: a backend has its limits from then on, or the set-up has not reached it. In the latter
    /// case, which is rare, the backend ends only when the network reports that its client is gone, or
    /// when the server's own limits end it.
    async fn carry<C>(self, connection: C)
    where
        C: Future<Output = Result<(), tokio_postgres::Error>>,
    {
        let silent = async {
            self.given_up.cancelled().await;
            let from = if self.is_limited.load(Ordering::Relaxed) {
                Instant::now()
            } else {
                self.begun
            };
            tokio::time::sleep_until(from + self.without_client).await;
        };
        tokio::select! {
            closed = connection => {
                let Err(error) = closed else { return };
                tracing::warn!(error = %Causes(&error), "a connection to the database was lost");
                if error.as_db_error().is_none() {
                    self.hold();
                }
            }
            () = silent => tracing::warn!("a connection to the database was given up"),
        }
    }

    /// Holds the permit, in a task of its own, until the backend has ended or must have ended. The
    /// task of the connection ends sooner, which tells the client that the connection is lost.
    fn hold(self) {
        let Self {
            links,
            without_client,
            canceller,
            backend,
            ..
        } = self;
        links.spawn(async move {
            let _ = timeout(without_client, canceller.ended()).await;
            drop(backend);
        });
    }
}

/// Converts the error of a connection that was not established: to [`StorageError::Other`] if the
/// server rejects the user or has no such database, and otherwise to [`StorageError::Unavailable`],
/// since another try may succeed.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_in_english_are_known_by_their_locale() {
        for locale in ["C", "POSIX", "C.UTF-8", "en_US.UTF-8", "en"] {
            assert!(is_english(locale), "{locale}");
        }
        // The environment of the server, and other languages.
        for locale in ["", "de_DE.UTF-8", "cs_CZ", "POSIXLY"] {
            assert!(!is_english(locale), "{locale}");
        }
    }

    #[test]
    fn a_certificate_is_for_the_name_of_a_host() {
        for (address, expected) in [
            ("host=db.example hostaddr=127.0.0.1", "db.example"),
            ("hostaddr=127.0.0.1", ""),
            ("host=/run/postgresql", ""),
        ] {
            let config: Config = address.parse().expect("it is an address");
            assert_eq!(name(&config), expected, "{address}");
        }
    }
}
