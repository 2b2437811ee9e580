//! Splits the pieces of a multipart body into its parts (RFC 2046, section 5.1.1).
//!
//! `multer` splits too, but it takes a part without headers for one whose headers go on to the next
//! empty line, and parts with positions often have none. It also keeps all bytes that have arrived
//! in memory, so that a stream of parts has no bound, and ends at a part that is too large.

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{MAX_IGNORED_BYTES, MAX_PART_HEAD_BYTES, MAX_PART_HEADERS, PartError};

/// What ends a line.
const LINE_END: &[u8] = b"\r\n";
/// What ends the headers of a part, if it has any.
const HEAD_END: &[u8] = b"\r\n\r\n";
/// Where bytes are ignored.
const BEFORE: &str = "before its first part";
const AFTER: &str = "after its last part";
/// The maximum number of spaces after a boundary.
const MOST_PADDING: usize = 256;

/// A part of a body.
pub(super) struct Frame {
    pub(super) headers: HeaderMap,
    /// The bytes, or `None` if they are more than the limit and were skipped.
    pub(super) body: Option<Bytes>,
}

/// The state of splitting a body. Holds at most the limit, the headers of a part and one piece in
/// memory, if all parts are taken before the next piece is added.
pub(super) struct Splitter {
    /// What is before each part: a line end, two hyphens and the boundary.
    delimiter: Vec<u8>,
    pub(super) limit: usize,
    unread: BytesMut,
    /// The length of the prefix of `unread` in which what is looked for does not begin: a delimiter,
    /// or the end of the headers.
    looked: usize,
    /// The number of bytes of the preamble, or of the epilogue.
    ignored: usize,
    state: State,
}

enum State {
    /// Before the first delimiter: what is there is ignored.
    Preamble,
    /// Behind a delimiter, before the end of its line.
    Delimiter,
    Head,
    /// In the content of a part, of which the bytes are dropped if `is_skipping`.
    Body {
        headers: HeaderMap,
        is_skipping: bool,
    },
    /// Behind the last delimiter: what is there is ignored.
    Epilogue,
}

/// What a step leads to.
enum Step {
    /// A part is complete.
    Part(Frame),
    /// Another step.
    Next,
    /// Nothing before more bytes arrive.
    Wait,
}

impl Splitter {
    pub(super) fn new(boundary: &str, limit: usize) -> Self {
        Self {
            delimiter: [b"\r\n--", boundary.as_bytes()].concat(),
            limit,
            // The first delimiter may be at the very beginning, without a line end before it.
            unread: BytesMut::from(LINE_END),
            looked: 0,
            ignored: 0,
            state: State::Preamble,
        }
    }

