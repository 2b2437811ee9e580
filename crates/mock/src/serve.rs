//! Serves a mock on an address, within bounds.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::bounds::{GRACE, HEAD_TIMEOUT, MOST_BUFFERED, MOST_CONNECTIONS};

/// How long accepting pauses after an error, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until `stop` is done, and then waits for requests in progress, for at most
/// [`GRACE`]. An error of a connection ends that connection only.
pub async fn serve(listener: TcpListener, router: axum::Router, stop: impl Future<Output = ()>) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MOST_BUFFERED);
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepting = async {
            // Before the connection is accepted, so that those without room wait in the queue of
            // the system.
            let permit = Arc::clone(&room).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            () = &mut stop => break,
            accepted = accepting => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                if !is_of_connection(&error) {
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            }
        };
        // A response is one write, which need not wait for more.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = builder
            .serve_connection(TokioIo::new(stream), service)
            .into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // An error is the caller's: it went away, or did not speak HTTP.
            let _ = connection.await;
            drop(permit);
        });
    }
    // New connections are refused from now on, in place of waiting for an answer that never comes.
    drop(listener);
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

/// Returns whether an error of accepting is about that connection alone.
fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
