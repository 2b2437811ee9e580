//! Where things are in the files of a contract: spans, pointers, tags and paths.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use contract::node::Node;
use contract::pointer;
use contract::source::{FileId, Span};
use contract::{Sources, read};
use regex::Regex;

/// The address of JSON Schema's metaschema: its `$id`, and the name of the built-in copy.
const METASCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// The maximum number of references that lead from a path item to the next.
const MOST_HOPS: usize = 16;

/// The nodes of every file of a contract.
#[derive(Debug)]
pub struct Places {
    roots: Vec<Root>,
}

/// A file of a contract.
#[derive(Debug)]
struct Root {
    file: FileId,
    /// The path of the file, by which references find it.
    path: PathBuf,
    node: Node,
}

/// A node with its span, which starts at its key if it has one.
#[derive(Debug, Clone, Copy)]
struct Found<'p> {
    node: &'p Node,
    span: Span,
}

impl Places {
    /// Reads the files of a contract once more. Files that are not JSON or YAML are left out, and so
    /// is the built-in metaschema, which nobody can change.
    #[must_use]
    pub fn of(sources: &Sources) -> Self {
        let roots = sources.files().filter_map(|(id, file)| {
            if file.name == METASCHEMA {
                return None;
            }
            let mut alone = Sources::default();
            let text = file.text.as_bytes();
            let node = read::read(&mut alone, &file.name, text, &mut Vec::new())?;
            // A copy of it may have any other name.
            let is_metaschema = node.get("$id").and_then(Node::as_str) == Some(METASCHEMA);
            (!is_metaschema).then(|| Root {
                file: id,
                path: contract::identity(Path::new(&file.name)),
                node,
            })
        });
        Self {
            roots: roots.collect(),
        }
    }

    /// Returns the documents of the contract, without overlays.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (FileId, &Node)> {
        let documents = self.roots.iter();
        documents
            .filter(|root| root.node.get("overlay").is_none())
            .map(|root| (root.file, &root.node))
    }

    /// Returns the spans of what a pointer leads to, with its key, in each file that has it: in
    /// overlays too, and where a path item on the way is elsewhere, also there.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Vec<Span> {
        let tokens: Vec<_> = pointer::tokens(pointer).collect();
        let is_item = |depth: usize| {
            depth == 1
                && matches!(
                    tokens.first().map(AsRef::as_ref),
                    Some("paths" | "webhooks")
                )
        };
        let found = self.roots.iter().flat_map(|root| {
            let mut nodes = vec![whole(root.file, &root.node)];
            for (depth, token) in tokens.iter().enumerate() {
                let next = nodes.iter().filter_map(|one| one.child(token));
                nodes = if is_item(depth) {
                    next.flat_map(|item| self.item(item)).collect()
                } else {
                    next.collect()
                };
            }
            nodes
        });
        found.map(|one| one.span).collect()
    }

    /// Returns a path item, and those that it refers to.
    fn item<'p>(&'p self, item: Found<'p>) -> Vec<Found<'p>> {
        let mut items = vec![item];
        // Path items may refer to each other.
        while items.len() <= MOST_HOPS
            && let Some(target) = items.last().and_then(|item| self.target(item))
        {
            items.push(target);
        }
        items
    }

    /// Returns what the `$ref` of a node leads to, by the path of a file and a pointer in it.
    fn target(&self, from: &Found<'_>) -> Option<Found<'_>> {
        let reference = from.node.get("$ref")?.as_str()?;
        let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let own = self.roots.iter().find(|root| root.file == from.span.file)?;
        let root = if file.is_empty() {
            own
        } else {
            let path = own.path.parent()?.join(contract::local_file(file)?);
            let path = contract::identity(&path);
            self.roots.iter().find(|root| root.path == path)?
        };
        let start = whole(root.file, &root.node);
        let pointer = pointer::of_fragment(fragment)?;
        pointer::tokens(&pointer).try_fold(start, |found, token| found.child(&token))
    }

    /// Returns the pointer of the innermost node or key that has a span within it.
    #[must_use]
    pub fn pointer(&self, span: Span) -> Option<String> {
        let root = self.roots.iter().find(|root| root.file == span.file)?;
        let mut node = &root.node;
        let mut pointer = String::new();
        'next: loop {
            for (token, child, at) in children(node) {
                if is_within(
                    span,
                    Span {
                        file: root.file,
                        ..at
                    },
                ) {
                    pointer::push(&mut pointer, &token);
                    node = child;
                    continue 'next;
                }
            }
            return Some(pointer);
        }
    }

    /// Returns the node at a pointer in a file.
    #[must_use]
    pub fn node(&self, file: FileId, pointer: &str) -> Option<&Node> {
        let root = self.roots.iter().find(|root| root.file == file)?;
        pointer::tokens(pointer).try_fold(&root.node, |node, token| Some(child(node, &token)?.0))
    }

    /// Returns the spans of the operations with a tag.
    pub(crate) fn tagged(&self, tag: &str) -> Vec<Span> {
        let has_tag = |operation: &Node| {
            let tags = operation.get("tags").and_then(Node::as_array);
            tags.unwrap_or_default()
                .iter()
                .any(|found| found.as_str() == Some(tag))
        };
        let mut spans = Vec::new();
        for (_, item) in self.items(&["paths", "webhooks"]) {
            let operations = item.children();
            let tagged = operations.filter(|operation| has_tag(operation.node));
            spans.extend(tagged.map(|operation| operation.span));
        }
        spans
    }

    /// Returns the spans of the path items whose paths match.
    pub(crate) fn paths(&self, pattern: &Regex) -> Vec<Span> {
        let items = self.items(&["paths"]);
        let matching = items.filter(|(path, _)| pattern.is_match(path));
        matching.map(|(_, item)| item.span).collect()
    }

    /// Returns the path items of sections with their keys, also those that are elsewhere.
    fn items<'p>(&'p self, sections: &[&str]) -> impl Iterator<Item = (String, Found<'p>)> {
        let mut found = Vec::new();
        for (file, root) in self.documents() {
            for section in sections {
                let Some(section) = root.get(section) else {
                    continue;
                };
                for (key, node, span) in children(section) {
                    let item = Found {
                        node,
                        span: Span { file, ..span },
                    };
                    let items = self.item(item).into_iter();
                    found.extend(items.map(|item| (key.to_string(), item)));
                }
            }
        }
        found.into_iter()
    }
}

