//! Places for the requests with a key that are in progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places of all requests. They are bounded, because a request with a key goes on when its caller
/// hangs up, so that connections do not bound it.
pub(super) struct Places {
    of_all: usize,
    of_one: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_scope: HashMap<[u8; 32], usize>,
}

/// Whose requests take all places.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Full {
    OfAll,
    OfOne,
}

/// A place, which is free again when this is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    scope: [u8; 32],
}

impl Places {
    pub(super) fn new(of_all: usize, of_one: usize) -> Self {
        Self {
            of_all,
            of_one,
            taken: Mutex::default(),
        }
    }

    /// Takes a place for a request of a caller.
    pub(super) fn take(self: &Arc<Self>, scope: [u8; 32]) -> Result<Place, Full> {
        let mut taken = self.lock();
        let own = taken.by_scope.get(&scope).copied().unwrap_or(0);
        // First, so that a caller who takes all of its places hears that it is its own doing.
        if own >= self.of_one {
            return Err(Full::OfOne);
        }
        if taken.all >= self.of_all {
            return Err(Full::OfAll);
        }
        taken.all += 1;
        taken.by_scope.insert(scope, own + 1);
        Ok(Place {
            places: Arc::clone(self),
            scope,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.all -= 1;
        let own = taken.by_scope.get(&self.scope).copied().unwrap_or(0);
        // A scope without requests has no entry, or the map would grow with every caller.
        if own <= 1 {
            taken.by_scope.remove(&self.scope);
        } else {
            taken.by_scope.insert(self.scope, own - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_after_its_request() {
        let places = Arc::new(Places::new(3, 2));
        let (one, other) = ([1; 32], [2; 32]);
        let first = places.take(one).unwrap_or_else(|_| panic!("it is free"));
        let second = places.take(one).unwrap_or_else(|_| panic!("it is free"));
        assert_eq!(places.take(one).err(), Some(Full::OfOne));
        let third = places.take(other).unwrap_or_else(|_| panic!("it is free"));
        assert_eq!(places.take(other).err(), Some(Full::OfAll));
        drop(first);
        assert!(places.take(one).is_ok());
        drop((second, third));
        let taken = places.lock();
        assert!(taken.all == 0 && taken.by_scope.is_empty());
    }
}
