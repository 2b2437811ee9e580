//! References into schemas that a repair has moved.

use std::collections::HashSet;

use crate::node::{Node, NodeValue};

/// Rewrites the references of a document into the schemas at these pointers, whose keywords have
/// moved into the first branch of an `anyOf`.
// Recursive, since the readers bound how deep a document is.
pub(super) fn follow(node: &mut Node, moved: &HashSet<String>) {
    if moved.is_empty() {
        return;
    }
    match &mut node.value {
        NodeValue::Object(entries) => {
            for entry in entries {
                match &mut entry.value.value {
                    NodeValue::String(text) if entry.key == "$ref" => {
                        if let Some(rebased) = rebased(text, moved) {
                            *text = rebased;
                        }
                    }
                    _ => follow(&mut entry.value, moved),
                }
            }
        }
        NodeValue::Array(items) => {
            for item in items {
                follow(item, moved);
            }
        }
        _ => {}
    }
}

/// Returns a reference with `/anyOf/0` behind each pointer in it that is in `moved`, or `None` if
/// there is none.
fn rebased(reference: &str, moved: &HashSet<String>) -> Option<String> {
    let pointer = reference.strip_prefix('#')?;
    let mut out = "#".to_owned();
    let mut copied = 0;
    for (at, _) in pointer.match_indices('/') {
        let prefix = percent_encoding::percent_decode_str(&pointer[..at]);
        if moved.contains(&*prefix.decode_utf8().ok()?) {
            out.push_str(&pointer[copied..at]);
            out.push_str("/anyOf/0");
            copied = at;
        }
    }
    (copied > 0).then(|| out + &pointer[copied..])
}
