//! What a misspelt word was probably meant to be.

/// The candidate that looks most like a word, if any looks like it at all.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    let folded = fold(word);
    let limit = (word.chars().count() / 3).min(3);
    candidates
        .filter_map(|candidate| {
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

/// A word without what people get wrong first: case and word separators.
fn fold(word: &str) -> String {
    word.chars()
        .filter(|char| !matches!(char, '-' | '_' | ' ' | '.'))
        .flat_map(char::to_lowercase)
        .collect()
}
