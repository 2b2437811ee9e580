//! Request bodies of every media type.

use std::fmt;

use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use reqwest::RequestBuilder;
use reqwest::multipart::{Form, Part};
use serde::Serialize;
use serde_json::Value;

use super::style::{Query, Style, scalar};
use super::{Argument, InvalidArgument};
use crate::Wire;
use crate::items::ItemBody;

/// A request body in the form in which it is sent, with its media type.
#[derive(Clone)]
pub struct Payload<B = Bytes> {
    content_type: HeaderValue,
    body: B,
}

impl Payload {
    /// Creates a body with a value as JSON. `content_type` is `application/json` or another media
    /// type of JSON.
    pub fn json(content_type: &str, value: &impl Serialize) -> Argument<Self> {
        let body = serde_json::to_vec(value)
            .map_err(|_| InvalidArgument::new("`body` cannot be written as JSON"))?;
        Self::new(content_type, body)
    }

    /// Creates a form from the properties of an object, without those that are null. `styles` has
    /// the style and `explode` of some properties. Of the others, a nested object is written as
    /// JSON, and an array as repeated pairs.
    pub fn form(
        content_type: &str,
        value: &impl Serialize,
        styles: &[(&str, Style, bool)],
    ) -> Argument<Self> {
        let Ok(Value::Object(members)) = serde_json::to_value(value) else {
            return Err(InvalidArgument::new(
                "`body` is not an object, as a form must be",
            ));
        };
        let mut query = Query::new();
        for (name, value) in &members {
            let style = styles.iter().find(|(property, ..)| property == name);
            match (style, value) {
                // A form cannot say null, so the property is left out.
                (_, Value::Null) => {}
                (Some((_, style, explode)), value) => {
                    query.add(name, value, (*style, *explode, false))?;
                }
                // OpenAPI's default for an object in a form is JSON.
                (None, Value::Object(_)) => query.add_text(name, &value.to_string()),
                (None, value) => query.add(name, value, (Style::Form, true, false))?,
            }
        }
        Self::new(content_type, query.into_text().into_bytes())
    }

    /// Creates a body with a single value as text.
    pub fn text(content_type: &str, value: &impl Serialize) -> Argument<Self> {
        let value = serde_json::to_value(value)
            .map_err(|_| InvalidArgument::new("`body` cannot be written as text"))?;
        Self::new(content_type, scalar(&value).into_bytes())
    }

    /// Converts the body into the type of streamed bodies, for operations that accept both.
    #[must_use]
    pub fn into_stream(self) -> Payload<reqwest::Body> {
        Payload {
            content_type: self.content_type,
            body: self.body.into(),
        }
    }

    pub(super) fn new(content_type: &str, body: Vec<u8>) -> Argument<Self> {
        Ok(Self {
            content_type: media_type(content_type)?,
            body: body.into(),
        })
    }
}

impl Payload<reqwest::Body> {
    /// Returns a body of bytes, in memory or streamed.
    pub fn bytes(content_type: &str, body: reqwest::Body) -> Argument<Self> {
        Ok(Self {
            content_type: media_type(content_type)?,
            body,
        })
    }

    /// Returns a body that is a sequence of items. Each item is sent as soon as the stream yields
    /// it.
    pub fn items<T: Wire + Send + 'static>(
        content_type: &str,
        items: ItemBody<T>,
    ) -> Argument<Self> {
        Ok(Self {
            content_type: media_type(content_type)?,
            body: reqwest::Body::wrap_stream(items.into_bytes(content_type)),
        })
    }

    /// Returns a multipart body. The boundary of `parts` is appended to `content_type`.
    pub fn multipart(content_type: &str, parts: Multipart) -> Argument<Self> {
        let content_type = format!("{content_type}; boundary={}", parts.0.boundary());
        Ok(Self {
            content_type: media_type(&content_type)?,
            // Not `RequestBuilder::multipart`, which always sends `multipart/form-data`.
            body: reqwest::Body::wrap_stream(parts.0.into_stream()),
        })
    }
}

impl<B: Into<reqwest::Body>> Payload<B> {
    /// Adds the body and its `Content-Type` to a request.
    pub fn on(self, request: RequestBuilder) -> RequestBuilder {
        request
            .header(CONTENT_TYPE, self.content_type)
            .body(self.body)
    }
}

impl<B> fmt::Debug for Payload<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload")
            .field("content_type", &self.content_type)
            .finish_non_exhaustive()
    }
}

fn media_type(name: &str) -> Argument<HeaderValue> {
    HeaderValue::from_str(name).map_err(|_| {
        InvalidArgument::new("the media type of `body` has a character that headers cannot have")
    })
}

/// The parts of a multipart body.
///
/// ```
/// # use api_runtime::client::Multipart;
/// let parts = Multipart::new()
///     .text("purpose", "training")
///     .file("file", "data.jsonl", "application/jsonl", "{}\n");
/// ```
pub struct Multipart(Form);

impl Multipart {
    /// Returns a body without parts.
    #[must_use]
    pub fn new() -> Self {
        Self(Form::new())
    }

    /// Creates a part for each property of an object: strings, numbers and booleans as text,
    /// objects as JSON, each item of an array as a part of its own. Properties that are null are
    /// left out.
    pub fn of(value: &impl Serialize) -> Argument<Self> {
        let Ok(Value::Object(members)) = serde_json::to_value(value) else {
            return Err(InvalidArgument::new(
                "`body` is not an object, as a multipart body must be",
            ));
        };
        let mut parts = Self::new();
        for (name, value) in &members {
            match value {
                Value::Array(items) => {
                    for item in items {
                        parts = parts.value(name, item);
                    }
                }
                single => parts = parts.value(name, single),
            }
        }
        Ok(parts)
    }

    /// Adds a part with the value `text`.
    #[must_use]
    pub fn text(self, name: &str, text: impl Into<String>) -> Self {
        Self(self.0.text(name.to_owned(), text.into()))
    }

    /// Adds a part with a file, whose name is `file`. An invalid `content_type` is left out.
    #[must_use]
    pub fn file(
        self,
        name: &str,
        file: &str,
        content_type: &str,
        body: impl Into<reqwest::Body>,
    ) -> Self {
        let mut headers = http::HeaderMap::new();
        if let Ok(content_type) = HeaderValue::from_str(content_type) {
            headers.insert(CONTENT_TYPE, content_type);
        }
        self.part(
            name,
            Part::stream(body)
                .file_name(file.to_owned())
                .headers(headers),
        )
    }

    /// Adds a part that reqwest has built.
    #[must_use]
    pub fn part(self, name: &str, part: Part) -> Self {
        Self(self.0.part(name.to_owned(), part))
    }

    fn value(self, name: &str, value: &Value) -> Self {
        match value {
            Value::Null => self,
            Value::Object(_) | Value::Array(_) => {
                let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
                self.part(
                    name,
                    Part::text(value.to_string()).headers(headers.into_iter().collect()),
                )
            }
            single => self.text(name, scalar(single)),
        }
    }
}

impl Default for Multipart {
    fn default() -> Self {
        Self::new()
    }
}

impl From<Form> for Multipart {
    fn from(form: Form) -> Self {
        Self(form)
    }
}

impl fmt::Debug for Multipart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Multipart")
    }
}
