//! References where the standard has none: in place of an operation, of a text, or of a map such as the
//! properties of a schema. Programs that bundle documents resolve them anywhere, so their authors do not notice.

mod rebase;
mod search;

use super::places::count;
use crate::diagnostic::Diagnostic;
use crate::documents::Documents;
use crate::node::{Entry, Node, NodeValue};
use crate::node_ref::NodeRef;
use crate::resolve::Resolver;
use rebase::Rebase;
use search::{Misplaced, What};

/// The number of nodes that are copied to the places of references. The documents that are known
/// need a tenth of it; without a bound, a small one could have a large operation in any number
/// of places. What is beyond it stays a reference, and an error.
const MOST_COPIED: usize = 1_000_000;

/// The number of references to sections that can be in what others lead to. Further ones stay
/// references, and errors.
const MOST_NESTED: usize = 8;

/// Puts operations, texts of the document and its tags, and maps such as the properties of schemas in
/// the place of references to them. Reports each as an error, with which a document of others is
/// accepted.
pub(crate) fn inline_misplaced(documents: &mut Documents, diagnostics: &mut Vec<Diagnostic>) {
    let mut left = MOST_COPIED;
    // Before the schemas, which may be in what these lead to; so may other sections.
    for _ in 0..MOST_NESTED {
        let sections = search::in_sections(documents);
        if inline(documents, sections, &mut left, diagnostics) == 0 {
            break;
        }
    }
    let properties = search::in_schemas(documents);
    inline(documents, properties, &mut left, diagnostics);
    // After them, since an operation of another file brings its schemas along.
    let mut others = search::in_texts(documents);
    others.extend(search::in_path_items(documents));
    inline(documents, others, &mut left, diagnostics);
}

/// Puts what the references lead to into their places. Returns the number of these.
fn inline(
    documents: &mut Documents,
    misplaced: Vec<Misplaced>,
    left: &mut usize,
    diagnostics: &mut Vec<Diagnostic>,
) -> usize {
    if misplaced.is_empty() {
        return 0;
    }
    let resolver = Resolver::new(documents);
    let mut targets = Vec::new();
    for found in misplaced {
        if let Some((document, node)) = target(&resolver, &found, left) {
            targets.push((found, document, node.clone()));
        } else if found.what == What::Operation {
            // Other rules report the other references, but in 3.1 this would be an operation
            // without responses.
            diagnostics.push(
                Diagnostic::error(
                    "dangling-ref",
                    found.span,
                    "an operation cannot be a reference, and this one leads to no operation",
                )
                .help("put the operation in its place"),
            );
        }
    }
    // It borrows the documents, which change now.
    drop(resolver);
    let count = targets.len();
    for (found, document, mut target) in targets {
        let mut rebase = Rebase::new(documents, document);
        if document != found.document {
            rebase.node(&mut target);
        }
        let files = rebase.files;
        let holder = &mut documents.list[found.document];
        holder.files.extend(files);
        if let Some(node) = holder.root.at_mut(found.path.iter().copied()) {
            node.value = target.value;
            let what = match found.what {
                What::Operation => "an operation",
                What::Text => "a text",
                What::Map => "a map of names to objects",
            };
            diagnostics.push(
                Diagnostic::error(
                    "misplaced-ref",
                    found.span,
                    format!("{what} cannot be a reference"),
                )
                .help("put what it leads to in its place"),
            );
        }
    }
    count
}

/// Returns the target of a reference, with the index of its document, and subtracts its nodes from
/// `left`. Returns `None` if the target does not fit its place, or has more than `left` nodes; the
/// latter sets `left` to 0.
fn target<'d>(
    resolver: &Resolver<'d>,
    found: &Misplaced,
    left: &mut usize,
) -> Option<(usize, &'d Node)> {
    let document = &resolver.documents.list[found.document];
    let target = resolver.follow(&NodeRef {
        document: found.document,
        node: document.root.at(found.path.iter().copied())?,
        pointer: "".into(),
    })?;
    let fits = match found.what {
        What::Operation => target.node.get("responses").is_some(),
        What::Text => target.node.as_str().is_some(),
        What::Map => {
            let is_part = |entry: &Entry| {
                matches!(entry.value.value, NodeValue::Object(_) | NodeValue::Bool(_))
            };
            let map = target.node.as_object();
            map.is_some_and(|map| map.iter().all(is_part))
        }
    };
    if !fits {
        return None;
    }
    let Some(size) = count(target.node, *left) else {
        *left = 0;
        return None;
    };
    *left -= size;
    Some((target.document, target.node))
}
