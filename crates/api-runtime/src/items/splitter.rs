//! Splits the pieces of a body into the frames of its items.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

use super::Framing;

/// The byte before each item of a JSON text sequence (RFC 7464).
pub(super) const SEPARATOR: u8 = 0x1e;

/// The bytes of an item, without what separates it from others.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The bytes of a whole item.
    Whole(Bytes),
    /// The bytes of an item that lacks its beginning or its end.
    Cut(Bytes),
    /// An item with more bytes than the limit, which was skipped.
    TooLarge,
}

/// The state of splitting a body. Holds at most the limit and one piece in memory.
pub(crate) struct Splitter {
    pub(super) framing: Framing,
    /// The maximum number of bytes of an item.
    pub(crate) limit: usize,
    unread: BytesMut,
    /// The length of the prefix of `unread` that is known to have no end of an item.
    looked: usize,
    /// Whether the current item is too large, so that its bytes are dropped.
    is_skipping: bool,
    scan: Scan,
}

/// What is known about the prefix of the current item.
#[derive(Default)]
struct Scan {
    /// Whether the item has begun with a separator.
    is_open: bool,
    /// Whether there is a byte of the item's value.
    has_value: bool,
    /// The number of arrays and objects that are open.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// Whether the last line has ended with a carriage return, to which a line feed belongs.
    returned: bool,
    /// Whether the current line of an event has a byte.
    has_line: bool,
}

/// What a byte means for the item that it is in.
enum Step {
    /// The byte belongs to the item.
    Inside,
    /// The byte belongs to no item.
    Outside,
    /// The item ends before this byte, which is dropped.
    End,
    /// The item ends before this byte, which is the first byte of the next item.
    Next,
}

impl Splitter {
    pub(crate) fn new(framing: Framing, limit: usize) -> Self {
        Self {
            framing,
            limit,
            unread: BytesMut::new(),
            looked: 0,
            is_skipping: false,
            scan: Scan::default(),
        }
    }

    /// Adds a piece of the body, and the frames that it completes to `ready`.
    pub(crate) fn push(&mut self, piece: &[u8], ready: &mut VecDeque<Frame>) {
        self.unread.extend_from_slice(piece);
        while let Some(byte) = self.unread.get(self.looked).copied() {
            match self.step(byte) {
                Step::Outside if self.looked == 0 => self.unread.advance(1),
                Step::Inside | Step::Outside => self.looked += 1,
                Step::End => {
                    self.end(ready, Frame::Whole);
                    self.unread.advance(1);
                }
                Step::Next => {
                    let make = if self.is_whole() {
                        Frame::Whole
                    } else {
                        Frame::Cut
                    };
                    self.end(ready, make);
                    self.unread.advance(1);
                    self.scan.is_open = true;
                }
            }
        }
        if self.looked > self.limit {
            self.is_skipping = true;
            self.unread.clear();
            self.looked = 0;
        }
    }

    /// Adds the last frame, which nothing follows.
    pub(super) fn finish(&mut self, ready: &mut VecDeque<Frame>) {
        match self.framing {
            // The line feed of the last line may be missing.
            Framing::Lines => self.end(ready, Frame::Whole),
            Framing::Records => {
                let make = if self.is_whole() {
                    Frame::Whole
                } else {
                    Frame::Cut
                };
                self.end(ready, make);
            }
            // The standard drops an event that no empty line follows.
            Framing::Events => {}
        }
    }

    /// Takes the bytes before the current one as a frame, unless they are blank.
    fn end(&mut self, ready: &mut VecDeque<Frame>, make: impl FnOnce(Bytes) -> Frame) {
        let has_separator = self.scan.is_open;
        // The line feed after a carriage return belongs to the same line end.
        self.scan = Scan {
            returned: self.scan.returned,
            ..Scan::default()
        };
        let frame = self.unread.split_to(self.looked).freeze();
        self.looked = 0;
        if std::mem::take(&mut self.is_skipping) || frame.len() > self.limit {
            ready.push_back(Frame::TooLarge);
        } else if !frame.trim_ascii().is_empty() {
            let is_headless = self.framing == Framing::Records && !has_separator;
            ready.push_back(if is_headless {
                Frame::Cut(frame)
            } else {
                make(frame)
            });
        }
    }

    /// Returns whether what has been read of a record is certainly a whole value: an array, object
    /// or string that has ended. A number could have had more digits.
    fn is_whole(&self) -> bool {
        let text = self.unread[..self.looked].trim_ascii_end();
        self.scan.depth == 0
            && !self.scan.in_string
            && matches!(text.last(), Some(b'}' | b']' | b'"'))
    }

