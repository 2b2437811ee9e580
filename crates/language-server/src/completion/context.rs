//! Finds where a cursor is from the text around it. No tree is needed, since there often is none
//! while a line is being typed.

use std::ops::Range;

use super::{block, flow};

/// The token that stands for an item of a list, whichever it is.
pub(super) const ITEM: &str = "0";

/// Where a cursor is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Context {
    /// The keys and items that lead to the object that is typed in, or to the value.
    pub(super) tokens: Vec<String>,
    pub(super) spot: Spot,
    /// The keys that the object has besides the one that is typed.
    pub(super) siblings: Vec<String>,
    /// The offsets of what is typed of the key or value so far, without its quote.
    pub(super) typed: Range<usize>,
    /// The quote before it, if there is one, and whether it is closed already.
    pub(super) quote: Option<char>,
    pub(super) is_closed: bool,
    /// Whether a colon follows.
    pub(super) has_colon: bool,
    /// Whether the cursor is between brackets.
    pub(super) is_flow: bool,
    pub(super) is_json: bool,
}

/// What is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// A key of an object.
    Key,
    /// The value of a key, or an item of a list.
    Value,
    /// A key or a value: the text so far allows both.
    Either,
}

impl Context {
    /// Returns where an offset of a text is, or `None` where nothing can be completed, as in a
    /// comment or in a text of several lines.
    pub(super) fn at(text: &str, offset: usize) -> Option<Self> {
        let is_json = text
            .trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with(['{', '[']);
        let mut context = if is_json {
            flow::scan(text, 0, offset, Vec::new())?
        } else {
            block::scan(text, offset)?
        };
        context.is_json = is_json;
        let rest = &text[offset..];
        let rest = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
        if let Some(quote) = context.quote {
            context.is_closed = rest.starts_with(quote);
        }
        let after = rest.trim_start_matches(|one: char| {
            one.is_alphanumeric() || matches!(one, '"' | '\'' | '_' | '-' | '$' | '/' | '.')
        });
        context.has_colon = after.trim_start().starts_with(':');
        Some(context)
    }
}
