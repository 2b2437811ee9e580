//! Arguments in a path: escaped, and never able to climb it.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// What a segment cannot hold as it is. The backslash is in the set because URLs read it as a slash.
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

/// An argument that would change which path is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSegment(&'static str);

impl fmt::Display for InvalidSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an argument of the path is {}, which would call another path; give another value",
            self.0
        )
    }
}

impl std::error::Error for InvalidSegment {}

/// Escapes an argument that is a segment of its own, and refuses one that would climb the path or vanish from it.
pub fn encode_path(value: &str) -> Result<String, InvalidSegment> {
    encode_segment(utf8_percent_encode(value, SEGMENT).to_string())
}

/// Checks a segment whose parts are escaped already.
pub fn encode_segment(segment: String) -> Result<String, InvalidSegment> {
    match segment.as_str() {
        "" => Err(InvalidSegment("empty")),
        "." => Err(InvalidSegment("`.`")),
        ".." => Err(InvalidSegment("`..`")),
        _ => Ok(segment),
    }
}

/// Escapes a piece of a segment.
pub(super) fn escape(value: &str) -> String {
    utf8_percent_encode(value, SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_cannot_climb_the_path() {
        for value in ["", ".", ".."] {
            encode_path(value).expect_err(value);
        }
        assert_eq!(encode_path("../x").unwrap(), "..%2Fx");
        assert_eq!(encode_path("..\\x").unwrap(), "..%5Cx");
        assert_eq!(encode_path("%2e%2e").unwrap(), "%252e%252e");
        assert_eq!(encode_path("a b?#é").unwrap(), "a%20b%3F%23%C3%A9");
        assert_eq!(encode_path("...").unwrap(), "...");
    }
}
