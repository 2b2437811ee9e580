//! Queries that are one parameter, beside which no other may be in the query.

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Dialect, Location, Operation, SecurityKind};

/// Reports operations with a parameter that is the whole query (`in: querystring`) and a further
/// parameter in the query.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    // Before, there is no such parameter, which is reported.
    if context.contract.dialect < Dialect::V32 {
        return;
    }
    for operation in context.contract.all_operations() {
        let mut queries = operation
            .parameters
            .iter()
            .filter(|parameter| parameter.location == Location::Query);
        let Some(whole) = queries.clone().find(|parameter| parameter.is_whole_query) else {
            continue;
        };
        if !operation.query.is_empty() {
            diagnostics.push(
                Diagnostic::error(
                    "shared-query",
                    whole.span,
                    format!(
                        "`{}` is the whole query, and the path `{}` has one already",
                        whole.name, operation.path
                    ),
                )
                .help("remove what follows `?` in the path"),
            );
        }
        for scheme in keys_in_query(context, operation) {
            diagnostics.push(
                Diagnostic::error(
                    "shared-query",
                    whole.span,
                    format!(
                        "`{}` is the whole query, so the key of `{scheme}` cannot be in it",
                        whole.name
                    ),
                )
                .help("send the key in a header, or let the operation need another credential"),
            );
        }
        if let Some(other) = queries.find(|parameter| parameter.span != whole.span) {
            diagnostics.push(
                Diagnostic::error(
                    "shared-query",
                    other.span,
                    format!(
                        "`{}` is the whole query, so `{}` cannot be in it",
                        whole.name, other.name
                    ),
                )
                .help(format!("make it a property of `{}`", whole.name))
                .related(whole.span, "the whole query"),
            );
        }
    }
}

/// Returns the schemes of an operation whose keys are in the query.
fn keys_in_query<'c>(context: &Context<'c, '_>, operation: &'c Operation) -> Vec<&'c str> {
    let schemes = operation
        .security
        .iter()
        .flat_map(|requirement| &requirement.schemes)
        .map(|(name, _)| name.as_str());
    let is_in_query = |name: &&str| {
        context
            .contract
            .security_schemes
            .get(*name)
            .is_some_and(|scheme| {
                matches!(
                    scheme.kind,
                    SecurityKind::ApiKey {
                        location: Location::Query,
                        ..
                    }
                )
            })
    };
    let mut found: Vec<&str> = schemes.filter(is_in_query).collect();
    found.sort_unstable();
    found.dedup();
    found
}
