//! Strings within lengths, of patterns and of formats.

use api_runtime::Pattern;
use rand::RngExt as _;
use rand::rngs::StdRng;

use super::gather::Gathered;
use super::{formats, pattern};
use crate::bounds::MOST_LENGTH;

/// The number of strings that are tried.
const TRIES: usize = 48;
/// The words that strings without a rule are made of.
const WORDS: [&str; 16] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "juniper",
    "kelp", "larch", "maple", "north", "otter", "pebble",
];

/// Returns a string, or `None` if none was found.
pub(super) fn text(gathered: &Gathered, random: &mut StdRng) -> Option<String> {
    let least = usize::try_from(gathered.least(|keywords| keywords.min_length)).ok()?;
    let most = gathered.most(|keywords| keywords.max_length);
    let most = most.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    });
    if least > most || least > MOST_LENGTH {
        return None;
    }
    let patterns: Vec<&str> = gathered
        .all
        .iter()
        .filter_map(|keywords| keywords.pattern.as_deref())
        .collect();
    let format = gathered
        .all
        .iter()
        .find_map(|keywords| keywords.format.as_deref())
        .and_then(formats::maker);
    let encoded = gathered
        .all
        .iter()
        .any(|keywords| keywords.content_encoding.as_deref() == Some("base64"));
    let format = format.or_else(|| formats::maker("byte").filter(|_| encoded));
    let compiled: Vec<Option<pattern::Sampler>> = patterns
        .iter()
        .map(|source| pattern::Sampler::new(source))
        .collect();
    let fits = |text: &String| {
        let length = text.chars().count();
        length >= least && length <= most && patterns.iter().all(|source| matches(source, text))
    };
    for attempt in 0..TRIES {
        let made = if let Some(make) = format {
            Some(make(least, most, random))
        } else if let Some(sampler) = compiled.iter().flatten().next() {
            sampler.text(attempt, least, random)
        } else if patterns.is_empty() {
            Some(words(least, most, random))
        } else {
            None
        };
        if let Some(made) = made {
            if fits(&made) {
                return Some(made);
            }
            // A pattern without an end goes on with anything.
            let missing = least.saturating_sub(made.chars().count());
            let longer = made + &"a".repeat(missing);
            if missing > 0 && fits(&longer) {
                return Some(longer);
            }
        }
    }
    None
}

/// Returns a string that matches a pattern.
pub(super) fn of_pattern(source: &str, random: &mut StdRng) -> Option<String> {
    let sampler = pattern::Sampler::new(source)?;
    (0..TRIES)
        .filter_map(|attempt| sampler.text(attempt, 0, random))
        .find(|text| matches(source, text))
}

/// Returns whether a pattern matches somewhere in a string.
pub(super) fn matches(source: &str, text: &str) -> bool {
    thread_local! {
        /// The patterns that were used in this thread. Their sources live as long as the contract.
        static KNOWN: std::cell::RefCell<std::collections::HashMap<String, &'static Pattern>> =
            std::cell::RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        let pattern = known.entry(source.to_owned()).or_insert_with(|| {
            let source = source.to_owned().leak();
            Box::leak(Box::new(Pattern::new(source)))
        });
        pattern.matches(text)
    })
}

/// Returns a word.
pub(super) fn word(random: &mut StdRng) -> String {
    WORDS[random.random_range(0..WORDS.len())].to_owned()
}

/// Returns words of a length.
pub(super) fn words(least: usize, most: usize, random: &mut StdRng) -> String {
    let mut text = word(random);
    while text.len() < least {
        text.push('-');
        text.push_str(&word(random));
    }
    text.truncate(most);
    text
}
