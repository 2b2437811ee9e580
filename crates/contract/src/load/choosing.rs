//! Reduces a contract to the operations that the caller chooses, with what they use.

use std::collections::{HashMap, HashSet};

use super::Loader;
use crate::diagnostic::Diagnostic;
use crate::keys::Keys;
use crate::model::{Contract, Method, Operation};
use crate::node::{Entry, Node, NodeValue};
use crate::node_ref::{NodeRef, address};
use crate::pointer;
use crate::reach::used_components;
use crate::resolve::Resolver;
use crate::source::Span;
use crate::spelling::near;

/// The number of names that are suggested for one that does not exist.
const MOST_SUGGESTIONS: usize = 5;

impl Loader {
    /// Builds the contract of the chosen operations. Returns `None` after an error.
    ///
    /// The document is reduced, and not the contract, so that everything that is derived from it
    /// agrees: what a server publishes, the schemas for validators, and the types.
    pub(super) fn choose(&mut self, whole: &Contract) -> Option<Contract> {
        let chosen = self.chosen(whole)?;
        // Several files have become one document by now, except those with `$dynamicRef`.
        if self.documents.files() > 1 {
            let message =
                "the operations of a contract with `$dynamicRef` in several files cannot be chosen";
            self.diagnostics.push(
                Diagnostic::error("unchoosable", Span::default(), message)
                    .help("combine the files into one, or generate all operations"),
            );
            return None;
        }
        let reduced = reduced(&Resolver::new(&self.documents), &chosen);
        let first = self.documents.list.first_mut()?;
        first.root = reduced;
        remove_links(&mut first.root, &chosen);
        self.remove_unused();
        let before = std::mem::take(&mut self.diagnostics);
        let contract = self.build();
        let found = std::mem::replace(&mut self.diagnostics, before);
        // The whole document has no error, so what is wrong now is only that something is gone.
        // `x-paging` may name parameters and properties that no chosen operation has.
        let wrong = found.into_iter().filter(|diagnostic| {
            self.is_wrong(std::slice::from_ref(diagnostic)) && diagnostic.code != "bad-paging"
        });
        let wrong: Vec<Diagnostic> = wrong
            .map(|diagnostic| {
                if diagnostic.code != "dangling-ref" {
                    return diagnostic;
                }
                let message = "this leads into an operation that is not chosen";
                Diagnostic::error("unchosen-operation", diagnostic.span, message)
                    .help("choose that operation as well")
            })
            .collect();
        self.diagnostics.extend(wrong);
        contract.map(|contract| Contract {
            // The author's own text has all operations.
            yaml: None,
            ..contract
        })
    }

    /// Returns the chosen operations. Reports each chosen name that is not in the document.
    fn chosen<'c>(&mut self, whole: &'c Contract) -> Option<Chosen<'c>> {
        let all = || whole.operations.iter().chain(&whole.webhooks);
        let has = |operation: &Operation, name: &String| {
            operation.id == *name || operation.tags.contains(name)
        };
        let mut names: Vec<&str> = all()
            .flat_map(|operation| operation.tags.iter().chain([&operation.id]))
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        let is_unknown = |name: &&String| !all().any(|operation| has(operation, name));
        let unknown: Vec<&String> = self.only.iter().filter(is_unknown).collect();
        if unknown.is_empty() {
            let is_chosen = |operation: &&Operation| {
                let mut names = self.only.iter();
                names.any(|name| has(operation, name))
            };
            let operations: Vec<&Operation> = all().filter(is_chosen).collect();
            return Some(Chosen {
                pointers: operations.iter().map(|it| it.pointer.as_str()).collect(),
                ids: operations.iter().map(|it| it.id.as_str()).collect(),
            });
        }
        let found = unknown.into_iter().map(|name| {
            let message = format!("no tag and no operation is called `{name}`");
            let near = near(name, &names, MOST_SUGGESTIONS);
            Diagnostic::error("unknown-choice", Span::default(), message).help(if near.is_empty() {
                "write a tag or an operation id as the document does".to_owned()
            } else {
                format!("did you mean `{}`?", near.join("` or `"))
            })
        });
        self.diagnostics.extend(found.collect::<Vec<_>>());
        None
    }

    /// Removes the components and the tags that nothing uses.
    fn remove_unused(&mut self) {
        let used = used_components(&Resolver::new(&self.documents));
        let Some(first) = self.documents.list.first_mut() else {
            return;
        };
        let root = &mut first.root;
        if let Some(components) = value_mut(root, "components") {
            for section in components.entries_mut().into_iter().flatten() {
                if !section.key.starts_with("x-") {
                    // The addresses are still those of the search: what is behind a removed entry
                    // moves after its own turn.
                    retain(&mut section.value, |entry| {
                        used.contains(&address(&entry.value))
                    });
                }
            }
            retain(components, |section| {
                section.value.as_object().is_none_or(|all| !all.is_empty())
            });
        }
        // After the components, of which some have operations.
        let tags = used_tags(root);
        if let Some(Node {
            value: NodeValue::Array(list),
            ..
        }) = value_mut(root, "tags")
        {
            let name = |tag: &Node| tag.get("name").and_then(Node::as_str).map(str::to_owned);
            list.retain(|tag| name(tag).is_none_or(|name| tags.contains(&name)));
        }
    }
}

