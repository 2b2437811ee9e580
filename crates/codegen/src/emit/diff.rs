//! A short unified diff, which shows what happened but never the whole file.
//!
//! `similar` finds and writes the diff; what is done here is to keep it short and safe to print.

use std::time::Duration;

use similar::TextDiff;

/// The maximum number of lines of a file's diff.
const MOST_LINES: usize = 20;
/// The maximum number of characters of a line, since some generated files are one line of
/// megabytes.
const MOST_CHARACTERS: usize = 120;
/// The time after which `similar` stops looking for the smallest diff.
const PATIENCE: Duration = Duration::from_millis(200);

/// Returns the diff from the text that was found to the wanted one. An empty string stands for a
/// missing file. At most [`MOST_LINES`] lines of the diff are returned.
pub(super) fn unified(path: &str, found: &str, wanted: &str) -> String {
    let name = |side: &str, text: &str| {
        if text.is_empty() {
            "/dev/null".to_owned()
        } else {
            format!("{side}/{path}")
        }
    };
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(found, wanted);
    let text = diff
        .unified_diff()
        .context_radius(1)
        .missing_newline_hint(false)
        .header(&name("found", found), &name("generated", wanted))
        .to_string();
    let lines: Vec<&str> = text.lines().collect();
    let mut out: String = lines
        .iter()
        .take(MOST_LINES)
        .map(|line| shown(line))
        .collect();
    if lines.len() > MOST_LINES {
        out.push_str(&format!("… {} more lines\n", lines.len() - MOST_LINES));
    }
    out
}

/// Returns a line that is safe to print: not too long, and without control characters, which a
/// terminal would obey.
fn shown(line: &str) -> String {
    let mut characters = line.chars().map(|character| match character {
        '\t' => ' ',
        character if character.is_control() => '\u{fffd}',
        character => character,
    });
    let mut out: String = characters.by_ref().take(MOST_CHARACTERS).collect();
    if characters.next().is_some() {
        out.push('…');
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn a_diff_shows_the_change_and_one_line_around_it() {
        let found = "one\ntwo\nthree\nfour\n";
        let wanted = "one\ntwo\n3\nfour\n";
        insta::assert_snapshot!(unified("api-types/src/vm.rs", found, wanted), @r"
        --- found/api-types/src/vm.rs
        +++ generated/api-types/src/vm.rs
        @@ -2,3 +2,3 @@
         two
        -three
        +3
         four
        ");
    }

    #[test]
    fn a_long_diff_is_cut_and_says_so() {
        let wanted: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let diff = unified("a", "", &wanted);
        assert_eq!(diff.lines().count(), 21);
        assert!(diff.ends_with("… 83 more lines\n"), "{diff}");
    }

    #[test]
    fn a_long_line_is_cut_and_control_characters_are_shown() {
        let wanted = format!("\u{1b}[31m{}\n", "x".repeat(1000));
        let diff = unified("a", "", &wanted);
        assert!(
            diff.lines().all(|line| line.chars().count() <= 121),
            "{diff}"
        );
        assert!(!diff.contains('\u{1b}'), "{diff}");
    }
}
