//! Values in the query of a path, such as `/a?b={c}`: whether a parameter of the query stands for each.

use std::collections::HashSet;

use super::context::Context;
use super::paths::within;
use crate::build::OperationSite;
use crate::diagnostic::Diagnostic;
use crate::model::{Location, label_parameters, split_label};

/// Reports values in braces that callers cannot give, since the query has no parameter of that name.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut reported = HashSet::new();
    for site in &context.origins.operations {
        let Some(path) = site.template else { continue };
        for (name, value) in label_parameters(split_label(path).1) {
            let inner = value.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
            // A parameter of the path is reported as one that the path does not have.
            let mut of_path = site.path_parameters.iter();
            let is_of_path = of_path.any(|(other, _)| value.contains(&format!("{{{other}}}")));
            let is_given = has(site, &name) || is_of_path;
            // Once for the path, although each of its operations lacks the parameter.
            if is_given || !reported.insert((path, name.clone())) {
                continue;
            }
            let (message, help) = if let Some(inner) = inner.filter(|inner| has(site, inner)) {
                (
                    format!(
                        "the path has `{name}={value}`, but requests have `{inner}=…`, as the parameter says"
                    ),
                    format!(
                        "name the parameter `{name}`, or write `{inner}={value}` into the path"
                    ),
                )
            } else {
                (
                    format!("no parameter stands for `{name}={value}`, so requests do not have it"),
                    format!("add a parameter `{name}` with `in: query`"),
                )
            };
            let span = within(context.sources, site.path_span, value);
            let found = Diagnostic::warning("query-parameter-undeclared", span, message).help(help);
            // Only a value that is one parameter as a whole has one meaning.
            diagnostics.push(match inner {
                Some(_) => found.about(&name).part(&name),
                None => found,
            });
        }
    }
}

/// Returns whether an operation has a parameter of the query with this name.
fn has(site: &OperationSite<'_>, name: &str) -> bool {
    let mut parameters = site.parameters.iter();
    parameters.any(|other| other.location == Location::Query && other.name == name)
}
