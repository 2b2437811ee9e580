//! The names and values of a query or of cookies, decoded only when they are read.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The encoding of a name or value in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// No encoding, as in headers.
    Plain,
    /// Percent-encoding (`%20`), as in paths and cookies.
    #[cfg(any(feature = "server", test))]
    Percent,
    /// Percent-encoding with `+` for a space, as in queries and forms.
    Form,
}

/// Decodes a name or value. Returns `None` if the result is not UTF-8.
pub(crate) fn decode(raw: &str, encoding: Encoding) -> Option<Cow<'_, str>> {
    if encoding == Encoding::Plain {
        return Some(Cow::Borrowed(raw));
    }
    if encoding == Encoding::Form && raw.contains('+') {
        // Before percent signs are decoded, since `%2B` is a plus and no blank.
        let spaced = raw.replace('+', " ");
        return Some(Cow::Owned(
            percent_decode_str(&spaced).decode_utf8().ok()?.into_owned(),
        ));
    }
    percent_decode_str(raw).decode_utf8().ok()
}

/// The pairs of name and value in a query, in cookies or in a form, still encoded.
#[derive(Debug, Clone)]
pub(crate) struct Pairs<'t> {
    text: Cow<'t, str>,
    separator: char,
    pub(crate) encoding: Encoding,
    /// Whether this is a form, in which `name[key]` belongs to a property `name` without a style.
    #[cfg(feature = "server")]
    pub(crate) is_form: bool,
}

impl<'t> Pairs<'t> {
    pub(crate) fn of_query(query: &'t str) -> Self {
        Self {
            text: Cow::Borrowed(query),
            separator: '&',
            encoding: Encoding::Form,
            #[cfg(feature = "server")]
            is_form: false,
        }
    }

    #[cfg(feature = "server")]
    pub(crate) fn of_form(form: &'t str) -> Self {
        Self {
            is_form: true,
            ..Self::of_query(form)
        }
    }

    #[cfg(any(feature = "server", test))]
    pub(crate) fn of_cookies(cookies: Cow<'t, str>) -> Self {
        Self {
            text: cookies,
            separator: ';',
            encoding: Encoding::Percent,
            #[cfg(feature = "server")]
            is_form: false,
        }
    }

    /// Returns the whole text, still encoded.
    #[cfg(any(feature = "server", test))]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns all pairs, still encoded.
    pub(crate) fn raw(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text
            .split(self.separator)
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                // Browsers write a blank after each semicolon.
                let pair = if self.separator == ';' {
                    pair.trim()
                } else {
                    pair
                };
                pair.split_once('=').unwrap_or((pair, ""))
            })
    }

    /// Returns the values of a name, still encoded.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.raw()
            .filter(move |(raw, _)| self.is_name(raw, name))
            .map(|(_, value)| value)
    }

    /// Returns whether the encoded name `raw` stands for `name`.
    pub(crate) fn is_name(&self, raw: &str, name: &str) -> bool {
        // Most names are not encoded, and are compared without a copy.
        raw == name
            || (raw.contains(['%', '+'])
                && decode(raw, self.encoding).is_some_and(|decoded| decoded == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_found_however_they_are_encoded() {
        let pairs = Pairs::of_query("a=1&ids%5B%5D=2&a=x+y%2Bz&flag&&=no");
        assert_eq!(pairs.values("a").collect::<Vec<_>>(), ["1", "x+y%2Bz"]);
        assert_eq!(pairs.values("ids[]").collect::<Vec<_>>(), ["2"]);
        assert_eq!(pairs.values("flag").collect::<Vec<_>>(), [""]);
        assert_eq!(decode("x+y%2Bz", Encoding::Form).unwrap(), "x y+z");
        assert_eq!(decode("x+y%2Bz", Encoding::Percent).unwrap(), "x+y+z");
        assert_eq!(decode("%ff", Encoding::Percent), None);
    }

    #[test]
    fn cookies_are_pairs_too() {
        let pairs = Pairs::of_cookies(Cow::Borrowed("a=1; session=x%20y"));
        assert_eq!(pairs.values("session").collect::<Vec<_>>(), ["x%20y"]);
    }
}
