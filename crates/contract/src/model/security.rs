//! Security schemes, and the requirements that name them.

use super::parameter::Location;
use crate::source::Span;

/// Alternative requirements, of which a request must meet one. If empty, no credential is needed.
///
/// An alternative without schemes makes a credential optional.
pub type Security = Vec<SecurityRequirement>;

/// One of several alternatives: the schemes that a request must all meet, with their scopes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityRequirement {
    /// The names and scopes of the schemes, in the document's order.
    pub schemes: Vec<(String, Vec<String>)>,
}

/// A security scheme.
#[derive(Debug, Clone)]
pub struct SecurityScheme {
    /// The kind.
    pub kind: SecurityKind,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// The span of the object.
    pub span: Span,
}

/// A kind of security scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityKind {
    /// A key in a header, query parameter or cookie.
    ApiKey {
        /// The name of the header, parameter or cookie.
        name: String,
        /// Where the key is sent.
        location: Location,
    },
    /// `Authorization: Basic …`
    HttpBasic,
    /// `Authorization: Bearer …`
    HttpBearer,
    /// Another scheme of the `Authorization` header. Holds its name as written.
    Http(String),
    /// OAuth 2, with a bearer token.
    OAuth2,
    /// `OpenID` Connect, with a bearer token. Holds the URL of the discovery document.
    OpenIdConnect(String),
    /// A client certificate.
    MutualTls,
}
