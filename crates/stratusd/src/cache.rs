//! A cache whose values expire.
//!
//! Not moka: a few lookups of small tables need a bound and an age, but no eviction by use, no
//! listeners and no further crate. The lock is held for one lookup in a hash map.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

/// A map of a limited number of values that expire. Each value has the moment since when it is
/// cached.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    lifetime: Duration,
    capacity: usize,
    values: RwLock<HashMap<K, (Instant, V)>>,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// Creates a cache of up to `capacity` values, each of which is returned for at most
    /// `lifetime`.
    pub(crate) fn new(lifetime: Duration, capacity: usize) -> Self {
        Self {
            lifetime,
            capacity,
            values: RwLock::default(),
        }
    }

    /// Returns the cached value of a key, unless it has expired.
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        let (since, value) = values.get(key)?;
        (since.elapsed() < self.lifetime).then(|| value.clone())
    }

    /// Caches a value from now on. If the cache is full, this drops the expired values, or all values if
    /// none has expired.
    pub(crate) fn insert(&self, key: K, value: V) {
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        if values.len() >= self.capacity {
            values.retain(|_, (since, _)| since.elapsed() < self.lifetime);
            // All are fresh: dropping them costs a lookup each, and keeping them would have no
            // bound.
            if values.len() >= self.capacity {
                values.clear();
            }
        }
        values.insert(key, (Instant::now(), value));
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const LIFETIME: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_value_expires_after_its_lifetime() {
        let cache = Cache::new(LIFETIME, 2);
        assert_eq!(cache.get("one"), None);
        cache.insert("one".to_owned(), 1);
        advance(Duration::from_millis(9999)).await;
        assert_eq!(cache.get("one"), Some(1));
        advance(Duration::from_millis(1)).await;
        assert_eq!(cache.get("one"), None);
        cache.insert("one".to_owned(), 2);
        assert_eq!(cache.get("one"), Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_cache_drops_what_has_expired_or_else_everything() {
        let cache = Cache::new(LIFETIME, 2);
        cache.insert("one".to_owned(), 1);
        advance(LIFETIME).await;
        cache.insert("two".to_owned(), 2);
        cache.insert("three".to_owned(), 3);
        let cached = |key: &str| cache.get(key);
        assert_eq!(
            ["one", "two", "three"].map(cached),
            [None, Some(2), Some(3)]
        );
        cache.insert("four".to_owned(), 4);
        assert_eq!(["two", "three", "four"].map(cached), [None, None, Some(4)]);
    }
}
