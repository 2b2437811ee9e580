//! The hierarchy of tags: each parent exists, and no tag is its own ancestor.

use indexmap::IndexMap;

use super::walk::{Item, Walk};
use crate::circles;
use crate::model::Dialect;
use crate::node::Node;
use crate::spelling::nearest;

/// The number of unknown parents for which a similar tag is searched for, each among all tags.
const MOST_SUGGESTIONS: usize = 100;

/// Checks the `parent` of each tag of the document, which tags have since 3.2.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if walk.dialect < Dialect::V32 {
        return;
    }
    let tags = item.node.get("tags").and_then(Node::as_array);
    let mut parents: IndexMap<&'a str, Option<&'a Node>> = IndexMap::new();
    for tag in tags.unwrap_or_default() {
        let Some(name) = tag.get("name") else {
            continue;
        };
        let Some(text) = name.as_str() else { continue };
        if parents.insert(text, tag.get("parent")).is_some() {
            walk.warning(
                "duplicate-tag",
                name.span,
                format!("the tag `{text}` is declared twice"),
                "remove one of them".to_owned(),
            );
        }
    }
    let mut steps = vec![Vec::new(); parents.len()];
    let mut suggestions = MOST_SUGGESTIONS;
    for (index, (name, parent)) in parents.iter().enumerate() {
        let Some(node) = parent else { continue };
        let Some(text) = node.as_str() else { continue };
        if let Some(parent) = parents.get_index_of(text) {
            steps[index].push(parent);
            continue;
        }
        let is_left = suggestions > 0;
        suggestions = suggestions.saturating_sub(1);
        let meant = is_left.then(|| nearest(text, parents.keys().copied()));
        walk.warning(
            "unknown-tag",
            node.span,
            format!("there is no tag `{text}`, so `{name}` has no parent"),
            match meant.flatten() {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "declare it in `tags`".to_owned(),
            },
        );
    }
    circles::find(&steps, |circle| {
        for index in circle {
            let Some((name, Some(parent))) = parents.get_index(*index) else {
                continue;
            };
            walk.warning(
                "circular-tag",
                parent.span,
                format!("the tag `{name}` is its own ancestor"),
                "remove one of the `parent`s".to_owned(),
            );
        }
    });
}
