//! Patterns of ECMA 262 in the syntax of the `regex` crate.
//!
//! `jsonschema-regex` translates most of a pattern. Before it, this file writes out what means
//! something else in both syntaxes, so that every engine reads the same pattern.

/// The characters that `.` matches: all but the line terminators of ECMA 262.
const DOT: &str = r"[^\n\r\x{2028}\x{2029}]";
/// The characters of `\s`: the white space and the line terminators of ECMA 262.
const SPACE: &str = r"\t\n\x0B\x0C\r\x20\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";
/// The characters of `\d`.
const DIGIT: &str = "0-9";
/// The characters of `\w`.
const WORD: &str = "A-Za-z0-9_";
/// The characters of `\S`. Not every engine reads a negated class within another one.
const NO_SPACE: &str = r"\x00-\x08\x0E-\x1F\x21-\x9F\xA1-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}";
/// The characters of `\D`.
const NO_DIGIT: &str = r"\x00-\x2F\x3A-\x{10FFFF}";
/// The characters of `\W`.
const NO_WORD: &str = r"\x00-\x2F\x3A-\x40\x5B-\x5E\x60\x7B-\x{10FFFF}";
/// What begins a group that looks around, and so needs an engine that knows no `(?-u:…)`.
const LOOKS: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

/// Returns a pattern of ECMA 262 in the syntax of the `regex` crate, or `None` if it is not valid.
///
/// A pattern with look-around or back-references is in the syntax of `fancy-regex` then. `.` matches
/// no line terminator of ECMA 262, `\s` its white space, `\d`, `\w` and `\b` know ASCII alone, and
/// within brackets, `[`, `&&`, `--` and `~~` are characters.
#[must_use]
pub fn translate(pattern: &str) -> Option<String> {
    let written = write_out(pattern);
    let translated = jsonschema_regex::to_rust_regex(&written).ok()?;
    Some(translated.into_owned())
}

/// Returns a pattern without what the two syntaxes read differently.
fn write_out(pattern: &str) -> String {
    let is_regular = !refers_back(pattern) && !LOOKS.iter().any(|start| pattern.contains(start));
    // A flag that only Rust has, by which the author says that `.` matches all characters.
    let has_flags = pattern.contains("(?s");
    let mut out = String::with_capacity(pattern.len());
    let mut is_in_class = false;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let escaped = characters.next();
                escape(escaped, is_in_class, is_regular, &mut out);
            }
            '[' if is_in_class => out.push_str(r"\["),
            '[' => {
                let is_negated = characters.next_if_eq(&'^').is_some();
                if characters.next_if_eq(&']').is_some() {
                    // Rust would take the bracket for the first character of the class.
                    let all = r"\x00-\x{10FFFF}";
                    let start = if is_negated { "[" } else { "[^" };
                    out.push_str(&format!("{start}{all}]"));
                    continue;
                }
                out.push_str(if is_negated { "[^" } else { "[" });
                is_in_class = true;
            }
            ']' if is_in_class => {
                out.push(']');
                is_in_class = false;
            }
            // Doubled, these are operators of Rust.
            '&' | '~' if is_in_class => out.extend(['\\', character]),
            '-' if is_in_class && out.ends_with('-') => out.push_str(r"\-"),
            '.' if !is_in_class && !has_flags => out.push_str(DOT),
            _ => out.push(character),
        }
    }
    out
}

/// Writes what stands after a backslash.
fn escape(escaped: Option<char>, is_in_class: bool, is_regular: bool, out: &mut String) {
    let set = match escaped {
        Some('s') => SPACE,
        Some('S') => NO_SPACE,
        Some('d') => DIGIT,
        Some('D') => NO_DIGIT,
        Some('w') => WORD,
        Some('W') => NO_WORD,
        Some('b') if is_in_class => return out.push_str(r"\x08"),
        Some('b') if is_regular => return out.push_str(r"(?-u:\b)"),
        Some('B') if is_regular && !is_in_class => return out.push_str(r"(?-u:\B)"),
        _ => {
            out.push('\\');
            return out.extend(escaped);
        }
    };
    if is_in_class {
        out.push_str(set);
    } else {
        out.push_str(&format!("[{set}]"));
    }
}

/// Returns whether a pattern refers back to a group.
fn refers_back(pattern: &str) -> bool {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character == '\\' && matches!(characters.next(), Some('1'..='9' | 'k')) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::translate;

    /// Patterns with texts that they match and texts that they do not, by ECMA 262.
    const ROWS: [(&str, &[&str], &[&str]); 19] = [
        (
            "^.$",
            &["a", "\u{85}", "é"],
            &["\n", "\r", "\u{2028}", "\u{2029}"],
        ),
        (r"^[.]\.$", &[".."], &["a.", ".a"]),
        (
            r"^\s$",
            &[
                " ", "\u{1680}", "\u{2009}", "\u{3000}", "\u{feff}", "\u{2028}",
            ],
            &["a", "\u{85}", "\u{200b}"],
        ),
        (r"^\S$", &["a", "\u{85}"], &["\u{2009}", "\n"]),
        (r"^[\s\d]$", &["1", "\u{202f}"], &["a", "٣"]),
        (r"^[^\S]$", &[" ", "\u{2005}"], &["a"]),
        (r"^\W$", &["é", "-"], &["a", "_", "0", "Z"]),
        (r"^[^\W]$", &["a", "_", "0", "Z"], &["é", "-"]),
        (r"^[^\D]$", &["1"], &["a", "٣"]),
        (r"^[\w-]+$", &["a-b"], &["é"]),
        (r"^\w\b.*$", &["a", "aé"], &["ab"]),
        (r"^a\B.*$", &["ab"], &["aé", "a"]),
        (r"^[[&~]$", &["[", "&", "~"], &["a"]),
        (r"^[a&&b]$", &["a", "b", "&"], &[""]),
        (r"^[+--]$", &["+", ",", "-"], &["."]),
        (r"^[\b]$", &["\u{8}"], &["b"]),
        ("^[^]$", &["a", "\n"], &["", "ab"]),
        ("a[]", &[], &["a", "a]", ""]),
        (r"^\\.$", &[r"\a"], &["\\\r"]),
    ];

    #[test]
    fn patterns_mean_what_ecma_262_says() {
        for (pattern, matching, others) in ROWS {
            let translated = translate(pattern).expect("the pattern is valid");
            let regex = regex::Regex::new(&translated).expect(&translated);
            // The engine of patterns with look-around reads the same.
            let fancy = translate(&format!("(?=.*|[^]){pattern}")).expect("the pattern is valid");
            let fancy = fancy_regex::Regex::new(&fancy).expect(&fancy);
            for (texts, expected) in [(matching, true), (others, false)] {
                for text in texts {
                    assert_eq!(regex.is_match(text), expected, "{pattern} {text:?}");
                    let found = fancy.is_match(text).expect("it takes few steps");
                    // Its word boundaries are those of Unicode.
                    if !pattern.contains(r"\b.") && !pattern.contains(r"\B") {
                        assert_eq!(found, expected, "{translated} {text:?}");
                    }
                }
            }
        }
        assert_eq!(translate("("), None);
        assert_eq!(translate(r"\"), None);
    }
}
