//! Arguments in the path of a URL. They are escaped, and those that would change which path is
//! called are rejected.

use std::fmt::{self, Write as _};

use reqwest::RequestBuilder;

use super::segment::{Escaped, checked_segment};
use super::{Argument, Call, InvalidArgument};

/// The bytes that a URL has room for beyond those of its template, so that most grow no more.
const ROOM: usize = 64;

impl Call<'_> {
    /// Returns a GET request of the operation, with the given arguments in its path.
    ///
    /// # Errors
    ///
    /// As of [`url`](Self::url).
    pub fn get(&self, arguments: &[&dyn fmt::Display]) -> Argument<RequestBuilder> {
        Ok(self.http().get(self.url(arguments)?))
    }

    /// Returns a PUT request, as [`get`](Self::get) does.
    ///
    /// # Errors
    ///
    /// As of [`url`](Self::url).
    pub fn put(&self, arguments: &[&dyn fmt::Display]) -> Argument<RequestBuilder> {
        Ok(self.http().put(self.url(arguments)?))
    }

    /// Returns a POST request, as [`get`](Self::get) does.
    ///
    /// # Errors
    ///
    /// As of [`url`](Self::url).
    pub fn post(&self, arguments: &[&dyn fmt::Display]) -> Argument<RequestBuilder> {
        Ok(self.http().post(self.url(arguments)?))
    }

    /// Returns a DELETE request, as [`get`](Self::get) does.
    ///
    /// # Errors
    ///
    /// As of [`url`](Self::url).
    pub fn delete(&self, arguments: &[&dyn fmt::Display]) -> Argument<RequestBuilder> {
        Ok(self.http().delete(self.url(arguments)?))
    }

    /// Returns a HEAD request, as [`get`](Self::get) does.
    ///
    /// # Errors
    ///
    /// As of [`url`](Self::url).
    pub fn head(&self, arguments: &[&dyn fmt::Display]) -> Argument<RequestBuilder> {
        Ok(self.http().head(self.url(arguments)?))
    }

    /// Returns a PATCH request, as [`get`](Self::get) does.
    ///
    /// # Errors
    ///
    /// As of [`url`](Self::url).
    pub fn patch(&self, arguments: &[&dyn fmt::Display]) -> Argument<RequestBuilder> {
        Ok(self.http().patch(self.url(arguments)?))
    }

    /// Returns the URL of the operation: its path template, in which each `{name}` is replaced by
    /// the next argument, escaped.
    ///
    /// # Errors
    ///
    /// If an argument is empty, `.` or `..`: URL parsers remove such segments, so another path would
    /// be called.
    pub fn url(&self, arguments: &[&dyn fmt::Display]) -> Argument<String> {
        let (base, mut template) = (self.base_url(), self.path());
        let mut url = String::with_capacity(base.len() + template.len() + ROOM);
        url.push_str(base);
        for argument in arguments {
            // A generated call has as many arguments as its template has names.
            let Some((text, rest)) = template.split_once('{') else {
                break;
            };
            url.push_str(text);
            let start = url.len();
            write!(Escaped(&mut url), "{argument}")
                .map_err(|_| InvalidArgument::new("an argument of the path cannot be written"))?;
            checked_segment(&url[start..]).map_err(|error| error.of(self.id()))?;
            template = rest.split_once('}').map_or("", |(_, rest)| rest);
        }
        url.push_str(template);
        Ok(url)
    }
}

/// Returns the URL of a path, in which each `{}` is replaced by a segment that is escaped already.
///
/// # Errors
///
/// If a segment is empty, `.` or `..`, as in [`Call::url`].
pub fn escaped_url(
    call: Call<'_>,
    path: &str,
    segments: impl IntoIterator<Item = String>,
) -> Argument<String> {
    let mut url = call.base_url().to_owned();
    let mut texts = path.split("{}");
    url.extend(texts.next());
    for (segment, text) in segments.into_iter().zip(texts) {
        url.push_str(checked_segment(&segment).map_err(|error| error.of(call.id()))?);
        url.push_str(text);
    }
    Ok(url)
}
