//! A thread that writes files, because a disk may be slow or full, and no change of a load balancer may
//! wait for that.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// How long the end of the process waits until everything is written.
const LAST: Duration = Duration::from_secs(5);

/// A thread that works when it is told that there is something new.
#[derive(Debug)]
pub(super) struct Background {
    /// Tells the thread that there is something new. Dropping it ends the thread.
    news: SyncSender<()>,
    /// Resolves when the thread has ended.
    ended: oneshot::Receiver<()>,
}

impl Background {
    /// Starts a thread that calls `work` each time that it is told, and after a failure again after a
    /// `pause`, if it is not told before.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(super) fn start(
        name: &str,
        pause: Duration,
        work: impl FnMut() -> Result<(), ()> + Send + 'static,
    ) -> io::Result<Self> {
        // One is enough: it says that there is something new, and not how often.
        let (news, received) = sync_channel(1);
        let (end, ended) = oneshot::channel();
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                run(&received, pause, work);
                let _ = end.send(());
            })?;
        Ok(Self { news, ended })
    }

    /// Tells the thread that there is something new.
    pub(super) fn tell(&self) {
        // An error means that the thread knows already.
        let _ = self.news.try_send(());
    }

    /// Waits until the thread has done what it was told last, but no longer than [`LAST`].
    pub(super) async fn close(self) {
        drop(self.news);
        let _ = tokio::time::timeout(LAST, self.ended).await;
    }
}

fn run(news: &Receiver<()>, pause: Duration, mut work: impl FnMut() -> Result<(), ()>) {
    let mut has_failed = false;
    loop {
        let told = if has_failed {
            news.recv_timeout(pause)
        } else {
            news.recv().map_err(RecvTimeoutError::from)
        };
        has_failed = work().is_err();
        if told == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}
