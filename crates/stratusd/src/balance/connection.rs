//! A connection of a caller: its TLS handshake, the choice of a virtual machine, and the relay.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::server::TlsStream;

use super::balancer::Balancer;
use super::proxy_header::{self, Ends};
use super::relay::relay;
use super::target::Counted;

/// How long a TLS handshake may take.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);
/// The number of virtual machines that one connection tries at most.
pub(super) const TRIES: usize = 10;

/// Serves a connection until it ends.
pub(super) async fn serve(balancer: Arc<Balancer>, stream: TcpStream, ends: Ends) {
    // Otherwise a small response could wait until the caller has acknowledged the one before.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    // What is declared now: a certificate that is turned on or off changes no open connection.
    if !balancer.declared().row.cert_enabled {
        return forward(&balancer, stream, ends).await;
    }
    let Some(tls) = balancer.tls() else {
        count(&balancer.refused.handshake);
        return;
    };
    match timeout(HANDSHAKE, tls.accept(stream)).await {
        Ok(Ok(stream)) => forward(&balancer, stream, ends).await,
        Ok(Err(_)) | Err(_) => count(&balancer.refused.handshake),
    }
}

/// Connects to a virtual machine, and relays until both sides have ended, the connection is idle for
/// too long, or the virtual machine has been detached for too long.
async fn forward<S>(balancer: &Arc<Balancer>, mut caller: S, ends: Ends)
where
    S: AsyncRead + AsyncWrite + Unpin + Reset,
{
    let Some((mut vm, counted)) = connect(balancer, ends).await else {
        count(&balancer.refused.no_vm);
        return;
    };
    let closing = counted.target().closing.clone();
    let relayed = relay(&mut caller, &mut vm, balancer.shared.timing.idle);
    // Not logged: callers and virtual machines may break off whenever they like.
    if !matches!(closing.run_until_cancelled(relayed).await, Some(Ok(()))) {
        // Broken off, and not ended in order: what was sent must not look complete.
        caller.reset();
        vm.reset();
    }
}

/// A connection that can be broken off, so that the other side does not take it for ended in order.
trait Reset {
    /// Makes the connection end with a reset when it is dropped.
    fn reset(&self);
}

impl Reset for TcpStream {
    fn reset(&self) {
        // An error means that the connection has ended already.
        let _ = SockRef::from(self).set_linger(Some(Duration::ZERO));
    }
}

impl Reset for TlsStream<TcpStream> {
    fn reset(&self) {
        self.get_ref().0.reset();
    }
}

/// Connects to the first virtual machine that accepts, in the order of the load balancer's algorithm.
/// Nothing of the caller was read by then, so a virtual machine that refuses costs it only time.
///
/// While no virtual machine is up, and the first check of one is being made, this waits for its
/// result.
async fn connect(balancer: &Balancer, ends: Ends) -> Option<(TcpStream, Counted)> {
    let timing = &balancer.shared.timing;
    let (turn, until) = (balancer.turn(), Instant::now() + timing.check);
    'changed: loop {
        let changed = balancer.changed.notified();
        tokio::pin!(changed);
        // Before looking, so that no change is missed in between.
        changed.as_mut().enable();
        let routing = balancer.routing();
        let order = routing.order(ends.caller.ip(), turn);
        if order.is_empty() && routing.is_one_unchecked() {
            timeout_at(until, changed).await.ok()?;
            continue;
        }
        for target in order.into_iter().take(TRIES) {
            let Some(address) = target.address else {
                continue;
            };
            // Counted before it is open, so that a virtual machine that is detached now is not
            // taken for one without connections.
            let counted = target.count();
            // It may have been detached while another one was tried, and others attached.
            if !balancer.routing().has(&target) {
                continue 'changed;
            }
            let opened = timeout(timing.connect, open(balancer, address, ends)).await;
            if let Ok(Ok(stream)) = opened {
                return Some((stream, counted));
            }
        }
        return None;
    }
}

/// Opens a connection to a virtual machine, and sends the header of the PROXY protocol if it is on.
async fn open(balancer: &Balancer, address: SocketAddr, ends: Ends) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    if let Some(header) = proxy_header::of(balancer.shared.timing.proxy_protocol, ends) {
        stream.write_all(&header).await?;
    }
    Ok(stream)
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
