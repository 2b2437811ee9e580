//! Places for the requests with a key that are in progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{KeyedRequest, of_unknown};

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
    /// Those of callers who are not known.
    unknown: usize,
    by_scope: HashMap<[u8; 32], usize>,
}

/// Whose requests take all places.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Full {
    All,
    Caller,
    Unknown,
}

/// A place, which is free again when this is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    scope: [u8; 32],
    is_known: bool,
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
    pub(super) fn take(self: &Arc<Self>, request: &KeyedRequest) -> Result<Place, Full> {
        let &KeyedRequest {
            scope, is_known, ..
        } = request;
        let mut taken = self.lock();
        let own = taken.by_scope.get(&scope).copied().unwrap_or(0);
        // First, so that a caller who takes all of its places hears that it is its own doing.
        if own >= self.of_one {
            return Err(Full::Caller);
        }
        if !is_known && taken.unknown >= of_unknown(self.of_all) {
            return Err(Full::Unknown);
        }
        if taken.all >= self.of_all {
            return Err(Full::All);
        }
        taken.all += 1;
        taken.unknown += usize::from(!is_known);
        taken.by_scope.insert(scope, own + 1);
        Ok(Place {
            places: Arc::clone(self),
            scope,
            is_known,
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
        taken.unknown -= usize::from(!self.is_known);
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

    fn of(scope: u8, is_known: bool) -> KeyedRequest {
        KeyedRequest {
            scope: [scope; 32],
            is_known,
            id: [0; 32],
            digest: [0; 32],
        }
    }

    #[test]
    fn a_place_is_free_again_after_its_request() {
        let places = Arc::new(Places::new(3, 2));
        let (one, other) = (of(1, true), of(2, true));
        let take = |request| {
            let place = places.take(request);
            place.unwrap_or_else(|full| panic!("{full:?}"))
        };
        let (first, second) = (take(&one), take(&one));
        assert_eq!(places.take(&one).err(), Some(Full::Caller));
        let third = take(&other);
        assert_eq!(places.take(&other).err(), Some(Full::All));
        drop(first);
        assert!(places.take(&one).is_ok());
        drop((second, third));
        let unknown = [take(&of(3, false)), take(&of(4, false))];
        assert_eq!(places.take(&of(5, false)).err(), Some(Full::Unknown));
        drop(unknown);
        let taken = places.lock();
        assert!(taken.all == 0 && taken.unknown == 0 && taken.by_scope.is_empty());
    }
}
