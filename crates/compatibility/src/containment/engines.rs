//! The engines of patterns: each pattern is compiled once for all searches and validators of a
//! comparison, when it is first asked about a string.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The maximum number of patterns whose engines are kept.
const MOST_ENGINES: usize = 1024;

/// The engines of a comparison. Clones share them.
#[derive(Debug, Default, Clone)]
pub(crate) struct Engines {
    // A mutex, because a validator must be free to move to another thread.
    known: Arc<Mutex<HashMap<String, Arc<Engine>>>>,
}

/// The engine of a pattern.
#[derive(Debug)]
pub(crate) struct Engine {
    pattern: String,
    compiled: OnceLock<Compiled>,
}

#[derive(Debug)]
enum Compiled {
    Plain(regex::Regex),
    Fancy(fancy_regex::Regex),
    Unusable,
}

impl Engines {
    /// Returns the engine of a pattern of JSON Schema.
    pub(crate) fn get(&self, pattern: &str) -> Arc<Engine> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = known.get(pattern) {
            return Arc::clone(engine);
        }
        if known.len() >= MOST_ENGINES {
            // All at once: so few contracts have as many that counting the uses would not pay.
            known.clear();
        }
        let engine = Arc::new(Engine {
            pattern: pattern.to_owned(),
            compiled: OnceLock::new(),
        });
        known.insert(pattern.to_owned(), Arc::clone(&engine));
        engine
    }
}

impl Engine {
    /// Returns whether a string matches the pattern, or `None` if no engine can tell.
    pub(crate) fn matches(&self, text: &str) -> Option<bool> {
        let matched = catch_unwind(AssertUnwindSafe(|| match self.compiled() {
            Compiled::Plain(regex) => Some(regex.is_match(text)),
            // It gives up with an error after a number of steps back, since it may need exponential
            // time.
            Compiled::Fancy(regex) => regex.is_match(text).ok(),
            Compiled::Unusable => None,
        }));
        // The crate `regex` panics on some patterns (https://github.com/rust-lang/regex/issues/1344).
        matched.ok().flatten()
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let Some(translated) = api_runtime::translate_pattern(&self.pattern) else {
                return Compiled::Unusable;
            };
            // This engine takes linear time. The other one also looks around and refers back.
            match regex::Regex::new(&translated) {
                Ok(regex) => Compiled::Plain(regex),
                Err(_) => match fancy_regex::Regex::new(&translated) {
                    Ok(regex) => Compiled::Fancy(regex),
                    Err(_) => Compiled::Unusable,
                },
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Engines, MOST_ENGINES};

    #[test]
    fn an_engine_that_gives_up_says_so() {
        let engines = Engines::default();
        let text = "a".repeat(60);
        for (pattern, expected) in [
            // The reference back needs an engine that tries all ways to split the text.
            (r"^(a|a)+\1b$", None),
            ("(", None),
            (r"^(a)\1+$", Some(true)),
            ("^a*b", Some(false)),
        ] {
            assert_eq!(engines.get(pattern).matches(&text), expected, "{pattern}");
        }
    }

    #[test]
    fn engines_are_shared_and_bounded() {
        let engines = Engines::default();
        let first = engines.get("^0$");
        assert!(std::sync::Arc::ptr_eq(&first, &engines.clone().get("^0$")));
        for number in 1..=MOST_ENGINES {
            engines.get(&format!("^{number}$"));
        }
        let kept = engines.known.lock().expect("no test panics").len();
        assert!(kept <= MOST_ENGINES, "{kept} engines are kept");
        // One that is in use stays usable.
        assert_eq!(first.matches("0"), Some(true));
    }
}
