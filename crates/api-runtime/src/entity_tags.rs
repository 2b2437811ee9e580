//! Entity tags (RFC 9110, section 8.8.3), and the lists of them that `If-Match` and `If-None-Match`
//! hold.

use std::borrow::Cow;

/// The value of `If-Match` or `If-None-Match`: the entity tags that a caller knows, or `*` for any.
///
/// ```
/// # use api_runtime::EntityTags;
/// let known = EntityTags::parse(r#""a,b", W/"c""#).unwrap();
/// assert!(known.has_strong(r#""a,b""#));
/// assert!(known.has_weak(r#""c""#) && !known.has_strong(r#""c""#));
/// assert_eq!(EntityTags::parse("unquoted"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTags<'t>(Cow<'t, str>);

impl<'t> EntityTags<'t> {
    /// Parses the value of a header. Returns `None` if it is neither `*` nor a list of entity tags.
    #[must_use]
    pub fn parse(text: impl Into<Cow<'t, str>>) -> Option<Self> {
        let tags = Self(text.into());
        (tags.is_any() || is_list(&tags.0)).then_some(tags)
    }

    /// Returns whether the value is `*`, which stands for every tag of a resource that exists.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.0.trim_matches(BLANKS) == "*"
    }

    /// Returns whether the value is `*` or lists a tag, which is given with its quotes, by the strong
    /// comparison: a weak tag equals no other.
    #[must_use]
    pub fn has_strong(&self, tag: &str) -> bool {
        self.is_any() || (opaque(tag) == tag && self.tags().any(|known| known == tag))
    }

    /// Returns whether the value is `*` or lists a tag, which is given with its quotes, by the weak
    /// comparison: tags are equal if they differ in `W/` alone.
    #[must_use]
    pub fn has_weak(&self, tag: &str) -> bool {
        self.is_any() || self.tags().any(|known| opaque(known) == opaque(tag))
    }

    /// Returns the tags, each with its quotes, and with `W/` if it is weak.
    fn tags(&self) -> impl Iterator<Item = &str> {
        let mut list = &*self.0;
        std::iter::from_fn(move || {
            let (tag, rest) = next(list).ok()??;
            list = rest;
            Some(tag)
        })
    }
}

const BLANKS: [char; 2] = [' ', '\t'];

/// What is no entity tag.
struct NoTag;

fn is_list(mut list: &str) -> bool {
    let mut is_empty = true;
    loop {
        match next(list) {
            Ok(Some((_, rest))) => (list, is_empty) = (rest, false),
            Ok(None) => return !is_empty,
            Err(NoTag) => return false,
        }
    }
}

/// Splits the first tag off a list, or returns `None` at its end.
///
/// The list is not split at commas, because a tag may contain commas.
fn next(list: &str) -> Result<Option<(&str, &str)>, NoTag> {
    // RFC 9110, section 5.6.1.2: empty items of a list mean nothing.
    let list = list.trim_start_matches([' ', '\t', ',']);
    if list.is_empty() {
        return Ok(None);
    }
    let quoted = opaque(list).strip_prefix('"').ok_or(NoTag)?;
    let length = quoted.find('"').ok_or(NoTag)?;
    if !quoted[..length].bytes().all(is_of_a_tag) {
        return Err(NoTag);
    }
    let (tag, rest) = list.split_at(list.len() - quoted.len() + length + 1);
    let rest = rest.trim_start_matches(BLANKS);
    if rest.is_empty() || rest.starts_with(',') {
        Ok(Some((tag, rest)))
    } else {
        Err(NoTag)
    }
}

/// Returns a tag without the mark of weak ones.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// Returns whether a byte may be between the quotes of a tag. Quotes do not get here.
fn is_of_a_tag(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_tags_between_its_commas() {
        for (list, tags) in [
            ("\"a\"", &["\"a\""][..]),
            ("W/\"a\",\"b\"", &["W/\"a\"", "\"b\""]),
            (" , \"a,b\" ,\t,\"\",", &["\"a,b\"", "\"\""]),
            ("\"W/\", \"*\"", &["\"W/\"", "\"*\""]),
            ("\"\u{e4}\"", &["\"\u{e4}\""]),
        ] {
            let parsed = EntityTags::parse(list).expect(list);
            assert_eq!(parsed.tags().collect::<Vec<_>>(), tags, "{list}");
            assert!(!parsed.is_any(), "{list}");
        }
        for text in [
            "",
            ",",
            "a",
            "\"a",
            "\"a\" \"b\"",
            "\"a\"b",
            "w/\"a\"",
            "W/ \"a\"",
            "*, *",
            "\"a\", *",
            "\"a b\"",
            "\"\u{7f}\"",
            "'a'",
        ] {
            assert_eq!(EntityTags::parse(text), None, "{text}");
        }
        assert!(EntityTags::parse(" * ").is_some_and(|any| any.is_any()));
    }

    /// The table of RFC 9110, section 8.8.3.2.
    #[test]
    fn tags_are_compared_as_the_standard_says() {
        for (one, other, strong, weak) in [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ] {
            for (known, tag) in [(one, other), (other, one)] {
                let known = EntityTags::parse(known).expect(known);
                assert_eq!(known.has_strong(tag), strong, "{known:?} {tag}");
                assert_eq!(known.has_weak(tag), weak, "{known:?} {tag}");
            }
        }
        let any = EntityTags::parse("*").expect("it is any");
        assert!(any.has_strong("W/\"1\"") && any.has_weak("\"1\""));
    }
}
