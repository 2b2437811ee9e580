//! Which media types and headers the parts of a body have, by position.

use std::fmt;

use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::PartError;
use crate::Wire;
use crate::media_type::{MediaType, breadth};

/// The encodings of the parts of a body, and how many parts it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encodings {
    prefix: &'static [Encoding],
    item: Encoding,
    least: usize,
    most: usize,
    is_form: bool,
}

/// The encoding of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    media_types: &'static [&'static str],
    headers: &'static [PartHeader],
    parts: Option<&'static Encodings>,
}

/// A header of a part.
#[derive(Clone, Copy)]
pub struct PartHeader {
    name: &'static str,
    is_required: bool,
    is_forbidden: bool,
    value: Option<&'static str>,
    fits: Option<fn(&str, bool) -> bool>,
}

impl Encodings {
    /// Creates the encodings of the first parts and that of all further ones.
    #[must_use]
    pub const fn new(prefix: &'static [Encoding], item: Encoding) -> Self {
        Self {
            prefix,
            item,
            least: 0,
            most: super::MAX_PARTS,
            is_form: false,
        }
    }

    /// Sets the least number of parts.
    #[must_use]
    pub const fn at_least(mut self, parts: usize) -> Self {
        self.least = parts;
        self
    }

    /// Sets the greatest number of parts.
    #[must_use]
    pub const fn at_most(mut self, parts: usize) -> Self {
        if parts < self.most {
            self.most = parts;
        }
        self
    }

    /// Makes the body a form, of which each part needs `Content-Disposition` (RFC 7578).
    #[must_use]
    pub const fn form(mut self) -> Self {
        self.is_form = true;
        self
    }

    /// Returns the encoding of the part with this index.
    pub(super) fn of(&self, at: usize) -> &Encoding {
        self.prefix.get(at).unwrap_or(&self.item)
    }

    /// Returns the greatest number of parts.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Checks the number of parts of a whole body.
    pub(super) fn check_count(&self, count: usize) -> Result<(), PartError> {
        let (bound, number) = if count < self.least {
            ("least", self.least)
        } else if count > self.most {
            ("most", self.most)
        } else {
            return Ok(());
        };
        let ending = if number == 1 { "" } else { "s" };
        let rule = format!("must have at {bound} {number} part{ending}");
        Err(PartError::new(rule))
    }

    /// Checks the media type and the headers of a received part.
    pub(super) fn check(
        &self,
        at: usize,
        headers: &HeaderMap,
        is_lenient: bool,
    ) -> Result<(), PartError> {
        let encoding = self.of(at);
        if headers.get_all(CONTENT_TYPE).iter().nth(1).is_some() {
            return Err(PartError::new("has more than one content type"));
        }
        // Without the header a part is what the contract says (RFC 2046 has no better default).
        if let Some(name) = headers.get(CONTENT_TYPE) {
            let name = name.to_str().unwrap_or_default();
            if !encoding.takes(name) {
                return Err(PartError::new(format!(
                    "must have the content type {}",
                    encoding.media_types.join(" or ")
                )));
            }
        }
        encoding.check_headers(headers, is_lenient)
    }

    /// Returns the headers with which a part is sent: those that it has, the media type, and those
    /// that can have one value only.
    pub(super) fn complete(&self, at: usize, own: &HeaderMap) -> Result<HeaderMap, PartError> {
        let encoding = self.of(at);
        let mut headers = own.clone();
        match own.get(CONTENT_TYPE).map(HeaderValue::to_str) {
            Some(Ok(name)) if encoding.takes(name) && !name.contains('*') => {}
            Some(_) => {
                return Err(PartError::new(format!(
                    "must have the content type {}",
                    encoding.media_types.join(" or ")
                )));
            }
            None => {
                let name = encoding.usual().ok_or_else(|| {
                    PartError::new(format!(
                        "needs a content type of {}: set it by `with_content_type`",
                        encoding.media_types.join(" or ")
                    ))
                })?;
                // A contract may say what no header can.
                let value = HeaderValue::from_str(name).ok();
                let value = value.filter(|value| value.to_str().is_ok());
                let value = value.ok_or_else(|| PartError::new(super::NO_HEADER))?;
                headers.insert(CONTENT_TYPE, value);
            }
        }
        for header in encoding.headers {
            let Ok(name) = HeaderName::from_bytes(header.name.as_bytes()) else {
                continue;
            };
            let is_sent = header.is_required || name == CONTENT_DISPOSITION;
            if let Some(value) = header.value.filter(|_| is_sent)
                && !headers.contains_key(&name)
                && let Ok(value) = HeaderValue::from_str(value)
            {
                headers.insert(name, value);
            }
        }
        encoding.check_headers(&headers, false)?;
        if self.is_form && !headers.contains_key(CONTENT_DISPOSITION) {
            return Err(PartError::new(
                "needs the header `Content-Disposition`: a part of a form has a name",
            ));
        }
        Ok(headers)
    }
}

