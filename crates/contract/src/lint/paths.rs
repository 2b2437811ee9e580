//! Path templates: whether they are well-formed, distinct, and match the parameters.

use std::collections::{HashMap, HashSet};

use super::context::Context;
use crate::build::OperationSite;
use crate::diagnostic::Diagnostic;
use crate::model::{Clash, Operation, PathPart, clashes, shape, split_label};
use crate::node::{Entry, Node};
use crate::source::{Sources, Span};
use crate::spelling::nearest;

/// Reports path templates that are malformed, name a parameter twice or match the same paths, and
/// differences between the path parameters of an operation and those of its template.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    let clashes = clashes(&context.contract.operations);
    shared_urls(context, &clashes, diagnostics);
    templates(root, context.sources, &clashes, diagnostics);
    let mut undeclared = HashSet::new();
    for site in &context.origins.operations {
        let Some(template) = site.template else {
            without_path(site, diagnostics);
            continue;
        };
        let names = names(template);
        agreement(site, &names, diagnostics);
        let renamed = renamed(site, &names);
        // A name that is empty, or has another spelling at its parameter, is reported as that.
        for name in names
            .iter()
            .filter(|name| !name.is_empty() && renamed.iter().all(|(path, _)| path != *name))
        {
            let declared = site.path_parameters.iter().any(|(other, _)| other == name);
            // Once for the path, although each of its operations lacks the parameter.
            if !declared && undeclared.insert((template, name.clone())) {
                let span = within(context.sources, site.path_span, &format!("{{{name}}}"));
                diagnostics.push(missing(site, &names, name, span));
            }
        }
    }
}

/// Returns the names of the path that no parameter has, each with the name of the parameter that is
/// meant for it: one that is not in the path, and is similar or the only one.
fn renamed<'n>(site: &OperationSite<'n>, names: &'n [String]) -> Vec<(&'n str, &'n str)> {
    let declared = || site.path_parameters.iter().map(|(name, _)| *name);
    let free: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| declared().all(|other| other != *name))
        .collect();
    let spare: Vec<&str> = declared()
        .filter(|name| names.iter().all(|other| other != name))
        .collect();
    if let ([one], [other]) = (&free[..], &spare[..]) {
        return vec![(*one, *other)];
    }
    spare
        .iter()
        .filter_map(|own| Some((nearest(own, free.iter().copied())?, *own)))
        .collect()
}

/// Reports the path parameters of a webhook or callback, which has no path.
fn without_path(site: &OperationSite<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for (name, span) in &site.path_parameters {
        diagnostics.push(
            Diagnostic::warning(
                "path-parameter-unused",
                *span,
                format!("a webhook or callback has no path, and so no `{{{name}}}` in it"),
            )
            .help("send it in the query, a header or the body"),
        );
    }
}

fn missing(site: &OperationSite<'_>, names: &[String], name: &str, span: Span) -> Diagnostic {
    let spare = site.path_parameters.iter().map(|(other, _)| *other);
    let spare = spare.filter(|other| !names.iter().any(|name| name == other));
    Diagnostic::error(
        "path-parameter-undeclared",
        span,
        format!("the path parameter `{{{name}}}` is not declared"),
    )
    .about(name)
    .part(name)
    .help(match nearest(name, spare) {
        Some(meant) => format!("did you mean `{{{meant}}}`?"),
        None => format!("add a parameter `{name}` with `in: path` and `required: true`"),
    })
}

fn agreement(site: &OperationSite<'_>, names: &[String], diagnostics: &mut Vec<Diagnostic>) {
    let renamed = renamed(site, names);
    for (name, span) in &site.path_parameters {
        if names.iter().any(|other| other == name) {
            continue;
        }
        let meant = renamed.iter().find(|(_, own)| own == name);
        let meant = meant.map(|(path, _)| *path);
        let found = Diagnostic::error(
            "path-parameter-unused",
            *span,
            format!("the path has no `{{{name}}}`"),
        );
        diagnostics.push(match meant {
            Some(meant) => found.about(meant).help(format!("did you mean `{meant}`?")),
            None => found.help(format!(
                "put `{{{name}}}` into the path, or remove the parameter"
            )),
        });
    }
}

/// Returns the names of the parameters in a path template.
fn names(template: &str) -> Vec<String> {
    PathPart::split(split_label(template).0)
        .into_iter()
        .filter_map(|part| match part {
            PathPart::Parameter(name) => Some(name),
            PathPart::Literal(_) => None,
        })
        .collect()
}

