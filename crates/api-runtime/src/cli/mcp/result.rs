//! What an assistant gets of a response: JSON or text, bounded, without its secrets.

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt as _};
use http::StatusCode;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::access::Access;
use super::arguments;
use super::tool::Tool;
use crate::cli::description::Paging;
use crate::cli::failure::Failure;
use crate::cli::input::Arguments;
use crate::cli::{call, output, secrets};
use crate::client::{ByteStream, EventStream, ResponseValue};
use crate::items::{Framing, ItemStream};

/// The maximum number of bytes of a response that is read into memory.
const MOST_RESPONSE_BYTES: usize = 8 << 20;

/// What to do about a result that is not all.
const ADVICE: &str = "Ask for less, or let the program be started with a larger --result-bytes.";

/// A call whose response becomes a result.
pub(super) struct Called<'c> {
    pub(super) tool: &'c Tool,
    pub(super) access: &'c Access,
    pub(super) arguments: &'c Arguments,
    /// When a stream is left.
    pub(super) end: Instant,
}

/// Returns the result of a call that failed.
pub(super) fn failed(failure: Failure, access: &Access) -> CallToolResult {
    let words = failure.into_message();
    let shown = cut(&words, access.result_bytes);
    CallToolResult::error(vec![ContentBlock::text(shown)])
}

