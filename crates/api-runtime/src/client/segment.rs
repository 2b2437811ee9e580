//! Arguments as segments of a path: escaped, or rejected where no escape would help.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{Argument, InvalidArgument};

/// The characters that are escaped in a segment. A backslash is among them because URL parsers read
/// it as a slash.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Escapes what is written, and appends it to a URL.
pub(super) struct Escaped<'a>(pub(super) &'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend(utf8_percent_encode(text, SEGMENT));
        Ok(())
    }
}

/// Escapes an argument, so that it is one segment of the path, or a part of one.
pub(super) fn escape(value: &str) -> String {
    utf8_percent_encode(value, SEGMENT).to_string()
}

/// Returns an escaped segment, or an error if it is empty, `.` or `..`, which URL parsers remove
/// from a path.
pub(super) fn checked_segment(segment: &str) -> Argument<&str> {
    // Rejected and not escaped, since URL parsers take `%2e` for a dot: also for one that is escaped within
    // an item of a list.
    let problem = match &*segment.replace("%2E", ".") {
        "" => "empty",
        "." => "`.`",
        ".." => "`..`",
        _ => return Ok(segment),
    };
    Err(InvalidArgument::new(format!(
        "an argument of the path is {problem}, which would call another path; set another value"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::style::{Style, path_text};

    #[test]
    fn an_argument_cannot_climb_the_path() {
        let encode = |value| checked_segment(&escape(value)).map(str::to_owned);
        for value in ["", ".", ".."] {
            encode(value).expect_err(value);
        }
        assert_eq!(encode("../x").unwrap(), "..%2Fx");
        assert_eq!(encode("..\\x").unwrap(), "..%5Cx");
        assert_eq!(encode("%2e%2e").unwrap(), "%252e%252e");
        assert_eq!(encode("a b?#é").unwrap(), "a%20b%3F%23%C3%A9");
        assert_eq!(encode("...").unwrap(), "...");
    }

    #[test]
    fn an_item_of_a_list_cannot_climb_the_path() {
        let checked = |items: &[&str], style| {
            let text = path_text("ids", &items, style, false).unwrap();
            checked_segment(&text).map(str::to_owned)
        };
        for item in [".", ".."] {
            checked(&[item], Style::Simple).expect_err(item);
        }
        checked(&["."], Style::Label).expect_err("a label has a dot before it");
        assert_eq!(
            checked(&["..", ".."], Style::Simple).unwrap(),
            "%2E%2E,%2E%2E"
        );
        assert_eq!(checked(&["a"], Style::Label).unwrap(), ".a");
    }
}
