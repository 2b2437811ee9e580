//! Reads JSON (RFC 8259) with the span of every value and key.
//!
//! `serde_json` would be the obvious choice, but it reports positions only of errors, and it keeps
//! the last of two equal keys without an error.

use std::collections::HashMap;

use serde_json::Number;

use crate::diagnostic::Diagnostic;
use crate::node::{Entry, MAX_DEPTH, Node, NodeValue};
use crate::source::{FileId, Span};

/// Parses a JSON document. Returns `None` after an error, which is added to `diagnostics`.
pub(super) fn read(file: FileId, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Node> {
    let before = diagnostics.len();
    let mut reader = Reader {
        file,
        text,
        at: 0,
        diagnostics,
    };
    let node = reader.document();
    match node {
        Ok(node) if diagnostics.len() == before => Some(node),
        // A repeated key was reported, so the tree lacks an entry.
        Ok(_) => None,
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    }
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Reader<'a> {
    file: FileId,
    text: &'a str,
    at: usize,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn document(&mut self) -> Parsed<Node> {
        let node = self.value(0)?;
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.wrong(
                "nothing may follow the document's value",
                "remove what follows it",
            ));
        }
        Ok(node)
    }

    fn value(&mut self, depth: usize) -> Parsed<Node> {
        self.skip_space();
        let start = self.at;
        if depth > MAX_DEPTH {
            let diagnostic = Diagnostic::error(
                "too-deep",
                self.span(start, start + 1),
                format!("nesting deeper than {MAX_DEPTH} levels"),
            );
            return Err(Box::new(
                diagnostic.help("name inner schemas under components and refer to them"),
            ));
        }
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => NodeValue::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => NodeValue::Number(self.number()?),
            Some(_) if self.word("true") => NodeValue::Bool(true),
            Some(_) if self.word("false") => NodeValue::Bool(false),
            Some(_) if self.word("null") => NodeValue::Null,
            Some(_) => {
                return Err(self.wrong(
                    "expected a JSON value",
                    "write an object, array, string, number, true, false or null",
                ));
            }
            None => {
                return Err(self.wrong(
                    "the document ends where a value was expected",
                    "close what is open, or restore the missing end",
                ));
            }
        };
        Ok(Node {
            span: self.span(start, self.at),
            value,
        })
    }

    fn object(&mut self, depth: usize) -> Parsed<NodeValue> {
        let mut entries: Vec<Entry> = Vec::new();
        // Searching `entries` for each key would be quadratic in the number of keys.
        let mut seen: HashMap<String, Span> = HashMap::new();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(NodeValue::Object(entries));
        }
        loop {
            self.skip_space();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.wrong(
                    "expected a key in double quotes",
                    "write `\"key\": value`, and no comma after the last one",
                ));
            }
            let key = self.string()?;
            let key_span = self.span(start, self.at);
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.wrong("expected `:` after a key", "write `\"key\": value`"));
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            // Reported, but reading goes on: all repeated keys of a document are reported at once.
            if let Some(first) = seen.get(&key) {
                self.diagnostics.push(duplicate(&key, key_span, *first));
            } else {
                seen.insert(key.clone(), key_span);
                entries.push(Entry {
                    key,
                    key_span,
                    value,
                });
            }
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(NodeValue::Object(entries));
                }
                _ => {
                    return Err(self.wrong(
                        "expected `,` or `}` in an object",
                        "separate entries by a comma, or close the object",
                    ));
                }
            }
        }
    }

    fn array(&mut self, depth: usize) -> Parsed<NodeValue> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(NodeValue::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(NodeValue::Array(items));
                }
                _ => {
                    return Err(self.wrong(
                        "expected `,` or `]` in an array",
                        "separate items by a comma, or close the array",
                    ));
                }
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let mut made = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(stop) = rest
                .find(|character: char| character == '"' || character == '\\' || character < ' ')
            else {
                self.at = self.text.len();
                return Err(self.wrong("this string is not closed", "close it with `\"`"));
            };
            made.push_str(&rest[..stop]);
            self.at += stop;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(made);
                }
                Some(b'\\') => made.push(self.escape()?),
                _ => {
                    return Err(self.wrong(
                        "a string cannot contain a control character",
                        "write it as an escape, such as `\\n`",
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let character = self.text.as_bytes().get(self.at + 1).copied();
        let plain = match character {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => {
                return Err(self.wrong(
                    "this escape does not exist in JSON",
                    "escape a backslash as `\\\\`",
                ));
            }
        };
        self.at += 2;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Parsed<char> {
        // A half without its other half keeps its own code, which `char::from_u32` rejects below.
        let high = self.four_digits(self.at)?;
        let mut length = 6;
        let code =
            if (0xD800..0xDC00).contains(&high) && self.text[self.at + 6..].starts_with("\\u") {
                let low = self.four_digits(self.at + 6)?;
                length = 12;
                if (0xDC00..0xE000).contains(&low) {
                    0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                } else {
                    high
                }
            } else {
                high
            };
        match char::from_u32(code) {
            Some(character) => {
                self.at += length;
                Ok(character)
            }
            None => Err(self.wrong(
                "this is half of a surrogate pair",
                "write both halves, or the character itself",
            )),
        }
    }

    fn four_digits(&self, escape: usize) -> Parsed<u32> {
        let digits = self.text.get(escape + 2..escape + 6);
        digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| {
                self.wrong(
                    "`\\u` without four hexadecimal digits",
                    "write four, such as `\\u00e9`",
                )
            })
    }

    fn number(&mut self) -> Parsed<Number> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        // This takes more than a number can contain. `serde_json` then decides, so that there is
        // one grammar of numbers, and one rounding.
        while bytes
            .get(self.at)
            .is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
        {
            self.at += 1;
        }
        let number = serde_json::from_str(&self.text[start..self.at]);
        number.map_err(|_| {
            let diagnostic = Diagnostic::error(
                "json-syntax",
                self.span(start, self.at),
                "this number is not valid JSON, or is out of range",
            );
            Box::new(
                diagnostic.help("write it without leading zeros, with digits around the point"),
            )
        })
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.text[self.at..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    fn wrong(&self, message: &str, help: &str) -> Box<Diagnostic> {
        let length = self.text[self.at..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        Box::new(
            Diagnostic::error("json-syntax", self.span(self.at, self.at + length), message)
                .help(help),
        )
    }
}

/// Returns the diagnostic of a key that is repeated in one object.
pub(super) fn duplicate(key: &str, again: Span, first: Span) -> Diagnostic {
    Diagnostic::error(
        "duplicate-key",
        again,
        format!("the key `{key}` is used twice in one object"),
    )
    .help("remove one of them, or rename it")
    .related(first, "first used here")
}
