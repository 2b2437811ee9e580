//! Components that no operation uses.

use std::collections::HashMap;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::node::Entry;
use crate::node_ref::{NodeRef, address};
use crate::reach::{named_components, used_components};

/// The sections of `components`, each with the word for one member.
const SECTIONS: [(&str, &str); 11] = [
    ("schemas", "schema"),
    ("responses", "response"),
    ("parameters", "parameter"),
    ("examples", "example"),
    ("requestBodies", "request body"),
    ("headers", "header"),
    ("securitySchemes", "security scheme"),
    ("links", "link"),
    ("callbacks", "callback"),
    ("pathItems", "path item"),
    ("mediaTypes", "media type"),
];

/// Reports components that nothing uses, and with each the others that only it uses. A document without operations is a library for other
/// documents, so all of it counts as used.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root();
    if context.contract.operations.is_empty() && context.contract.webhooks.is_empty() {
        return;
    }
    let Some(components) = root.key("components") else {
        return;
    };
    let used = used_components(context.resolver);
    let mut unused = Vec::new();
    for (section, word) in SECTIONS {
        let Some(at) = components.key(section) else {
            continue;
        };
        for (entry, at) in at.entries() {
            if !used.contains(&address(at.node)) {
                unused.push(Unused { word, entry, at });
            }
        }
    }
    for (at, others) in chains(context, &unused) {
        let Unused { word, entry, .. } = &unused[at];
        let message = format!("the {word} `{}` is never used", entry.key);
        let mut diagnostic = Diagnostic::warning("unused-component", entry.key_span, message);
        for other in others.iter().take(MOST_OTHERS) {
            let other = &unused[*other];
            let label = format!("`{}` is used only by it", other.entry.key);
            diagnostic = diagnostic.related(other.entry.key_span, label);
        }
        diagnostics.push(match others.len() {
            0 => diagnostic.help("remove it, or refer to it"),
            1 => diagnostic.help("remove both, or refer to it"),
            count => diagnostic.help(format!(
                "remove it and the {count} components that only it uses, or refer to it"
            )),
        });
    }
}

/// The maximum number of components that are named beside the one that uses them.
const MOST_OTHERS: usize = 5;

/// A component that nothing uses, or only other such components.
struct Unused<'a> {
    word: &'static str,
    entry: &'a Entry,
    at: NodeRef<'a>,
}

/// Returns the unused components that no other one uses, or the first of a cycle, each with the
/// components that it uses, directly or indirectly. One that several use is listed with the first.
fn chains<'a>(context: &Context<'_, 'a>, unused: &[Unused<'a>]) -> Vec<(usize, Vec<usize>)> {
    let index: HashMap<usize, usize> = unused
        .iter()
        .enumerate()
        .map(|(index, unused)| (address(unused.at.node), index))
        .collect();
    let uses: Vec<Vec<usize>> = unused
        .iter()
        .map(|unused| {
            let named = named_components(context.resolver, &unused.at);
            let others = named.iter().filter_map(|node| index.get(node).copied());
            let mut others: Vec<usize> = others.collect();
            others.sort_unstable();
            others
        })
        .collect();
    let mut is_used = vec![false; unused.len()];
    for (at, others) in uses.iter().enumerate() {
        // What only refers to itself is still used by nothing else.
        for other in others.iter().filter(|other| **other != at) {
            is_used[*other] = true;
        }
    }
    // First those that nothing uses; what is left then are cycles.
    let starts = (0..unused.len()).filter(|at| !is_used[*at]);
    let mut is_seen = vec![false; unused.len()];
    let mut chains = Vec::new();
    for start in starts.chain(0..unused.len()) {
        if std::mem::replace(&mut is_seen[start], true) {
            continue;
        }
        let mut others = Vec::new();
        let mut pending = vec![start];
        while let Some(at) = pending.pop() {
            for next in &uses[at] {
                if !std::mem::replace(&mut is_seen[*next], true) {
                    others.push(*next);
                    pending.push(*next);
                }
            }
        }
        others.sort_unstable();
        chains.push((start, others));
    }
    chains
}
