//! Follows the events of a provisioner: the databases that they name are made due at once.
//!
//! An event is a hint, and no state is taken from it: what is recorded is what the next step observes, and
//! databases without events are observed every `observe_every` as before. An event that is lost costs as
//! much time as if there were none.
//!
//! A provisioner cannot make the service work without end. While [`MOST_WAITING`] databases wait, no event
//! is read; [`AT_ONCE`] of them are made due every [`PAUSE`], and each at most once per [`LEAST_BETWEEN`].

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use api_types::PostgresId;
use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::changes::MakeDue;
use super::{Reconciler, doubled};
use crate::causes::Causes;
use crate::provision::{ProvisionError, Provisioner};
use crate::storage::Aborted;
use crate::world::World;

/// The number of databases that wait until they are made due.
const MOST_WAITING: usize = 1000;
/// The number of databases that are made due together.
const AT_ONCE: usize = 100;
/// The least time between two times that databases are made due.
const PAUSE: Duration = Duration::from_millis(100);
/// The least time between two times that the same database is made due.
const LEAST_BETWEEN: Duration = Duration::from_secs(1);
/// How often a provisioner that sends no events is asked whether it does now.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// The longest wait before the next attempt to follow the events.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How long events have to be followed until earlier failures are forgotten.
const STEADY: Duration = Duration::from_secs(30);

impl<P: Provisioner> Reconciler<P> {
    /// Follows the events of the provisioner until the reconciler is stopped.
    pub(super) async fn follow(&self, stop: &CancellationToken) {
        // Without room: what waits is counted in one place.
        let (named, ids) = mpsc::channel(1);
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.make_due(ids) => {}
            () = self.listen(named) => {}
        }
    }

    /// Listens for events, and begins again after growing pauses when they end.
    async fn listen(&self, named: mpsc::Sender<PostgresId>) {
        let mut failures = 0;
        loop {
            let begun = Instant::now();
            let wait = match self.listen_once(&named).await {
                Ok(()) => {
                    failures = 0;
                    ASK_AGAIN
                }
                Err(error) => {
                    tracing::warn!("the events of the provisioner cannot be followed now: {error}");
                    if begun.elapsed() >= STEADY {
                        failures = 0;
                    }
                    failures += 1;
                    let least = match error {
                        ProvisionError::Busy { wait, .. } => wait,
                        ProvisionError::Failed(_) | ProvisionError::NoDatabase(_) => Duration::ZERO,
                    };
                    pause(&self.context.world, failures).max(least)
                }
            };
            sleep(wait).await;
        }
    }

    /// Listens until the events end, which is an error. Returns at once if the provisioner sends none.
    async fn listen_once(&self, named: &mpsc::Sender<PostgresId>) -> Result<(), ProvisionError> {
        let Some(mut events) = self.provisioner.events().await? else {
            return Ok(());
        };
        self.steps.event_streams.fetch_add(1, Ordering::Relaxed);
        tracing::info!("the provisioner says when databases change");
        while let Some(id) = events.next().await {
            let id = id?;
            self.steps.events.fetch_add(1, Ordering::Relaxed);
            let Ok(id) = PostgresId::try_from(id) else {
                let wrong = "an event names no id of a database".to_owned();
                return Err(ProvisionError::Failed(wrong));
            };
            if named.send(id).await.is_err() {
                return Ok(());
            }
        }
        Err(ProvisionError::Failed("they have ended".to_owned()))
    }

    /// Makes the named databases due.
    async fn make_due(&self, mut ids: mpsc::Receiver<PostgresId>) {
        let mut waiting = Waiting::default();
        loop {
            let next = waiting.next();
            tokio::select! {
                // Those that wait first, however many others come.
                biased;
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                    let make = MakeDue {
                        ids: waiting.take(),
                        world: self.context.world.clone(),
                    };
                    let made = self.store.change(make).await;
                    // They are observed in their turn.
                    if let Err(error) = made.map_err(Aborted::failure) {
                        tracing::warn!(error = %Causes(&error), "databases that have changed are observed later");
                    }
                }
                id = ids.recv(), if waiting.has_room() => match id {
                    Some(id) => waiting.add(id),
                    None => return,
                },
            }
        }
    }
}

