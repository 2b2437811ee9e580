//! Limits of how many requests per second somebody makes, such as a token or a project.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// The minimum time between two sweeps, in which the limiter forgets those who may make their whole
/// burst of requests again.
const SWEEP: Duration = Duration::from_secs(10);
/// The number of ids above which the limiter sweeps.
const MANY: usize = 10_000;

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

/// Limits the requests of each id.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: RateLimit,
    ids: DefaultKeyedRateLimiter<String>,
    /// The time of the last sweep.
    swept: Mutex<Instant>,
}

impl Limiter {
    /// Creates a limiter that allows each id as many requests.
    pub(crate) fn new(limit: RateLimit) -> Self {
        let quota = Quota::per_second(limit.per_second).allow_burst(limit.burst);
        Self {
            limit,
            ids: RateLimiter::keyed(quota),
            swept: Mutex::new(Instant::now()),
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
        self.sweep();
        self.ids
            .check_key(&id.to_owned())
            .map_err(|rejected| rejected.wait_time_from(DefaultClock::default().now()))
    }

    /// Forgets the ids that may make their whole burst again, once there are many ids. Not at each
    /// request, since this looks at all of them.
    fn sweep(&self) {
        // If the lock is taken, another request sweeps at the moment.
        let Ok(mut swept) = self.swept.try_lock() else {
            return;
        };
        if swept.elapsed() >= SWEEP && self.ids.len() > MANY {
            self.ids.retain_recent();
            *swept = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn ids_are_forgotten_once_there_are_many() {
        let per_second = NonZeroU32::new(1000).expect("it is not 0");
        let burst = NonZeroU32::MIN;
        let limiter = Limiter::new(RateLimit { per_second, burst });
        let wait_until_whole = || sleep(Duration::from_millis(5));
        let count = |ids: std::ops::Range<usize>| {
            for id in ids {
                limiter.check(&id.to_string()).expect("it is its first");
            }
        };
        let long_ago = Instant::now().checked_sub(SWEEP);
        let long_ago = long_ago.expect("the system was not started just now");
        count(0..MANY);
        *limiter.swept.lock().expect("nobody panics") = long_ago;
        wait_until_whole();
        count(MANY..MANY + 1);
        assert_eq!(
            limiter.ids.len(),
            MANY + 1,
            "swept, though there were not many"
        );
        wait_until_whole();
        count(MANY + 1..MANY + 2);
        assert_eq!(limiter.ids.len(), 1, "not swept, though there are many");
        count(0..MANY + 1);
        wait_until_whole();
        count(MANY + 2..MANY + 4);
        assert_eq!(limiter.ids.len(), MANY + 4, "swept again at once");
    }
}
