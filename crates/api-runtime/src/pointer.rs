//! Escaping of the tokens of JSON pointers (RFC 6901).

use std::borrow::Cow;

/// Escapes a property's name as a token of a JSON pointer: `~` becomes `~0`, and `/` becomes `~1`.
#[must_use]
pub fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        // `~` first, or the `~` of each new `~1` would be escaped too.
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

/// Returns the name that a token of a JSON pointer stands for: the inverse of [`escape`].
#[must_use]
pub fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        // `~1` first, or `~01`, which is an escaped `~1`, would become `/`.
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_escaping() {
        for (name, token) in [
            ("", ""),
            ("plain", "plain"),
            ("a/b", "a~1b"),
            ("m~n", "m~0n"),
            ("~1", "~01"),
            ("~/~", "~0~1~0"),
        ] {
            assert_eq!(escape(name), token);
            assert_eq!(unescape(token), name);
        }
    }
}
