//! Limits of how many requests per second somebody makes, such as a token or a project.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The minimum time between two sweeps, in which a part forgets those who may make their whole burst of
/// requests again.
const SWEEP: Duration = Duration::from_secs(10);
/// The number of ids of a part above which it sweeps.
const MANY: usize = 1_000;
/// The number of parts that ids are spread over, so that a request rarely waits for another one, and a
/// sweep looks at few ids.
const PARTS: usize = 16;

/// The number of requests that a token, a key or a project may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per second.
    pub per_second: NonZeroU32,
    /// Requests at once, after a pause.
    pub burst: NonZeroU32,
}

impl RateLimit {
    /// Returns the time in which a burst that is used up becomes whole again.
    #[must_use]
    pub fn window(self) -> Duration {
        Duration::from_secs(1) * self.burst.get() / self.per_second.get()
    }
}

/// Limits the requests of each id, by the generic cell rate algorithm (ITU-T I.371): of an id, it keeps
/// one time.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: RateLimit,
    parts: [Mutex<Part>; PARTS],
    hasher: RandomState,
}

/// Some of the ids.
#[derive(Debug)]
struct Part {
    /// The time at which each id may make its whole burst again.
    whole_at: HashMap<String, Instant>,
    swept: Instant,
}

impl Limiter {
    /// Creates a limiter that allows each id as many requests.
    pub(crate) fn new(limit: RateLimit) -> Self {
        let swept = Instant::now();
        let part = |_| {
            Mutex::new(Part {
                whole_at: HashMap::new(),
                swept,
            })
        };
        Self {
            limit,
            parts: std::array::from_fn(part),
            hasher: RandomState::new(),
        }
    }

    /// Returns the limit of each id.
    pub(crate) fn limit(&self) -> RateLimit {
        self.limit
    }

    /// Counts a request of an id.
    ///
    /// # Errors
    ///
    /// How long to wait, if the id makes too many requests.
    pub(crate) fn check(&self, id: &str) -> Result<(), Duration> {
        self.check_at(id, Instant::now())
    }

    fn check_at(&self, id: &str, now: Instant) -> Result<(), Duration> {
        let mut part = self.part(id);
        part.sweep(now);
        let each = Duration::from_secs(1) / self.limit.per_second.get();
        let burst = each * self.limit.burst.get();
        let whole_at = part.whole_at.get(id).map_or(now, |at| (*at).max(now)) + each;
        // The time that the burst has been used for must not exceed the whole of it.
        match whole_at.duration_since(now).checked_sub(burst) {
            None | Some(Duration::ZERO) => {
                // Most ids are known, and need no copy.
                match part.whole_at.get_mut(id) {
                    Some(at) => *at = whole_at,
                    None => {
                        part.whole_at.insert(id.to_owned(), whole_at);
                    }
                }
                Ok(())
            }
            Some(wait) => Err(wait),
        }
    }

    fn part(&self, id: &str) -> MutexGuard<'_, Part> {
        let hash = usize::try_from(self.hasher.hash_one(id) % PARTS as u64);
        let part = &self.parts[hash.expect("the number of a part is small")];
        // A part is whole after each statement, so a panic has broken nothing.
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part {
    /// Forgets the ids that may make their whole burst again, once there are many ids. Not at each
    /// request, since this looks at all of them.
    fn sweep(&mut self, now: Instant) {
        if self.whole_at.len() > MANY && now.duration_since(self.swept) >= SWEEP {
            self.whole_at.retain(|_, at| *at > now);
            self.swept = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(per_second: u32, burst: u32) -> Limiter {
        Limiter::new(RateLimit {
            per_second: NonZeroU32::new(per_second).expect("it is not zero"),
            burst: NonZeroU32::new(burst).expect("it is not zero"),
        })
    }

    #[test]
    fn a_burst_is_allowed_and_what_follows_waits_for_its_turn() {
        let (limiter, start) = (limiter(10, 3), Instant::now());
        for _ in 0..3 {
            assert_eq!(limiter.check_at("a", start), Ok(()));
        }
        let each = Duration::from_millis(100);
        assert_eq!(limiter.check_at("a", start), Err(each));
        // A request that is refused is not counted.
        assert_eq!(limiter.check_at("a", start + each / 4), Err(each * 3 / 4));
        assert_eq!(limiter.check_at("a", start + each), Ok(()));
        assert_eq!(limiter.check_at("a", start + each), Err(each));
        // Another id has a burst of its own.
        assert_eq!(limiter.check_at("b", start), Ok(()));
    }

    #[test]
    fn a_pause_gives_back_one_burst_and_no_more() {
        let (limiter, start) = (limiter(10, 3), Instant::now());
        let later = start + Duration::from_mins(10);
        for now in [start, later] {
            for _ in 0..3 {
                assert_eq!(limiter.check_at("a", now), Ok(()));
            }
            assert!(limiter.check_at("a", now).is_err());
        }
    }

    #[test]
    fn ids_are_forgotten_once_they_have_their_whole_burst() {
        let (limiter, start) = (limiter(10, 3), Instant::now());
        let many = PARTS * MANY * 2;
        for id in 0..many {
            assert_eq!(limiter.check_at(&id.to_string(), start), Ok(()));
        }
        let count = || -> usize {
            let parts = limiter.parts.iter();
            parts.map(|part| part.lock().unwrap().whole_at.len()).sum()
        };
        assert_eq!(count(), many);
        for id in 0..1_000 {
            assert_eq!(
                limiter.check_at(&format!("later {id}"), start + SWEEP),
                Ok(())
            );
        }
        assert_eq!(count(), 1_000);
    }
}
