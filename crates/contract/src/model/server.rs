//! Servers, and the variables of their URLs.

use indexmap::IndexMap;

/// A server of the API.
#[derive(Debug, Clone)]
pub struct Server {
    /// The URL, which can contain `{variables}`.
    pub url: String,
    /// A description.
    pub description: Option<String>,
    /// The variables of the URL, by name.
    pub variables: IndexMap<String, ServerVariable>,
}

/// A variable in a server's URL.
#[derive(Debug, Clone)]
pub struct ServerVariable {
    /// The value if the caller chooses none.
    pub default: String,
    /// The allowed values; empty if any value is allowed.
    pub allowed: Vec<String>,
    /// A description.
    pub description: Option<String>,
}
