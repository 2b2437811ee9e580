//! The header `Cookie`, with parameters in the styles `form` and `cookie`.

use percent_encoding::utf8_percent_encode;
use reqwest::RequestBuilder;
use serde::Serialize;
use serde_json::Value;

use super::super::{Argument, InvalidArgument};
use super::{Kind, QUERY, joined, json, kind};

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

    #[test]
    fn values_are_escaped_and_separators_are_not() {
        let mut cookies = Cookies::new();
        cookies.add("a", &json!("1; b=2"), true).unwrap();
        cookies.add("c", &json!([1, 2]), false).unwrap();
        assert_eq!(cookies.0, "a=1%3B%20b%3D2; c=1,2");
    }
}
