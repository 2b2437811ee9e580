//! References where the standard has none: in place of an operation, of a text, or of the properties
//! of a schema. Programs that bundle documents resolve them anywhere, so their authors do not notice.

use std::collections::HashMap;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::places::{at, at_mut, count};
use crate::diagnostic::Diagnostic;
use crate::documents::{Documents, Unavailable};
use crate::model::Method;
use crate::node::{Entry, Node, NodeValue};
use crate::node_ref::NodeRef;
use crate::resolve::Resolver;
use crate::source::Span;
use crate::uri::local_file;

/// The characters of a path that a reference to its file must escape.
const PATH: &AsciiSet = &CONTROLS.add(b'%').add(b'#').add(b'?');

/// The keys below which a document holds values of the API, in which a reference is only data.
const VALUES: [&str; 5] = ["example", "examples", "default", "enum", "const"];

/// The number of nodes that are copied to the places of references. The documents that are known
/// need a tenth of it; without a bound, a small one could have a large operation in any number
/// of places. What is beyond it stays a reference, and an error.
const MOST_COPIED: usize = 1_000_000;

/// Puts operations, texts of the document and its tags, and the properties of schemas in the place
/// of references to them. Reports each as an error, with which a document of others is accepted.
pub(crate) fn inline_misplaced(documents: &mut Documents, diagnostics: &mut Vec<Diagnostic>) {
    let mut properties = Vec::new();
    for (index, document) in documents.list.iter().enumerate() {
        if Some(index) != documents.metaschema {
            in_schemas(index, &document.root, &mut Vec::new(), &mut properties);
        }
    }
    let mut left = MOST_COPIED;
    inline(documents, properties, &mut left, diagnostics);
    // After them, since an operation of another file brings its schemas along.
    let mut others = Vec::new();
    if let Some(document) = documents.list.first() {
        in_first(&document.root, &mut others);
    }
    inline(documents, others, &mut left, diagnostics);
}

