//! Server-sent events, as the HTML standard defines them.
//!
//! The parser is ours: `eventsource-stream` brings nom into every client's build, and ends the
//! stream at a byte that is not UTF-8, which the standard replaces.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::{ByteStream, Error, Lenient};

/// A server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Event {
    /// The type; `message` if the server sends none.
    pub event: String,
    /// The data, its lines joined by line feeds.
    pub data: String,
    /// The id of this event, or else of the last event before it that had one.
    pub id: Option<String>,
    /// The time to wait before connecting again, if the server sends it with this event.
    pub retry: Option<Duration>,
}

impl Event {
    /// Decodes the data as JSON, in the lenient mode in which response bodies are decoded.
    pub fn json<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        crate::lenient(|| serde_json::from_str(&self.data))
    }

    /// Returns the data as JSON beside what fits `T`, as [`LenientExt`](super::LenientExt) does for
    /// response bodies.
    #[must_use]
    pub fn lenient<T: crate::Wire>(&self) -> Lenient<T> {
        Lenient::from_text(&self.data)
    }
}

/// A response body of server-sent events: a [`Stream`] of [`Event`]s.
#[derive(Debug)]
pub struct EventStream {
    bytes: ByteStream,
    parser: Parser,
    ready: VecDeque<Event>,
}

impl EventStream {
    /// Returns the events of a body.
    #[must_use]
    pub fn new(bytes: ByteStream) -> Self {
        Self {
            bytes,
            parser: Parser::default(),
            ready: VecDeque::new(),
        }
    }
}

impl Stream for EventStream {
    type Item = Result<Event, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            match ready!(Pin::new(&mut this.bytes).poll_next(cx)) {
                Some(Ok(piece)) => this.parser.push(&piece, &mut this.ready),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// A parser that turns bytes into events. As the HTML standard says, it drops an event that no
/// empty line follows.
#[derive(Debug, Default)]
struct Parser {
    unread: BytesMut,
    /// The length of the prefix of `unread` that is known to have no line end.
    looked: usize,
    /// Whether the last line ended with a carriage return, so that a line feed directly after it
    /// belongs to the same line end.
    returned: bool,
    begun: bool,
    event: String,
    data: Option<String>,
    id: Option<String>,
    retry: Option<Duration>,
}

impl Parser {
    fn push(&mut self, piece: &[u8], ready: &mut VecDeque<Event>) {
        self.unread.extend_from_slice(piece);
        while let Some(line) = self.next_line() {
            let line = String::from_utf8_lossy(&line).into_owned();
            // Only the start of the stream may have a byte order mark.
            let line = if self.begun {
                &line
            } else {
                line.strip_prefix('\u{feff}').unwrap_or(&line)
            };
            self.begun = true;
            if line.is_empty() {
                ready.extend(self.finish());
            } else {
                self.field(line);
            }
        }
    }

    /// Returns the next whole line: lines end with a line feed, a carriage return, or both.
    fn next_line(&mut self) -> Option<BytesMut> {
        if self.returned
            && let Some(first) = self.unread.first()
        {
            if *first == b'\n' {
                self.unread.advance(1);
            }
            self.returned = false;
        }
        let end = self.unread[self.looked..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(end) = end.map(|end| self.looked + end) else {
            self.looked = self.unread.len();
            return None;
        };
        self.looked = 0;
        self.returned = self.unread[end] == b'\r';
        let line = self.unread.split_to(end);
        self.unread.advance(1);
        Some(line)
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // The standard ignores an id with a null character, which no header could send back.
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            _ => {}
        }
    }

    fn finish(&mut self) -> Option<Event> {
        // Reset even without data, in which case the standard drops the event.
        let event = std::mem::take(&mut self.event);
        let data = self.data.take()?;
        Some(Event {
            event: if event.is_empty() {
                "message".to_owned()
            } else {
                event
            },
            data,
            id: self.id.clone(),
            retry: self.retry.take(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_the_pieces_are_cut() {
        let text = "\u{feff}: comment\r\ndata: one\r\ndata:two\r\n\r\nevent: end\nid: 7\ndata\n\nretry: 5\n\ndata: cut off";
        for size in 1..text.len() {
            let (mut parser, mut events) = (Parser::default(), VecDeque::new());
            for piece in text.as_bytes().chunks(size) {
                parser.push(piece, &mut events);
            }
            let seen: Vec<_> = events
                .iter()
                .map(|event| (event.event.as_str(), event.data.as_str()))
                .collect();
            assert_eq!(
                seen,
                [("message", "one\ntwo"), ("end", "")],
                "pieces of {size}"
            );
            assert_eq!(events[1].id.as_deref(), Some("7"));
        }
    }

    #[test]
    fn an_event_is_there_as_soon_as_its_last_line_has_ended() {
        for text in ["data: one\r\r", "data: one\n\n", "data: one\r\n\r"] {
            let (mut parser, mut events) = (Parser::default(), VecDeque::new());
            parser.push(text.as_bytes(), &mut events);
            assert_eq!(events.len(), 1, "{text:?}");
            parser.push(b"\ndata: two\n\n", &mut events);
            assert_eq!(events.len(), 2, "{text:?}");
        }
    }
}
