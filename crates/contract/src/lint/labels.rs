//! Values in the query of a path, such as `/a?b={c}`: whether a parameter of the query has the name of each.

use std::collections::HashSet;

use super::context::Context;
use super::paths::within;
use crate::build::OperationSite;
use crate::diagnostic::Diagnostic;
use crate::model::{Location, SecurityKind, label_parameters, label_query, split_label};

/// Reports values in braces that callers cannot give, since the query has no parameter of that name.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut reported = HashSet::new();
    for site in &context.origins.operations {
        let Some(path) = site.template else { continue };
        for (name, value) in label_parameters(split_label(path).1) {
            // Once for the path, although each of its operations lacks the parameter.
            if is_given(context, site, path, &name, value) || !reported.insert((path, name.clone()))
            {
                continue;
            }
            let span = within(context.sources, site.path_span, value);
            let message = format!(
                "no parameter of the query is called `{name}`, so requests do not have `{name}={value}`"
            );
            let named = named(value).filter(|named| has(site, named));
            let help = match named {
                Some(named) => format!(
                    "call the parameter `{named}` `{name}`, or write `{named}={value}` into the path"
                ),
                None => format!("add a parameter `{name}` with `in: query`"),
            };
            let found = Diagnostic::warning("query-parameter-undeclared", span, message).help(help);
            diagnostics.push(if has_meaning(path, &name, value) {
                found.about(&name).part(&name)
            } else {
                found
            });
        }
    }
}

/// Returns whether callers can give a value of the label, or another rule reports that they cannot.
fn is_given(
    context: &Context<'_, '_>,
    site: &OperationSite<'_>,
    path: &str,
    name: &str,
    value: &str,
) -> bool {
    let mut schemes = context.contract.security_schemes.values();
    let is_key = schemes.any(|scheme| {
        matches!(&scheme.kind, SecurityKind::ApiKey { name: key, location: Location::Query } if key == name)
    });
    let is_whole_query = site.parameters.iter().any(|other| other.is_whole_query);
    // A parameter of the path that is here alone is reported as one that the path does not have.
    let template = split_label(path).0;
    let mut of_path = site.path_parameters.iter();
    let is_misplaced = of_path.any(|(other, _)| {
        let mark = format!("{{{other}}}");
        value.contains(&mark) && !template.contains(&mark)
    });
    has(site, name) || is_key || is_whole_query || is_misplaced
}

/// Returns whether an operation has a parameter of the query with this name.
fn has(site: &OperationSite<'_>, name: &str) -> bool {
    let mut parameters = site.parameters.iter();
    parameters.any(|other| other.location == Location::Query && other.name == name)
}

/// Returns whether a value of the label can mean one thing only: it is a name in braces, which stands
/// nowhere else in the path.
fn has_meaning(path: &str, name: &str, value: &str) -> bool {
    let Some(named) = named(value) else {
        return false;
    };
    let label = split_label(path).1;
    let plain = label_query(label).into_iter().map(|(name, _)| name);
    let marked = label_parameters(label).into_iter().map(|(name, _)| name);
    let names: Vec<String> = plain.chain(marked).collect();
    let is_once = names.iter().filter(|other| *other == name).count() == 1;
    let is_free = named == name || names.iter().all(|other| other != named);
    !name.is_empty() && is_once && is_free && path.matches(value).count() == 1
}

/// Returns the name in the braces of a value that is nothing else.
fn named(value: &str) -> Option<&str> {
    let named = value.strip_prefix('{')?.strip_suffix('}')?;
    // An expression of RFC 6570, such as `{?page}`, is no name.
    let is_name = !named.is_empty()
        && !named.contains(['{', '}'])
        && !named.starts_with(['?', '&', '#', '+', '/', ';', '.']);
    is_name.then_some(named)
}
