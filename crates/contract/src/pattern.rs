//! Spells escapes in patterns so that every reader of them reads what ECMA 262 says.
//!
//! The engines of generated code and of validators are Rust's. They read some escapes otherwise than
//! ECMA 262 with its Annex B, or not at all: `\<` is the start of a word for them. The contract holds
//! these escapes in a spelling that means the same to both, so that the generated code, the schemas
//! of validators, mocks and comparisons agree without knowing of each other.
//!
//! What is not an escape is left to the engines: docs/foreign.md lists where they differ from ECMA 262.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::str::CharIndices;

use indexmap::IndexMap;

/// Any character, as a class that ECMA 262 and Rust spell alike.
const ANY: &str = "[\\s\\S]";
/// No character at all.
const NONE: &str = "[^\\s\\S]";

/// Returns a pattern of the same meaning whose escapes Rust's engines read as ECMA 262 does.
///
/// What is no regular expression of ECMA 262 is left as it is, but for the escapes: letters that
/// other dialects escape, such as `\A`, are reported elsewhere.
pub(crate) fn canonical(pattern: &str) -> Cow<'_, str> {
    // Most patterns have nothing of all this, and large contracts have many.
    if !pattern.contains(['\\', '[']) {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.char_indices().peekable();
    let mut in_class = false;
    // Of a pattern that is not ECMA 262, `[]` may be the start of a class with a bracket in it.
    let is_ecma = pattern.contains("[]") || pattern.contains("[^]");
    let is_ecma = is_ecma && jsonschema_regex::is_valid_ecma_regex(pattern);
    while let Some((at, character)) = chars.next() {
        match character {
            '\\' => escape(&mut chars, in_class, &mut out),
            '[' if in_class => out.push(character),
            '[' => {
                let class = empty(&pattern[at..]).filter(|_| is_ecma);
                if let Some((written, class)) = class {
                    out.push_str(class);
                    chars.nth(written - 2);
                } else {
                    in_class = true;
                    out.push(character);
                }
            }
            ']' => {
                in_class = false;
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    if out == pattern {
        Cow::Borrowed(pattern)
    } else {
        Cow::Owned(out)
    }
}

/// Returns schemas by pattern, with each pattern in the spelling of [`canonical`].
///
/// Spellings of one pattern stay entries of their own, since all of their schemas apply: all but one
/// begin with groups of nothing. These follow from the spellings and not from the order of keys, which
/// means nothing.
pub(crate) fn canonical_keys<T>(entries: IndexMap<String, T>) -> IndexMap<String, T> {
    let spelt: Vec<String> = entries
        .keys()
        .map(|pattern| canonical(pattern).into_owned())
        .collect();
    let mut sorted: Vec<(&String, &String)> = spelt.iter().zip(entries.keys()).collect();
    sorted.sort_unstable();
    let mut taken: HashSet<String> = spelt.iter().cloned().collect();
    let mut names: HashMap<String, String> = HashMap::new();
    let mut last: Option<(&String, usize)> = None;
    for (spelt, pattern) in sorted {
        let number = match last {
            Some((before, number)) if before == spelt => number + 1,
            _ => 0,
        };
        last = Some((spelt, number));
        let name = numbered(spelt, number, &taken);
        taken.insert(name.clone());
        names.insert(pattern.clone(), name);
    }
    entries
        .into_iter()
        .filter_map(|(pattern, value)| Some((names.remove(&pattern)?, value)))
        .collect()
}

/// Returns a pattern with groups of nothing before it that stand for a number, or the pattern itself
/// for 0.
fn numbered(pattern: &str, number: usize, taken: &HashSet<String>) -> String {
    if number == 0 {
        return pattern.to_owned();
    }
    // The digits of the number, of which there are few.
    let digits = format!("{number:b}");
    let groups = digits
        .chars()
        .map(|digit| if digit == '1' { "(?:|)" } else { "(?:)" });
    let mut name = groups.collect::<String>() + pattern;
    // A document may have such a pattern itself, and another of its patterns the same name.
    while taken.contains(&name) {
        name.insert_str(0, "(?:||)");
    }
    name
}

/// Returns the length of an empty class at the start of a text, and a class of that meaning.
fn empty(text: &str) -> Option<(usize, &'static str)> {
    let found = [("[]", NONE), ("[^]", ANY)].into_iter();
    let mut found = found.filter(|(written, _)| text.starts_with(written));
    found.next().map(|(written, class)| (written.len(), class))
}

/// Writes an escape whose backslash has been read.
fn escape(chars: &mut Peekable<CharIndices<'_>>, in_class: bool, out: &mut String) {
    let Some((_, character)) = chars.next() else {
        return out.push('\\');
    };
    match character {
        // Behind `(?` it would begin a look-behind or the name of a group.
        '<' if out.ends_with("(?") || out.ends_with("(?P") => out.push_str("\\x3C"),
        // The start and the end of a word for Rust.
        '<' | '>' => out.push(character),
        // Letters and digits are left: other dialects give them a meaning.
        symbol if !symbol.is_ascii() && !symbol.is_alphanumeric() => out.push(symbol),
        'b' if in_class => out.push_str("\\x08"),
        '0' if !chars.peek().is_some_and(|(_, next)| next.is_ascii_digit()) => {
            out.push_str("\\x00");
        }
        'c' => match chars.next_if(|(_, letter)| letter.is_ascii_alphabetic()) {
            Some((_, letter)) => {
                // A letter has seven bits.
                let control = u32::from(letter) % 32;
                out.push_str(&format!("\\x{control:02X}"));
            }
            None => out.push_str("\\c"),
        },
        'u' => match pair(chars) {
            Some(character) => out.push(character),
            None => out.push_str("\\u"),
        },
        other => {
            out.push('\\');
            out.push(other);
        }
    }
}

/// Reads the rest of two escapes that are the halves of one character in UTF-16, such as
/// `\uD83D\uDE00`. Reads nothing if there is no such pair.
fn pair(chars: &mut Peekable<CharIndices<'_>>) -> Option<char> {
    let rest: String = chars.clone().map(|(_, next)| next).take(10).collect();
    let (high, low) = (rest.get(..4)?, rest.get(4..)?.strip_prefix("\\u")?);
    // `from_str_radix` takes a sign as well.
    let half = |digits: &str| {
        let is_hex = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let half = is_hex.then(|| u16::from_str_radix(digits, 16).ok());
        half.flatten()
    };
    let halves = [half(high)?, half(low)?];
    let mut read = char::decode_utf16(halves);
    let character = read.next()?.ok()?;
    // Two characters are no pair.
    if read.next().is_some() {
        return None;
    }
    chars.nth(rest.len() - 1);
    Some(character)
}
