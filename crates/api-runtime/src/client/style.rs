//! Writes the parameters of requests in every style of OpenAPI: in paths, queries, headers and
//! cookies.

mod cookies;
mod query;

pub use cookies::Cookies;
pub use query::Query;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::RequestBuilder;
use serde::Serialize;
use serde_json::Value;

use super::segment::escape;
use super::{Argument, InvalidArgument};

/// How an array or object is written in a parameter, or in a field of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the specification's words")]
pub enum Style {
    Matrix,
    Label,
    Simple,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
    /// As a JSON text (`contentType: application/json`).
    Json,
}

/// The characters that are escaped in queries and cookies.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The characters that are escaped in an item of a list in a path. A dot is among them because it
/// separates labels.
const ITEM: &AsciiSet = &QUERY.add(b'.');

/// The three kinds of values that a style distinguishes.
enum Kind {
    Scalar(String),
    List(Vec<String>),
    Object(Vec<(String, String)>),
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::Array(items) => Kind::List(items.iter().map(scalar).collect()),
        Value::Object(members) => Kind::Object(
            members
                .iter()
                // No style has a form for null, so the property is as if absent.
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), scalar(value)))
                .collect(),
        ),
        _ => Kind::Scalar(scalar(value)),
    }
}

/// Returns a single value as text. Null is an empty string, and a nested list or object, for which
/// styles have no form, is JSON.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn json(name: &str, value: &impl Serialize) -> Result<Value, InvalidArgument> {
    serde_json::to_value(value)
        .map_err(|_| InvalidArgument::new(format!("`{name}` cannot be written as JSON")))
}

/// Returns the JSON text, unescaped, of a parameter that is declared with `content`. `name` is for
/// the error.
pub fn content(name: &str, value: &impl Serialize) -> Result<String, InvalidArgument> {
    json(name, value).map(|value| value.to_string())
}

/// Returns the text, unescaped, of a single value. `name` is for the error.
pub fn single(name: &str, value: &impl Serialize) -> Result<String, InvalidArgument> {
    json(name, value).map(|value| scalar(&value))
}

/// Returns the JSON text, escaped, of a path parameter that is declared with `content`.
pub fn path_content(name: &str, value: &impl Serialize) -> Result<String, InvalidArgument> {
    content(name, value).map(|text| escape(&text))
}

/// Returns the text of a path parameter in its style, escaped. Separators inside of items and names
/// are escaped too (RFC 6570, section 3.2.1).
pub fn path_text(
    name: &str,
    value: &impl Serialize,
    style: Style,
    explode: bool,
) -> Result<String, InvalidArgument> {
    let kind = kind(&json(name, value)?);
    Ok(match style {
        Style::Label => prefixed(".", if explode { "." } else { "," }, kind, explode, None),
        Style::Matrix => prefixed(
            ";",
            if explode { ";" } else { "," },
            kind,
            explode,
            Some(name),
        ),
        // A single value has no separators, which would have to be escaped inside of it.
        _ if matches!(kind, Kind::Scalar(_)) => joined(kind, explode, ",", escape),
        _ => joined(kind, explode, ",", escape_item),
    })
}

/// Adds a header parameter in the style `simple`, without `explode`, if it has a value.
///
/// # Errors
///
/// If an item of a list has a comma, or a blank at an end: the style has no escapes, and a reader
/// would take it for the separator.
pub fn header<T: Serialize>(
    request: RequestBuilder,
    name: &str,
    value: Option<&T>,
) -> Argument<RequestBuilder> {
    header_of(request, name, value, |value| {
        header_text(name, value, false)
    })
}

/// Adds a header parameter as [`header`] does, with `explode`: properties of an object are written
/// as `name=value`.
pub fn exploded_header<T: Serialize>(
    request: RequestBuilder,
    name: &str,
    value: Option<&T>,
) -> Argument<RequestBuilder> {
    header_of(request, name, value, |value| header_text(name, value, true))
}

/// Adds a header parameter that is declared with `content`, as JSON, if it has a value.
pub fn content_header<T: Serialize>(
    request: RequestBuilder,
    name: &str,
    value: Option<&T>,
) -> Argument<RequestBuilder> {
    header_of(request, name, value, |value| content(name, value))
}

/// Adds a header with the text of a value, if there is a value.
fn header_of<T>(
    request: RequestBuilder,
    name: &str,
    value: Option<&T>,
    text: impl FnOnce(&T) -> Argument<String>,
) -> Argument<RequestBuilder> {
    Ok(match value {
        Some(value) => request.header(name, text(value)?),
        None => request,
    })
}

