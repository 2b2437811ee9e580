//! Spells escapes in patterns so that every reader of them reads what ECMA 262 says.
//!
//! The engines of generated code and of validators are Rust's. They read some escapes otherwise than
//! ECMA 262 with its Annex B, or not at all: `\<` is the start of a word for them. The contract holds
//! these escapes in a spelling that means the same to both, so that the generated code, the schemas
//! of validators, mocks and comparisons agree without knowing of each other.
//!
//! What is not an escape is left to the engines: docs/foreign.md lists where they differ from ECMA 262.

mod keys;

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::CharIndices;

pub(crate) use keys::canonical_keys;

/// Any character, as a class that ECMA 262 and Rust spell alike.
const ANY: &str = "[\\s\\S]";
/// No character at all.
const NONE: &str = "[^\\s\\S]";

/// The digits, what words consist of, and white space, as the content of a class.
const DIGITS: &str = "0-9";
const WORDS: &str = "A-Za-z0-9_";
const SPACES: &str =
    "\\t-\\r\\x20\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000\\uFEFF";
/// The number of sets such as `\d` above which they are spelt as classes: validators and generated
/// code translate one after the other, and parse the pattern anew for each.
const MOST_SETS: usize = 50;

/// Returns a pattern of the same meaning whose escapes Rust's engines read as ECMA 262 does.
///
/// What is no regular expression of ECMA 262 is left as it is, but for the escapes and lone braces:
/// letters that other dialects escape, such as `\A`, are reported elsewhere.
pub(crate) fn canonical(pattern: &str) -> Cow<'_, str> {
    // Most patterns have nothing of all this, and large contracts have many.
    if !pattern.contains(['\\', '[', '{', '}']) {
        return Cow::Borrowed(pattern);
    }
    // Of a pattern that is not ECMA 262, `[]` may be the start of a class with a bracket in it.
    let is_ecma = pattern.contains("[]") || pattern.contains("[^]");
    let is_ecma = is_ecma && jsonschema_regex::is_valid_ecma_regex(pattern);
    let mut speller = Speller {
        chars: pattern.char_indices().peekable(),
        pattern,
        class: None,
        groups: None,
        spells_sets: spells_sets(pattern),
        out: String::with_capacity(pattern.len()),
    };
    while let Some((at, character)) = speller.chars.next() {
        speller.character(at, character, is_ecma);
    }
    if speller.out == pattern {
        Cow::Borrowed(pattern)
    } else {
        Cow::Owned(speller.out)
    }
}

/// Spells a pattern from its beginning to its end.
struct Speller<'p> {
    chars: Peekable<CharIndices<'p>>,
    pattern: &'p str,
    /// What precedes in the class that is open.
    class: Option<Before>,
    /// The number of groups that can be repeated, once it was counted.
    groups: Option<u32>,
    /// Whether sets such as `\d` are written as classes.
    spells_sets: bool,
    out: String,
}

/// What precedes a character in a class.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// The start of the class, or a range.
    Start,
    /// A character, with which a range can begin.
    Character,
    /// A set of characters such as `\w`, with which no range can begin.
    Set,
    /// A character and a hyphen: the next character ends the range.
    Range,
    /// A hyphen that is a character, beside a set. The next character ends what would be a range.
    Hyphen,
    /// What would have been such a range.
    Union,
}

