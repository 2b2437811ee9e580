//! Parameters in every style of the specification, for operations whose parameters are more than plain values.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::Value;

use super::InvalidArgument;
use super::path::escape;

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

/// What queries and cookies hold as it is.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What an item of a list in a path holds as it is. A dot separates labels, and so it is escaped.
const ITEM: &AsciiSet = &QUERY.add(b'.');

/// The same where reserved characters stay; those that would end the value are escaped all the same.
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

/// A value as parameters see it.
enum Shape {
    Scalar(String),
    List(Vec<String>),
    Object(Vec<(String, String)>),
}

fn shape(value: &Value) -> Shape {
    match value {
        Value::Array(items) => Shape::List(items.iter().map(scalar).collect()),
        Value::Object(members) => Shape::Object(
            members
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name.clone(), scalar(value)))
                .collect(),
        ),
        _ => Shape::Scalar(scalar(value)),
    }
}

/// A single value as text; one inside another, which no style can say, as JSON.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn json(name: &str, value: &impl Serialize) -> Result<Value, InvalidArgument> {
    serde_json::to_value(value)
        .map_err(|_| InvalidArgument::new(format!("the value of {name} has no JSON form")))
}

/// The text of a parameter whose value is a JSON document (`content`).
pub fn content(name: &str, value: &impl Serialize) -> Result<String, InvalidArgument> {
    json(name, value).map(|value| value.to_string())
}

/// The same in a path, escaped.
pub fn path_content(name: &str, value: &impl Serialize) -> Result<String, InvalidArgument> {
    content(name, value).map(|text| escape(&text))
}

/// A path parameter, escaped. What separates items and names is escaped inside them (RFC 6570, section 3.2.1).
pub fn path_text(
    name: &str,
    value: &impl Serialize,
    style: Style,
    explode: bool,
) -> Result<String, InvalidArgument> {
    let shape = shape(&json(name, value)?);
    Ok(match style {
        Style::Label => prefixed(".", if explode { "." } else { "," }, shape, explode, None),
        Style::Matrix => prefixed(
            ";",
            if explode { ";" } else { "," },
            shape,
            explode,
            Some(name),
        ),
        _ if matches!(shape, Shape::Scalar(_)) => joined(shape, explode, ",", escape),
        _ => joined(shape, explode, ",", escape_item),
    })
}

/// A header, as it is. An item that holds what separates items is refused, since no header can say it.
pub fn header_text(
    name: &str,
    value: &impl Serialize,
    explode: bool,
) -> Result<String, InvalidArgument> {
    let shape = shape(&json(name, value)?);
    let separates = |text: &String| text.contains(',') || text != text.trim();
    let is_wrong = match &shape {
        Shape::Scalar(_) => false,
        Shape::List(items) => items.iter().any(separates),
        Shape::Object(members) => members
            .iter()
            .any(|(name, value)| separates(name) || separates(value)),
    };
    if is_wrong {
        let reason = "has a comma, or a blank at an end, which a header cannot tell from what separates items";
        return Err(InvalidArgument::new(format!("an item of {name} {reason}")));
    }
    Ok(joined(shape, explode, ",", str::to_owned))
}

/// A piece of a list or object in a path.
fn escape_item(text: &str) -> String {
    utf8_percent_encode(text, ITEM).to_string()
}

fn joined(shape: Shape, explode: bool, separator: &str, escape: impl Fn(&str) -> String) -> String {
    let parts: Vec<String> = match shape {
        Shape::Scalar(text) => return escape(&text),
        Shape::List(items) => items.iter().map(|item| escape(item)).collect(),
        Shape::Object(members) if explode => members
            .iter()
            .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
            .collect(),
        Shape::Object(members) => members
            .iter()
            .flat_map(|(name, value)| [escape(name), escape(value)])
            .collect(),
    };
    parts.join(separator)
}

/// The label and matrix styles: `.a.b`, `;name=a,b`, `;x=1;y=2`.
fn prefixed(
    prefix: &str,
    separator: &str,
    shape: Shape,
    explode: bool,
    name: Option<&str>,
) -> String {
    let named = |text: String| match name {
        Some(name) => format!("{}={text}", escape_item(name)),
        None => text,
    };
    match shape {
        Shape::List(items) if explode => items
            .iter()
            .flat_map(|item| [prefix.to_owned(), named(escape_item(item))])
            .collect(),
        Shape::Object(_) if explode => {
            format!("{prefix}{}", joined(shape, true, separator, escape_item))
        }
        other => format!(
            "{prefix}{}",
            named(joined(other, false, separator, escape_item))
        ),
    }
}

/// The query of a request, as it is put together.
#[derive(Debug, Clone, Default)]
pub struct Query(String);

impl Query {
    /// An empty query.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter in its style.
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
        let separator = match style {
            Style::SpaceDelimited => "%20",
            Style::PipeDelimited => "%7C",
            _ => ",",
        };
        match shape(&value) {
            Shape::List(items) if explode => {
                for item in &items {
                    self.pair(name, item, set);
                }
            }
            Shape::Object(members) if explode => {
                for (name, value) in &members {
                    self.pair(name, value, set);
                }
            }
            shape => {
                let text = joined(shape, false, separator, |text| {
                    utf8_percent_encode(text, set).to_string()
                });
                self.escaped(name, &text);
            }
        }
        Ok(())
    }

    /// Adds a parameter whose text is ready but not escaped.
    pub fn add_text(&mut self, name: &str, text: &str) {
        self.pair(name, text, QUERY);
    }

    /// The URL with the query behind it.
    #[must_use]
    pub fn on(self, url: String) -> String {
        match (self.0.is_empty(), url.contains('?')) {
            (true, _) => url,
            (false, false) => format!("{url}?{}", self.0),
            (false, true) => format!("{url}&{}", self.0),
        }
    }

    /// The text, as a form body is too.
    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// `name[a][b]=value`, arrays by repetition.
    fn deep(&mut self, name: &str, value: &Value, set: &'static AsciiSet) {
        match value {
            Value::Object(members) => {
                for (member, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    self.deep(&format!("{name}[{member}]"), value, set);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.deep(name, item, set);
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

/// The cookies of a request, as they are put together.
#[derive(Debug, Clone, Default)]
pub struct Cookies(String);

impl Cookies {
    /// No cookies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a parameter.
    pub fn add(
        &mut self,
        name: &str,
        value: &impl Serialize,
        explode: bool,
    ) -> Result<(), InvalidArgument> {
        match shape(&json(name, value)?) {
            Shape::List(items) if explode => {
                for item in &items {
                    self.add_text(name, item);
                }
            }
            Shape::Object(members) if explode => {
                for (name, value) in &members {
                    self.add_text(name, value);
                }
            }
            shape => {
                let text = joined(shape, false, ",", |text| {
                    utf8_percent_encode(text, QUERY).to_string()
                });
                self.escaped(name, &text);
            }
        }
        Ok(())
    }

    /// Adds a parameter whose text is ready but not escaped.
    pub fn add_text(&mut self, name: &str, text: &str) {
        self.escaped(name, &utf8_percent_encode(text, QUERY).to_string());
    }

    /// The header's value; none without cookies.
    #[must_use]
    pub fn into_header(self) -> Option<String> {
        (!self.0.is_empty()).then_some(self.0)
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
        assert_eq!(
            cookies.into_header().as_deref(),
            Some("a=1%3B%20b%3D2; c=1,2")
        );
    }
}
