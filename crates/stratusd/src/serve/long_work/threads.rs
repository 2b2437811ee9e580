//! [`LongThreads`]: the threads that long work runs on, which have a lower priority than the others.
//!
//! A request begins on a thread of the service's runtime. Once it is the turn of its long work, it goes on
//! here, so that the runtime keeps its threads, and the system prefers them where both want a processor.
//! When the work is done, the request returns.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::panic;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::yield_now;
use tokio_util::task::AbortOnDropHandle;

/// How much less of a contended processor these threads get: a tenth of what another thread gets. Not
/// less, since others may wait for a lock that such a thread holds.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

tokio::task_local! {
    /// Whether the request that this task serves does long work.
    static IS_LONG: Cell<bool>;
}

/// The threads of long work.
#[derive(Debug, Clone)]
pub(in crate::serve) struct LongThreads(Arc<Threads>);

#[derive(Debug)]
struct Threads {
    handle: Handle,
    /// `Some` until this is dropped.
    runtime: Option<Runtime>,
}

impl LongThreads {
    /// Starts a number of threads.
    pub(super) fn start(count: usize) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(count)
            .thread_name("long-work")
            .on_thread_start(lower_priority)
            .enable_all()
            .build()?;
        Ok(Self(Arc::new(Threads {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })))
    }

    /// Has a router do its long work on these threads.
    pub(in crate::serve) fn layer(self, router: Router) -> Router {
        router.layer(middleware::from_fn(move |request: Request, next: Next| {
            let threads = self.clone();
            async move { threads.run(next.run(request)).await }
        }))
    }

    /// Runs a request, wherever its work belongs.
    async fn run<F>(&self, request: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let mut request = Box::pin(request);
        loop {
            request = match until(request, true).await {
                Ok(response) => return response,
                Err(request) => request,
            };
            let long = self.0.handle.spawn(until(request, false));
            request = match AbortOnDropHandle::new(long).await {
                Ok(Ok(response)) => return response,
                Ok(Err(request)) => request,
                // The threads run as long as this future, so nothing else ends it early.
                Err(panicked) => panic::resume_unwind(panicked.into_panic()),
            };
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The last owner may be a task, which must not wait for other threads.
            runtime.shutdown_background();
        }
    }
}

/// Has the current request go on among long work, or among the other requests. Without
/// [`LongThreads`] around it, it stays where it is.
pub(in crate::serve) async fn go_on(is_long: bool) {
    let changed = IS_LONG.try_with(|noted| noted.replace(is_long) != is_long);
    if changed == Ok(true) {
        // Whoever runs it takes it elsewhere while it waits.
        yield_now().await;
    }
}

/// Runs a request to its end, or until it goes on among long work (`is_long`) or among others, and
/// returns it then.
async fn until<F: Future>(request: Pin<Box<F>>, is_long: bool) -> Result<F::Output, Pin<Box<F>>> {
    let mut running = Some(request);
    poll_fn(|context| {
        let Some(request) = &mut running else {
            unreachable!("it is polled until it is returned");
        };
        let noted = Cell::new(!is_long);
        let (polled, turned) = IS_LONG.sync_scope(noted, || {
            let polled = request.as_mut().poll(context).map(Ok);
            (polled, IS_LONG.with(Cell::get) == is_long)
        });
        match running.take_if(|_| polled.is_pending() && turned) {
            Some(request) => std::task::Poll::Ready(Err(request)),
            None => polled,
        }
    })
    .await
}

/// Lowers the priority of this thread. The system refuses nobody that.
#[cfg(target_os = "linux")]
fn lower_priority() {
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::warn!(%error, "failed to lower the priority of a thread for long work");
    }
}

/// Elsewhere, only processes have a priority.
#[cfg(not(target_os = "linux"))]
fn lower_priority() {}
