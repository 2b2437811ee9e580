//! What the keys of an object are, which follows from the key that holds the object.

/// The keys below which a document holds values of the API. What looks like a keyword or a
/// reference there is only data.
const VALUES: [&str; 7] = [
    "example",
    "examples",
    "default",
    "enum",
    "const",
    "value",
    "dataValue",
];

/// The keys whose values are maps: the keys below them are names of the author, not keywords.
const MAPS: [&str; 23] = [
    "$defs",
    "additionalOperations",
    "callbacks",
    "content",
    "definitions",
    "dependentSchemas",
    "encoding",
    "headers",
    "links",
    "mapping",
    "mediaTypes",
    "parameters",
    "pathItems",
    "paths",
    "patternProperties",
    "properties",
    "requestBodies",
    "responses",
    "schemas",
    "scopes",
    "securitySchemes",
    "variables",
    "webhooks",
];

/// Returns whether the value of a keyword is a map with names of the author.
pub(crate) fn is_map(keyword: &str) -> bool {
    MAPS.contains(&keyword)
}

/// What the keys of an object are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Keywords,
    /// Names of the author, such as those of properties, statuses and components.
    Names,
}

impl Keys {
    /// Returns what the keys of the value of `key` are, where `key` is one of these. Returns `None`
    /// if the value is a value of the API.
    pub(crate) fn below(self, key: &str) -> Option<Self> {
        // A property that is called `properties` has a schema.
        let is_keyword = self == Self::Keywords;
        if is_keyword && VALUES.contains(&key) {
            return None;
        }
        Some(if is_keyword && is_map(key) {
            Self::Names
        } else {
            Self::Keywords
        })
    }
}