/// The operations that the caller has chosen.
struct Chosen<'c> {
    pointers: HashSet<&'c str>,
    ids: HashSet<&'c str>,
}

/// Returns the document with only the chosen operations in its paths and webhooks.
fn reduced(resolver: &Resolver<'_>, chosen: &Chosen<'_>) -> Node {
    let root = resolver.root();
    let entries = root.entries().map(|(entry, at)| {
        if !matches!(entry.key.as_str(), "paths" | "webhooks") {
            return entry.clone();
        }
        let items = at.entries().filter_map(|(entry, at)| {
            let value = path_item(resolver, &at, chosen)?;
            Some(Entry {
                value,
                ..entry.clone()
            })
        });
        Entry {
            key: entry.key.clone(),
            key_span: entry.key_span,
            value: Node {
                span: at.node.span,
                value: NodeValue::Object(items.collect()),
            },
        }
    });
    Node {
        span: root.node.span,
        value: NodeValue::Object(entries.collect()),
    }
}

/// Returns a path item with its chosen operations, or `None` if there are none. One that is only a
/// reference stays one if all operations behind it are chosen.
fn path_item<'a>(resolver: &Resolver<'a>, at: &NodeRef<'a>, chosen: &Chosen<'_>) -> Option<Node> {
    let is_chosen = |section: Option<&str>, key: &str| {
        let mut pointer = at.pointer.to_string();
        for token in section.into_iter().chain([key]) {
            pointer::push(&mut pointer, token);
        }
        chosen.pointers.contains(pointer.as_str())
    };
    let mut entries: Vec<Entry> = at.node.as_object()?.to_vec();
    let is_reference = at.node.get("$ref").is_some();
    if is_reference && let Some(target) = resolver.follow(at) {
        let more = target.node.as_object().unwrap_or_default().iter();
        let more = more.filter(|entry| at.node.get(&entry.key).is_none());
        entries.extend(more.cloned().collect::<Vec<_>>());
    }
    let (mut count, mut gone) = (0, 0);
    let mut decide = |is_chosen: bool| {
        count += usize::from(is_chosen);
        gone += usize::from(!is_chosen);
        is_chosen
    };
    entries.retain_mut(|entry| {
        if entry.key == "additionalOperations" {
            retain(&mut entry.value, |method| {
                decide(is_chosen(Some("additionalOperations"), &method.key))
            });
            return entry.value.as_object().is_none_or(|left| !left.is_empty());
        }
        !is_method(&entry.key) || decide(is_chosen(None, &entry.key))
    });
    if count == 0 {
        return None;
    }
    if is_reference && gone == 0 {
        return Some(at.node.clone());
    }
    entries.retain(|entry| entry.key != "$ref");
    Some(Node {
        span: at.node.span,
        value: NodeValue::Object(entries),
    })
}