fn inline(
    documents: &mut Documents,
    misplaced: Vec<Misplaced>,
    left: &mut usize,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if misplaced.is_empty() {
        return;
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
    drop(resolver);
    for (found, document, mut target) in targets {
        let mut rebase = Rebase {
            documents,
            document,
            files: HashMap::new(),
        };
        if document != found.document {
            rebase.node(&mut target);
        }
        let files = rebase.files;
        let holder = &mut documents.list[found.document];
        holder.files.extend(files);
        if let Some(node) = at_mut(&mut holder.root, &found.path) {
            node.value = target.value;
            let what = match found.what {
                What::Operation => "an operation",
                What::Text => "a text",
                What::Properties => "the properties of a schema",
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
}

/// Returns what a reference leads to, with the index of its document, if that fits into its place
/// and no more than `left` nodes, which it is taken from.
fn target<'d>(
    resolver: &Resolver<'d>,
    found: &Misplaced,
    left: &mut usize,
) -> Option<(usize, &'d Node)> {
    let document = &resolver.documents.list[found.document];
    let target = resolver.follow(&NodeRef {
        document: found.document,
        node: at(&document.root, &found.path)?,
        pointer: "".into(),
    })?;
    let fits = match found.what {
        What::Operation => target.node.get("responses").is_some(),
        What::Text => target.node.as_str().is_some(),
        What::Properties => {
            let is_schema = |(_, entry): (usize, &Entry)| {
                matches!(entry.value.value, NodeValue::Object(_) | NodeValue::Bool(_))
            };
            target.node.as_object().is_some() && entries(target.node).all(is_schema)
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

/// A reference in a wrong place.
struct Misplaced {
    what: What,
    /// The index of its document.
    document: usize,
    /// The indices of the entries and items that lead to it.
    path: Vec<usize>,
    /// The span of its key.
    span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Operation,
    Text,
    Properties,
}

/// Adds the references in place of operations and texts of the first document.
fn in_first(root: &Node, found: &mut Vec<Misplaced>) {
    for (top, section) in entries(root) {
        match section.key.as_str() {
            "info" => texts(&section.value, &[top], found),
            "tags" => {
                let tags = section.value.as_array().unwrap_or_default();
                for (index, tag) in tags.iter().enumerate() {
                    texts(tag, &[top, index], found);
                }
            }
            "paths" => {
                for (path, item) in entries(&section.value) {
                    for (method, operation) in entries(&item.value) {
                        let is_method = Method::FIXED
                            .iter()
                            .any(|method| method.key() == operation.key);
                        if is_method && is_only_reference(&operation.value) {
                            found.push(Misplaced {
                                what: What::Operation,
                                document: 0,
                                path: vec![top, path, method],
                                span: operation.key_span,
                            });
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// Adds the references in place of properties below a node. A property that is called `$ref` has a
/// schema, not a text.
// Recursive, since the readers bound how deep a document is.
fn in_schemas(document: usize, node: &Node, path: &mut Vec<usize>, found: &mut Vec<Misplaced>) {
    for (index, entry) in entries(node) {
        path.push(index);
        if entry.key == "properties" && is_only_reference(&entry.value) {
            found.push(Misplaced {
                what: What::Properties,
                document,
                path: path.clone(),
                span: entry.key_span,
            });
        } else if !VALUES.contains(&entry.key.as_str()) {
            in_schemas(document, &entry.value, path, found);
        }
        path.pop();
    }
    for (index, item) in node.as_array().unwrap_or_default().iter().enumerate() {
        path.push(index);
        in_schemas(document, item, path, found);
        path.pop();
    }
}

fn texts(owner: &Node, path: &[usize], found: &mut Vec<Misplaced>) {
    for (index, entry) in entries(owner) {
        if entry.key == "description" && is_only_reference(&entry.value) {
            found.push(Misplaced {
                what: What::Text,
                document: 0,
                path: [path, &[index]].concat(),
                span: entry.key_span,
            });
        }
    }
}

fn entries(node: &Node) -> impl Iterator<Item = (usize, &Entry)> {
    node.as_object().unwrap_or_default().iter().enumerate()
}

fn is_only_reference(node: &Node) -> bool {
    node.as_object().is_some_and(|entries| entries.len() == 1)
        && node.get("$ref").is_some_and(|text| text.as_str().is_some())
}

/// Rewrites the references of a node that moves from a document into another one.
struct Rebase<'d> {
    documents: &'d Documents,
    /// The index of the document that the node comes from.
    document: usize,
    /// The document of each file that the rewritten references name.
    files: HashMap<String, Result<usize, Unavailable>>,
}

impl Rebase<'_> {
    // Recursive, since the readers bound how deep a document is.
    fn node(&mut self, node: &mut Node) {
        match &mut node.value {
            NodeValue::Object(entries) => {
                for entry in entries {
                    match &mut entry.value.value {
                        NodeValue::String(text) if entry.key == "$ref" => self.reference(text),
                        NodeValue::Object(mapping) if entry.key == "mapping" => {
                            for entry in mapping {
                                match &mut entry.value.value {
                                    NodeValue::String(text) if text.contains(['/', '#']) => {
                                        self.reference(text);
                                    }
                                    _ => {}
                                }
                            }
                        }
                        _ => self.node(&mut entry.value),
                    }
                }
            }
            NodeValue::Array(items) => {
                for item in items {
                    self.node(item);
                }
            }
            _ => {}
        }
    }

    fn reference(&mut self, reference: &mut String) {
        let from = &self.documents.list[self.document];
        let (file, fragment) = reference
            .split_once('#')
            .unwrap_or((reference.as_str(), ""));
        let (path, found) = if file.is_empty() {
            (from.label.clone(), Ok(self.document))
        } else {
            let known = local_file(file).and_then(|file| Some((from.files.get(&file)?, file)));
            let Some((found, file)) = known else {
                return;
            };
            let folder = from.label.rsplit_once('/').map_or("", |(folder, _)| folder);
            (format!("{folder}/{file}"), found.clone())
        };
        // A name that no reference in the other document has: it is looked up, not opened.
        let path = format!("/./{path}");
        *reference = format!("{}#{fragment}", utf8_percent_encode(&path, PATH));
        self.files.insert(path, found);
    }
}
