//! The check that a request has the credentials that its operation asks for. Any that is well
//! formed is accepted: there is nobody who could know them.

use api_runtime::server::{AuthError, Call, Rejected};
use codegen::ir::{Api, SecurityScheme};
use contract::model::{Location, Security, SecurityKind, SecurityRequirement};

/// Checks a request as the checks of generated servers do: the first alternative that is satisfied
/// decides, and the most specific error is reported.
///
/// # Errors
///
/// Returns a 401 if no alternative is satisfied.
pub(crate) fn check(api: &Api<'_>, security: &Security, call: &Call) -> Result<(), Rejected> {
    let is_asked = |alternative: &&SecurityRequirement| !alternative.schemes.is_empty();
    let mut asked = security.iter().filter(is_asked).peekable();
    if asked.peek().is_none() {
        return Ok(());
    }
    let mut failure = AuthError::Missing;
    for alternative in asked {
        match attempt(api, alternative, call) {
            Ok(()) => return Ok(()),
            Err(error) => failure = failure.or(error),
        }
    }
    let is_optional = security
        .iter()
        .any(|alternative| alternative.schemes.is_empty());
    // Credentials that are wrong are refused even where none are needed.
    let failed = if is_optional {
        failure.unless_missing::<()>().map(drop)
    } else {
        Err(failure)
    };
    failed.map_err(|error| call.unauthorized(error))
}

/// Checks that the request has every credential of an alternative.
fn attempt(api: &Api<'_>, alternative: &SecurityRequirement, call: &Call) -> Result<(), AuthError> {
    let schemes = alternative
        .schemes
        .iter()
        .filter_map(|(wire, _)| api.security.iter().find(|scheme| scheme.wire == *wire));
    for scheme in schemes {
        credential(scheme, call)?;
    }
    Ok(())
}

fn credential(scheme: &SecurityScheme, call: &Call) -> Result<(), AuthError> {
    match &scheme.kind {
        SecurityKind::ApiKey { name, location } => match location {
            Location::Query => call.query_key(name).map(drop),
            Location::Cookie => call.cookie_key(name).map(drop),
            Location::Header | Location::Path => call.header_key(name).map(drop),
        },
        SecurityKind::HttpBasic => call.basic().map(drop),
        SecurityKind::HttpBearer | SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_) => {
            call.bearer().map(drop)
        }
        SecurityKind::Http(name) => call.http(name).map(drop),
        SecurityKind::MutualTls => call.certificate().map(drop),
    }
}
