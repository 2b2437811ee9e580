//! URI references: the file or the address that a reference names.

use jsonschema::{Uri, uri};

/// Returns the address that a reference means, without its fragment, or `None` if the reference is
/// relative and there is no base.
pub(crate) fn absolute(base: Option<&Uri<String>>, reference: &str) -> Option<Uri<String>> {
    let reference = reference.split('#').next().unwrap_or_default();
    match base {
        Some(base) => uri::resolve_against(&base.borrow(), reference).ok(),
        None if has_scheme(reference) => uri::from_str(reference).ok(),
        None => None,
    }
}

/// Returns the path of the file that a reference names, percent-decoded, or `None` if it does not
/// name a file.
#[must_use]
pub fn local_file(reference: &str) -> Option<String> {
    let (file, _) = reference.split_once('#').unwrap_or((reference, ""));
    if file.is_empty() || has_scheme(file) || file.starts_with("//") {
        return None;
    }
    percent_encoding::percent_decode_str(file)
        .decode_utf8()
        .ok()
        .map(std::borrow::Cow::into_owned)
}

/// Returns whether a reference starts with a URI scheme. A single letter is a Windows drive.
pub(crate) fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.'))
    })
}

/// Returns whether a key of a security requirement, which is no name of a component, is the URI of a
/// security scheme, as in 3.2. Names have no slash and no `#`.
pub(crate) fn is_scheme_uri(key: &str) -> bool {
    key.contains(['/', '#'])
        || [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| key.ends_with(end))
}
