//! Applies an overlay: each action changes the document that the one before it has left.

use jsonpath_rust::parser::model::{Segment, Selector};

use super::bounds::{MOST_ADDED, MOST_SELECTED, MOST_VISITED};
use super::merge::{self, Kind, Mismatch};
use super::pattern::Patterns;
use super::query::Query;
use super::read::{Action, Change, Overlay, Version};
use super::select::{Exceeded, Location, Selected, Work, indices, normalized, push_name, select};
use crate::diagnostic::Diagnostic;
use crate::node::{MAX_DEPTH, Node, NodeValue};
use crate::source::Span;
use crate::spelling::nearest;

/// Applies an overlay to a document. Returns whether it has changed something.
///
/// After an error the document may have been changed in part.
pub(crate) fn apply(root: &mut Node, overlay: &Overlay, diagnostics: &mut Vec<Diagnostic>) -> bool {
    let mut run = Run {
        version: overlay.version,
        patterns: &overlay.patterns,
        work: Work::default(),
        added: 0,
        is_changed: false,
    };
    for action in &overlay.actions {
        if let Err(found) = run.action(root, action) {
            let is_over = found.code == "overlay-too-large";
            diagnostics.push(*found);
            // The bounds count all actions, so every other one would exceed them too.
            if is_over {
                break;
            }
        }
    }
    run.is_changed
}

struct Run<'o> {
    version: Version,
    patterns: &'o Patterns,
    work: Work,
    /// The number of nodes that were added, see [`MOST_ADDED`].
    added: usize,
    is_changed: bool,
}

/// An action that was not carried out, with an error or a warning as the reason.
type Done = Result<(), Box<Diagnostic>>;

