//! What the name of a media type says.

/// Returns whether bodies of a media type are JSON: `application/json`, or one that ends with `+json`
/// (RFC 6839, section 3.1), with any parameters.
pub(crate) fn is_json(name: &str) -> bool {
    let essence = name.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json")
}
