//! The query of a URL, with parameters in every style.

use percent_encoding::{AsciiSet, utf8_percent_encode};
use serde::Serialize;
use serde_json::Value;

use super::super::InvalidArgument;
use super::{Kind, QUERY, Style, joined, json, kind, scalar};

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
            return self.deep(name, &value, set);
        }
        if style == Style::Json {
            self.pair(name, &value.to_string(), set);
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

    /// Adds a parameter that is the whole query, of which `text` is the value. This function escapes
    /// it.
    pub fn add_whole(&mut self, text: &str) {
        self.0.extend(utf8_percent_encode(text, QUERY));
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
    pub(in super::super) fn into_text(self) -> String {
        self.0
    }

    /// Adds a value in the style `deepObject`: `name[a][b]=value` for each property that is not
    /// null, `name[]=value` for each item of an array of single values, and `name[0][a]=value` for
    /// the items of another array. OpenAPI defines objects of single values only; the others are
    /// what APIs with this style read.
    fn deep(
        &mut self,
        name: &str,
        value: &Value,
        set: &'static AsciiSet,
    ) -> Result<(), InvalidArgument> {
        match value {
            Value::Object(members) => {
                for (member, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    self.deep(&format!("{name}[{member}]"), value, set)?;
                }
            }
            Value::Array(items) if items.iter().all(is_single) => {
                for item in items {
                    self.pair(&format!("{name}[]"), &scalar(item), set);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let before = self.0.len();
                    self.deep(&format!("{name}[{at}]"), item, set)?;
                    // Without a pair, the reader would get a list without this item.
                    if self.0.len() == before {
                        return Err(InvalidArgument::new(format!(
                            "`{name}[{at}]` is empty, and a query or form has no way to write that"
                        )));
                    }
                }
            }
            single => self.pair(name, &scalar(single), set),
        }
        Ok(())
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

/// Returns whether a value is neither an array nor an object.
fn is_single(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    }

    /// As the users of an API write it that describes arrays in the style `deepObject`.
    #[test]
    fn arrays_inside_of_brackets_keep_their_boundaries() {
        let deep = |value: Value| {
            let mut query = Query::new();
            query.add("a", &value, (Style::DeepObject, true, false))?;
            Ok::<_, InvalidArgument>(query.into_text().replace("%5B", "[").replace("%5D", "]"))
        };
        for (value, expected) in [
            (json!(["x", "y z"]), "a[]=x&a[]=y%20z"),
            (
                json!([{"p": "x", "q": 1}, {"p": "y"}]),
                "a[0][p]=x&a[0][q]=1&a[1][p]=y",
            ),
            (
                json!({"b": {"c": ["x", "y"]}, "d": [{"e": 1}], "f": null}),
                "a[b][c][]=x&a[b][c][]=y&a[d][0][e]=1",
            ),
            (json!([["x"], "y"]), "a[0][]=x&a[1]=y"),
            (json!([]), ""),
            (json!(7), "a=7"),
        ] {
            assert_eq!(deep(value).unwrap(), expected);
        }
        let error = deep(json!([{"p": 1}, {"p": null}])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`a[1]` is empty, and a query or form has no way to write that"
        );
    }
}