impl Encoding {
    /// Creates the encoding of parts with one of these media types, the first of which a sender
    /// uses that says nothing else. Without any, a part may have every media type, and is sent as
    /// `application/octet-stream`.
    #[must_use]
    pub const fn new(media_types: &'static [&'static str]) -> Self {
        Self {
            media_types,
            headers: &[],
            parts: None,
        }
    }

    /// Sets the headers.
    #[must_use]
    pub const fn headers(mut self, headers: &'static [PartHeader]) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the encodings of the parts of the part, which is multipart itself.
    #[must_use]
    pub const fn parts(mut self, parts: &'static Encodings) -> Self {
        self.parts = Some(parts);
        self
    }

    /// Returns the encodings of the parts of the part, if it is multipart itself.
    pub(super) fn nested(&self) -> Option<&'static Encodings> {
        self.parts
    }

    /// Returns the media type of a part whose sender says nothing.
    fn usual(&self) -> Option<&'static str> {
        if self.media_types.is_empty() {
            return Some("application/octet-stream");
        }
        let mut named = self.media_types.iter().copied();
        named.find(|name| !name.contains('*'))
    }

    fn takes(&self, name: &str) -> bool {
        let name = MediaType::parse(name);
        let mut listed = self.media_types.iter();
        self.media_types.is_empty()
            || listed
                .any(|listed| breadth(MediaType::parse(listed).essence(), name.essence()).is_some())
    }

    fn check_headers(&self, headers: &HeaderMap, is_lenient: bool) -> Result<(), PartError> {
        for header in self.headers {
            let name = header.name;
            let mut values = headers.get_all(name).iter();
            let (first, second) = (values.next(), values.next());
            let rule = match first.map(HeaderValue::to_str) {
                Some(_) if header.is_forbidden => "is not allowed",
                None if header.is_required && !header.is_forbidden => "is required",
                Some(Err(_)) => "must be visible ASCII",
                Some(_) if header.fits.is_some() && second.is_some() => "must be there once",
                Some(Ok(value)) if header.fits.is_some_and(|fits| !fits(value, is_lenient)) => {
                    "does not fit its schema"
                }
                _ => continue,
            };
            return Err(PartError::new(format!("has a header `{name}` that {rule}")));
        }
        Ok(())
    }
}

impl PartHeader {
    /// Creates an optional header.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            is_required: false,
            is_forbidden: false,
            value: None,
            fits: None,
        }
    }

    /// Makes the header required.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Forbids the header, whose schema accepts nothing.
    #[must_use]
    pub const fn forbidden(mut self) -> Self {
        self.is_forbidden = true;
        self
    }

    /// Sets the only value, which is sent without being asked for.
    #[must_use]
    pub const fn value(mut self, value: &'static str) -> Self {
        self.value = Some(value);
        self
    }

    /// Sets the function that checks a value, leniently if its second argument says so, such as
    /// [`fits`].
    #[must_use]
    pub const fn fits(mut self, fits: fn(&str, bool) -> bool) -> Self {
        self.fits = Some(fits);
        self
    }
}

/// Compares what the contract says. The function that checks a value follows from it.
impl PartialEq for PartHeader {
    fn eq(&self, other: &Self) -> bool {
        let facts = |it: &Self| (it.name, it.is_required, it.is_forbidden, it.value);
        facts(self) == facts(other)
    }
}

impl Eq for PartHeader {}

impl fmt::Debug for PartHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartHeader")
            .field("name", &self.name)
            .field("is_required", &self.is_required)
            .finish_non_exhaustive()
    }
}

/// Returns whether a text is a `T`, or one that a newer contract may list if `is_lenient`.
#[must_use]
pub fn fits<T: Wire>(text: &str, is_lenient: bool) -> bool {
    super::content::value_of_text::<T>(text, is_lenient).is_ok()
}

/// Returns whether a text is a `T` in JSON, or one that a newer contract may list if `is_lenient`.
#[must_use]
pub fn fits_json<T: Wire>(text: &str, is_lenient: bool) -> bool {
    if is_lenient {
        crate::json::from_slice_lenient::<T>(text.as_bytes()).is_ok()
    } else {
        crate::json::from_slice_strict::<T>(text.as_bytes()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_that_no_header_can_have_is_an_error() {
        for name in ["text/é", "text/a\r\nX-B: c"] {
            let names = Vec::leak(vec![name]);
            let encodings = Encodings::new(&[], Encoding::new(names));
            let error = encodings.complete(0, &HeaderMap::new()).unwrap_err();
            assert!(error.to_string().contains("visible ASCII"), "{error}");
        }
    }
}
