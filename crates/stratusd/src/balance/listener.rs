//! A socket on which a load balancer accepts connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::unconstrained;
use tokio_util::sync::CancellationToken;

use super::balancer::Balancer;
use super::connection;
use super::proxy_header::Ends;
use crate::serve::accept::PAUSE;

/// The maximum number of connections that the kernel queues before they are accepted.
pub(super) const BACKLOG: i32 = 1024;

/// Why a load balancer does not listen if too many others do.
pub(super) const TOO_MANY: &str = "too many addresses are listened on, by all load balancers or by those of the \
     project, which may have a quarter: raise balance_listeners";

/// A socket on which a load balancer accepts connections, or the reason why there is none.
#[derive(Debug)]
pub(super) enum Listener {
    /// Cancelling this stops the listener.
    Open(CancellationToken),
    /// The reason, and what to do about it.
    Failed(String),
}

impl Listener {
    /// Starts to accept connections for a load balancer on an address.
    pub(super) fn open(balancer: &Arc<Balancer>, address: SocketAddr) -> Self {
        let limits = [&balancer.share.listeners, &balancer.shared.room.listeners];
        let places = limits.map(|limit| Arc::clone(limit).try_acquire_owned().ok());
        if places.iter().any(Option::is_none) {
            return Self::Failed(TOO_MANY.to_owned());
        }
        match bind(address) {
            Ok(listener) => {
                let stop = CancellationToken::new();
                let accepting = accept(Arc::clone(balancer), listener, address, stop.clone());
                // Waited for when the process stops, since it accepts what is queued.
                balancer.shared.tasks.spawn(async move {
                    accepting.await;
                    drop(places);
                });
                Self::Open(stop)
            }
            Err(error) => Self::Failed(reason(&error)),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// Stops to accept connections. Those that the kernel has already queued are accepted.
    pub(super) fn stop(&self) {
        if let Self::Open(stop) = self {
            stop.cancel();
        }
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        // The load balancer has an address of IPv4 of its own.
        socket.set_only_v6(true)?;
    }
    // As std does: connections of the last process may be in TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Returns why the data plane cannot listen on an address, with what to do about common errors.
fn reason(error: &io::Error) -> String {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program or load balancer has this address and port: change src_port of one, or widen the \
             network of addresses"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need the capability CAP_NET_BIND_SERVICE"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have the address: add it, or set another network of addresses"
        }
        _ => return error.to_string(),
    };
    format!("{error}: {hint}")
}

/// Accepts connections until `stop`, and then those that the kernel has queued by then.
async fn accept(
    balancer: Arc<Balancer>,
    listener: TcpListener,
    address: SocketAddr,
    stop: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            biased;
            // First, because callers may keep the queue full.
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, caller)) => begin(&balancer, stream, caller, address),
            // The caller has closed the connection before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                balancer.shared.accept_failures.note(&error);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    for _ in 0..BACKLOG {
        // Without the budget of a task, after which nothing would seem to be queued.
        match unconstrained(listener.accept()).now_or_never() {
            Some(Ok((stream, caller))) => begin(&balancer, stream, caller, address),
            Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Some(Err(_)) | None => return,
        }
    }
}

/// Starts the task of a connection, or closes it if the firewalls do not allow the caller, or if there
/// are too many.
fn begin(balancer: &Arc<Balancer>, stream: TcpStream, caller: SocketAddr, address: SocketAddr) {
    // First, so that it takes no place of those who may connect.
    if !balancer.declared().callers.has(caller.ip()) {
        balancer.refused.firewall.fetch_add(1, Ordering::Relaxed);
        // With a reset, as a firewall that rejects: no file is kept for its last packets.
        let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        return;
    }
    let limits = [
        &balancer.connections,
        &balancer.share.connections,
        &balancer.shared.room.connections,
    ];
    let places = limits.map(|limit| Arc::clone(limit).try_acquire_owned().ok());
    if places.iter().any(Option::is_none) {
        // At once: a connection that waits costs the file that the limit is there to save.
        balancer.refused.limit.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let ends = Ends { caller, address };
    let served = connection::serve(Arc::clone(balancer), stream, ends);
    let closing = balancer.shared.closing.clone();
    balancer.shared.tasks.spawn(async move {
        // In a handshake or while it connects, too.
        let _ = closing.run_until_cancelled(served).await;
        drop(places);
    });
}
