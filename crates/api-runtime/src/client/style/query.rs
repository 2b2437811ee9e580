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
    pub(in super::super) fn into_text(self) -> String {
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
}
