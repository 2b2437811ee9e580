//! JSON pointers (RFC 6901): writes and reads their tokens.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// The characters that must be percent-encoded in the fragment of a URI.
const FRAGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns a pointer with one more token at its end.
#[must_use]
pub fn join(pointer: &str, token: &str) -> String {
    let mut out = String::with_capacity(pointer.len() + token.len() + 1);
    out.push_str(pointer);
    push(&mut out, token);
    out
}

/// Appends a token to a pointer.
pub fn push(pointer: &mut String, token: &str) {
    pointer.push('/');
    pointer.push_str(&escape(token));
}

/// Escapes a key for use as a token: `~` becomes `~0`, and `/` becomes `~1`.
#[must_use]
pub fn escape(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(key)
    }
}

/// Returns the key of a token: `~1` becomes `/`, and `~0` becomes `~`.
#[must_use]
pub fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        // `~1` goes first: the token `~01` means the key `~1`, and replacing `~0` first would make
        // it `/`.
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

/// Returns the keys of a pointer, unescaped.
///
/// The part before the first `/` is skipped; in a valid pointer it is empty.
pub fn tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescape)
}

/// Returns a pointer as a percent-encoded reference within its document, such as
/// `#/components/schemas/Pet`.
#[must_use]
pub fn fragment(pointer: &str) -> String {
    format!("#{}", utf8_percent_encode(pointer, FRAGMENT))
}

/// Returns the pointer in the fragment of a reference, percent-decoded, or `None` if it is not
/// UTF-8.
#[must_use]
pub fn of_fragment(fragment: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(fragment).decode_utf8().ok()
}
