//! The listener that accepts connections, and goes on after a failure, such as when the process or
//! the system cannot open more files.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum_server::{AddrListener, Address};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};

/// The number of file descriptors that are kept for other uses than connections to the API:
/// databases, the management port, the log, certificates.
const OTHER_FILES: u64 = 256;
/// How long to wait after a failure to accept a connection before trying again. An immediate try
/// would fail as well, and a loop without a pause would use up a processor.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
/// How long the service is not ready after a failure to accept a connection. A failure is logged
/// only if there was none during this time before it.
const BURST: Duration = Duration::from_secs(5);
/// How many bytes of a response the system keeps for a connection beyond those that are on their way. More
/// wait in the process, whose memory for responses has a bound. Without it the system keeps megabytes for
/// each connection, and says that there is room again only once a third of them is free, so a caller that
/// reads slowly would look like one that does not read.
#[cfg(target_os = "linux")]
const NOT_SENT: u32 = 64 << 10;

/// Raises the limit of open files of the process as far as the system allows. Returns how many
/// connections the process can hold beside `other_files`: at most `connections`, which
/// `max_connections` sets, and at least one. Logs a warning if they are fewer than `connections`.
pub(crate) fn raise_open_files(connections: u32, other_files: u64) -> u32 {
    let room = open_files(other_files);
    let possible = u32::try_from(room).unwrap_or(u32::MAX).min(connections);
    if possible < connections {
        tracing::warn!(
            connections,
            possible,
            "the limit of open files allows fewer connections: raise it, or lower max_connections"
        );
    }
    possible
}

/// Raises the limit of open files of the process as far as the system allows. Returns how many files
/// can be open beside `other_files` and [`OTHER_FILES`], at least one.
pub(crate) fn open_files(other_files: u64) -> u64 {
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
    let others = OTHER_FILES.saturating_add(other_files);
    limit.map_or(u64::MAX, |limit| limit.saturating_sub(others).max(1))
}

/// A TCP listener that tries again after a failure to accept a connection, and logs the first of
/// several failures.
#[derive(Debug)]
pub(crate) struct Accepting {
    listener: TcpListener,
    failures: Arc<AcceptFailures>,
}

impl Accepting {
    pub(crate) fn new(
        listener: std::net::TcpListener,
        failures: Arc<AcceptFailures>,
    ) -> io::Result<Self> {
        // Connections have what their listener has.
        #[cfg(target_os = "linux")]
        SockRef::from(&listener).set_tcp_notsent_lowat(NOT_SENT)?;
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
                // The caller has closed the connection before it was accepted.
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

/// A socket address in the interface of [`Accepting`]: that of a caller, or the one that the
/// listener is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(SocketAddr);

impl Address for Peer {
    type Stream = TcpStream;
    type Listener = Accepting;
}

/// The time of the last failure to accept a connection, or `None` if there was none.
#[derive(Debug, Default)]
pub(crate) struct AcceptFailures(Mutex<Option<Instant>>);

impl AcceptFailures {
    /// Returns whether accepting a connection has failed within the last five seconds ([`BURST`]).
    pub(crate) fn are_recent(&self) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last.elapsed() < BURST)
    }

    /// Records the time of a failure to accept a connection. Logs the failure if there was none
    /// within the five seconds before it.
    pub(crate) fn note(&self, error: &io::Error) {
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
