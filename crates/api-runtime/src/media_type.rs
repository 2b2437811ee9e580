//! Media types with their parameters (RFC 9110, section 8.3.1), and the choice among listed ones.

use std::borrow::Cow;

/// A media type as a header or a contract writes it.
pub(crate) struct MediaType<'t> {
    essence: &'t str,
    parameters: Vec<(&'t str, Cow<'t, str>)>,
}

impl<'t> MediaType<'t> {
    /// Parses a media type. What is no parameter is skipped.
    pub(crate) fn parse(text: &'t str) -> Self {
        let mut pieces = pieces(text, ';');
        let essence = pieces.next().unwrap_or_default().trim();
        let parameters = pieces.filter_map(|piece| {
            let (name, value) = piece.split_once('=')?;
            Some((name.trim(), unquoted(value.trim())))
        });
        Self {
            essence,
            parameters: parameters.collect(),
        }
    }

    /// Returns the media type without its parameters.
    pub(crate) fn essence(&self) -> &'t str {
        self.essence
    }

    /// Returns the value of a parameter, without quotes.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        let (_, value) = parameters.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// Returns whether a media type has all parameters of this one, with the same values. The order
    /// and the case of names mean nothing, and so does the case of a `charset`.
    fn is_within(&self, other: &MediaType<'_>) -> bool {
        self.parameters.iter().all(|(name, value)| {
            let found = other.parameter(name);
            if name.eq_ignore_ascii_case("charset") {
                found.is_some_and(|found| found.eq_ignore_ascii_case(value))
            } else {
                found == Some(value)
            }
        })
    }
}

/// Returns the index of the listed media type that means what `name` says: the one with most
/// parameters, all of which `name` has, or else the first. Media types that differ from `name` in
/// more than parameters are left out, and ranges come after exact names.
pub(crate) fn closest<'l>(listed: impl Iterator<Item = &'l str>, name: &str) -> Option<usize> {
    let name = MediaType::parse(name);
    let ranked = listed.enumerate().filter_map(|(at, listed)| {
        let listed = MediaType::parse(listed);
        let breadth = breadth(listed.essence, name.essence)?;
        let fitting = listed.is_within(&name).then_some(listed.parameters.len());
        // The greatest number of parameters is the least rank, and one that does not fit the last.
        let parameters = fitting.map_or(usize::MAX, |count| usize::MAX - 1 - count);
        Some((breadth, parameters, at))
    });
    ranked.min().map(|(_, _, at)| at)
}

/// Returns how broadly a listed essence includes that of a body: 0 the same, 1 its range, 2 the
/// range of all.
pub(crate) fn breadth(listed: &str, name: &str) -> Option<u8> {
    if listed.eq_ignore_ascii_case(name) {
        return Some(0);
    }
    if listed == "*/*" {
        return Some(2);
    }
    let range = listed
        .strip_suffix('*')
        .filter(|range| range.ends_with('/'))?;
    let start = name.get(..range.len())?;
    start.eq_ignore_ascii_case(range).then_some(1)
}

/// Returns a media type without one of its parameters.
pub(crate) fn without_parameter(text: &str, name: &str) -> String {
    let is_other = |piece: &&str| {
        let (other, _) = piece.split_once('=').unwrap_or((piece, ""));
        !other.trim().eq_ignore_ascii_case(name)
    };
    let kept: Vec<&str> = pieces(text, ';').filter(is_other).collect();
    kept.join(";")
}

/// Splits a text at a separator, except within quotes.
fn pieces(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |char: char| {
        let was_escaped = std::mem::take(&mut is_escaped);
        match char {
            '"' if !was_escaped => is_quoted = !is_quoted,
            '\\' => is_escaped = is_quoted && !was_escaped,
            _ => {}
        }
        char == separator && !is_quoted
    })
}

/// Returns the text of a quoted string, or the text itself if it is a token.
fn unquoted(text: &str) -> Cow<'_, str> {
    let inner = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let Some(inner) = inner else {
        return Cow::Borrowed(text);
    };
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let (mut plain, mut is_escaped) = (String::new(), false);
    for char in inner.chars() {
        if char == '\\' && !is_escaped {
            is_escaped = true;
        } else {
            is_escaped = false;
            plain.push(char);
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: [&str; 5] = [
        "application/json; version=1",
        "application/json",
        "application/json; version=\"2\"; profile=\"a;b\"",
        "application/json; version=2",
        "application/*",
    ];

    #[test]
    fn the_media_type_with_most_of_the_parameters_is_chosen() {
        for (name, at) in [
            ("application/json; version=1", 0),
            ("Application/JSON;VERSION=\"1\"", 0),
            ("application/json; charset=utf-8; version=1", 0),
            ("application/json", 1),
            ("application/json; version=3", 1),
            ("application/json; profile=\"a;b\"; version=2", 2),
            ("application/json; profile=\"a\\;b\"; version=2", 2),
            ("application/json; version=2; profile=c", 3),
            ("application/xml; version=2", 4),
        ] {
            assert_eq!(closest(LISTED.into_iter(), name), Some(at), "{name}");
        }
        assert_eq!(closest(LISTED.into_iter(), "text/plain"), None);
    }

    #[test]
    fn without_one_that_fits_the_first_is_chosen() {
        let listed = ["a/b; x=1", "a/b; x=2"];
        assert_eq!(closest(listed.into_iter(), "a/b; x=3"), Some(0));
    }
}
