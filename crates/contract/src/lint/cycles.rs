//! References that go in circles and never reach anything.

use std::collections::HashMap;

use super::syntax::Link;
use crate::build::Built;
use crate::diagnostic::Diagnostic;
use crate::model::{Keywords, SchemaKind};
use crate::source::Span;

/// Finds circles of references between parameters, answers and the like.
pub(super) fn references(links: &[Link], diagnostics: &mut Vec<Diagnostic>) {
    let next: HashMap<usize, (usize, Span)> = links
        .iter()
        .map(|link| (link.from, (link.to, link.span)))
        .collect();
    let mut settled: HashMap<usize, usize> = HashMap::new();
    for (round, link) in links.iter().enumerate() {
        let mut path: Vec<(usize, Span)> = Vec::new();
        let mut at = link.from;
        while let Some((to, span)) = next.get(&at) {
            match settled.get(&at) {
                None => {
                    settled.insert(at, round);
                    path.push((at, *span));
                    at = *to;
                }
                Some(earlier) => {
                    if *earlier == round {
                        let start = path.iter().position(|(node, _)| *node == at).unwrap_or(0);
                        let spans = path[start..].iter().map(|(_, span)| *span).collect();
                        report(spans, false, diagnostics);
                    }
                    break;
                }
            }
        }
    }
}

/// Finds schemas that contain themselves without going into the value. From here on they accept anything, so that
/// everything else can be judged still.
pub(super) fn schemas(built: &mut Built<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let schemas = &built.contract.schemas;
    let steps: Vec<Vec<usize>> = schemas
        .iter()
        .map(|schema| match &schema.kind {
            SchemaKind::Object(keywords) => in_place(keywords),
            SchemaKind::Bool(_) => Vec::new(),
        })
        .collect();
    let mut circular = Vec::new();
    circles(&steps, |circle| {
        let spans = circle
            .iter()
            .filter_map(|node| built.nodes[*node].get("$ref").map(|target| target.span));
        let composed = circle
            .iter()
            .any(|node| built.nodes[*node].get("$ref").is_none());
        report(spans.collect(), composed, diagnostics);
        circular.extend_from_slice(circle);
    });
    for node in circular {
        built.contract.schemas[node].kind = SchemaKind::Bool(true);
    }
}

/// Finds a circle for each step that leads back to where its path came from.
pub(super) fn circles(steps: &[Vec<usize>], mut found: impl FnMut(&[usize])) {
    let mut state = vec![State::New; steps.len()];
    for start in 0..steps.len() {
        if state[start] != State::New {
            continue;
        }
        state[start] = State::Open;
        let mut path = vec![start];
        let mut next_steps = vec![0];
        while let (Some(at), Some(step)) = (path.last().copied(), next_steps.last_mut()) {
            let Some(next) = steps[at].get(*step).copied() else {
                state[at] = State::Done;
                path.pop();
                next_steps.pop();
                continue;
            };
            *step += 1;
            match state[next] {
                State::Done => {}
                State::New => {
                    state[next] = State::Open;
                    path.push(next);
                    next_steps.push(0);
                }
                State::Open => {
                    let from = path.iter().position(|node| *node == next).unwrap_or(0);
                    found(&path[from..]);
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// The schemas that judge the same value as the one with these keywords.
pub(super) fn in_place(keywords: &Keywords) -> Vec<usize> {
    let single = [
        keywords.reference,
        keywords.not,
        keywords.if_schema,
        keywords.then_schema,
        keywords.else_schema,
    ];
    single
        .into_iter()
        .flatten()
        .chain(keywords.all_of.iter().copied())
        .chain(keywords.any_of.iter().copied())
        .chain(keywords.one_of.iter().copied())
        .chain(keywords.dependent_schemas.values().copied())
        .map(|id| id.0 as usize)
        .collect()
}

fn report(mut spans: Vec<Span>, composed: bool, diagnostics: &mut Vec<Diagnostic>) {
    spans.sort();
    let Some((first, rest)) = spans.split_first() else {
        return;
    };
    let (message, help) = if composed {
        (
            "the schema contains itself without a property or item in between, so it has no meaning",
            "refer to it from a property or from `items`, or leave the reference out",
        )
    } else {
        (
            "the reference goes in a circle and never reaches anything",
            "let one of the references mean something else",
        )
    };
    let mut finding = Diagnostic::error("circular-ref", *first, message).help(help);
    for span in rest.iter().take(5) {
        finding = finding.related(*span, "part of the circle");
    }
    diagnostics.push(finding);
}