/// Returns the value of a header in the style `simple`, which has no escapes. `name` is for the
/// error.
///
/// # Errors
///
/// If an item of a list has a comma, or a blank at an end: a reader would take it for the
/// separator.
fn header_text(name: &str, value: &impl Serialize, explode: bool) -> Argument<String> {
    let kind = kind(&json(name, value)?);
    let separates = |text: &String| text.contains(',') || text != text.trim();
    let is_wrong = match &kind {
        Kind::Scalar(_) => false,
        Kind::List(items) => items.iter().any(separates),
        Kind::Object(members) => members
            .iter()
            .any(|(name, value)| separates(name) || separates(value)),
    };
    if is_wrong {
        let reason = "has a comma, or a blank at an end, which separates items in a header";
        return Err(InvalidArgument::new(format!(
            "an item of `{name}` {reason}"
        )));
    }
    Ok(joined(kind, explode, ",", str::to_owned))
}

/// Escapes an item of a list or object in a path.
fn escape_item(text: &str) -> String {
    utf8_percent_encode(text, ITEM).to_string()
}

fn joined(kind: Kind, explode: bool, separator: &str, escape: impl Fn(&str) -> String) -> String {
    let parts: Vec<String> = match kind {
        Kind::Scalar(text) => return escape(&text),
        Kind::List(items) => items.iter().map(|item| escape(item)).collect(),
        Kind::Object(members) if explode => members
            .iter()
            .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
            .collect(),
        Kind::Object(members) => members
            .iter()
            .flat_map(|(name, value)| [escape(name), escape(value)])
            .collect(),
    };
    parts.join(separator)
}

/// Returns a value in the style label or matrix: `.a.b`, `;name=a,b`, `;x=1;y=2`. `name` is `None`
/// for label.
fn prefixed(
    prefix: &str,
    separator: &str,
    kind: Kind,
    explode: bool,
    name: Option<&str>,
) -> String {
    let named = |text: String| match name {
        Some(name) => format!("{}={text}", escape_item(name)),
        None => text,
    };
    match kind {
        Kind::List(items) if explode => items
            .iter()
            .flat_map(|item| [prefix.to_owned(), named(escape_item(item))])
            .collect(),
        Kind::Object(_) if explode => {
            format!("{prefix}{}", joined(kind, true, separator, escape_item))
        }
        other => format!(
            "{prefix}{}",
            named(joined(other, false, separator, escape_item))
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The specification's own table of styles, with `color` as the name.
    #[test]
    fn styles_are_written_as_the_specification_shows() {
        let (text, list) = (json!("blue"), json!(["blue", "black", "brown"]));
        let object = json!({"R": 100, "G": 200, "B": 150});
        let path =
            |value: &Value, style, explode| path_text("color", value, style, explode).unwrap();
        assert_eq!(path(&text, Style::Matrix, false), ";color=blue");
        assert_eq!(path(&list, Style::Matrix, false), ";color=blue,black,brown");
        assert_eq!(
            path(&list, Style::Matrix, true),
            ";color=blue;color=black;color=brown"
        );
        assert_eq!(
            path(&object, Style::Matrix, false),
            ";color=R,100,G,200,B,150"
        );
        assert_eq!(path(&object, Style::Matrix, true), ";R=100;G=200;B=150");
        assert_eq!(path(&text, Style::Label, false), ".blue");
        assert_eq!(path(&list, Style::Label, true), ".blue.black.brown");
        assert_eq!(path(&list, Style::Label, false), ".blue,black,brown");
        assert_eq!(path(&object, Style::Label, true), ".R=100.G=200.B=150");
        assert_eq!(path(&list, Style::Simple, false), "blue,black,brown");
        assert_eq!(path(&object, Style::Simple, false), "R,100,G,200,B,150");
        assert_eq!(path(&object, Style::Simple, true), "R=100,G=200,B=150");

        let query = |value: &Value, style, explode| {
            let mut query = Query::new();
            query.add("color", value, (style, explode, false)).unwrap();
            query.into_text()
        };
        assert_eq!(
            query(&list, Style::Form, true),
            "color=blue&color=black&color=brown"
        );
        assert_eq!(query(&list, Style::Form, false), "color=blue,black,brown");
        assert_eq!(query(&object, Style::Form, true), "R=100&G=200&B=150");
        assert_eq!(
            query(&object, Style::Form, false),
            "color=R,100,G,200,B,150"
        );
        assert_eq!(
            query(&list, Style::SpaceDelimited, false),
            "color=blue%20black%20brown"
        );
        assert_eq!(
            query(&list, Style::PipeDelimited, false),
            "color=blue%7Cblack%7Cbrown"
        );
        assert_eq!(
            query(&object, Style::DeepObject, true),
            "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"
        );
    }
}