    /// Adds a piece of the body. After an error the rest of the body has no meaning.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<(), PartError> {
        if matches!(self.state, State::Epilogue) {
            return self.ignore(piece.len(), AFTER);
        }
        self.unread.extend_from_slice(piece);
        Ok(())
    }

    /// Takes the next part that has arrived. After an error the rest of the body has no meaning.
    pub(super) fn take(&mut self) -> Result<Option<Frame>, PartError> {
        loop {
            match self.step()? {
                Step::Part(frame) => return Ok(Some(frame)),
                Step::Next => {}
                Step::Wait => return Ok(None),
            }
        }
    }

    /// Returns an error unless the last delimiter has arrived.
    pub(super) fn finish(&self) -> Result<(), PartError> {
        match self.state {
            State::Epilogue => Ok(()),
            State::Preamble => Err(PartError::new(
                "has no part with the boundary of its content type",
            )),
            State::Delimiter | State::Head | State::Body { .. } => {
                Err(PartError::new("ends before its last part does"))
            }
        }
    }

    fn step(&mut self) -> Result<Step, PartError> {
        match std::mem::replace(&mut self.state, State::Epilogue) {
            State::Preamble => {
                let found = self.find();
                self.ignore(self.looked, BEFORE)?;
                if found {
                    self.behind_delimiter();
                    self.ignored = 0;
                    return Ok(Step::Next);
                }
                self.unread.advance(self.looked);
                self.looked = 0;
                self.state = State::Preamble;
                Ok(Step::Wait)
            }
            State::Delimiter => self.delimiter_line(),
            State::Head => self.head(),
            State::Body {
                headers,
                is_skipping,
            } => Ok(self.body(headers, is_skipping)),
            State::Epilogue => Ok(Step::Wait),
        }
    }

    /// Counts bytes that are ignored. `place` says where they are.
    fn ignore(&mut self, bytes: usize, place: &str) -> Result<(), PartError> {
        self.ignored = self.ignored.saturating_add(bytes);
        if self.ignored <= MAX_IGNORED_BYTES {
            return Ok(());
        }
        Err(PartError::new(format!(
            "has more than {MAX_IGNORED_BYTES} bytes {place}"
        )))
    }

    /// Moves behind the delimiter that begins at `looked`.
    fn behind_delimiter(&mut self) {
        self.unread.advance(self.looked + self.delimiter.len());
        self.looked = 0;
        self.state = State::Delimiter;
    }

    fn delimiter_line(&mut self) -> Result<Step, PartError> {
        let is_last = self.unread.starts_with(b"--");
        if is_last {
            // The state is the epilogue already.
            self.ignore(self.unread.len(), AFTER)?;
            self.unread.clear();
            return Ok(Step::Wait);
        }
        let end = position(&self.unread, LINE_END);
        let padding = &self.unread[..end.unwrap_or(self.unread.len())];
        // What has arrived may end with half a line end, or be the first hyphen of the last
        // delimiter.
        let is_padding = |byte: &u8| matches!(byte, b' ' | b'\t');
        if padding.len() > MOST_PADDING || (end.is_some() && !padding.iter().all(is_padding)) {
            return Err(PartError::new(
                "has a line that begins with its boundary and goes on",
            ));
        }
        let Some(end) = end else {
            self.state = State::Delimiter;
            return Ok(Step::Wait);
        };
        self.unread.advance(end + LINE_END.len());
        self.state = State::Head;
        Ok(Step::Next)
    }

    fn head(&mut self) -> Result<Step, PartError> {
        // A part without headers begins with the empty line.
        let end = if self.unread.starts_with(LINE_END) {
            Some(0)
        } else {
            let found = position(&self.unread[self.looked..], HEAD_END);
            found.map(|at| self.looked + at + LINE_END.len())
        };
        let length = end.unwrap_or(self.unread.len());
        if length > MAX_PART_HEAD_BYTES {
            return Err(PartError::new(format!(
                "has a part with more than {MAX_PART_HEAD_BYTES} bytes of headers"
            )));
        }
        let Some(end) = end else {
            // So that headers that arrive byte by byte are not read from their beginning each time.
            self.looked = self.unread.len().saturating_sub(HEAD_END.len() - 1);
            self.state = State::Head;
            return Ok(Step::Wait);
        };
        self.looked = 0;
        let headers = headers(&self.unread[..end])?;
        // The empty line stays: without content, the next delimiter begins with its line end.
        self.unread.advance(end);
        self.state = State::Body {
            headers,
            is_skipping: false,
        };
        Ok(Step::Next)
    }

    fn body(&mut self, headers: HeaderMap, mut is_skipping: bool) -> Step {
        if self.find() {
            let content = self.looked.saturating_sub(LINE_END.len());
            let is_over = is_skipping || content > self.limit;
            let body = (!is_over).then(|| {
                let start = LINE_END.len().min(self.looked);
                Bytes::copy_from_slice(&self.unread[start..self.looked])
            });
            self.behind_delimiter();
            return Step::Part(Frame { headers, body });
        }
        if is_skipping || self.looked.saturating_sub(LINE_END.len()) > self.limit {
            is_skipping = true;
            self.unread.advance(self.looked);
            self.looked = 0;
        }
        self.state = State::Body {
            headers,
            is_skipping,
        };
        Step::Wait
    }

    /// Looks for a delimiter. Sets `looked` to its beginning, or else to the length of what is
    /// certain to have none.
    fn find(&mut self) -> bool {
        if let Some(at) = position(&self.unread[self.looked..], &self.delimiter) {
            self.looked += at;
            return true;
        }
        let certain = self.unread.len().saturating_sub(self.delimiter.len() - 1);
        self.looked = self.looked.max(certain);
        false
    }
}