impl Run<'_> {
    fn action(&mut self, root: &mut Node, action: &Action) -> Done {
        if matches!(action.change, Change::Nothing) {
            return Ok(());
        }
        let found = self.select(&action.target, root, action.span)?;
        if found.is_empty() {
            return Err(Box::new(nothing(&action.target, root, action.span)));
        }
        match &action.change {
            Change::Remove => {
                self.ensure_removable(root, &found, action.span)?;
                let mut locations = locations(found);
                // `remove` takes the locations below one node together, so they must follow each
                // other.
                locations.sort_unstable();
                remove(root, 0, &locations);
            }
            Change::Update(update) => {
                ensure_alike(&found, action.span)?;
                let locations = locations(found);
                self.merge(root, &locations, update, None)?;
            }
            Change::Copy(query, span) => {
                ensure_alike(&found, action.span)?;
                let locations = locations(found);
                let source = self.select(query, root, *span)?;
                let [source] = source.as_slice() else {
                    return Err(Box::new(not_one(query, root, &source, *span)));
                };
                // One of the targets may hold it, so a reference would see it change.
                let source = source.node.clone();
                self.merge(root, &locations, &source, Some(*span))?;
            }
            Change::Nothing => {}
        }
        self.is_changed = true;
        Ok(())
    }

    fn select<'a>(
        &self,
        query: &Query,
        root: &'a Node,
        span: Span,
    ) -> Result<Vec<Selected<'a>>, Box<Diagnostic>> {
        select(query, self.patterns, root, &self.work).map_err(|exceeded| {
            let message = match exceeded {
                Exceeded::Selected => format!("`{}` selects more than {MOST_SELECTED} nodes", query.text),
                Exceeded::Visited => {
                    format!("the JSONPaths of the overlay visit more than {MOST_VISITED} nodes up to this one")
                }
            };
            Box::new(
                Diagnostic::error("overlay-too-large", span, message)
                    .help("write a JSONPath that starts nearer to what it selects"),
            )
        })
    }

    fn ensure_removable(&self, root: &Node, found: &[Selected<'_>], span: Span) -> Done {
        for selected in found {
            let Some((_, parent)) = selected.location.split_last() else {
                let message = "the whole document cannot be removed";
                let diagnostic = Diagnostic::error("overlay-target", span, message)
                    .help("select what is to be removed, as in `$.paths['/pets']`");
                return Err(Box::new(diagnostic));
            };
            let is_item = || {
                root.at(indices(parent))
                    .is_some_and(|node| node.as_array().is_some())
            };
            if self.version == Version::V1_0
                && Kind::of(selected.node) == Kind::Primitive
                && is_item()
            {
                let message = format!(
                    "Overlay 1.0 removes no single primitives of an array, and `{}` is one",
                    normalized(root, &selected.location)
                );
                let diagnostic = Diagnostic::error("overlay-target", span, message)
                    .help("write `overlay: 1.1.0`")
                    .related(selected.node.span, "this item");
                return Err(Box::new(diagnostic));
            }
        }
        Ok(())
    }

    /// Merges a node with those at some locations. `copied` is the span of the JSONPath that has
    /// selected the node.
    fn merge(
        &mut self,
        root: &mut Node,
        locations: &[Location],
        update: &Node,
        copied: Option<Span>,
    ) -> Done {
        let span = copied.unwrap_or(update.span);
        let depth = locations.iter().map(Vec::len).max().unwrap_or(0);
        // Behind an array, the update is one level deeper than its target.
        if depth + merge::height(update) + 1 > MAX_DEPTH {
            let message = format!("the update nests the document deeper than {MAX_DEPTH} levels");
            return Err(Box::new(
                Diagnostic::error("overlay-too-large", span, message)
                    .help("name inner schemas under components and refer to them"),
            ));
        }
        self.added = merge::weight(update)
            .saturating_mul(locations.len())
            .saturating_add(self.added);
        if self.added > MOST_ADDED {
            let message =
                format!("the overlay adds more than {MOST_ADDED} nodes up to this action");
            return Err(Box::new(
                Diagnostic::error("overlay-too-large", span, message)
                    .help("add what is repeated to `components`, and refer to it"),
            ));
        }
        // In the order of the query, in which a node comes before what it holds.
        for location in locations {
            // Merging adds behind what is there, so locations stay as they are.
            if let Some(node) = root.at_mut(indices(location)) {
                merge::update(node, update, self.version)
                    .map_err(|mismatch| incompatible(mismatch, copied))?;
            }
        }
        Ok(())
    }
}

fn incompatible(mismatch: Mismatch, copied: Option<Span>) -> Box<Diagnostic> {
    let span = copied.unwrap_or(mismatch.update);
    let mut diagnostic = Diagnostic::error("overlay-mismatch", span, mismatch.message)
        .help(mismatch.help)
        .related(mismatch.target, "what it is merged with");
    if copied.is_some() {
        diagnostic = diagnostic.related(mismatch.update, "what is copied");
    }
    Box::new(diagnostic)
}

fn locations(found: Vec<Selected<'_>>) -> Vec<Location> {
    found
        .into_iter()
        .map(|selected| selected.location)
        .collect()
}

