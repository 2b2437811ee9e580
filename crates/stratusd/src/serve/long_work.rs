//! Requests that keep a processor busy for milliseconds, in which no other request runs there: long
//! pages, which are read (on SQLite, on this very thread) and written as JSON, and long bodies,
//! which are parsed and checked. How many of them run at a time is limited here, and they run on threads
//! of their own.

mod threads;

use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::budget::Owner;
use crate::shares::{Most, Part, Shares, Wanted};
pub(super) use threads::{LongThreads, go_on};

/// The bytes above which the body of a request is long.
pub(super) const LONG_BODY: usize = 16 << 10;

/// The processors that long work may take, and the turns of each project.
#[derive(Debug, Clone)]
pub(super) struct LongWork {
    most: usize,
    processors: Arc<Semaphore>,
    turns: Arc<Shares<Owner>>,
}

impl LongWork {
    /// Leaves half of the processors to other requests, and half of the rest to other projects.
    pub(super) fn new(processors: usize) -> Self {
        let most = (processors / 2).max(1);
        Self {
            most,
            processors: Arc::new(Semaphore::new(most)),
            turns: Arc::new(Shares::new(Most {
                all: usize::MAX,
                each: most.div_ceil(2),
                leaves_as_much: false,
            })),
        }
    }

    /// Starts the threads that the work runs on, one for each processor that it may take.
    ///
    /// # Errors
    ///
    /// If the system refuses it.
    pub(super) fn start_threads(&self) -> io::Result<LongThreads> {
        LongThreads::start(self.most)
    }

    /// Waits for a turn of a project. Work needs one before it waits for a processor, so that a project
    /// with much work waits for itself.
    pub(super) async fn turn(&self, owner: &Owner) -> Part<Owner> {
        let one = Wanted {
            amount: 1,
            beside: 0,
        };
        self.turns.wait(owner, one).await
    }

    /// Waits for a processor.
    pub(super) async fn processor(&self) -> OwnedSemaphorePermit {
        let processor = Arc::clone(&self.processors).acquire_owned().await;
        processor.expect("it is never closed")
    }
}

#[cfg(test)]
mod tests {
    use api_types::ProjectId;
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_project_has_half_of_half_the_processors() {
        let work = LongWork::new(6);
        let [shop, rival] = ["s", "r"].map(|letter| {
            let id = ProjectId::try_from(format!("pj{}", letter.repeat(24)));
            Some(id.expect("it is an id"))
        });
        let begun = |owner: &Owner| {
            let turn = work.turn(owner).now_or_never()?;
            Some((turn, work.processor().now_or_never()?))
        };
        let first = begun(&shop);
        let second = begun(&shop);
        assert!(first.is_some() && second.is_some());
        assert!(begun(&shop).is_none());
        let other = begun(&rival);
        assert!(other.is_some());
        // The other processors are for other requests.
        assert!(begun(&rival).is_none());
        drop(first);
        assert!(begun(&rival).is_some());
        let work = LongWork::new(1);
        assert!(work.turn(&shop).now_or_never().is_some());
        assert!(work.processor().now_or_never().is_some());
    }
}