impl Found<'_> {
    fn children(self) -> impl Iterator<Item = Self> {
        let children = children(self.node);
        children.map(move |(_, node, span)| Self {
            node,
            span: Span {
                file: self.span.file,
                ..span
            },
        })
    }

    fn child(self, token: &str) -> Option<Self> {
        let (node, span) = child(self.node, token)?;
        let file = self.span.file;
        Some(Self {
            node,
            span: Span { file, ..span },
        })
    }
}

/// Returns whether a span starts within another one.
pub(crate) fn is_within(span: Span, part: Span) -> bool {
    // A part without any text, such as an omitted null, still has its start.
    span.file == part.file && part.start <= span.start && span.start < part.end.max(part.start + 1)
}

fn whole(file: FileId, root: &Node) -> Found<'_> {
    Found {
        node: root,
        span: Span {
            file,
            start: 0,
            end: root.span.end,
        },
    }
}

fn child<'a>(node: &'a Node, token: &str) -> Option<(&'a Node, Span)> {
    children(node)
        .find(|(own, ..)| own == token)
        .map(|(_, child, span)| (child, span))
}

/// Returns the parts of an object or array, each with its token and its span, which for an entry
/// starts at the key.
fn children(node: &Node) -> impl Iterator<Item = (Cow<'_, str>, &Node, Span)> {
    let entries = node.as_object().unwrap_or_default().iter().map(|entry| {
        let span = Span {
            end: entry.value.span.end.max(entry.key_span.end),
            ..entry.key_span
        };
        // Borrowed: each finding of a large document looks through thousands of paths.
        (Cow::Borrowed(entry.key.as_str()), &entry.value, span)
    });
    let items = node.as_array().unwrap_or_default().iter().enumerate();
    entries.chain(items.map(|(index, item)| (Cow::Owned(index.to_string()), item, item.span)))
}