impl Speller<'_> {
    fn character(&mut self, at: usize, character: char, is_ecma: bool) {
        match (self.class, character) {
            (_, '\\') => self.escape(),
            (Some(_), ']') => {
                self.class = None;
                self.out.push(']');
            }
            (Some(before), '-') => self.hyphen(before),
            (Some(Before::Start), '^') if self.out.ends_with('[') => self.out.push('^'),
            (Some(_), character) => {
                self.atom(false);
                self.out.push(character);
            }
            (None, '[') => {
                let class = empty(&self.pattern[at..]).filter(|_| is_ecma);
                if let Some((written, class)) = class {
                    self.out.push_str(class);
                    self.chars.nth(written - 2);
                } else {
                    self.class = Some(Before::Start);
                    self.out.push('[');
                }
            }
            (None, '{') => match quantifier(&self.pattern[at..]).filter(|_| !self.out.is_empty()) {
                Some(length) => {
                    self.out.push_str(&self.pattern[at..at + length]);
                    self.chars.nth(length - 2);
                }
                None => self.out.push_str("\\{"),
            },
            (None, '}') => self.out.push_str("\\}"),
            (None, character) => self.out.push(character),
        }
    }

    /// Notes a character of a class, or a set of them.
    fn atom(&mut self, is_set: bool) {
        self.class = self.class.map(|before| match before {
            Before::Start | Before::Character | Before::Set | Before::Union if is_set => {
                Before::Set
            }
            Before::Start | Before::Character | Before::Set | Before::Union => Before::Character,
            Before::Range => Before::Start,
            Before::Hyphen => Before::Union,
        });
    }

    /// Writes a hyphen of a class.
    fn hyphen(&mut self, before: Before) {
        let mut rest = self.chars.clone().map(|(_, next)| next);
        let next = rest.next();
        let is_set = next == Some('\\') && rest.next().is_some_and(is_set);
        let (written, after) = match before {
            _ if next == Some(']') => ("-", Before::Character),
            Before::Character if !is_set => ("-", Before::Range),
            // Annex B: a range has no set at either end, and the hyphen is a character.
            Before::Character | Before::Set => ("\\-", Before::Hyphen),
            Before::Start => ("-", Before::Character),
            Before::Range => ("-", Before::Start),
            Before::Hyphen => ("\\-", Before::Union),
            Before::Union => ("\\-", Before::Character),
        };
        self.class = Some(after);
        self.out.push_str(written);
    }

    /// Writes a set of characters.
    fn set(&mut self, letter: char) {
        if !self.spells_sets {
            self.out.extend(['\\', letter]);
            return self.atom(true);
        }
        let (set, is_negated) = match letter {
            'd' => (DIGITS, false),
            'D' => (DIGITS, true),
            'w' => (WORDS, false),
            'W' => (WORDS, true),
            's' => (SPACES, false),
            _ => (SPACES, true),
        };
        match (self.class, is_negated) {
            (None, false) => self.out.push_str(&format!("[{set}]")),
            (None, true) => self.out.push_str(&format!("[^{set}]")),
            (Some(_), false) => self.out.push_str(set),
            // No class within a class is ECMA 262.
            (Some(_), true) => self.out.extend(['\\', letter]),
        }
        self.atom(true);
    }

    /// Writes an escape whose backslash has been read.
    fn escape(&mut self) {
        let Some((at, character)) = self.chars.next() else {
            return self.out.push('\\');
        };
        if is_set(character) {
            return self.set(character);
        }
        let in_class = self.class.is_some();
        self.atom(false);
        match character {
            // Behind `(?` it would begin a look-behind or the name of a group.
            '<' if self.out.ends_with("(?") || self.out.ends_with("(?P") => {
                self.out.push_str("\\x3C");
            }
            // The start and the end of a word for Rust.
            '<' | '>' => self.out.push(character),
            // Letters and digits are left: other dialects give them a meaning.
            symbol if !symbol.is_ascii() && !symbol.is_alphanumeric() => self.out.push(symbol),
            'b' if in_class => self.out.push_str("\\x08"),
            '0'..='9' => self.digits(at),
            'c' => match self
                .chars
                .next_if(|(_, letter)| letter.is_ascii_alphabetic())
            {
                Some((_, letter)) => {
                    // A letter has seven bits.
                    let control = u32::from(letter) % 32;
                    self.out.push_str(&format!("\\x{control:02X}"));
                }
                None => self.out.push_str("\\c"),
            },
            'u' => {
                if let Some(character) = pair(&mut self.chars) {
                    self.out.push(character);
                } else {
                    self.out.push_str("\\u");
                    self.braced();
                }
            }
            // The braces of these, and of dialects with words in braces, are no quantifiers.
            'p' | 'P' | 'x' | 'b' | 'B' => {
                self.out.extend(['\\', character]);
                self.braced();
            }
            other => {
                self.out.push('\\');
                self.out.push(other);
            }
        }
    }

    /// Writes what is in braces behind an escape, if it has them.
    fn braced(&mut self) {
        if self.chars.peek().is_none_or(|(_, next)| *next != '{') {
            return;
        }
        for (_, character) in self.chars.by_ref() {
            self.out.push(character);
            if character == '}' {
                return;
            }
        }
    }

    /// Writes an escape whose first digit is at `at`: a repeated group, or else, as Annex B says, the
    /// octal number of a character or the digit itself.
    fn digits(&mut self, at: usize) {
        let rest = &self.pattern[at..];
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        if self.class.is_none() && !rest.starts_with('0') {
            let groups = *self.groups.get_or_insert_with(|| groups(self.pattern));
            if rest[..length]
                .parse::<u32>()
                .is_ok_and(|group| group <= groups)
            {
                self.out.push('\\');
                self.out.push_str(&rest[..length]);
                self.skip(length - 1);
                return;
            }
        }
        // At most 255, the greatest character of two hexadecimal digits.
        let most = if rest.starts_with(['0', '1', '2', '3']) {
            3
        } else {
            2
        };
        let octal = rest.bytes().take(most);
        let octal = octal
            .take_while(|digit| (b'0'..=b'7').contains(digit))
            .count();
        match u8::from_str_radix(&rest[..octal], 8) {
            Ok(number) => {
                self.out.push_str(&format!("\\x{number:02X}"));
                self.skip(octal - 1);
            }
            // 8 or 9, which is no octal digit.
            Err(_) => self.out.push_str(&rest[..1]),
        }
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.chars.next();
        }
    }
}

