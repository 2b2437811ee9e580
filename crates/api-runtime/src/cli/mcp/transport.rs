//! The standard input and output as the pipes of the protocol.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{Stdin, Stdout};
use tokio::sync::Semaphore;

/// The most bytes of a message that is received. A longer one is skipped.
const MOST_BYTES: usize = 16 << 20;
/// The messages that may wait until the client reads them. While so many do, no further request is
/// read: a client that sends and does not read takes no memory here.
const MOST_UNREAD: usize = 64;

/// The standard input and output. Each message is a line.
pub(super) struct Pipes {
    inner: AsyncRwTransport<RoleServer, Stdin, Stdout>,
    unread: Arc<Semaphore>,
}

impl Pipes {
    pub(super) fn new() -> Self {
        let inner = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout());
        Self {
            inner: inner.with_max_line_length(MOST_BYTES),
            unread: Arc::new(Semaphore::new(MOST_UNREAD)),
        }
    }
}

impl Transport<RoleServer> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let sending = self.inner.send(message);
        // Calls that run already may be more than have a place, and are not made to wait for one.
        let place = Arc::clone(&self.unread).try_acquire_owned().ok();
        async move {
            let sent = sending.await;
            drop(place);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        drop(self.unread.acquire().await.ok()?);
        self.inner.receive().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}
