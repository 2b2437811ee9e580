//! Time and randomness, passed in so that tests can replace them.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of time and randomness.
#[derive(Clone)]
pub struct World {
    clock: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// The clock of the database, if it is another one.
    database_clock: Option<Arc<dyn Fn() -> i64 + Send + Sync>>,
    entropy: Arc<dyn Fn(&mut [u8]) + Send + Sync>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl World {
    /// Returns a source of the system's time and randomness.
    ///
    /// # Panics
    ///
    /// Not here, but when random bytes are asked for on a system that has none.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is where they come from")]
    pub fn real() -> Self {
        let clock = || {
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        };
        // Without randomness there are no safe ids and secrets, so the service cannot continue.
        let entropy = |bytes: &mut [u8]| getrandom::fill(bytes).expect("the system has randomness");
        Self::new(clock, entropy)
    }

    /// Creates a source from a clock in milliseconds since 1970 and a function that fills bytes at
    /// random.
    pub fn new(
        clock: impl Fn() -> i64 + Send + Sync + 'static,
        entropy: impl Fn(&mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        Self {
            clock: Arc::new(clock),
            database_clock: None,
            entropy: Arc::new(entropy),
        }
    }

    /// Returns the same source with another clock for a database that has none of its own, which is
    /// SQLite. So a simulation of several replicas on one file has what those on PostgreSQL have: the
    /// database's clock, and each its own.
    #[must_use]
    pub fn with_database_clock(self, clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self {
            database_clock: Some(Arc::new(clock)),
            ..self
        }
    }

    /// Returns the time of a database that has no clock of its own, in milliseconds since 1970.
    #[must_use]
    pub(crate) fn database_now(&self) -> i64 {
        self.database_clock.as_ref().unwrap_or(&self.clock)()
    }

    /// Returns the time in milliseconds since 1970.
    #[must_use]
    pub fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Returns random bytes.
    ///
    /// # Panics
    ///
    /// If the system has no randomness.
    #[must_use]
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        (self.entropy)(&mut bytes);
        bytes
    }

    /// Returns random letters and digits, all of the 62 equally likely.
    #[must_use]
    pub fn letters_and_digits(&self, length: usize) -> String {
        const ALPHABET: &[u8; 62] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut text = String::with_capacity(length);
        while text.len() < length {
            // 248 is the largest multiple of 62 in a byte. With the bytes above it, the first
            // letters would be likelier.
            let fair = self.random::<32>().into_iter().filter(|byte| *byte < 248);
            text.extend(
                fair.map(|byte| char::from(ALPHABET[usize::from(byte % 62)]))
                    .take(length - text.len()),
            );
        }
        text
    }
}
