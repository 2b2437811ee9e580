//! Credentials: the trait that turns them into a principal, and a check for each combination of
//! schemes.

use std::collections::{BTreeMap, HashSet};

use contract::model::{Location, Security, SecurityKind, SecurityRequirement};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::names::constant;
use crate::ir::{Api, SecurityScheme};
use crate::names;
use crate::tokens::{docs, ident, inner_docs};

/// Returns whether some alternative asks for a credential, even if another accepts a request
/// without one.
pub(super) fn is_secured(security: &Security) -> bool {
    security
        .iter()
        .any(|alternative| !alternative.schemes.is_empty())
}

/// Returns whether security also accepts a request without a credential.
pub(super) fn is_optional(security: &Security) -> bool {
    security
        .iter()
        .any(|alternative| alternative.schemes.is_empty())
}

/// Generates `security.rs`.
pub(super) fn module(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(
        "Credentials: implement [`Security`] to turn them into the principal that operations get.",
    );
    // By name, since many operations ask for the same schemes.
    let mut methods: BTreeMap<String, TokenStream> = BTreeMap::new();
    for security in securities(api) {
        for alternative in asked(security) {
            methods
                .entry(method_name(api, alternative))
                .or_insert_with(|| method(api, alternative));
        }
    }
    let methods = methods.values();
    let distinct = distinct(api);
    let requirements = distinct
        .iter()
        .map(|(name, security)| definition(api, name, security));
    let checks = distinct
        .iter()
        .map(|(name, security)| check(api, name, security));
    quote! {
        #title
        use api_runtime::server;
        /// Turns credentials into a principal.
        ///
        /// A secured operation is called only with the principal that one of these methods returns.
        pub trait Security: Send + Sync + 'static {
            /// The caller, which each secured operation gets.
            type Principal: Clone + Send + Sync + 'static;
            #(#methods)*
        }
        #(#requirements)*
        #(#checks)*
    }
}

/// A method of the trait `Security`, for the example of the README.
pub(crate) struct Check {
    /// The name of the method.
    pub(crate) name: String,
    /// For each scheme, the type that holds its credential, and whether scopes follow it.
    pub(crate) arguments: Vec<(String, bool)>,
}

/// Returns the methods of the trait `Security`, by name.
pub(crate) fn checks(api: &Api<'_>) -> Vec<Check> {
    let mut checks: BTreeMap<String, Check> = BTreeMap::new();
    for alternative in securities(api).flat_map(asked) {
        let arguments = schemes(api, alternative).map(|(scheme, _)| {
            let ty = credential_type(&scheme.kind).to_string();
            (ty, has_scopes(&scheme.kind))
        });
        let check = Check {
            name: method_ident(api, alternative).to_string(),
            arguments: arguments.collect(),
        };
        checks.insert(method_name(api, alternative), check);
    }
    checks.into_values().collect()
}

/// Returns the alternatives that ask for a credential.
pub(super) fn asked(security: &Security) -> impl Iterator<Item = &SecurityRequirement> {
    security
        .iter()
        .filter(|alternative| !alternative.schemes.is_empty())
}

/// Returns the security of each operation that asks for a credential, and that of unknown routes if
/// it does.
pub(super) fn securities<'a>(api: &'a Api<'_>) -> impl Iterator<Item = &'a Security> {
    api.operations
        .iter()
        .map(|operation| &operation.security)
        .chain(guards_unknown_routes(api).then_some(&api.contract.security))
        .filter(|security| is_secured(security))
}

/// Returns whether the router checks credentials before it responds 404 to an unknown route:
/// whether the document's security accepts no request without a credential.
#[must_use]
pub fn guards_unknown_routes(api: &Api<'_>) -> bool {
    is_secured(&api.contract.security) && !is_optional(&api.contract.security)
}

/// Returns every combination of schemes that operations ask for, with its name.
fn distinct<'a>(api: &'a Api<'_>) -> Vec<(String, &'a Security)> {
    let mut found: Vec<(String, &Security)> = Vec::new();
    let mut taken = HashSet::new();
    for security in securities(api) {
        if found.iter().any(|(_, known)| *known == security) {
            continue;
        }
        let mut methods: Vec<String> = asked(security)
            .map(|alternative| method_name(api, alternative))
            .collect();
        // Alternatives that differ in their scopes alone have the same method.
        methods.dedup();
        let mut name = methods.join("_or_");
        if is_optional(security) {
            name = format!("optional_{name}");
        }
        found.push((names::unique(&mut taken, name), security));
    }
    found
}