    fn step(&mut self, byte: u8) -> Step {
        match self.framing {
            Framing::Lines if byte == b'\n' => Step::End,
            Framing::Lines => Step::Inside,
            Framing::Records => self.scan.record(byte),
            Framing::Events => self.scan.event(byte),
        }
    }
}

impl Scan {
    fn record(&mut self, byte: u8) -> Step {
        match byte {
            SEPARATOR if self.is_open || self.has_value => return Step::Next,
            SEPARATOR => {
                self.is_open = true;
                return Step::Outside;
            }
            // An item ends with a line feed, which may also stand within an array or object.
            b'\n' if self.has_value && self.depth == 0 && !self.in_string => return Step::End,
            b' ' | b'\t' | b'\r' | b'\n' if !self.has_value => return Step::Outside,
            b'"' if self.in_string => self.in_string = self.is_escaped,
            b'"' => self.in_string = true,
            b'[' | b'{' if !self.in_string => self.depth += 1,
            b']' | b'}' if !self.in_string => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.is_escaped = self.in_string && byte == b'\\' && !self.is_escaped;
        self.has_value = true;
        Step::Inside
    }

    fn event(&mut self, byte: u8) -> Step {
        let follows_return = std::mem::replace(&mut self.returned, byte == b'\r');
        match byte {
            // The second half of a line end.
            b'\n' if follows_return => {
                if self.has_value {
                    Step::Inside
                } else {
                    Step::Outside
                }
            }
            b'\n' | b'\r' if self.has_line => {
                self.has_line = false;
                Step::Inside
            }
            b'\n' | b'\r' => Step::End,
            _ => {
                self.has_line = true;
                self.has_value = true;
                Step::Inside
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(framing: Framing, limit: usize, text: &[u8], size: usize) -> Vec<String> {
        let (mut splitter, mut ready) = (Splitter::new(framing, limit), VecDeque::new());
        for piece in text.chunks(size) {
            splitter.push(piece, &mut ready);
            assert!(splitter.unread.len() <= limit.max(size), "{framing:?}");
        }
        splitter.finish(&mut ready);
        let frames = ready.into_iter().map(|frame| match frame {
            Frame::Whole(bytes) => String::from_utf8_lossy(bytes.trim_ascii()).into_owned(),
            Frame::Cut(bytes) => format!("cut {}", String::from_utf8_lossy(bytes.trim_ascii())),
            Frame::TooLarge => "too large".to_owned(),
        });
        frames.collect()
    }

    #[test]
    fn frames_are_found_wherever_the_pieces_are_cut() {
        let cases: [(Framing, &[u8], &[&str]); 4] = [
            (
                Framing::Lines,
                b"{\"a\":1}\r\n\n  \n[2]\n012345678901234567890\ngarbage\n3",
                &["{\"a\":1}", "[2]", "too large", "garbage", "3"],
            ),
            (
                Framing::Records,
                b"4\n\x1e{\"a\":\n\"}\\\"\\\\\"}\n\x1e\x1e5\n\x1e6\x1e{7\n\x1e012345678901234567890\n\x1e\"8\"",
                &["cut 4", "{\"a\":\n\"}\\\"\\\\\"}", "5", "cut 6", "cut {7", "too large", "\"8\""],
            ),
            (Framing::Records, b"\x1e1\n\x1e12", &["1", "cut 12"]),
            (
                Framing::Events,
                b"data: one\r\n\r\n\r\nid: 7\rdata\r\rdata: 0123456789012345\n\n: c\n\ndata: cut\n",
                &["data: one", "id: 7\rdata", "too large", ": c"],
            ),
        ];
        for (framing, text, expected) in cases {
            for size in 1..=text.len() {
                assert_eq!(
                    frames(framing, 16, text, size),
                    expected,
                    "pieces of {size}"
                );
            }
        }
    }

    #[test]
    fn a_frame_is_there_as_soon_as_it_has_ended() {
        for (framing, text) in [
            (Framing::Lines, "1\n"),
            (Framing::Records, "\u{1e}1\n"),
            (Framing::Records, "\u{1e}[\n1]\n"),
            (Framing::Events, "data: 1\n\n"),
            (Framing::Events, "data: 1\r\r"),
        ] {
            let (mut splitter, mut ready) = (Splitter::new(framing, 16), VecDeque::new());
            splitter.push(text.as_bytes(), &mut ready);
            assert_eq!(ready.len(), 1, "{text:?}");
        }
    }
}