/// Returns the index at which `wanted`, which begins with a carriage return, begins.
fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + bytes[from..].iter().position(|byte| *byte == b'\r')?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Parses the headers of a part, each of which is a line.
fn headers(bytes: &[u8]) -> Result<HeaderMap, PartError> {
    let mut headers = HeaderMap::new();
    let mut rest = bytes;
    while let Some(end) = position(rest, LINE_END) {
        let line = &rest[..end];
        rest = &rest[end + LINE_END.len()..];
        let colon = line.iter().position(|byte| *byte == b':');
        let parsed = colon.and_then(|at| {
            let name = HeaderName::from_bytes(line[..at].trim_ascii_end()).ok()?;
            let value = HeaderValue::from_bytes(line[at + 1..].trim_ascii()).ok()?;
            Some((name, value))
        });
        let Some((name, value)) = parsed else {
            return Err(PartError::new("has a part with a line that is no header"));
        };
        if headers.len() == MAX_PART_HEADERS {
            return Err(PartError::new(format!(
                "has a part with more than {MAX_PART_HEADERS} headers"
            )));
        }
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Found = Vec<(usize, Option<String>)>;

    /// Splits a body that arrives in pieces of a size. Returns the number of headers and the content
    /// of each part.
    fn split(body: &[u8], size: usize, limit: usize) -> Result<Found, PartError> {
        let mut splitter = Splitter::new("b", limit);
        let mut found = Vec::new();
        let text = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
        for piece in body.chunks(size) {
            splitter.push(piece)?;
            while let Some(frame) = splitter.take()? {
                found.push((frame.headers.len(), frame.body.map(text)));
            }
        }
        splitter.finish()?;
        Ok(found)
    }

    #[test]
    fn a_body_is_split_alike_however_it_arrives() {
        let body = b"ignored\r\n--b \t\r\nA: 1\r\nB: 2\r\n\r\none\r\n-- b\r\n\r\n--b\r\n\r\n\r\n--b\r\nA: 1\r\n\r\n--b\r\n\r\ntwo\r\n--b--\r\nignored";
        for size in 1..body.len() {
            let found = split(body, size, 100).unwrap();
            let text = |text: &str| Some(text.to_owned());
            assert_eq!(
                found,
                [
                    (2, text("one\r\n-- b\r\n")),
                    (0, text("")),
                    (1, text("")),
                    (0, text("two"))
                ],
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn a_part_beyond_the_limit_is_skipped() {
        let body = b"--b\r\n\r\n123456\r\n--b\r\n\r\n12345\r\n--b--";
        for size in 1..body.len() {
            let found = split(body, size, 5).unwrap();
            assert_eq!(found, [(0, None), (0, Some("12345".to_owned()))], "{size}");
        }
    }

    #[test]
    fn a_broken_body_is_an_error() {
        let long = format!(
            "--b\r\nA: {}\r\n\r\n\r\n--b--",
            "a".repeat(MAX_PART_HEAD_BYTES)
        );
        let preamble = format!("{}\r\n--b--", "a".repeat(MAX_IGNORED_BYTES + 1));
        let epilogue = format!("--b\r\n\r\n\r\n--b--{}", "a".repeat(MAX_IGNORED_BYTES + 1));
        let many = format!(
            "--b\r\n{}\r\n\r\n--b--",
            "A: 1\r\n".repeat(MAX_PART_HEADERS + 1)
        );
        let padded = format!("--b{}\r\n\r\n\r\n--b--", " ".repeat(MOST_PADDING + 1));
        for (body, why) in [
            (&*preamble, "bytes before its first part"),
            (&epilogue, "bytes after its last part"),
            (&many, "more than 100 headers"),
            (&padded, "begins with its boundary"),
            ("--b\r\nA: 1\r\n B: 2\r\n\r\n\r\n--b--", "no header"),
            ("--b\r\nA: 1\rB: 2\r\n\r\n\r\n--b--", "no header"),
            ("--b\r\nA: 1\nB: 2\r\n\r\n\r\n--b--", "no header"),
            ("", "has no part"),
            ("--c\r\n\r\n\r\n--c--", "has no part"),
            ("--b\r\n\r\nabc", "ends before"),
            ("--b\r\nA: 1\r\n", "ends before"),
            ("--bc\r\n\r\n\r\n--b--", "begins with its boundary"),
            ("--b\r\nno header\r\n\r\n\r\n--b--", "no header"),
            (&long, "bytes of headers"),
        ] {
            for size in [1, 7, body.len().max(1)] {
                let error = split(body.as_bytes(), size, 100).unwrap_err();
                assert!(
                    error.message.contains(why),
                    "{body:?} in pieces of {size}: {error}"
                );
            }
        }
    }

    #[test]
    fn what_is_around_the_parts_may_be_as_large_as_the_bound() {
        let around = "a".repeat(MAX_IGNORED_BYTES - 2);
        let body = format!("{around}\r\n--b\r\n\r\none\r\n--b--{around}");
        let found = split(body.as_bytes(), 1000, 100).unwrap();
        assert_eq!(found, [(0, Some("one".to_owned()))]);
    }
}
