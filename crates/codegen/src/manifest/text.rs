//! Texts of a document in TOML and Markdown, where none may mean more than itself.

/// A text on one line: every run of spaces and control characters becomes one space.
pub(super) fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|character| {
            if is_harmless(character) {
                character
            } else {
                ' '
            }
        })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a character only shows itself: neither control nor one that turns the direction of what follows.
fn is_harmless(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// At most so many characters, cut at a word where there is one.
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

/// A text as a string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            character if character.is_control() => {
                out.push_str(&format!("\\u{:04X}", u32::from(character)))
            }
            character => out.push(character),
        }
    }
    out.push('"');
    out
}

/// A feature's name as a key of TOML.
pub(super) fn feature_key(name: &str) -> String {
    let is_bare =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// A text as plain words of Markdown: nothing in it is markup, a link, HTML or the edge of a table's cell.
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
            // At a line's start these make a list or a heading.
            '-' | '+' | '=' => out.is_empty(),
            '.' | ')' => after_digit && characters.peek().is_none_or(|next| *next == ' '),
            // Bare addresses become links in some readers.
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
