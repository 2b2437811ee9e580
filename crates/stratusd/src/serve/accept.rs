//! Accepting connections: what happens when the process or the system cannot open more files.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum_server::{AddrListener, Address};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};

/// The number of files that are not connections to the API: databases, the management port, the
/// log, certificates.
const OTHER_FILES: u64 = 256;
/// How long to wait after a connection could not be accepted. The next try would fail as well, and
/// a loop without a pause would use up a processor.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the service is not ready after a connection could not be accepted, and how long no
/// further failure is logged.
const BURST: Duration = Duration::from_secs(5);

/// Raises the number of files that the process may open as far as it is allowed to. Returns how
/// many connections to the API it can hold, which are at most `connections`.
pub(super) fn raise_open_files(connections: u32) -> u32 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(_) => current,
    };
    // `None` is no limit.
    let room = limit.map_or(u64::MAX, |limit| limit.saturating_sub(OTHER_FILES).max(1));
    let possible = u32::try_from(room).unwrap_or(u32::MAX).min(connections);
    if possible < connections {
        tracing::warn!(
            max_connections = connections,
            possible,
            "the limit of open files allows fewer connections: raise it, or lower max_connections"
        );
    }
    possible
}

/// A listener that logs why it cannot accept a connection, and tries again.
#[derive(Debug)]
pub(super) struct Accepting {
    listener: TcpListener,
    failures: Arc<AcceptFailures>,
}

impl Accepting {
    pub(super) fn new(
        listener: std::net::TcpListener,
        failures: Arc<AcceptFailures>,
    ) -> io::Result<Self> {
        let listener = TcpListener::from_std(listener)?;
        Ok(Self { listener, failures })
    }
}

impl AddrListener<TcpStream, Peer> for Accepting {
    async fn bind_to(Peer(address): Peer) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            failures: Arc::default(),
        })
    }

    async fn accept_stream(&self) -> io::Result<(TcpStream, Peer)> {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => return Ok((stream, Peer(address))),
                // The caller is gone before its connection was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    self.failures.note(&error);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn get_local_addr(&self) -> io::Result<Peer> {
        self.listener.local_addr().map(Peer)
    }
}

/// The address of a connection that an [`Accepting`] has accepted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(SocketAddr);

impl Address for Peer {
    type Stream = TcpStream;
    type Listener = Accepting;
}

/// When a connection could not be accepted the last time.
#[derive(Debug, Default)]
pub(super) struct AcceptFailures(Mutex<Option<Instant>>);

impl AcceptFailures {
    /// Returns whether a connection could not be accepted lately.
    pub(super) fn are_recent(&self) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last.elapsed() < BURST)
    }

    /// Notes a failure, and logs it if it is the first of a burst.
    fn note(&self, error: &io::Error) {
        let is_first = !self.are_recent();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        if is_first {
            tracing::error!(
                %error,
                "a connection cannot be accepted: raise the limit of open files, or lower max_connections"
            );
        }
    }
}
