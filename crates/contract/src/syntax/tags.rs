//! The hierarchy of tags: each parent exists, and no tag is its own ancestor.

use std::collections::{HashMap, HashSet};

use super::walk::{Item, Walk};
use crate::model::Dialect;
use crate::node::Node;
use crate::spelling::nearest;

/// Checks the `parent` of each tag of the document, which tags have since 3.2.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if walk.dialect < Dialect::V32 {
        return;
    }
    let tags = item.node.get("tags").and_then(Node::as_array);
    let mut parents: HashMap<&'a str, Option<&'a Node>> = HashMap::new();
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
    for (name, parent) in &parents {
        let Some(node) = parent else { continue };
        let Some(text) = node.as_str() else { continue };
        if !parents.contains_key(text) {
            // Sorted, because the first of equally similar names is suggested.
            let mut names: Vec<&str> = parents.keys().copied().collect();
            names.sort_unstable();
            walk.warning(
                "unknown-tag",
                node.span,
                format!("there is no tag `{text}`, so `{name}` has no parent"),
                match nearest(text, names.into_iter()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "declare it in `tags`".to_owned(),
                },
            );
        } else if is_own_ancestor(name, &parents) {
            walk.warning(
                "circular-tag",
                node.span,
                format!("the tag `{name}` is its own ancestor"),
                "remove one of the `parent`s".to_owned(),
            );
        }
    }
}

fn is_own_ancestor(name: &str, parents: &HashMap<&str, Option<&Node>>) -> bool {
    let parent = |name: &str| parents.get(name).copied().flatten()?.as_str();
    let mut seen = HashSet::new();
    let mut at = parent(name);
    while let Some(ancestor) = at {
        if ancestor == name {
            return true;
        }
        // A circle further up, which is reported at its own tags.
        if !seen.insert(ancestor) {
            return false;
        }
        at = parent(ancestor);
    }
    false
}
