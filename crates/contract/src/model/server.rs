//! Servers, and the variables of their URLs.

use indexmap::IndexMap;

/// A server of the API.
#[derive(Debug, Clone)]
pub struct Server {
    /// The URL, possibly with `{variables}`.
    pub url: String,
    /// A description.
    pub description: Option<String>,
    /// Variables of the URL.
    pub variables: IndexMap<String, ServerVariable>,
}

/// A variable in a server's URL.
#[derive(Debug, Clone)]
pub struct ServerVariable {
    /// The value when none is given.
    pub default: String,
    /// The only values, if limited.
    pub allowed: Vec<String>,
    /// A description.
    pub description: Option<String>,
}