fn is_method(key: &str) -> bool {
    Method::FIXED.iter().any(|method| method.key() == key)
}

/// Removes the links that lead to operations that are not chosen.
fn remove_links(root: &mut Node, chosen: &Chosen<'_>) {
    let components = root.get("components").and_then(|node| node.get("links"));
    let shared = components.and_then(Node::as_object).unwrap_or_default();
    let mut gone = HashSet::new();
    // A link may be a reference to another one.
    loop {
        let before = gone.len();
        for link in shared {
            if !chosen.has_target(&link.value) || refers_to(&link.value, &gone) {
                let pointer = pointer::join("/components/links", &link.key);
                gone.insert(pointer::fragment(&pointer));
            }
        }
        if gone.len() == before {
            break;
        }
    }
    remove_links_below(root, Keys::Keywords, chosen, &gone);
}

fn refers_to(link: &Node, gone: &HashSet<String>) -> bool {
    let reference = link.get("$ref").and_then(Node::as_str);
    reference.is_some_and(|reference| gone.contains(reference))
}

// Recursive, since the readers bound how deep a document is.
fn remove_links_below(node: &mut Node, keys: Keys, chosen: &Chosen<'_>, gone: &HashSet<String>) {
    match &mut node.value {
        NodeValue::Object(entries) => {
            for entry in entries {
                let Some(below) = keys.below(&entry.key) else {
                    continue;
                };
                if keys == Keys::Keywords && entry.key == "links" {
                    retain(&mut entry.value, |link| {
                        !refers_to(&link.value, gone) && chosen.has_target(&link.value)
                    });
                }
                remove_links_below(&mut entry.value, below, chosen, gone);
            }
        }
        NodeValue::Array(items) => {
            for item in items {
                remove_links_below(item, Keys::Keywords, chosen, gone);
            }
        }
        _ => {}
    }
}

impl Chosen<'_> {
    /// Returns whether a link leads to a chosen operation. What leads to no operation is not a
    /// link, or one that a reference leads to.
    fn has_target(&self, link: &Node) -> bool {
        let text = |key: &str| link.get(key).and_then(Node::as_str);
        if let Some(id) = text("operationId") {
            return self.ids.contains(id);
        }
        let pointer = text("operationRef").and_then(|reference| reference.strip_prefix('#'));
        pointer.is_none_or(|pointer| {
            let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
            self.pointers.contains(&*decoded)
        })
    }
}

/// Returns the names of the tags that operations have, with those of their ancestors.
fn used_tags(root: &Node) -> HashSet<String> {
    let mut used = HashSet::new();
    let mut pending: Vec<&Node> = ["paths", "webhooks", "components"]
        .into_iter()
        .filter_map(|key| root.get(key))
        .collect();
    while let Some(node) = pending.pop() {
        let tags = node.get("tags").and_then(Node::as_array);
        let names = tags.unwrap_or_default().iter().filter_map(Node::as_str);
        used.extend(names.map(str::to_owned));
        let entries = node.as_object().unwrap_or_default();
        pending.extend(entries.iter().map(|entry| &entry.value));
    }
    let declared = root.get("tags").and_then(Node::as_array);
    let text = |tag: &Node, key: &str| tag.get(key).and_then(Node::as_str).map(str::to_owned);
    let parents: HashMap<String, String> = declared
        .unwrap_or_default()
        .iter()
        .filter_map(|tag| Some((text(tag, "name")?, text(tag, "parent")?)))
        .collect();
    let mut open: Vec<String> = used.iter().cloned().collect();
    while let Some(name) = open.pop() {
        if let Some(parent) = parents.get(&name)
            && used.insert(parent.clone())
        {
            open.push(parent.clone());
        }
    }
    used
}

fn value_mut<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    let mut entries = node.entries_mut()?.iter_mut();
    let entry = entries.find(|entry| entry.key == key)?;
    Some(&mut entry.value)
}

fn retain(node: &mut Node, is_kept: impl FnMut(&Entry) -> bool) {
    if let Some(entries) = node.entries_mut() {
        entries.retain(is_kept);
    }
}