impl Called<'_> {
    /// Reads a response.
    pub(super) async fn result(
        &self,
        reply: ResponseValue<ByteStream>,
    ) -> Result<CallToolResult, Failure> {
        let status = reply.status();
        let essence = output::essence(reply.headers());
        if let Some(framing) = Framing::of(&essence) {
            return Ok(self.streamed(framing, reply).await);
        }
        let bytes = call::read(reply.into_inner(), MOST_RESPONSE_BYTES).await;
        let bytes = bytes
            .map_err(|error| Failure::transport(format!("the response ended early: {error}")))?;
        let bytes: Bytes = bytes.ok_or_else(|| {
            Failure::other(format!(
                "the call has succeeded, but the response has more than {MOST_RESPONSE_BYTES} bytes: ask for less"
            ))
        })?;
        if bytes.is_empty() {
            return Ok(texts([format!("{status}, without a body")]));
        }
        if self.tool.settings.hides_body(status) {
            return Ok(texts([secrets::HIDDEN.to_owned()]));
        }
        if output::is_json(&essence) {
            let value = serde_json::from_slice(&bytes).map_err(|error| {
                Failure::other(format!("the response is not JSON, as it says ({error})"))
            })?;
            return Ok(self.json(status, value));
        }
        let is_binary = |text: &str| {
            text.chars()
                .any(|one| one.is_control() && !one.is_whitespace())
        };
        Ok(match std::str::from_utf8(&bytes) {
            Ok(text) if !is_binary(text) => self.text(text),
            _ => texts([format!(
                "{status}, with {} bytes of {essence}, which are no text and are left out",
                bytes.len()
            )]),
        })
    }

    /// Returns the result of a JSON response.
    fn json(&self, status: StatusCode, mut value: Value) -> CallToolResult {
        self.tool.settings.hide(status, &mut value);
        let text = value.to_string();
        if text.len() > self.access.result_bytes {
            let paging = self.tool.operation().paging.as_ref();
            let page = paging.and_then(|paging| self.page(paging, &mut value));
            return page.unwrap_or_else(|| self.text(&text));
        }
        // Only the whole of a response is structured content: some clients show this alone, without
        // what a text beside it says was left out. It has the same bytes once more.
        let is_structured = value.is_object() && 2 * text.len() <= self.access.result_bytes;
        let mut result = texts([text]);
        result.structured_content = is_structured.then_some(value);
        result
    }

    /// Returns the items of a page that fit into a result, and how to get the next. Returns `None` if
    /// none fits.
    fn page(&self, paging: &Paging, value: &mut Value) -> Option<CallToolResult> {
        let Value::Array(mut items) = value.get_mut(&paging.items)?.take() else {
            return None;
        };
        let all = items.len();
        // Without the items, which were taken out above.
        let mut bytes = value.to_string().len();
        let fits = items.iter().take_while(|item| {
            // With the comma behind it.
            bytes += item.to_string().len() + 1;
            bytes <= self.access.result_bytes
        });
        let kept = fits.count();
        items.truncate(kept);
        let order = paging.order.as_ref();
        let order = order.and_then(|name| arguments::value(self.arguments, name)?.as_str());
        let last = items.last()?.get(order.unwrap_or(&paging.key)).cloned();
        *value.get_mut(&paging.items)? = Value::Array(items);
        let mut note = format!(
            "This is not all: the first {kept} of {all} items of the page, since a result has at most {} bytes.",
            self.access.result_bytes
        );
        let mut inputs = self.tool.inputs.iter();
        let cursor = inputs.find(|(_, bound)| bound.input.name == paging.cursor);
        match (cursor, last.filter(|last| !last.is_null())) {
            (Some((cursor, _)), Some(last)) => note.push_str(&format!(
                " For the next items, call it again with `{cursor}`: {last}."
            )),
            _ => note.push_str(&format!(" {ADVICE}")),
        }
        Some(texts([value.to_string(), note]))
    }

    /// Returns the result of a text.
    fn text(&self, text: &str) -> CallToolResult {
        let shown = cut(text, self.access.result_bytes);
        if shown.len() == text.len() {
            return texts([text.to_owned()]);
        }
        let note = format!(
            "This is not all: the first {} of {} bytes, since a result has at most {}. {ADVICE}",
            shown.len(),
            text.len(),
            self.access.result_bytes
        );
        texts([shown.to_owned(), note])
    }

    /// Collects the items of a stream, until it ends or the result has no room.
    async fn streamed(&self, framing: Framing, reply: ResponseValue<ByteStream>) -> CallToolResult {
        let (status, body) = (reply.status(), reply.into_inner());
        if framing == Framing::Events {
            let events = EventStream::new(body).map_ok(|event| output::event(&event));
            return self.collected(status, events).await;
        }
        let items = ItemStream::<Value, _>::new(framing, body, true);
        self.collected(status, items).await
    }

    async fn collected<E: std::fmt::Display>(
        &self,
        status: StatusCode,
        items: impl Stream<Item = Result<Value, E>>,
    ) -> CallToolResult {
        let mut items = std::pin::pin!(items);
        let mut lines = String::new();
        let why = loop {
            let Ok(item) = timeout_at(self.end, items.try_next()).await else {
                break "since its time is over; --timeout gives it more".to_owned();
            };
            let mut item = match item {
                Ok(Some(item)) => item,
                Ok(None) if lines.is_empty() => {
                    return texts([format!("{status}, with a stream of no items")]);
                }
                Ok(None) => return texts([lines]),
                Err(error) => {
                    let note = format!("This may not be all: the stream ended early: {error}");
                    let blocks = [lines, note].into_iter().filter(|text| !text.is_empty());
                    return CallToolResult::error(blocks.map(ContentBlock::text).collect());
                }
            };
            self.tool.settings.hide(status, &mut item);
            let line = format!("{item}\n");
            if lines.len() + line.len() > self.access.result_bytes {
                break format!(
                    "since a result has at most {} bytes",
                    self.access.result_bytes
                );
            }
            lines.push_str(&line);
        };
        let note = format!("This is not all: the stream goes on, and was left {why}.");
        let blocks = [lines, note].into_iter().filter(|text| !text.is_empty());
        CallToolResult::success(blocks.map(ContentBlock::text).collect())
    }
}

/// Returns a result of texts.
fn texts<const N: usize>(texts: [String; N]) -> CallToolResult {
    CallToolResult::success(texts.map(ContentBlock::text).into())
}

/// Returns the beginning of a text that has at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let ends = text
        .char_indices()
        .map(|(at, character)| at + character.len_utf8());
    let end = ends.take_while(|end| *end <= most).last();
    &text[..end.unwrap_or_default()]
}
