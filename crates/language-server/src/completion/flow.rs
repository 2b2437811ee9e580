//! Where a cursor is between brackets: in JSON, and in the flow style of YAML.

use super::context::{Context, ITEM, Spot};

/// An open bracket.
enum Frame {
    Object {
        key: Option<String>,
        /// Whether the colon after the key stands before the cursor.
        is_value: bool,
        keys: Vec<String>,
    },
    Array,
}

/// A word or a text in quotes that is not over at the cursor.
struct Open {
    start: usize,
    quote: Option<char>,
}

/// Scans from the start of a bracket to an offset. `outer` are the tokens that lead to the bracket.
pub(super) fn scan(text: &str, from: usize, offset: usize, outer: Vec<String>) -> Option<Context> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut open: Option<Open> = None;
    let mut is_escaped = false;
    let mut is_comment = false;
    let mut previous = ' ';
    for (at, one) in text.get(from..offset)?.char_indices() {
        let at = from + at;
        if is_comment {
            is_comment = one != '\n';
            continue;
        }
        if let Some(Open {
            start,
            quote: Some(quote),
        }) = open
        {
            if is_escaped {
                is_escaped = false;
            } else if one == '\\' && quote == '"' {
                is_escaped = true;
            } else if one == quote {
                word(&mut frames, &text[start..at]);
                open = None;
            }
            previous = one;
            continue;
        }
        // A colon within a word, as in a URI, ends no key.
        let is_colon = one == ':' && !matches!(text[at + 1..].chars().next(), Some('/'));
        let ends = matches!(one, ',' | '{' | '}' | '[' | ']' | '\n' | '\r') || is_colon;
        if ends && let Some(Open { start, quote: None }) = open {
            word(&mut frames, text[start..at].trim_end());
            open = None;
        }
        match one {
            '{' => frames.push(Frame::Object {
                key: None,
                is_value: false,
                keys: Vec::new(),
            }),
            '[' => frames.push(Frame::Array),
            '}' | ']' => {
                frames.pop();
                // The bracket with which the scan began is closed.
                if frames.is_empty() {
                    return None;
                }
            }
            ':' if is_colon => {
                if let Some(Frame::Object { is_value, .. }) = frames.last_mut() {
                    *is_value = true;
                }
            }
            ',' => {
                if let Some(Frame::Object {
                    key,
                    is_value,
                    keys,
                }) = frames.last_mut()
                {
                    keys.extend(key.take());
                    *is_value = false;
                }
            }
            '"' | '\'' if open.is_none() => {
                open = Some(Open {
                    start: at + one.len_utf8(),
                    quote: Some(one),
                });
            }
            '#' if open.is_none() && previous.is_whitespace() => is_comment = true,
            one if one.is_whitespace() => {}
            _ if open.is_none() => {
                open = Some(Open {
                    start: at,
                    quote: None,
                });
            }
            _ => {}
        }
        previous = one;
    }
    if is_comment {
        return None;
    }
    context(frames, open, offset, outer)
}

/// Takes a whole word, which is a key if a key is due.
fn word(frames: &mut [Frame], text: &str) {
    if let Some(Frame::Object {
        key,
        is_value: false,
        ..
    }) = frames.last_mut()
    {
        *key = Some(text.to_owned());
    }
}

fn context(
    frames: Vec<Frame>,
    open: Option<Open>,
    offset: usize,
    mut tokens: Vec<String>,
) -> Option<Context> {
    let innermost = frames.len().checked_sub(1)?;
    let mut siblings = Vec::new();
    let mut spot = Spot::Either;
    for (depth, frame) in frames.into_iter().enumerate() {
        match frame {
            Frame::Array => tokens.push(ITEM.to_owned()),
            Frame::Object {
                key,
                is_value: true,
                ..
            } => {
                tokens.extend(key);
                spot = Spot::Value;
            }
            Frame::Object { key, keys, .. } if depth == innermost => {
                // After a whole key comes a colon, which nobody needs help with.
                if key.is_some() {
                    return None;
                }
                siblings = keys;
                spot = Spot::Key;
            }
            Frame::Object { .. } => return None,
        }
    }
    let (start, quote) = open.map_or((offset, None), |open| (open.start, open.quote));
    Some(Context {
        tokens,
        spot,
        siblings,
        typed: start..offset,
        quote,
        is_closed: false,
        has_colon: false,
        is_flow: true,
        is_json: false,
    })
}
