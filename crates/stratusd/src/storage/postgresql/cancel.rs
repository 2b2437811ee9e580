//! Requests to cancel the statement of a backend, which are sent on connections of their own.

use std::io;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{CancelToken, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::server::name;
use super::socket::{Peer, Socket};
use crate::causes::Causes;
use crate::storage::{Cause, WAIT};

/// How long a backend whose connection is lost takes at most to end, once its statement is
/// cancelled: it notices the loss when it reads the next message.
const ENDING: Duration = Duration::from_secs(1);

/// A type that cancels the statements of one backend.
#[derive(Clone)]
pub(super) struct Canceller {
    /// Identifies the backend in a request.
    pub backend: CancelToken,
    /// The address of the server, to which requests are sent.
    pub peer: Peer,
    /// The configuration of the backend's connection, for its one host.
    pub config: Config,
    /// The settings of TLS, or `None` if the address disables TLS.
    pub tls: Option<MakeRustlsConnect>,
}

impl Canceller {
    /// Asks the server to cancel the running statement. Returns whether the server has passed the
    /// request on to the backend, so that it cannot arrive later and cancel another statement.
    pub(super) async fn cancel(&self) -> bool {
        match timeout(WAIT, self.ask()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!(error = %Causes(&*error), "an abandoned statement cannot be cancelled");
                false
            }
            Err(_) => false,
        }
    }

    /// Waits until a backend has ended whose connection was lost. It would notice that only after
    /// its statement, so the statement is cancelled. Without a server to ask there is no backend.
    pub(super) async fn ended(&self) {
        loop {
            match timeout(WAIT, self.ask()).await {
                Ok(Err(error)) if is_refused(&error) => return,
                Ok(Ok(())) => return sleep(ENDING).await,
                Ok(Err(_)) | Err(_) => sleep(ENDING).await,
            }
        }
    }

    /// Sends a request to cancel, on a new connection to the same address with the same TLS
    /// settings, and waits until the server closes that connection.
    async fn ask(&self) -> Result<(), Cause> {
        let socket = self.peer.connect(&self.config).await?;
        match self.tls.clone() {
            Some(mut tls) => {
                let name = name(&self.config);
                let tls = MakeTlsConnect::<Socket>::make_tls_connect(&mut tls, name)?;
                self.backend.cancel_query_raw(socket, tls).await?;
            }
            None => self.backend.cancel_query_raw(socket, NoTls).await?,
        }
        Ok(())
    }
}

/// Returns whether an error says that nothing listens at the address.
fn is_refused(error: &Cause) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
