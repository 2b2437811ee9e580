//! Circular references between parameters, responses and other components.

use std::collections::HashMap;

use super::walk::Link;
use crate::circles;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Reports circular references.
///
/// Each reference has one target, so references form chains. The chain of each link is followed to
/// its end, or to a node that was visited before: by the same chain, which is a cycle, or by an
/// earlier one, whose rest has been checked.
pub(super) fn check(links: &[Link], diagnostics: &mut Vec<Diagnostic>) {
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
                        let spans = path[start..].iter().map(|(_, span)| *span);
                        let mut spans: Vec<Span> = spans.collect();
                        spans.sort_unstable();
                        diagnostics.extend(circles::diagnostic(&spans, false));
                    }
                    break;
                }
            }
        }
    }
}
