//! The parts of a JSON text, found without building values of them: a page of a list may be large,
//! and its values take many times its bytes.

use std::ops::Range;

use bytes::Bytes;
use serde::de::IgnoredAny;

/// Returns the range of the value of a property of an object, the last value if the property is
/// there twice. Returns `None` if the text is no object or has no such property.
pub(super) fn property(object: &[u8], name: &str) -> Option<Range<usize>> {
    let mut cursor = Cursor {
        text: object,
        at: 0,
    };
    let mut found = None;
    if !cursor.eat(b'{') {
        return None;
    }
    let mut is_open = !cursor.eat(b'}');
    while is_open {
        let key = cursor.value()?;
        let key: String = serde_json::from_slice(&object[key]).ok()?;
        if !cursor.eat(b':') {
            return None;
        }
        let value = cursor.value()?;
        if key == name {
            found = Some(value);
        }
        is_open = cursor.eat(b',');
        if !is_open && !cursor.eat(b'}') {
            return None;
        }
    }
    cursor.blank();
    // Anything behind the object would make the text no JSON.
    found.filter(|_| cursor.at == object.len())
}

/// The items of an array: an iterator over the text of each.
#[derive(Clone)]
pub(super) struct Array {
    text: Bytes,
    at: usize,
}

impl Array {
    /// Returns the items of an array, or `None` for another value. The text is a JSON value.
    pub(super) fn of(text: Bytes) -> Option<Self> {
        text.starts_with(b"[").then_some(Self { text, at: 1 })
    }
}

impl Iterator for Array {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut cursor = Cursor {
            text: &self.text,
            at: self.at,
        };
        // The comma after the item before; the first item has none.
        cursor.eat(b',');
        let item = cursor.value()?;
        self.at = item.end;
        Some(self.text.slice(item))
    }
}

/// A place in a JSON text.
struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Skips the white space here.
    fn blank(&mut self) {
        let rest = &self.text[self.at..];
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.at += rest.iter().take_while(is_blank).count();
    }

    /// Skips a byte if it is the next one after white space, and returns whether it is.
    fn eat(&mut self, byte: u8) -> bool {
        self.blank();
        let is_next = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Skips the value at the current position, and returns its range. Returns `None` if there is no value.
    fn value(&mut self) -> Option<Range<usize>> {
        self.blank();
        let rest = serde_json::Deserializer::from_slice(&self.text[self.at..]);
        // As a stream of values, since only that says where a value ends.
        let mut values = rest.into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let range = self.at..self.at + values.byte_offset();
        self.at = range.end;
        Some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_as_serde_json_finds_them() {
        for (text, name, part) in [
            (r#"{"a":1,"b":[2]}"#, "b", Some("[2]")),
            (r#" { "a" : -1.5e3 , "b" : "}" } "#, "a", Some("-1.5e3")),
            (r#"{"\u0061":1,"a":2}"#, "a", Some("2")),
            (r#"{"a":1"#, "a", None),
            (r#"{"a":1,}"#, "a", None),
            (r#"{"a":1} 2"#, "a", None),
            (r#"{"a" 1}"#, "a", None),
            (r#"{1:"a"}"#, "a", None),
            (r#"["a"]"#, "a", None),
            ("{}", "a", None),
        ] {
            let found = property(text.as_bytes(), name).map(|range| &text[range]);
            assert_eq!(found, part, "{text}");
        }
        let items = |text: &'static str| {
            let array = Array::of(Bytes::from_static(text.as_bytes()))?;
            Some(
                array
                    .map(|item| String::from_utf8_lossy(&item).into_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(items("[ ]"), Some(vec![]));
        assert_eq!(
            items(r#"[1,true , "a,]" ,[ 2 ],{}]"#),
            Some(
                ["1", "true", "\"a,]\"", "[ 2 ]", "{}"]
                    .map(str::to_owned)
                    .to_vec()
            )
        );
        assert_eq!(items("{}"), None);
    }
}
