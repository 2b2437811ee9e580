//! The rule of a pattern in words, so that no message shows a regular expression.

/// The length of the longest sentence that a message repeats, in bytes.
const LONGEST: usize = 300;

/// Returns the message for a string that does not match the pattern of a schema.
///
/// The first sentence of the description gives the rule if it describes the values, such as
/// `A name: 1 to 63 characters of a-z.` Any other sentence would not fit after "must be"; then the
/// message names the component `schema`, which is `None` for an inline schema.
pub(crate) fn message(description: Option<&str>, schema: Option<&str>) -> String {
    if let Some(values) = description.and_then(described_values) {
        return format!("must be {values}");
    }
    match schema {
        Some(schema) => format!("must match the pattern of `{schema}`"),
        None => "must match the pattern of its schema".to_owned(),
    }
}

/// Returns the first sentence of a description with a lower-case article and without the full stop.
/// Returns `None` if it does not begin with an article, or is too long for a message.
fn described_values(description: &str) -> Option<String> {
    let line = description.lines().next()?;
    let sentence = line.split_once(". ").map_or(line, |(first, _)| first);
    let sentence = sentence.trim().trim_end_matches('.');
    let (article, rest) = sentence.split_once(' ')?;
    let is_short = sentence.len() <= LONGEST;
    (is_short && matches!(article, "A" | "An" | "The"))
        .then(|| format!("{} {rest}", article.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_describes_the_values_is_the_rule() {
        for (description, expected) in [
            ("A port, such as `80`.", "must be a port, such as `80`"),
            ("The id of a pet. It is opaque.", "must be the id of a pet"),
            ("An hour\nof the day", "must be an hour"),
            ("Identifies a pet.", "must match the pattern of `Pet`"),
            ("", "must match the pattern of `Pet`"),
            (
                &format!("A {}", "pet".repeat(LONGEST)),
                "must match the pattern of `Pet`",
            ),
        ] {
            assert_eq!(message(Some(description), Some("Pet")), expected);
        }
        assert_eq!(message(None, None), "must match the pattern of its schema");
    }
}
