//! Finds and reports cycles of references.

use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Calls `found` with the nodes of each cycle of a directed graph, which has an edge from each
/// node to every node in `steps[node]`. A depth-first search reports one cycle for each edge that
/// leads back to a node of its current path.
///
/// The search keeps its path on the heap, because a document can chain more schemas than the stack
/// has room for.
pub(crate) fn find(steps: &[Vec<usize>], mut found: impl FnMut(&[usize])) {
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
                // All paths from this node have been searched, so any cycle through it has been
                // found.
                State::Done => {}
                State::New => {
                    state[next] = State::Open;
                    path.push(next);
                    next_steps.push(0);
                }
                // The node is on the current path, so the path from it to here is a cycle.
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

/// Returns the error of a cycle of references at the first of `spans`, or `None` if there are no
/// spans. `composed` is whether the cycle also runs through keywords such as `allOf`.
pub(crate) fn diagnostic(spans: &[Span], composed: bool) -> Option<Diagnostic> {
    let (first, rest) = spans.split_first()?;
    let (message, help) = if composed {
        (
            "the schema contains itself without a property or item in between, so what it accepts is undefined",
            "refer to it from a property or from `items`, or remove the reference",
        )
    } else {
        (
            "the reference is circular and leads to nothing",
            "let one of the references lead to something else",
        )
    };
    let mut diagnostic = Diagnostic::error("circular-ref", *first, message).help(help);
    for span in rest.iter().take(5) {
        diagnostic = diagnostic.related(*span, "part of the circle");
    }
    Some(diagnostic)
}
