//! Suggestions for misspelt words.

use std::collections::HashSet;

/// Returns the candidate that is most similar to a word, if any is similar enough.
///
/// Names that differ only in case and separators count as equal, since these are the most common
/// mistakes. Otherwise a third of the characters may differ, but at most three: beyond that a
/// suggestion is more often wrong than right.
#[must_use]
pub fn nearest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    similar(word, candidates)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns at most `most` candidates that are similar to a word, or contain it or are contained in
/// it, the most similar first.
pub(crate) fn near<'c>(word: &str, candidates: &[&'c str], most: usize) -> Vec<&'c str> {
    let folded = fold(word);
    let shares = |candidate: &str| {
        let other = fold(candidate);
        let (short, long) = if other.len() < folded.len() {
            (&other, &folded)
        } else {
            (&folded, &other)
        };
        // Shorter ones are in too many others by chance.
        short.len() > 2 && long.contains(short.as_str())
    };
    let mut found: Vec<(usize, &str)> = similar(word, candidates.iter().copied()).collect();
    let similar: HashSet<&str> = found.iter().map(|(_, candidate)| *candidate).collect();
    let others = candidates.iter().filter(|other| !similar.contains(*other));
    found.extend(others.filter(|other| shares(other)).map(|other| {
        let difference = other.len().abs_diff(word.len());
        // Behind the similar ones, whose distances are smaller than the word is long.
        (word.len() + difference, *other)
    }));
    found.sort_unstable();
    found.dedup();
    let found = found.into_iter().take(most);
    found.map(|(_, candidate)| candidate).collect()
}

/// Returns the candidates that are similar enough to a word, each with its distance.
fn similar<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> impl Iterator<Item = (usize, &'c str)> {
    let folded = fold(word);
    let limit = (word.chars().count() / 3).min(3);
    candidates.filter_map(move |candidate| {
        // Lengths first, since comparing is slow. One edit changes the length by four bytes at
        // most.
        if candidate.len().abs_diff(word.len()) > 4 * limit.max(1) {
            return None;
        }
        if fold(candidate) == folded {
            return Some((0, candidate));
        }
        let distance = strsim::osa_distance(word, candidate);
        (distance <= limit).then_some((distance, candidate))
    })
}

/// Returns a word in lower case without separators.
pub(crate) fn fold(word: &str) -> String {
    word.chars()
        .filter(|char| !matches!(char, '-' | '_' | ' ' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}
