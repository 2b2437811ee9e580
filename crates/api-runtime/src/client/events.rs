//! Server-sent events, as the HTML standard defines them.
//!
//! The parser is ours: `eventsource-stream` brings nom into every client's build, and ends the
//! stream at a byte that is not UTF-8, which the standard replaces.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::{ByteStream, Error, Lenient};
use crate::items::{Frame, Framing, MAX_ITEM_BYTES, Splitter};

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
///
/// An event of more than 1 MiB is skipped, and [`Error::OversizedEvent`] in its place, unless
/// [`max_item_bytes`](Self::max_item_bytes) sets another limit. The stream goes on after it, and ends
/// after any other error.
pub struct EventStream {
    bytes: ByteStream,
    splitter: Splitter,
    parser: Parser,
    ready: VecDeque<Frame>,
}

impl EventStream {
    /// Returns the events of a body.
    #[must_use]
    pub fn new(bytes: ByteStream) -> Self {
        Self {
            bytes,
            splitter: Splitter::new(Framing::Events, MAX_ITEM_BYTES),
            parser: Parser::default(),
            ready: VecDeque::new(),
        }
    }

    /// Sets the maximum number of bytes that an event may have, with the names of its fields and
    /// its comments.
    #[must_use]
    pub fn max_item_bytes(mut self, bytes: usize) -> Self {
        self.splitter.limit = bytes;
        self
    }
}

impl Stream for EventStream {
    type Item = Result<Event, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            while let Some(frame) = this.ready.pop_front() {
                let Frame::Whole(frame) = frame else {
                    let error = Error::OversizedEvent {
                        limit: this.splitter.limit,
                        operation: this.bytes.operation(),
                    };
                    return Poll::Ready(Some(Err(error)));
                };
                if let Some(event) = this.parser.event(&frame) {
                    return Poll::Ready(Some(Ok(event)));
                }
            }
            match ready!(Pin::new(&mut this.bytes).poll_next(cx)) {
                Some(Ok(piece)) => this.splitter.push(&piece, &mut this.ready),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                // As the HTML standard says, an event that no empty line follows is dropped.
                None => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

/// Reads the fields of events, and what an event has from those before it.
#[derive(Default)]
struct Parser {
    begun: bool,
    event: String,
    data: Option<String>,
    id: Option<String>,
    retry: Option<Duration>,
}

impl Parser {
    /// Reads the lines of an event. Returns `None` if it has no data, so that the standard drops it.
    fn event(&mut self, lines: &[u8]) -> Option<Event> {
        let text = String::from_utf8_lossy(lines);
        // Only the start of the stream may have a byte order mark.
        let text = if self.begun {
            &text
        } else {
            text.strip_prefix('\u{feff}').unwrap_or(&text)
        };
        self.begun = true;
        for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
            self.field(line);
        }
        self.finish()
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
            // The standard ignores a time that is no number, so it does not replace an earlier one.
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

    /// Returns the events of pieces of a body.
    fn read<'t>(pieces: impl Iterator<Item = &'t [u8]>) -> Vec<Event> {
        let mut splitter = Splitter::new(Framing::Events, MAX_ITEM_BYTES);
        let (mut parser, mut frames) = (Parser::default(), VecDeque::new());
        for piece in pieces {
            splitter.push(piece, &mut frames);
        }
        let event = |frame| match frame {
            Frame::Whole(lines) => parser.event(&lines),
            Frame::Cut(_) | Frame::TooLarge => None,
        };
        frames.into_iter().filter_map(event).collect()
    }

    #[test]
    fn events_are_found_wherever_the_pieces_are_cut() {
        let text = "\u{feff}: comment\r\ndata: one\r\ndata:two\r\n\r\nevent: end\nid: 7\ndata\n\nretry: 5\n\ndata: cut off";
        for size in 1..text.len() {
            let events = read(text.as_bytes().chunks(size));
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
            let pieces = [text.as_bytes(), b"\ndata: two\n\n"];
            assert_eq!(read(pieces[..1].iter().copied()).len(), 1, "{text:?}");
            assert_eq!(read(pieces.into_iter()).len(), 2, "{text:?}");
        }
    }
}