/// Returns the name of the function that checks a combination of schemes, such as `check_bearer`.
pub(super) fn check_name(api: &Api<'_>, security: &Security) -> Ident {
    format_ident!("check_{}", name_of(api, security))
}

/// Returns the name of a combination of schemes, such as `bearer` or `key_or_login`.
fn name_of(api: &Api<'_>, security: &Security) -> String {
    let checks = api.checks.get_or_init(|| {
        let found = distinct(api).into_iter();
        found
            .map(|(name, security)| (name, security.clone()))
            .collect()
    });
    let found = checks.iter().find(|(_, known)| known == security);
    let (name, _) = found.expect("every combination in use has a name");
    name.clone()
}

/// Returns the expression of an operation's security requirements, or `None` if it has none.
pub(super) fn requirement(api: &Api<'_>, security: &Security) -> Option<TokenStream> {
    if is_secured(security) {
        let name = constant(&name_of(api, security));
        return Some(quote!(security::#name));
    }
    // `security: [{}]` asks for nothing, but is not the same document as no security.
    (!security.is_empty()).then(|| value(api, security))
}

/// Generates the constant with the requirements of a combination of schemes.
fn definition(api: &Api<'_>, name: &str, security: &Security) -> TokenStream {
    let words = docs(&format!("The requirement of {}.", words(security)));
    let name = constant(name);
    let value = value(api, security);
    quote! {
        #words
        pub(crate) const #name: server::SecurityRequirements = #value;
    }
}

/// Generates the description of security requirements.
fn value(api: &Api<'_>, security: &Security) -> TokenStream {
    let alternatives = security.iter().map(|alternative| {
        let schemes = alternative
            .schemes
            .iter()
            .map(|(name, scopes)| quote!(server::Scheme::new(#name, &[#(#scopes),*])));
        quote!(&[#(#schemes),*])
    });
    let challenge = challenge(api, security);
    quote! {
        server::SecurityRequirements {
            alternatives: &[#(#alternatives),*],
            challenge: #challenge,
        }
    }
}

/// Returns the security scheme that has a name in the document.
fn scheme<'a>(api: &'a Api<'_>, wire: &str) -> Option<&'a SecurityScheme> {
    api.security.iter().find(|scheme| scheme.wire == wire)
}

/// Returns the schemes of an alternative, each with the scopes that it needs.
pub(super) fn schemes<'a>(
    api: &'a Api<'_>,
    alternative: &'a SecurityRequirement,
) -> impl Iterator<Item = (&'a SecurityScheme, &'a [String])> {
    alternative
        .schemes
        .iter()
        .filter_map(|(wire, scopes)| Some((scheme(api, wire)?, scopes.as_slice())))
}

/// Returns the name of the method that checks an alternative: `bearer`, or `app_id_and_app_key` for
/// two schemes that are both needed.
pub(super) fn method_name(api: &Api<'_>, alternative: &SecurityRequirement) -> String {
    let bare = |scheme: &SecurityScheme| scheme.name.trim_start_matches("r#").to_owned();
    let schemes: Vec<&SecurityScheme> = schemes(api, alternative)
        .map(|(scheme, _)| scheme)
        .collect();
    let name = schemes
        .iter()
        .map(|scheme| bare(scheme))
        .collect::<Vec<_>>()
        .join("_and_");
    // None of its schemes is one that can be checked.
    let name = if name.is_empty() {
        "unknown".to_owned()
    } else {
        name
    };
    // The name of one scheme may be what the names of two others yield together.
    names::first_free(name, |name| {
        schemes.len() < 2 || api.security.iter().all(|scheme| bare(scheme) != name)
    })
}

/// Generates the method that checks the credentials of one alternative.
fn method(api: &Api<'_>, alternative: &SecurityRequirement) -> TokenStream {
    let name = method_ident(api, alternative);
    let words: Vec<String> = schemes(api, alternative)
        .map(|(scheme, _)| {
            let description = scheme.description.as_deref().unwrap_or_default().trim();
            format!(
                "`{}`: {}",
                scheme.wire,
                if description.is_empty() {
                    kind_words(&scheme.kind)
                } else {
                    description
                }
            )
        })
        .collect();
    let words = docs(&words.join("\n\n"));
    let is_alone = alternative.schemes.len() == 1;
    let arguments = schemes(api, alternative).map(|(scheme, _)| {
        let (credential, scopes) = argument_names(scheme, is_alone);
        let ty = credential_type(&scheme.kind);
        let scopes = has_scopes(&scheme.kind).then(|| quote!(#scopes: &'static [&'static str],));
        quote!(#credential: server::#ty, #scopes)
    });
    quote! {
        #words
        fn #name(
            &self,
            #(#arguments)*
            operation: &'static server::Operation,
        ) -> impl Future<Output = Result<Self::Principal, server::AuthError>> + Send;
    }
}

/// Returns the name of the method that checks an alternative, as an identifier.
fn method_ident(api: &Api<'_>, alternative: &SecurityRequirement) -> Ident {
    ident(&crate::names::identifier(&method_name(api, alternative)))
}

/// Returns a description of the credential of a kind of scheme, for the docs of a scheme without
/// one.
fn kind_words(kind: &SecurityKind) -> &'static str {
    match kind {
        SecurityKind::ApiKey { .. } => "a key.",
        SecurityKind::HttpBasic => "user and password.",
        SecurityKind::HttpBearer => "a bearer token.",
        SecurityKind::Http(_) => "a credential of the `Authorization` header.",
        SecurityKind::OAuth2 => "a token of OAuth 2, and the scopes that it must have.",
        SecurityKind::OpenIdConnect(_) => {
            "a token of OpenID Connect, and the scopes that it must have."
        }
        SecurityKind::MutualTls => "a client certificate.",
    }
}

/// Returns the names of the arguments for the credential of a scheme and for its scopes.
///
/// They have the scheme's name in front unless it is the only one.
fn argument_names(scheme: &SecurityScheme, is_alone: bool) -> (Ident, Ident) {
    if is_alone {
        return (format_ident!("credential"), format_ident!("scopes"));
    }
    let name = scheme.name.trim_start_matches("r#");
    (
        format_ident!("{name}_credential"),
        format_ident!("{name}_scopes"),
    )
}

/// Returns whether a kind of scheme has scopes.
pub(super) fn has_scopes(kind: &SecurityKind) -> bool {
    matches!(kind, SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_))
}

/// Returns the name of the type in `api_runtime::server` that holds the credential of a kind of
/// scheme.
pub(super) fn credential_type(kind: &SecurityKind) -> Ident {
    format_ident!(
        "{}",
        match kind {
            SecurityKind::ApiKey { .. } => "ApiKey",
            SecurityKind::HttpBasic => "Basic",
            SecurityKind::HttpBearer | SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_) =>
                "Bearer",
            SecurityKind::Http(_) => "Authorization",
            SecurityKind::MutualTls => "ClientCertificate",
        }
    )
}

/// Generates the function that checks a combination of schemes. The first alternative that accepts
/// the request decides.
fn check(api: &Api<'_>, name: &str, security: &Security) -> TokenStream {
    let function = format_ident!("check_{name}");
    let attempts: Vec<TokenStream> = asked(security)
        .map(|alternative| attempt(api, alternative))
        .collect();
    let optional = is_optional(security);
    let principal = if optional {
        quote!(Option<S::Principal>)
    } else {
        quote!(S::Principal)
    };
    let words = docs(&format!("Checks {}.", words(security)));
    // Each attempt is in an `async` block, so that the `?` after an absent credential ends this
    // attempt and not the whole check.
    let body = match attempts.as_slice() {
        [only] if !optional => quote! {
            let checked = async { #only.await };
            checked.await.map_err(|error| call.unauthorized(error))
        },
        [only] => quote! {
            let checked = async { #only.await };
            checked.await.map(Some).or_else(|error| error.unless_missing()).map_err(|error| call.unauthorized(error))
        },
        _ => several(&attempts, optional),
    };
    quote! {
        #words
        pub(crate) async fn #function<S: Security>(
            security: &S,
            call: &server::Call,
        ) -> Result<#principal, server::Rejected> {
            #body
        }
    }
}

/// Generates the body of a check that tries several alternatives, and returns the most specific of
/// their errors if none accepts the request.
fn several(attempts: &[TokenStream], optional: bool) -> TokenStream {
    let found = if optional {
        quote!(Ok(Some(principal)))
    } else {
        quote!(Ok(principal))
    };
    let attempts = attempts.iter().map(|attempt| {
        quote! {
            call.begin_alternative();
            let checked = async { #attempt.await };
            match checked.await {
                Ok(principal) => return #found,
                Err(error) => failure = failure.or(error),
            }
        }
    });
    let end = if optional {
        quote!(
            failure
                .unless_missing()
                .map_err(|error| call.unauthorized(error))
        )
    } else {
        quote!(Err(call.unauthorized(failure)))
    };
    quote! {
        let mut failure = server::AuthError::Missing;
        #(#attempts)*
        #end
    }
}

/// Generates the call that checks one alternative, such as
/// `security.bearer(call.bearer()?, call.operation())`.
fn attempt(api: &Api<'_>, alternative: &SecurityRequirement) -> TokenStream {
    let method = method_ident(api, alternative);
    let arguments = schemes(api, alternative).map(|(scheme, scopes)| {
        let credential = match &scheme.kind {
            SecurityKind::ApiKey {
                name,
                location: Location::Query,
            } => quote!(call.query_key(#name)?),
            SecurityKind::ApiKey {
                name,
                location: Location::Cookie,
            } => quote!(call.cookie_key(#name)?),
            SecurityKind::ApiKey { name, .. } => quote!(call.header_key(#name)?),
            SecurityKind::HttpBasic => quote!(call.basic()?),
            SecurityKind::HttpBearer | SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_) => {
                quote!(call.bearer()?)
            }
            SecurityKind::Http(name) => quote!(call.http(#name)?),
            SecurityKind::MutualTls => quote!(call.certificate()?),
        };
        let scopes = has_scopes(&scheme.kind).then(|| quote!(&[#(#scopes),*],));
        quote!(#credential, #scopes)
    });
    quote!(security.#method(#(#arguments)* call.operation()))
}

/// Returns a combination of schemes as words for docs: their names, joined by "and" and "or".
fn words(security: &Security) -> String {
    let alternatives: Vec<String> = security
        .iter()
        .map(|alternative| {
            let schemes: Vec<String> = alternative
                .schemes
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            if schemes.is_empty() {
                "nothing".to_owned()
            } else {
                schemes.join(" and ")
            }
        })
        .collect();
    alternatives.join(", or ")
}

/// Returns the value of the header `WWW-Authenticate` in a response 401, which is empty if no
/// scheme has a challenge.
#[must_use]
pub fn challenge(api: &Api<'_>, security: &Security) -> String {
    let mut challenges: Vec<String> = Vec::new();
    for (scheme, _) in security
        .iter()
        .flat_map(|alternative| schemes(api, alternative))
    {
        let challenge = match &scheme.kind {
            SecurityKind::HttpBearer | SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_) => {
                "Bearer".to_owned()
            }
            SecurityKind::HttpBasic => format!("Basic realm=\"{}\", charset=\"UTF-8\"", realm(api)),
            // The name goes into a header, where any other character could end the challenge.
            SecurityKind::Http(name) => name.chars().filter(char::is_ascii_alphanumeric).collect(),
            // No scheme is registered for keys, but a 401 must have a challenge (RFC 9110).
            SecurityKind::ApiKey { .. } => "ApiKey".to_owned(),
            // TLS asks for a certificate itself, before there is a request.
            SecurityKind::MutualTls => continue,
        };
        if !challenge.is_empty() && !challenges.contains(&challenge) {
            challenges.push(challenge);
        }
    }
    challenges.join(", ")
}

/// Returns the realm of HTTP Basic, which is the title of the API.
fn realm(api: &Api<'_>) -> String {
    let title = &api.contract.info.title;
    title
        .chars()
        // A quote or a backslash would end the quoted string or change it.
        .filter(|character| {
            character.is_ascii_alphanumeric() || matches!(character, ' ' | '-' | '.')
        })
        .collect()
}