/// Returns how long to wait after a number of failures. It is random in part: the replicas of a service
/// lose their provisioner in the same moment.
fn pause(world: &World, failures: u32) -> Duration {
    let wait = doubled(failures.saturating_sub(1), LONGEST_WAIT);
    wait / 2
        + (wait / 2).mul_f64(f64::from(u32::from_be_bytes(world.random())) / f64::from(u32::MAX))
}

/// The databases that events have named, until they are made due.
#[derive(Debug, Default)]
struct Waiting {
    /// When each may be made due.
    from: HashMap<PostgresId, Instant>,
    /// When others were made due, as long as that keeps them from being made due again.
    made: HashMap<PostgresId, Instant>,
    /// The moment at which databases may be made due next.
    next: Option<Instant>,
}

impl Waiting {
    fn has_room(&self) -> bool {
        self.from.len() < MOST_WAITING
    }

    /// Adds a database, unless it waits already.
    fn add(&mut self, id: PostgresId) {
        let now = Instant::now();
        let from = self.made.get(&id).map_or(now, |made| *made + LEAST_BETWEEN);
        self.from.entry(id).or_insert(from);
    }

    /// Returns the moment at which databases can be taken, or `None` if there are none.
    fn next(&self) -> Option<Instant> {
        let first = self.from.values().min().copied();
        first.map(|first| self.next.map_or(first, |next| first.max(next)))
    }

    /// Takes those that may be made due now, the first of them if there are many. They are sorted, so that
    /// replicas which make the same due do not wait for each other in a circle.
    fn take(&mut self) -> Vec<PostgresId> {
        let now = Instant::now();
        self.next = Some(now + PAUSE);
        self.made.retain(|_, made| *made + LEAST_BETWEEN > now);
        let mut due: Vec<_> = self.from.iter().filter(|(_, from)| **from <= now).collect();
        due.sort_unstable_by_key(|(_, from)| **from);
        due.truncate(AT_ONCE);
        let mut ids: Vec<_> = due.into_iter().map(|(id, _)| id.clone()).collect();
        ids.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        for id in &ids {
            self.from.remove(id);
            self.made.insert(id.clone(), now);
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn id(number: usize) -> PostgresId {
        PostgresId::try_from(format!("pg{number:024}")).expect("it is an id")
    }

    #[tokio::test(start_paused = true)]
    async fn databases_are_made_due_in_parts_and_each_once_in_a_second() {
        let begun = Instant::now();
        let mut waiting = Waiting::default();
        for number in 0..150 {
            waiting.add(id(number));
        }
        assert_eq!(waiting.next(), Some(begun));
        let first = waiting.take();
        assert_eq!(first.len(), 100);
        waiting.add(first[0].clone());
        assert_eq!(waiting.next(), Some(begun + Duration::from_millis(100)));
        advance(Duration::from_millis(100)).await;
        let second = waiting.take();
        assert_eq!(second.len(), 50);
        assert!(second.iter().all(|id| !first.contains(id)));
        // The second call has not forgotten what the first one took.
        waiting.add(first[1].clone());
        assert_eq!(waiting.next(), Some(begun + Duration::from_secs(1)));
        advance(Duration::from_millis(900)).await;
        assert_eq!(waiting.take(), first[..2]);
        assert_eq!(waiting.next(), None);
    }

    #[test]
    fn pauses_double_up_to_a_minute_and_half_of_each_is_random() {
        let world = World::real();
        let whole = [1, 2, 4, 8, 16, 32, 60, 60].map(Duration::from_secs);
        for (failures, whole) in (1..).zip(whole) {
            let mut drawn: Vec<_> = (0..200).map(|_| pause(&world, failures)).collect();
            drawn.sort();
            let (shortest, longest) = (drawn[0], drawn[drawn.len() - 1]);
            assert!(shortest >= whole / 2 && longest <= whole, "{drawn:?}");
            // That 200 draws are all close together happens in less than one of 10⁵⁰ runs.
            assert!(longest.saturating_sub(shortest) > whole / 4, "{drawn:?}");
        }
    }
}
