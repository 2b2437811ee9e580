//! Writes the parameters of requests in every style of OpenAPI: in paths, queries, headers and
//! cookies.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::RequestBuilder;
use serde::Serialize;
use serde_json::Value;

use super::path::escape;
use super::{Argument, InvalidArgument};

/// How an array or object is written in a parameter.
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

/// The characters that are escaped where `allowReserved` is set: of the reserved ones, those that
/// would end the value.
const QUERY_RESERVED: &AsciiSet = &QUERY
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

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

/// The query of a request.
#[derive(Debug, Clone, Default)]
pub struct Query(String);

impl Query {
    /// Returns an empty query.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter with its style, `explode` and `allowReserved`.
    pub fn add(
        &mut self,
        name: &str,
        value: &impl Serialize,
        (style, explode, reserved): (Style, bool, bool),
    ) -> Result<(), InvalidArgument> {
        let set = if reserved { QUERY_RESERVED } else { QUERY };
        let value = json(name, value)?;
        if style == Style::DeepObject {
            self.deep(name, &value, set);
            return Ok(());
        }
        if explode && let Value::Object(members) = &value {
            for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                self.member(name, value, set);
            }
            return Ok(());
        }
        // Encoded, since a URL can have no blank and no bar.
        let separator = match style {
            Style::SpaceDelimited => "%20",
            Style::PipeDelimited => "%7C",
            _ => ",",
        };
        match kind(&value) {
            Kind::List(items) if explode => {
                for item in &items {
                    self.pair(name, item, set);
                }
            }
            kind => {
                let text = joined(kind, false, separator, |text| {
                    utf8_percent_encode(text, set).to_string()
                });
                self.escaped(name, &text);
            }
        }
        Ok(())
    }

    /// Adds a parameter with the value `text`, which this function escapes.
    pub fn add_text(&mut self, name: &str, text: &str) {
        self.pair(name, text, QUERY);
    }

    /// Adds the pairs of a path's label, except those that a parameter has given another value.
    pub fn label(&mut self, pairs: &[(&str, &str)]) {
        let is_given = |name: &str| {
            let name = utf8_percent_encode(name, QUERY).to_string();
            let mut given = self.0.split('&').filter_map(|pair| pair.split('=').next());
            given.any(|given| given == name)
        };
        let left: Vec<_> = pairs.iter().filter(|(name, _)| !is_given(name)).collect();
        for (name, text) in left {
            self.add_text(name, text);
        }
    }

    /// Appends the query to a URL, which may have a query already.
    #[must_use]
    pub fn on(self, url: String) -> String {
        match (self.0.is_empty(), url.contains('?')) {
            (true, _) => url,
            (false, false) => format!("{url}?{}", self.0),
            (false, true) => format!("{url}&{}", self.0),
        }
    }

    /// Returns the query without `?`. A form has the same syntax.
    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// Adds a value in the style `deepObject`: `name[a][b]=value` for each property that is not
    /// null, with arrays as repeated pairs.
    fn deep(&mut self, name: &str, value: &Value, set: &'static AsciiSet) {
        match value {
            Value::Object(members) => {
                for (member, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    self.deep(&format!("{name}[{member}]"), value, set);
                }
            }
            // OpenAPI does not define arrays here; repeated pairs are what generated servers read.
            Value::Array(items) => {
                for item in items {
                    self.deep(name, item, set);
                }
            }
            single => self.pair(name, &scalar(single), set),
        }
    }

    /// Adds a property of an object, an array as repeated pairs. OpenAPI does not define arrays
    /// here; this is what generated servers read.
    fn member(&mut self, name: &str, value: &Value, set: &'static AsciiSet) {
        match value {
            Value::Array(items) => {
                for item in items {
                    self.pair(name, &scalar(item), set);
                }
            }
            single => self.pair(name, &scalar(single), set),
        }
    }

    fn pair(&mut self, name: &str, text: &str, set: &'static AsciiSet) {
        self.escaped(name, &utf8_percent_encode(text, set).to_string());
    }

    fn escaped(&mut self, name: &str, text: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.extend(utf8_percent_encode(name, QUERY));
        self.0.push('=');
        self.0.push_str(text);
    }
}

/// The cookies of a request.
#[derive(Debug, Clone, Default)]
pub struct Cookies(String);