/// Reports that the selected nodes are of several kinds, of which an update fits one at most.
fn ensure_alike(found: &[Selected<'_>], span: Span) -> Done {
    let Some(first) = found.first() else {
        return Ok(());
    };
    let kind = Kind::of(first.node);
    match found
        .iter()
        .find(|selected| Kind::of(selected.node) != kind)
    {
        None => Ok(()),
        Some(other) => {
            let message = "the target selects nodes of several kinds; all must be objects, or all arrays, or all primitives";
            let diagnostic = Diagnostic::error("overlay-mismatch", span, message)
                .help("write an action for each kind")
                .related(first.node.span, format!("{} here", first.node.kind()))
                .related(other.node.span, format!("{} here", other.node.kind()));
            Err(Box::new(diagnostic))
        }
    }
}

/// Removes the nodes at sorted locations, which agree up to `depth`.
fn remove(node: &mut Node, depth: usize, locations: &[Location]) {
    let mut rest = locations;
    let mut gone = Vec::new();
    while let Some(index) = rest.first().and_then(|location| location.get(depth)) {
        let count = rest.partition_point(|location| location.get(depth) <= Some(index));
        let (same, others) = rest.split_at(count);
        // A location comes before those below it, which go with it.
        if same[0].len() == depth + 1 {
            gone.push(*index as usize);
        } else if let Some(child) = node.at_mut([*index as usize]) {
            remove(child, depth + 1, same);
        }
        rest = others;
    }
    let mut gone = gone.into_iter().peekable();
    let mut at = 0;
    let mut stays = || {
        let is_gone = gone.next_if_eq(&at).is_some();
        at += 1;
        !is_gone
    };
    match &mut node.value {
        NodeValue::Object(entries) => entries.retain(|_| stays()),
        NodeValue::Array(items) => items.retain(|_| stays()),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => {}
    }
}

/// Returns the warning that a target selects nothing, with where its way ends.
fn nothing(query: &Query, root: &Node, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::warning(
        "overlay-no-match",
        span,
        format!(
            "`{}` selects nothing, so the action changes nothing",
            query.text
        ),
    );
    let end = end_of(query, root);
    let diagnostic = diagnostic.help(end.help);
    match end.at {
        Some(at) => diagnostic.related(at, "the JSONPath leads as far as this"),
        None => diagnostic,
    }
}

/// Returns the error that a JSONPath to copy from selects no node, or several.
fn not_one(query: &Query, root: &Node, found: &[Selected<'_>], span: Span) -> Diagnostic {
    let text = &query.text;
    match found {
        [first, second, ..] => Diagnostic::error(
            "overlay-copy",
            span,
            format!(
                "`{text}` selects {} nodes, and one can be copied",
                found.len()
            ),
        )
        .help("write a JSONPath that selects one")
        .related(first.node.span, "the first")
        .related(second.node.span, "the second"),
        _ => Diagnostic::error(
            "overlay-copy",
            span,
            format!("`{text}` selects nothing that can be copied"),
        )
        .help(end_of(query, root).help),
    }
}

/// Where a JSONPath that selects nothing ends.
struct End {
    help: String,
    at: Option<Span>,
}

fn end_of(query: &Query, root: &Node) -> End {
    let mut at = root;
    let mut path = String::from("$");
    for segment in &query.segments {
        let next = match segment {
            Segment::Selector(Selector::Name(name)) => {
                let next = at.get(name);
                if next.is_none() {
                    return missing(at, &path, name);
                }
                push_name(&mut path, name);
                next
            }
            Segment::Selector(Selector::Index(index)) => {
                path.push_str(&format!("[{index}]"));
                at.as_array().and_then(|items| {
                    let index = super::select::position(*index, items.len())?;
                    items.get(index)
                })
            }
            _ => None,
        };
        match next {
            Some(node) => at = node,
            None => break,
        }
    }
    End {
        help: "correct the target, or remove the action".to_owned(),
        at: (path != "$").then_some(at.span),
    }
}

/// Returns that a node has no such key.
fn missing(at: &Node, path: &str, name: &str) -> End {
    let entries = at.as_object().unwrap_or_default();
    let help = if let Some(reference) = at.get("$ref").and_then(Node::as_str) {
        format!(
            "`{path}` is a reference to `{reference}`, and a JSONPath does not follow references: \
             select what it leads to, in another file by an overlay that `extends` that file"
        )
    } else if at.as_object().is_none() {
        format!("`{path}` is {}, which has no `{name}`", at.kind())
    } else if let Some(meant) = nearest(name, entries.iter().map(|entry| entry.key.as_str())) {
        format!("`{path}` has no `{name}`; did you mean `{meant}`?")
    } else {
        format!("`{path}` has no `{name}`: correct the target, or remove the action")
    };
    End {
        help,
        at: Some(at.span),
    }
}
