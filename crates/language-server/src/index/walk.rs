//! A walk through the files of a contract, which finds the names and references that they hold.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use contract::node::{Node, NodeValue};
use contract::place::Place;
use contract::pointer;
use contract::source::Span;
use percent_encoding::percent_decode_str;

use super::{Index, Name, NameKind, Reference, ReferenceForm, Target};
use crate::parsed::{self, Parsed};

/// The maximum number of files of a contract that are searched, as many as the reader of contracts
/// reads.
const MOST_FILES: usize = 10_000;

/// A walk through a part of a file.
pub(super) struct Walk<'w> {
    pub(super) index: &'w mut Index,
    /// Returns a file by its canonical path.
    pub(super) parse: &'w dyn Fn(&Path) -> Option<Arc<Parsed>>,
    /// The file that is walked through.
    pub(super) file: usize,
    /// The addresses of the objects that were visited. Trees do not move while an index is made.
    pub(super) seen: &'w mut HashSet<usize>,
    /// The targets of the references that were found, each with the place of the standard that it
    /// must fit.
    pub(super) found: Vec<(Target, Place)>,
}

impl Walk<'_> {
    /// Walks through a node and all that is below it.
    pub(super) fn run(&mut self, root: &Node, place: Place) {
        let mut pending = vec![(root, place)];
        while let Some((node, place)) = pending.pop() {
            match &node.value {
                NodeValue::Array(items) => {
                    if let Some(inner) = place.item() {
                        pending.extend(items.iter().map(|item| (item, inner)));
                    }
                }
                NodeValue::Object(entries) => {
                    // References may lead to one node from many places, and in a cycle.
                    if !self.seen.insert(std::ptr::from_ref(node).addr()) {
                        continue;
                    }
                    self.object(node, place);
                    for entry in entries {
                        if let Some(inner) = place.entry(&entry.key, self.index.dialect) {
                            pending.push((&entry.value, inner));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn object(&mut self, node: &Node, place: Place) {
        if place.is_referable(self.index.dialect)
            && let Some(value) = node.get("$ref")
            && let Some(target) = self.refer(value)
        {
            self.found.push((target, place));
        }
        match place.name() {
            Some("the document") => {
                self.security(node);
                if self.file == 0 {
                    self.heirs(node);
                }
            }
            Some("a tag") => {
                self.name(node.get("name"), NameKind::Tag, true);
                self.name(node.get("parent"), NameKind::Tag, false);
            }
            Some("an operation") => {
                self.security(node);
                self.name(node.get("operationId"), NameKind::Operation, true);
                let tags = node.get("tags").and_then(Node::as_array);
                for tag in tags.unwrap_or_default() {
                    self.name(Some(tag), NameKind::Tag, false);
                }
            }
            Some("a link") => {
                self.name(node.get("operationId"), NameKind::Operation, false);
                if let Some(value) = node.get("operationRef") {
                    self.refer(value);
                }
            }
            Some("a schema") => {
                if node.get("$id").is_some() {
                    self.index.with_id.get_or_insert(self.file);
                }
                self.discriminator(node);
            }
            _ => {}
        }
    }

    fn name(&mut self, node: Option<&Node>, kind: NameKind, is_declaration: bool) {
        if let Some(node) = node
            && let Some(text) = node.as_str()
        {
            self.index.names.push(Name {
                file: self.file,
                span: node.span,
                kind,
                text: text.to_owned(),
                is_declaration,
            });
        }
    }

    /// Adds the schemes that security requirements name. They are components of the first document.
    fn security(&mut self, node: &Node) {
        let requirements = node.get("security").and_then(Node::as_array);
        for requirement in requirements.unwrap_or_default() {
            for entry in requirement.as_object().unwrap_or_default() {
                self.component("securitySchemes", &entry.key, entry.key_span);
            }
        }
    }

    fn component(&mut self, section: &str, name: &str, span: Span) -> Target {
        let target = Target {
            file: 0,
            pointer: pointer::join(&format!("/components/{section}"), name),
        };
        self.push(span, target.clone(), ReferenceForm::Name);
        target
    }

    fn push(&mut self, span: Span, target: Target, form: ReferenceForm) {
        self.index.references.push(Reference {
            file: self.file,
            span,
            target,
            form,
        });
    }

    fn discriminator(&mut self, node: &Node) {
        let Some(discriminator) = node.get("discriminator") else {
            return;
        };
        let mapping = discriminator.get("mapping").and_then(Node::as_object);
        let mapped = mapping.unwrap_or_default().iter().map(|entry| &entry.value);
        let mut named = Vec::new();
        for value in mapped.chain(discriminator.get("defaultMapping")) {
            let Some(text) = value.as_str() else { continue };
            // A value of a mapping is a reference or the name of a component, and names have none of
            // these characters.
            if text.contains(['#', '/']) {
                if let Some(target) = self.refer(value) {
                    named.push(target.clone());
                    self.found.push((target, Place::schema()));
                }
            } else {
                named.push(self.component("schemas", text, value.span));
            }
        }
        for key in ["oneOf", "anyOf"] {
            let branches = node.get(key).and_then(Node::as_array);
            for branch in branches.unwrap_or_default() {
                let Some(value) = branch.get("$ref") else {
                    continue;
                };
                // Not `refer`: the walk comes to the branch itself, and records its reference
                // there.
                let target = value.as_str().and_then(|text| self.resolve(text));
                if let Some(target) = target.filter(|target| !named.contains(target)) {
                    self.push(value.span, target, ReferenceForm::Implied);
                }
            }
        }
    }

    /// Adds the component schemas whose names are values of a discriminator because their `allOf`
    /// leads to its schema, directly or through others.
    fn heirs(&mut self, document: &Node) {
        let components = document.get("components");
        let schemas = components.and_then(|all| all.get("schemas")?.as_object());
        let mut known = HashMap::new();
        for entry in schemas.unwrap_or_default() {
            let heir = Target {
                file: 0,
                pointer: pointer::join("/components/schemas", &entry.key),
            };
            let mut pending = self.bases(0, &entry.value);
            let mut seen = HashSet::new();
            while let Some(base) = pending.pop() {
                if !seen.insert(base.clone()) {
                    continue;
                }
                let found = known
                    .entry(base.clone())
                    .or_insert_with(|| self.base(&base));
                let Some(found) = found else { continue };
                if found.implies(&entry.key, &heir) {
                    // The key, since a reference at the span of a `$ref` must lead where that does.
                    self.push(entry.key_span, heir.clone(), ReferenceForm::Implied);
                    break;
                }
                pending.extend(found.bases.iter().cloned());
            }
        }
    }

    /// Returns where the `allOf` of a schema of a file leads.
    fn bases(&mut self, file: usize, schema: &Node) -> Vec<Target> {
        let parts = schema.get("allOf").and_then(Node::as_array);
        let values = parts
            .unwrap_or_default()
            .iter()
            .filter_map(|part| part.get("$ref"));
        let found = values.filter_map(|value| self.resolve_in(file, value.as_str()?));
        found.collect()
    }

    fn base(&mut self, target: &Target) -> Option<Base> {
        let parsed = Arc::clone(&self.index.files[target.file].parsed);
        let node = parsed::at(parsed.root()?, &target.pointer)?.node;
        let bases = self.bases(target.file, node);
        let is_union = ["oneOf", "anyOf"].iter().any(|key| {
            let branches = node.get(key).and_then(Node::as_array);
            branches.is_some_and(|branches| !branches.is_empty())
        });
        // The values of a union are the names of its branches.
        let discriminator = node.get("discriminator").filter(|_| !is_union);
        let mapped = discriminator.map(|discriminator| {
            let mapping = discriminator.get("mapping").and_then(Node::as_object);
            let entries = mapping.unwrap_or_default().iter();
            let mapped = entries.map(|entry| {
                let target = entry.value.as_str().and_then(|text| {
                    if text.contains(['#', '/']) {
                        return self.resolve_in(target.file, text);
                    }
                    Some(Target {
                        file: 0,
                        pointer: pointer::join("/components/schemas", text),
                    })
                });
                (entry.key.clone(), target)
            });
            mapped.collect()
        });
        Some(Base { bases, mapped })
    }

    fn resolve_in(&mut self, file: usize, text: &str) -> Option<Target> {
        let own = std::mem::replace(&mut self.file, file);
        let target = self.resolve(text);
        self.file = own;
        target
    }

    /// Adds the reference that a text is, and returns where it leads.
    fn refer(&mut self, value: &Node) -> Option<Target> {
        let target = self.resolve(value.as_str()?)?;
        self.push(value.span, target.clone(), ReferenceForm::Uri);
        Some(target)
    }

    fn resolve(&mut self, text: &str) -> Option<Target> {
        let (written, fragment) = text.split_once('#').unwrap_or((text, ""));
        let decode = |text| percent_decode_str(text).decode_utf8().ok();
        let file = if written.is_empty() {
            self.file
        } else {
            self.other(&decode(written)?)?
        };
        let fragment = decode(fragment)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return Some(Target {
                file,
                pointer: fragment.into_owned(),
            });
        }
        let root = self.index.files[file].parsed.root()?;
        let pointer = anchor(root, &fragment)?;
        Some(Target { file, pointer })
    }

    /// Returns the file that a relative reference names.
    fn other(&mut self, written: &str) -> Option<usize> {
        let from = self.index.files[self.file].path.parent()?;
        let path = contract::identity(&clean(&from.join(written)));
        if let Some(known) = self.index.file(&path) {
            return Some(known);
        }
        if self.index.files.len() >= MOST_FILES {
            return None;
        }
        let parsed = (self.parse)(&path)?;
        Some(self.index.add(path, parsed))
    }
}

/// A schema that others extend with `allOf`.
struct Base {
    /// The schemas that it extends itself.
    bases: Vec<Target>,
    /// The values that its discriminator maps, each with its schema, if it has a discriminator.
    mapped: Option<Vec<(String, Option<Target>)>>,
}

impl Base {
    /// Returns whether the name of a component that extends this schema is a value of its
    /// discriminator.
    fn implies(&self, name: &str, heir: &Target) -> bool {
        self.mapped.as_ref().is_some_and(|mapped| {
            mapped
                .iter()
                .all(|(value, target)| value != name && target.as_ref() != Some(heir))
        })
    }
}

/// Removes `..` from a path together with the name before it.
fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

/// Returns the pointer of the schema with an anchor.
fn anchor(root: &Node, name: &str) -> Option<String> {
    let mut pending = vec![(root, String::new())];
    while let Some((node, at)) = pending.pop() {
        match &node.value {
            NodeValue::Array(items) => pending.extend(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| (item, pointer::join(&at, &index.to_string()))),
            ),
            NodeValue::Object(entries) => {
                if node.get("$anchor").and_then(Node::as_str) == Some(name) {
                    return Some(at);
                }
                pending.extend(
                    entries
                        .iter()
                        .map(|entry| (&entry.value, pointer::join(&at, &entry.key))),
                );
            }
            _ => {}
        }
    }
    None
}