/// Returns whether the sets of a pattern are written as classes: if it has many, or if it looks around
/// or back, so that an engine runs it as it is, which knows the letters of all languages.
fn spells_sets(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<=", "(?<!", "\\k<"];
    let mut escaped = false;
    let mut sets = 0;
    let mut goes_back = false;
    for character in pattern.chars() {
        if std::mem::take(&mut escaped) {
            sets += usize::from(is_set(character));
            goes_back |= matches!(character, '1'..='9');
        } else {
            escaped = character == '\\';
        }
    }
    sets > MOST_SETS || sets > 0 && (goes_back || looks.iter().any(|look| pattern.contains(look)))
}

fn is_set(letter: char) -> bool {
    matches!(letter, 'd' | 'D' | 'w' | 'W' | 's' | 'S')
}

/// Returns the length of a quantifier in braces at the start of a text, such as `{2,}`.
fn quantifier(text: &str) -> Option<usize> {
    // No further than a quantifier goes: a text of many braces is looked at once.
    let is_within = |byte: u8| byte.is_ascii_digit() || byte == b',';
    let end = 1 + text.bytes().skip(1).position(|byte| !is_within(byte))?;
    if !text[end..].starts_with('}') {
        return None;
    }
    let (least, most) = text[1..end].split_once(',').unwrap_or((&text[1..end], ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!least.is_empty() && is_number(least) && is_number(most)).then_some(end + 1)
}

/// Returns the number of groups of a pattern that can be repeated.
fn groups(pattern: &str) -> u32 {
    let (mut count, mut in_class) = (0, false);
    let mut chars = pattern.char_indices();
    while let Some((at, character)) = chars.next() {
        match character {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let rest = &pattern[at + 1..];
                let is_named = (rest.starts_with("?<") || rest.starts_with("?P<"))
                    && !rest.starts_with("?<=")
                    && !rest.starts_with("?<!");
                count += u32::from(is_named || !rest.starts_with('?'));
            }
            _ => {}
        }
    }
    count
}

/// Returns the length of an empty class at the start of a text, and a class of that meaning.
fn empty(text: &str) -> Option<(usize, &'static str)> {
    let found = [("[]", NONE), ("[^]", ANY)].into_iter();
    let mut found = found.filter(|(written, _)| text.starts_with(written));
    found.next().map(|(written, class)| (written.len(), class))
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
