//! Suggestions for misspelt words.

/// Returns the candidate that is most similar to a word, if any is similar enough.
///
/// Names that differ only in case and separators count as equal, since these are the most common
/// mistakes. Otherwise a third of the characters may differ, but at most three: beyond that a
/// suggestion is more often wrong than right.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    let folded = fold(word);
    let limit = (word.chars().count() / 3).min(3);
    candidates
        .filter_map(|candidate| {
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
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns a word in lower case without separators.
fn fold(word: &str) -> String {
    word.chars()
        .filter(|char| !matches!(char, '-' | '_' | ' ' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}
