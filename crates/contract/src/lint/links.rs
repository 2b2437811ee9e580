//! The parameters of links: whether the operation that a link leads to has them.

use super::context::Context;
use crate::build::OperationSite;
use crate::diagnostic::Diagnostic;
use crate::linked::each_link;
use crate::node::Node;
use crate::spelling::nearest;

/// Reports parameters of links that their operation does not have, and bodies for operations without
/// one.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    each_link(context.resolver, &context.origins.operations, |linked| {
        parameters(linked.link, linked.target, diagnostics);
        body(linked.link, linked.target, diagnostics);
    });
}

/// Reports links that give no value to a path parameter of their operation, of the set `style`.
pub(super) fn unfilled(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    each_link(context.resolver, &context.origins.operations, |linked| {
        let given = linked.link.get("parameters").and_then(Node::as_object);
        let is_given = |name: &str| {
            let mut given = given.unwrap_or_default().iter();
            given.any(|entry| entry.key == name || entry.key.strip_prefix("path.") == Some(name))
        };
        let mut wanted = linked.target.path_parameters.iter();
        if let Some((name, _)) = wanted.find(|(name, _)| !is_given(name)) {
            diagnostics.push(
                Diagnostic::warning(
                    "unfilled-link",
                    linked.at,
                    format!(
                        "the link gives no value to the path parameter `{name}` of its operation"
                    ),
                )
                .help(format!(
                    "add it to `parameters`, as in `{name}: $response.body#/id`"
                )),
            );
        }
    });
}

fn parameters(link: &Node, target: &OperationSite<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let given = link.get("parameters").and_then(Node::as_object);
    for entry in given.unwrap_or_default() {
        if target.parameter(&entry.key).is_none() {
            let known = target.parameters.iter().map(|parameter| parameter.name);
            diagnostics.push(
                Diagnostic::warning(
                    "unknown-link-parameter",
                    entry.key_span,
                    format!(
                        "the operation that the link leads to has no parameter `{}`",
                        entry.key
                    ),
                )
                .help(match nearest(&entry.key, known) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "write the name of one of its parameters".to_owned(),
                }),
            );
        }
    }
}

/// Reports a body for an operation that has none.
fn body(link: &Node, target: &OperationSite<'_>, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(entry) = link.entry("requestBody")
        && target.node.get("requestBody").is_none()
    {
        diagnostics.push(
            Diagnostic::warning(
                "idle-keyword",
                entry.key_span,
                "the operation that the link leads to has no request body",
            )
            .help("remove it, or correct the operation"),
        );
    }
}
