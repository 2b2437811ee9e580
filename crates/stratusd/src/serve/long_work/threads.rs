//! [`LongThreads`]: the threads that long work runs on, which have a lower priority than the others, and
//! give way to them.
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
use std::task::Poll;

use api_server::server::call_while_busy;
use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::give_way::{begin_to_give_way, give_way, have_give_way};

/// By how much the threads are nicer than the process: of a processor that another thread wants too, they
/// get a third of what it gets. Not less, since others may wait for a lock that such a thread holds.
#[cfg(target_os = "linux")]
const NICER: i32 = 5;

tokio::task_local! {
    /// Where the request that this task serves runs.
    static PLACE: Place;
}

/// Where a request runs: among long work (`true`) or among the others.
struct Place {
    is_long: bool,
    /// Where it wants to run.
    wanted: Cell<bool>,
}

/// The threads of long work.
#[derive(Debug, Clone)]
pub(in crate::serve) struct LongThreads(Arc<Threads>);

#[derive(Debug)]
struct Threads {
    handle: Handle,
    /// The requests that run here.
    requests: TaskTracker,
    /// `Some` until this is dropped.
    runtime: Option<Runtime>,
}

impl LongThreads {
    /// Starts a number of threads.
    pub(super) fn start(count: usize) -> io::Result<Self> {
        // Of the process, and not of the thread that starts: a thread that waits for a body to be read is
        // started by one that is nicer already.
        #[cfg(target_os = "linux")]
        let nice = rustix::process::getpriority_process(None)? + NICER;
        let runtime = have_give_way(&mut Builder::new_multi_thread())
            .on_thread_start(move || {
                #[cfg(target_os = "linux")]
                lower_priority(nice);
                // Blocking threads too, which read refused bodies.
                begin_to_give_way();
                call_while_busy(give_way);
            })
            .worker_threads(count)
            .thread_name("long-work")
            .enable_all()
            .build()?;
        Ok(Self(Arc::new(Threads {
            handle: runtime.handle().clone(),
            requests: TaskTracker::new(),
            runtime: Some(runtime),
        })))
    }

    /// Returns the runtime of these threads.
    pub(in crate::serve) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    /// Has a router do its long work on these threads.
    pub(in crate::serve) fn layer(&self, router: Router) -> Router {
        let threads = self.clone();
        router.layer(middleware::from_fn(move |request: Request, next: Next| {
            let threads = threads.clone();
            async move { threads.run(next.run(request)).await }
        }))
    }

    /// Waits until no request runs here any more. A connection that ends does not wait for its request,
    /// which may be reading from the database.
    pub(in crate::serve) async fn rest(&self) {
        self.0.requests.close();
        self.0.requests.wait().await;
    }

    /// Runs a request, wherever its work belongs.
    async fn run<F>(&self, request: F) -> F::Output
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let Threads {
            handle, requests, ..
        } = &*self.0;
        let mut request = Box::pin(request);
        loop {
            request = match run_at(false, request).await {
                Ok(response) => return response,
                Err(request) => request,
            };
            let long = requests.spawn_on(run_at(true, request), handle);
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
    // Not `yield_now`, which has waited once it is polled again: what is between may do so at once.
    poll_fn(|context| {
        let arrived = PLACE.try_with(|place| {
            place.wanted.set(is_long);
            place.is_long == is_long
        });
        if arrived == Ok(false) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// Runs a request among long work or among the others, to its end, or until it wants to go on elsewhere
/// and is returned.
async fn run_at<F: Future>(is_long: bool, request: Pin<Box<F>>) -> Result<F::Output, Pin<Box<F>>> {
    let mut running = Some(request);
    poll_fn(|context| {
        let request = running.as_mut().expect("it is polled until it is returned");
        let place = Place {
            is_long,
            wanted: Cell::new(is_long),
        };
        let (polled, stays) = PLACE.sync_scope(place, || {
            let polled = request.as_mut().poll(context);
            (polled, PLACE.with(|place| place.wanted.get()) == is_long)
        });
        match polled {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending if stays => Poll::Pending,
            Poll::Pending => {
                let request = running.take().expect("it was just polled");
                Poll::Ready(Err(request))
            }
        }
    })
    .await
}

/// Lowers the priority of this thread, which needs no privilege.
#[cfg(target_os = "linux")]
fn lower_priority(nice: i32) {
    // On Linux, this is about the calling thread, and what is beyond 19 counts as 19.
    if let Err(error) = rustix::process::setpriority_process(None, nice) {
        tracing::warn!(%error, "failed to lower the priority of a thread for long work");
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use futures_util::FutureExt;

    use super::*;
    use crate::give_way::gives_way;

    /// Returns whether this thread is one of long work.
    fn is_there() -> bool {
        thread::current().name() == Some("long-work")
    }

    #[tokio::test]
    async fn a_request_runs_where_it_wants_to() {
        let threads = LongThreads::start(1).expect("threads can be started");
        let seen = threads.run(async {
            let begin = is_there();
            go_on(true).await;
            let long = is_there();
            go_on(true).await;
            let same = is_there();
            go_on(false).await;
            [begin, long, same, is_there()]
        });
        assert_eq!(seen.await, [false, true, true, false]);
        let ended = threads.run(async {
            go_on(true).await;
            is_there()
        });
        assert!(ended.await);
    }

    #[tokio::test]
    async fn what_polls_twice_at_once_does_not_keep_it() {
        let threads = LongThreads::start(1).expect("threads can be started");
        let there = threads.run(async {
            let mut work = Box::pin(async {
                go_on(true).await;
                is_there()
            });
            // As the run time reads a body that may have arrived.
            match work.as_mut().now_or_never() {
                Some(there) => there,
                None => work.await,
            }
        });
        assert!(there.await);
    }

    #[tokio::test]
    async fn a_request_whose_caller_goes_away_is_waited_for() {
        let threads = LongThreads::start(1).expect("threads can be started");
        let (begun, is_begun) = tokio::sync::oneshot::channel();
        let (end, may_end) = std::sync::mpsc::channel::<()>();
        let work = async move {
            go_on(true).await;
            begun.send(()).expect("the test waits");
            // As SQLite does, this keeps the thread.
            may_end.recv().expect("the test ends it");
        };
        let others = threads.clone();
        let request = tokio::spawn(async move { others.run(work).await });
        is_begun.await.expect("it begins");
        request.abort();
        assert!(request.await.is_err());
        let mut rest = Box::pin(threads.rest());
        assert!(rest.as_mut().now_or_never().is_none());
        end.send(()).expect("it waits");
        rest.await;
    }

    #[tokio::test]
    async fn threads_that_read_refused_bodies_give_way() {
        let threads = LongThreads::start(1).expect("they start");
        let reading = threads.handle().spawn_blocking(gives_way);
        assert!(reading.await.expect("it ends"));
    }
}
