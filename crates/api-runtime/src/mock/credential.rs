//! The credentials of a request, of any scheme.

use crate::server::{ApiKey, Authorization, Basic, Bearer, ClientCertificate};

/// A credential of a request. It prints no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// A token, also of OAuth 2 and of `OpenID` Connect.
    Bearer(Bearer),
    /// A user and a password.
    Basic(Basic),
    /// A key in a header, the query or a cookie.
    ApiKey(ApiKey),
    /// An `Authorization` header of another scheme.
    Authorization(Authorization),
    /// A client certificate.
    Certificate(ClientCertificate),
}

impl From<Bearer> for Credential {
    fn from(credential: Bearer) -> Self {
        Self::Bearer(credential)
    }
}

impl From<Basic> for Credential {
    fn from(credential: Basic) -> Self {
        Self::Basic(credential)
    }
}

impl From<ApiKey> for Credential {
    fn from(credential: ApiKey) -> Self {
        Self::ApiKey(credential)
    }
}

impl From<Authorization> for Credential {
    fn from(credential: Authorization) -> Self {
        Self::Authorization(credential)
    }
}

impl From<ClientCertificate> for Credential {
    fn from(credential: ClientCertificate) -> Self {
        Self::Certificate(credential)
    }
}
