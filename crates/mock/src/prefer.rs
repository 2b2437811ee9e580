//! The header `Prefer` (RFC 7240), by which a caller chooses the response, and what a mock made of
//! it.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header that asks.
const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The header that says what was done.
pub(crate) const APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// What the caller prefers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Preferences {
    /// `code=404`: the status.
    pub(crate) code: Option<u16>,
    /// `example=NAME`: the example.
    pub(crate) example: Option<String>,
    /// `dynamic=true`: whether the response is made up, and another one each time.
    pub(crate) dynamic: Option<bool>,
}

impl Preferences {
    /// Reads all headers of the name as one list. Of a preference that is there twice the first
    /// counts, and what is not understood is ignored, as the standard says.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut preferences = Self::default();
        let lines = headers.get_all(PREFER).iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        for (name, value) in lines.flat_map(|line| pieces(line, ',')).map(preference) {
            match name.as_str() {
                "code" => preferences.code = preferences.code.or_else(|| value.parse().ok()),
                "example" => {
                    preferences.example.get_or_insert(value);
                }
                "dynamic" => {
                    let is_dynamic = match value.as_str() {
                        "true" | "" => Some(true),
                        "false" => Some(false),
                        _ => None,
                    };
                    preferences.dynamic = preferences.dynamic.or(is_dynamic);
                }
                _ => {}
            }
        }
        preferences
    }

    /// Returns the value of `Preference-Applied`, or `None` if nothing was preferred.
    pub(crate) fn applied(&self) -> Option<HeaderValue> {
        let code = self.code.map(|code| format!("code={code}"));
        let example = self.example.as_ref();
        let example = example.map(|name| format!("example={}", quoted(name)));
        let dynamic = self.dynamic.map(|dynamic| format!("dynamic={dynamic}"));
        let parts: Vec<String> = [code, example, dynamic].into_iter().flatten().collect();
        if parts.is_empty() {
            return None;
        }
        HeaderValue::from_str(&parts.join(", ")).ok()
    }
}

/// Splits a text at a separator that is not in quotes.
pub(crate) fn pieces(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |character: char| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match character {
            '\\' if is_quoted && !was_escaped => is_escaped = true,
            '"' if !was_escaped => is_quoted = !is_quoted,
            _ => return character == separator && !is_quoted,
        }
        false
    })
    .map(str::trim)
    .filter(|piece| !piece.is_empty())
}

/// Returns the name of a preference in lower case, and its value without quotes.
fn preference(piece: &str) -> (String, String) {
    // What follows a semicolon are parameters, of which these preferences have none.
    let piece = pieces(piece, ';').next().unwrap_or_default();
    let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
    let value = value.trim();
    let inner = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'));
    let value = match inner {
        Some(inner) => unescaped(inner),
        None => value.to_owned(),
    };
    (name.trim().to_ascii_lowercase(), value)
}

fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            other => plain.push(other),
        }
    }
    plain
}

/// Returns a value as a token if it is one, else in quotes.
fn quoted(value: &str) -> String {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if !value.is_empty() && value.bytes().all(is_token) {
        value.to_owned()
    } else {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
