//! Security schemes, and what requires them.

use super::parameter::Location;
use crate::source::Span;

/// Alternatives, each a set of schemes that must all hold. Empty: open to everyone.
/// An alternative without schemes means that a credential is welcome but not needed.
pub type Security = Vec<SecurityRequirement>;

/// One alternative: scheme names with the scopes they need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityRequirement {
    /// Scheme name and scopes, in the document's order.
    pub schemes: Vec<(String, Vec<String>)>,
}

/// A security scheme.
#[derive(Debug, Clone)]
pub struct SecurityScheme {
    /// What kind.
    pub kind: SecurityKind,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of security scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityKind {
    /// A value in a header, query parameter or cookie.
    ApiKey {
        /// The name on the wire.
        name: String,
        /// Where it travels.
        location: Location,
    },
    /// `Authorization: Basic …`
    HttpBasic,
    /// `Authorization: Bearer …`
    HttpBearer,
    /// Another scheme of the `Authorization` header.
    Http(String),
    /// OAuth 2: travels as a bearer token.
    OAuth2,
    /// `OpenID` Connect: travels as a bearer token.
    OpenIdConnect(String),
    /// A client certificate.
    MutualTls,
}