impl Cookies {
    /// Returns an empty list of cookies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter in the style `form`. With `explode`, each item of a list or property of an
    /// object is a cookie of its own.
    ///
    /// # Errors
    ///
    /// If with `explode` a property of an object is an array or object, for which OpenAPI defines no
    /// form, or its name, which may be the key of a map, cannot be the name of a cookie.
    pub fn add(
        &mut self,
        name: &str,
        value: &impl Serialize,
        explode: bool,
    ) -> Result<(), InvalidArgument> {
        let value = json(name, value)?;
        match kind(&value) {
            Kind::List(items) if explode => {
                for item in &items {
                    self.add_text(name, item);
                }
            }
            Kind::Object(members) if explode => {
                check_members(name, &value)?;
                for (name, value) in &members {
                    self.add_text(name, value);
                }
            }
            kind => {
                let text = joined(kind, false, ",", |text| {
                    utf8_percent_encode(text, QUERY).to_string()
                });
                self.escaped(name, &text);
            }
        }
        Ok(())
    }

    /// Adds a parameter in the style `cookie`, which writes values as they are.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add), or if a value has a character that no value of a cookie can have (RFC
    /// 6265, section 4.1.1), such as a comma: the API decides how values are escaped, and the caller
    /// escapes them before.
    pub fn add_plain(
        &mut self,
        name: &str,
        value: &impl Serialize,
        explode: bool,
    ) -> Result<(), InvalidArgument> {
        let value = json(name, value)?;
        let kind = kind(&value);
        if explode && matches!(kind, Kind::Object(_)) {
            check_members(name, &value)?;
        }
        match &kind {
            Kind::Scalar(text) => check_plain(name, text)?,
            Kind::List(items) => items.iter().try_for_each(|item| check_plain(name, item))?,
            Kind::Object(members) => members.iter().try_for_each(|(member, value)| {
                check_plain(name, member)?;
                check_plain(name, value)
            })?,
        }
        match kind {
            Kind::List(items) if explode => {
                for item in &items {
                    self.escaped(name, item);
                }
            }
            Kind::Object(members) if explode => {
                for (name, value) in &members {
                    self.escaped(name, value);
                }
            }
            kind => self.escaped(name, &joined(kind, false, ",", str::to_owned)),
        }
        Ok(())
    }

    /// Adds a parameter with the value `text`, which this function escapes.
    pub fn add_text(&mut self, name: &str, text: &str) {
        self.escaped(name, &utf8_percent_encode(text, QUERY).to_string());
    }

    /// Sets the header `Cookie` of a request, if there are cookies.
    pub fn on(self, request: RequestBuilder) -> RequestBuilder {
        if self.0.is_empty() {
            request
        } else {
            request.header("cookie", self.0)
        }
    }

    fn escaped(&mut self, name: &str, text: &str) {
        if !self.0.is_empty() {
            self.0.push_str("; ");
        }
        self.0.push_str(name);
        self.0.push('=');
        self.0.push_str(text);
    }
}

/// Checks that each property of an object can be a cookie of its own.
fn check_members(name: &str, object: &Value) -> Argument<()> {
    let members = object.as_object().into_iter().flatten();
    for (member, value) in members.filter(|(_, value)| !value.is_null()) {
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            return Err(InvalidArgument::new(format!(
                "a property of `{name}` is an array or object, which no cookie can be"
            )));
        }
        // A percent sign is a letter of names by RFC 6265, but readers decode it.
        let fits = |byte: u8| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}%".contains(&byte);
        if member.is_empty() || !member.bytes().all(fits) {
            return Err(InvalidArgument::new(format!(
                "a property of `{name}` has a name that no cookie can have: use letters, digits, `-` and `_`"
            )));
        }
    }
    Ok(())
}

/// Checks that a text can be the value of a cookie, or an item of it, as it is.
fn check_plain(name: &str, text: &str) -> Argument<()> {
    // The value as a whole may be in double quotes.
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\');
    if inner.unwrap_or(text).bytes().all(fits) {
        return Ok(());
    }
    Err(InvalidArgument::new(format!(
        "`{name}` has a character that no cookie can have; escape it as the API expects"
    )))
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

    #[test]
    fn values_are_escaped_and_separators_are_not() {
        let mut query = Query::new();
        query
            .add("a", &json!(["x,y", "&"]), (Style::Form, false, false))
            .unwrap();
        query
            .add("b", &json!("/x?&#+"), (Style::Form, true, true))
            .unwrap();
        assert_eq!(
            query.on("/p?z=1".to_owned()),
            "/p?z=1&a=x%2Cy,%26&b=/x?%26%23%2B"
        );
        let mut cookies = Cookies::new();
        cookies.add("a", &json!("1; b=2"), true).unwrap();
        cookies.add("c", &json!([1, 2]), false).unwrap();
        assert_eq!(cookies.0, "a=1%3B%20b%3D2; c=1,2");
    }
}
