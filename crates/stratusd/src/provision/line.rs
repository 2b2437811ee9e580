//! Texts of a provisioner in a line of the log.

/// The largest number of characters of a provisioner's text that are logged.
const MOST_TEXT: usize = 500;

/// Returns a text of a provisioner for the log: in one line, and not too long.
pub(crate) fn line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(MOST_TEXT)
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
    if text.chars().nth(MOST_TEXT).is_some() {
        line.push('…');
    }
    line
}