fn templates(
    root: &Node,
    sources: &Sources,
    clashes: &[Clash<'_>],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut seen: HashMap<String, &Entry> = HashMap::new();
    let paths = root.get("paths").and_then(Node::as_object);
    for entry in paths.unwrap_or_default() {
        if entry.key.starts_with("x-") {
            continue;
        }
        let template = entry.key.as_str();
        if let Some((message, help)) = malformed(template) {
            diagnostics.push(Diagnostic::error("bad-path", entry.key_span, message).help(help));
            continue;
        }
        let mut names_seen = HashSet::new();
        for name in names(template) {
            if !names_seen.insert(name.clone()) {
                let span = within(sources, entry.key_span, &format!("{{{name}}}"));
                diagnostics.push(
                    Diagnostic::error(
                        "duplicate-template-name",
                        span,
                        format!("`{{{name}}}` is used twice in the path"),
                    )
                    .help("give each parameter its own name"),
                );
            }
        }
        let (url, label) = split_label(template);
        let shape = shape(url) + label;
        if let Some(other) = seen.get(&shape) {
            diagnostics.push(
                same_paths(entry, &other.key, clashes)
                    .help("put the operations under one of them")
                    .related(other.key_span, "the other path"),
            );
        } else {
            seen.insert(shape, entry);
        }
    }
}

/// Returns the diagnostic about a path that differs from another in the names of parameters only,
/// with the operations of the one that no server can serve.
fn same_paths(own: &Entry, other: &str, clashes: &[Clash<'_>]) -> Diagnostic {
    let path = own.key.as_str();
    let same = format!("`{path}` and `{other}` match the same paths");
    let clashing: Vec<&Clash<'_>> = clashes
        .iter()
        .filter(|clash| clash.second.path == path)
        .collect();
    let named = clashing.iter().map(|clash| {
        let method = clash.second.method.as_str();
        format!(
            "a server serves `{method} {}`, and only clients have `{method} {path}`",
            clash.first.path
        )
    });
    let named: Vec<String> = named.collect();
    let message = if named.is_empty() {
        format!("{same}, with different methods")
    } else {
        format!("{same}: {}", named.join("; "))
    };
    // That clients have both paths is one repair, and each operation without a server another.
    let found = Diagnostic::error("duplicate-path", own.key_span, message).part("");
    clashing.iter().fold(found, |found, clash| {
        found.part(clash.second.method.as_str())
    })
}

/// Reports operations whose paths differ only in their labels, and which no server can tell apart.
/// Paths without any label are reported as duplicates instead.
fn shared_urls(
    context: &Context<'_, '_>,
    clashes: &[Clash<'_>],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let has_label = |operation: &Operation| !split_label(&operation.path).1.is_empty();
    let paths = context.resolver.root().node.get("paths");
    let path_of = |operation: &Operation| paths.and_then(|paths| paths.entry(&operation.path));
    for Clash { first, second } in clashes {
        if !has_label(first) && !has_label(second) {
            continue;
        }
        let (Some(other), Some(own)) = (path_of(first), path_of(second)) else {
            continue;
        };
        // A path item that is a reference can be that of several paths.
        let is_own = own.value.get("$ref").is_none();
        let span = if is_own { second.span } else { own.key_span };
        let method = second.method.as_str();
        diagnostics.push(
            Diagnostic::warning(
                "shared-url",
                span,
                format!(
                    "`{method} {}` and `{method} {}` are the same request, so a server only ever serves the first",
                    first.path, second.path
                ),
            )
            .help("clients have both; for a server, tell them apart by a query such as `?kind=two`")
            .related(other.key_span, "the first path"),
        );
    }
}

fn malformed(template: &str) -> Option<(String, String)> {
    if !template.starts_with('/') {
        return Some((
            format!("the path `{template}` does not start with a slash"),
            format!("write `/{template}`"),
        ));
    }
    let (template, _) = split_label(template);
    let mut open = false;
    for char in template.chars() {
        let fits = match char {
            '{' => !std::mem::replace(&mut open, true),
            '}' => std::mem::replace(&mut open, false),
            _ => true,
        };
        // A brace too many is as wrong as one that stays open.
        if !fits {
            open = true;
            break;
        }
    }
    if open {
        return Some((
            format!("the braces in `{template}` do not match"),
            "write each parameter as `{name}`".to_owned(),
        ));
    }
    if template.contains("{}") {
        return Some((
            format!("a parameter in `{template}` has no name"),
            "write each parameter as `{name}`".to_owned(),
        ));
    }
    None
}

/// Returns the span of the last occurrence of `text` within `span`, or `span` itself if the source
/// spells it differently, as in a string with escapes.
pub(super) fn within(sources: &Sources, span: Span, text: &str) -> Span {
    // The last one, since of a name that is used twice the second use is the wrong one.
    let found = sources.text(span).rfind(text);
    let narrow = found.and_then(|at| {
        let start = span.start + u32::try_from(at).ok()?;
        let end = start + u32::try_from(text.len()).ok()?;
        Some(Span { start, end, ..span })
    });
    narrow.unwrap_or(span)
}
