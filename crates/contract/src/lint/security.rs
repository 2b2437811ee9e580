//! Security requirements: whether their schemes exist and declare their scopes.

use std::collections::HashSet;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Dialect, SecurityKind};
use crate::node::{Entry, Node};
use crate::spelling::nearest;
use crate::uri::is_scheme_uri;

/// Reports requirements of the document and of operations that name an unknown scheme, or a scope
/// that their scheme does not declare.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root();
    let components = root.key("components");
    let schemes = components.and_then(|at| at.key("securitySchemes"));
    let declared: Vec<&str> = schemes
        .iter()
        .flat_map(|at| at.node.as_object().unwrap_or_default())
        .map(|entry| entry.key.as_str())
        .collect();
    let sites = context.origins.operations.iter();
    let sites = sites.map(|site| (site.document, site.node));
    for (document, owner) in std::iter::once((0, root.node)).chain(sites) {
        let alternatives = owner.get("security").and_then(Node::as_array);
        repeated(alternatives.unwrap_or_default(), diagnostics);
        for alternative in alternatives.unwrap_or_default() {
            for entry in alternative.as_object().unwrap_or_default() {
                let Some(name) = context.resolver.security_scheme(alternative, &entry.key) else {
                    if is_unknown(context, document, alternative, entry) {
                        diagnostics.push(unknown(entry, &declared));
                    }
                    continue;
                };
                let scheme = schemes.as_ref().and_then(|at| at.key(&name));
                let scheme = scheme.and_then(|at| context.resolver.follow(&at));
                if let Some(scheme) = scheme {
                    scopes(context, (&name, entry), scheme.node, diagnostics);
                }
            }
        }
    }
}

/// Reports alternatives that are listed twice.
fn repeated(alternatives: &[Node], diagnostics: &mut Vec<Diagnostic>) {
    let mut seen = HashSet::new();
    for alternative in alternatives {
        if !seen.insert(alternative.to_json().to_string()) {
            diagnostics.push(
                Diagnostic::warning(
                    "duplicate-requirement",
                    alternative.span,
                    "this alternative is listed twice",
                )
                .help("remove one of them"),
            );
        }
    }
}

/// Returns whether a key of a requirement that is no name of a component is wrong, and was not
/// reported as a reference that leads to nothing.
fn is_unknown<'a>(
    context: &Context<'_, 'a>,
    document: usize,
    alternative: &'a Node,
    entry: &'a Entry,
) -> bool {
    if context.contract.dialect < Dialect::V32 || !is_scheme_uri(&entry.key) {
        return true;
    }
    match context.resolver.resolve(document, alternative, &entry.key) {
        // The files are not combined, since an overlay for one of them is drafted, or since they
        // cannot be.
        Ok(target) => target.document == 0 || context.syntax.is_dynamic,
        Err(_) => false,
    }
}

fn unknown(entry: &Entry, declared: &[&str]) -> Diagnostic {
    Diagnostic::error(
        "unknown-security-scheme",
        entry.key_span,
        format!("there is no security scheme `{}`", entry.key),
    )
    .help(match nearest(&entry.key, declared.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "declare it in `components/securitySchemes`".to_owned(),
    })
}

fn scopes(
    context: &Context<'_, '_>,
    (name, entry): (&str, &Entry),
    scheme: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let wanted = entry.value.as_array().unwrap_or_default();
    let Some(known) = context.contract.security_schemes.get(name) else {
        return;
    };
    match &known.kind {
        SecurityKind::OAuth2 => {
            let flows = scheme.get("flows").and_then(Node::as_object);
            let flows = flows.unwrap_or_default().iter();
            let scopes: HashSet<&str> = flows
                .filter_map(|flow| flow.value.get("scopes")?.as_object())
                .flatten()
                .map(|scope| scope.key.as_str())
                .collect();
            for node in wanted {
                if let Some(scope) = node.as_str().filter(|scope| !scopes.contains(scope)) {
                    // Sorted, because the first of equally similar names is suggested, and the
                    // order of a set changes from run to run.
                    let mut all: Vec<&str> = scopes.iter().copied().collect();
                    all.sort_unstable();
                    diagnostics.push(
                        Diagnostic::warning(
                            "undeclared-scope",
                            node.span,
                            format!("`{}` declares no scope `{scope}`", entry.key),
                        )
                        .help(match nearest(scope, all.into_iter()) {
                            Some(meant) => format!("did you mean `{meant}`?"),
                            None => "add it to the `scopes` of a flow".to_owned(),
                        }),
                    );
                }
            }
        }
        // The provider declares these scopes, in a document that is not read.
        SecurityKind::OpenIdConnect(_) => {}
        SecurityKind::ApiKey { .. }
        | SecurityKind::HttpBasic
        | SecurityKind::HttpBearer
        | SecurityKind::Http(_)
        | SecurityKind::MutualTls => {
            // In 3.1 the list may name roles, which are declared nowhere.
            if context.contract.dialect == Dialect::V30
                && let Some(first) = wanted.first()
            {
                diagnostics.push(
                    Diagnostic::warning(
                        "undeclared-scope",
                        first.span,
                        format!("in OpenAPI 3.0 `{}` has no scopes", entry.key),
                    )
                    .help("write `[]`"),
                );
            }
        }
    }
}
