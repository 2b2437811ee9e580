//! Strings in manifests and READMEs: the first line of generated files, and strings of a document,
//! escaped for TOML and Markdown so that none of them can be markup.

use crate::tokens::{GENERATED, is_deceptive};

/// Returns the first line of a generated file, as a comment that begins with `comment`.
pub(super) fn mark(comment: &str) -> String {
    format!("{comment} {}", GENERATED.trim_start_matches("// "))
}

/// Returns a string on one line. Each run of white space, control characters and characters that
/// change the direction of text becomes one space.
pub(super) fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|character| {
            if character.is_control() || is_deceptive(character) {
                ' '
            } else {
                character
            }
        })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first `most` characters of a string, with `…` at the end if it is longer. A longer
/// string is cut at a space if there is one in the second half.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    let at = cut
        .rfind(' ')
        .filter(|at| *at > cut.len() / 2)
        .unwrap_or(cut.len());
    format!("{}…", cut[..at].trim_end_matches([',', '.', ';', ':', ' ']))
}

/// Returns a string as a quoted and escaped value of TOML.
pub(super) fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// Returns a feature's name as a key of TOML, quoted if it has to be.
pub(super) fn feature_key(name: &str) -> String {
    toml_edit::Key::new(name).to_string()
}

/// Returns a string on one line, escaped for Markdown so that nothing in it is markup, a link, HTML
/// or the edge of a table's cell.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let line = one_line(text);
    let mut characters = line.chars().peekable();
    let mut after_digit = false;
    while let Some(character) = characters.next() {
        let is_markup = match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '!' | '#' | '$' => {
                true
            }
            // At the start of a line these make a list or a heading.
            '-' | '+' | '=' => out.is_empty(),
            '.' | ')' => after_digit && characters.peek().is_none_or(|next| *next == ' '),
            // Some readers of Markdown turn bare addresses into links.
            ':' | '@' => characters.peek().is_some_and(|next| *next != ' '),
            _ => false,
        };
        if is_markup {
            out.push('\\');
        }
        out.push(character);
        after_digit = character.is_ascii_digit();
    }
    out
}
