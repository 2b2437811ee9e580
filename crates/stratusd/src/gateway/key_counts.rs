//! The requests of each key, as a text of their own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::counts::OTHER;

/// The number of keys whose requests are counted. The requests of others are counted together for
/// each project.
const MOST_KEYS: usize = 10_000;
/// How long a key is not used before another one may take its place in a full table.
const FORGET: Duration = Duration::from_hours(1);
/// The minimum time between two searches of a full table for keys that are not used.
const SWEEP: Duration = Duration::from_secs(10);
/// The requests of keys. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyTable(Arc<Mutex<Entries>>);

impl KeyTable {
    /// Counts a request of a key, and whether the gateway has responded with an error of its own.
    pub(super) fn count(&self, project: &str, key: &str, is_refused: bool) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.count(project, key, is_refused);
    }

    /// Returns the requests of each key, in the `OpenMetrics` text format.
    pub(super) fn text(&self) -> String {
        let mut registry = Registry::with_prefix("stratus");
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }
}

/// The requests of keys, by project and key.
#[derive(Debug, Default)]
struct Entries {
    counts: BTreeMap<(String, String), KeyCount>,
    /// When the full table was last searched for keys that are not used.
    swept: Option<Instant>,
}

#[derive(Debug)]
struct KeyCount {
    requests: u64,
    refusals: u64,
    used: Instant,
}

impl Entries {
    fn count(&mut self, project: &str, key: &str, is_refused: bool) {
        let own = (project.to_owned(), key.to_owned());
        let entry = if self.counts.contains_key(&own) || self.has_room() {
            own
        } else {
            // The entries of projects are in the same table, which they make at most twice as large.
            let others = (own.0, OTHER.to_owned());
            if self.counts.contains_key(&others) || self.counts.len() < 2 * MOST_KEYS {
                others
            } else {
                (OTHER.to_owned(), OTHER.to_owned())
            }
        };
        let count = self.counts.entry(entry).or_insert_with(|| KeyCount {
            requests: 0,
            refusals: 0,
            used: Instant::now(),
        });
        count.used = Instant::now();
        count.requests += 1;
        count.refusals += u64::from(is_refused);
    }

    /// Returns whether another key can be counted. Of a full table, forgets the keys that are not
    /// used any more, but does not search all of it for each new key.
    fn has_room(&mut self) -> bool {
        if self.counts.len() < MOST_KEYS {
            return true;
        }
        if self.swept.is_none_or(|swept| swept.elapsed() >= SWEEP) {
            self.counts.retain(|_, count| count.used.elapsed() < FORGET);
            self.swept = Some(Instant::now());
        }
        self.counts.len() < MOST_KEYS
    }
}

impl Collector for KeyTable {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics: [(_, _, fn(&KeyCount) -> u64); 2] = [
            (
                "gateway_key_requests",
                "Requests with a valid inference key, by key",
                |count| count.requests,
            ),
            (
                "gateway_key_refusals",
                "Of these, those to which the gateway has responded with an error of its own",
                |count| count.refusals,
            ),
        ];
        for (name, help, value) in metrics {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for ((project, key), count) in &entries.counts {
                let labels = [("project", project.as_str()), ("key", key.as_str())];
                ConstCounter::new(value(count)).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn keys_that_are_not_used_make_room_in_a_full_table() {
        let mut table = Entries::default();
        for number in 0..MOST_KEYS {
            table.count("shop", &number.to_string(), false);
        }
        let count = |table: &Entries, key: &str| {
            let entry = ("shop".to_owned(), key.to_owned());
            table.counts.get(&entry).map(|count| count.requests)
        };
        table.count("shop", "new", false);
        assert_eq!(
            (count(&table, "new"), count(&table, OTHER)),
            (None, Some(1))
        );
        tokio::time::advance(FORGET).await;
        table.count("shop", "0", true);
        table.count("shop", "new", false);
        assert_eq!(
            (count(&table, "0"), count(&table, "new")),
            (Some(2), Some(1))
        );
        assert_eq!(table.counts.len(), 2);
        for number in 0..3 * MOST_KEYS {
            table.count(&number.to_string(), "key", false);
        }
        assert_eq!(table.counts.len(), 2 * MOST_KEYS + 1);
    }
}
