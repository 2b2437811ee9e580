//! Combines several files into one document: what references name in other files moves into
//! `components`.
//!
//! This is done once, before the contract is built, so that nothing later has to know about files:
//! types keep their authors' names, and the contract that a server publishes is complete. Nodes
//! keep the spans that they have in their own files.
//!
//! `$id` and `$anchor` are dropped, since every reference becomes a pointer. Documents with
//! `$dynamicRef` are left in several files: where one leads depends on `$id`, which no pointer can
//! express.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::diagnostic::Diagnostic;
use crate::documents::Document;

use crate::node::{Entry, MAX_DEPTH, Node, NodeValue};
use crate::node_ref::{NodeRef, address};
use crate::pointer;
use crate::resolve::Resolver;
use crate::source::Span;
use crate::syntax::{Reference, Syntax};

/// The maximum number of nodes that may be copied in place of references to path items. Each path
/// item can contain callbacks with two copies of the next, so the number can double at every level.
const MOST_IN_PLACE: usize = 4_000_000;

/// Returns the first document with everything that references lead to in other files, or `None` if
/// there is only one file, or a schema has `$dynamicRef`.
///
/// # Errors
///
/// Returns a diagnostic if path items that replace references contain themselves, or would take too
/// many nodes.
pub(crate) fn gather(resolver: &Resolver<'_>, syntax: &Syntax<'_>) -> Copied<Option<Node>> {
    if resolver.documents.files() < 2 || syntax.is_dynamic {
        return Ok(None);
    }
    let root = resolver.root();
    let mut gathering = Gathering {
        metaschema: resolver.documents.metaschema,
        documents: &resolver.documents.list,
        references: syntax
            .references
            .iter()
            .map(|reference| (address(reference.text), reference))
            .collect(),
        identified: &syntax.identified,
        moved_to: HashMap::new(),
        in_place: HashSet::new(),
        moved: Vec::new(),
        copying: Vec::new(),
        depth: 0,
        budget: MOST_IN_PLACE,
    };
    // Aliases come first, so that a target keeps the name that this document gives it, rather than
    // getting a second one.
    gathering.adopt_aliases(&root);
    gathering.choose_names(&root);
    gathering.write(root.node).map(Some)
}

type Copied<T> = Result<T, Box<Diagnostic>>;

struct Gathering<'g, 'a> {
    metaschema: Option<usize>,
    documents: &'a [Document],
    /// References by the address of the node that holds the string.
    references: HashMap<usize, &'g Reference<'a>>,
    /// Addresses of schemas with `$id` or `$anchor`.
    identified: &'g HashSet<usize>,
    /// The new pointer of each node that moves, by its old pointer.
    moved_to: HashMap<String, String>,
    /// Addresses of objects with `$ref` that are replaced by a copy of the target.
    in_place: HashSet<usize>,
    /// The nodes that move: section of `components`, name, node.
    moved: Vec<(&'static str, String, &'a Node)>,
    /// The targets that are being copied in place of references, outermost first: address of the
    /// target, span of the reference.
    copying: Vec<(usize, Span)>,
    /// The depth in the new document of the node that is being copied.
    depth: usize,
    /// The number of nodes that may still be copied in place of references.
    budget: usize,
}

impl<'g, 'a> Gathering<'g, 'a> {
    fn reference(&self, holder: &Node) -> Option<&'g Reference<'a>> {
        self.references.get(&address(holder.get("$ref")?)).copied()
    }

    fn is_foreign(&self, at: &NodeRef<'_>) -> bool {
        at.document != 0 && Some(at.document) != self.metaschema
    }

    /// Where a component of the first document is nothing but a `$ref` to another file, chooses its
    /// place as the one that the target moves to, so that the target gets its name. Of several for one
    /// target, the first is chosen.
    fn adopt_aliases(&mut self, root: &NodeRef<'a>) {
        let Some(components) = root.key("components") else {
            return;
        };
        for (section, components) in components.entries() {
            for (_, component) in components.entries() {
                let Some(reference) = self.reference(component.node) else {
                    continue;
                };
                let fits = reference.section == Some(section.key.as_str());
                // Entries beside `$ref` can change its meaning, and other references to the target
                // do not have them.
                let is_alone = component
                    .node
                    .as_object()
                    .is_some_and(|entries| entries.len() == 1);
                let target = reference.target.pointer.to_string();
                if fits
                    && is_alone
                    && self.is_foreign(&reference.target)
                    // A second alias of the same target stays a reference to the first one.
                    && !self.moved_to.contains_key(&target)
                {
                    self.moved_to.insert(target, component.pointer.to_string());
                    self.in_place.insert(address(component.node));
                }
            }
        }
    }

    /// Chooses a name in `components` for every node of another file that a reference leads to, in
    /// the order of the references.
    ///
    /// A target inside another target is not moved by itself, since it moves with the outer one.
    fn choose_names(&mut self, root: &NodeRef<'a>) {
        let found = self.foreign_targets(root.node);
        let own: HashSet<String> = found.iter().map(|(_, at)| at.pointer.to_string()).collect();
        let mut taken = names(root.node);
        for (section, at) in found {
            // A target inside another target moves with the outer one. Moving both would make two
            // types of one schema.
            let inside = prefixes(&at.pointer)
                .any(|outer| own.contains(outer) || self.moved_to.contains_key(outer));
            if inside || self.moved_to.contains_key(&*at.pointer) {
                continue;
            }
            let name = unique(taken.entry(section).or_default(), &self.name_of(&at));
            self.moved_to.insert(
                at.pointer.to_string(),
                format!("/components/{section}/{name}"),
            );
            self.moved.push((section, name, at.node));
        }
    }

    /// Returns the nodes of other files that references lead to, each with its section of
    /// `components`.
    ///
    /// `components` has no section for path items in 3.0, so these are copied in place of the
    /// reference.
    fn foreign_targets(&mut self, root: &'a Node) -> Vec<(&'static str, NodeRef<'a>)> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut starts = VecDeque::from([root]);
        while let Some(start) = starts.pop_front() {
            let mut pending = vec![start];
            while let Some(node) = pending.pop() {
                // A reference is an object with `$ref`, a string in a discriminator's mapping, or the
                // value of a security scheme in a requirement.
                let text = node.get("$ref").unwrap_or(node);
                let reference = self.references.get(&address(text)).copied();
                if let Some(Reference {
                    target, section, ..
                }) = reference.filter(|it| self.is_foreign(&it.target))
                {
                    // Targets refer on to further files. Each is searched once, in the order of the
                    // first reference to it, so that names do not depend on how files are
                    // traversed.
                    if seen.insert(address(target.node)) {
                        starts.push_back(target.node);
                    }
                    match section {
                        None => drop(self.in_place.insert(address(node))),
                        // An adopted alias: its target has a name already.
                        Some(_) if self.in_place.contains(&address(node)) => {}
                        Some(section) => found.push((*section, target.clone())),
                    }
                }
                // In reverse, since the stack returns the last one first, and names are chosen in
                // the order of the text.
                match &node.value {
                    NodeValue::Array(items) => pending.extend(items.iter().rev()),
                    NodeValue::Object(entries) => {
                        let below = entries.iter().rev().map(|entry| &entry.value);
                        // The text of `$ref` has been handled with its object. Alone, it would be
                        // taken for a string in a discriminator's mapping, and be found twice.
                        pending.extend(below.filter(|value| !std::ptr::eq(*value, text)));
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// Returns the name that the author gave a node: the last token of its pointer, or the name of
    /// its file. Characters that a component's name cannot contain become `_`.
    fn name_of(&self, at: &NodeRef<'_>) -> String {
        let document = &self.documents[at.document];
        let name = if let Some((_, token)) = at.pointer[document.pointer().len()..].rsplit_once('/')
        {
            pointer::unescape(token).into_owned()
        } else {
            let name = document.label.rsplit('/').next().unwrap_or_default();
            name.split('.').next().unwrap_or_default().to_owned()
        };
        // By the standard, names of components consist of these characters only.
        let is_plain = |character: char| {
            character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_')
        };
        let name: String = name
            .chars()
            .map(|character| if is_plain(character) { character } else { '_' })
            .collect();
        if name.is_empty() {
            "part".to_owned()
        } else {
            name
        }
    }

    /// Returns the new pointer of a node of another file, or `None` if the node does not move.
    fn new_pointer(&self, pointer: &str) -> Option<String> {
        if let Some(new) = self.moved_to.get(pointer) {
            return Some(new.clone());
        }
        prefixes(pointer).find_map(|outer| {
            Some(format!(
                "{}{}",
                self.moved_to.get(outer)?,
                &pointer[outer.len()..]
            ))
        })
    }

    /// Returns the combined document: a copy of the first one, with the nodes that move in its
    /// `components`.
    fn write(&mut self, root: &'a Node) -> Copied<Node> {
        let mut made = self.copy(root)?;
        for (section, name, node) in std::mem::take(&mut self.moved) {
            let copy = self.copy(node)?;
            let components = entry(&mut made, "components", node.span);
            let section = entry(components, section, node.span);
            *entry(section, &name, node.span) = copy;
        }
        Ok(made)
    }

    fn copy(&mut self, node: &Node) -> Copied<Node> {
        if let Some(reference) = self.reference(node)
            && self.in_place.contains(&address(node))
        {
            let target = self.copy_in_place(reference)?;
            return self.merged(node, target);
        }
        self.charge()?;
        self.depth += 1;
        let value = match &node.value {
            NodeValue::String(text) => NodeValue::String(self.rewritten(node, text)),
            NodeValue::Array(items) => NodeValue::Array(
                items
                    .iter()
                    .map(|item| self.copy(item))
                    .collect::<Copied<_>>()?,
            ),
            NodeValue::Object(entries) => {
                // `$id` is dropped only from schemas: an example, or a property with that name, can
                // have it as data.
                let is_identified = self.identified.contains(&address(node));
                let kept = entries.iter().filter(|entry| {
                    !(is_identified
                        && entry.value.as_str().is_some()
                        && matches!(entry.key.as_str(), "$id" | "$anchor"))
                });
                NodeValue::Object(
                    kept.map(|entry| self.copy_entry(entry))
                        .collect::<Copied<_>>()?,
                )
            }
            plain => plain.clone(),
        };
        self.depth -= 1;
        Ok(Node {
            span: node.span,
            value,
        })
    }

    /// Counts a node against the limit on copies in place of references. Other copies are not
    /// counted.
    ///
    /// # Errors
    ///
    /// Returns a diagnostic if the limit is reached, or if the copy nests too deeply.
    fn charge(&mut self) -> Copied<()> {
        // Any other node is copied once at most, so the size of the files bounds their number.
        let Some((_, span)) = self.copying.last() else {
            return Ok(());
        };
        if self.depth > MAX_DEPTH {
            let message = format!(
                "path items of other files within each other nest deeper than {MAX_DEPTH} levels"
            );
            return Err(error("too-deep", *span, &message));
        }
        let Some(left) = self.budget.checked_sub(1) else {
            let message =
                format!("path items of other files would add more than {MOST_IN_PLACE} nodes here");
            return Err(error("too-large", *span, &message));
        };
        self.budget = left;
        Ok(())
    }

    fn copy_entry(&mut self, entry: &Entry) -> Copied<Entry> {
        Ok(Entry {
            key: self.scheme_name(entry).unwrap_or_else(|| entry.key.clone()),
            key_span: entry.key_span,
            value: self.copy(&entry.value)?,
        })
    }

    /// Returns the name that a security scheme has in `components`, if the entry is that of a
    /// requirement which names it by the URI of another file.
    fn scheme_name(&self, entry: &Entry) -> Option<String> {
        // The text of other references is their value.
        entry.value.as_array()?;
        let reference = self.references.get(&address(&entry.value))?;
        let new = self.new_pointer(&reference.target.pointer)?;
        let name = new.strip_prefix("/components/securitySchemes/")?;
        (!name.contains('/')).then(|| pointer::unescape(name).into_owned())
    }

    /// Returns a copy of the target of a reference.
    ///
    /// # Errors
    ///
    /// Returns a diagnostic if the target contains the reference, or the copy is too large.
    fn copy_in_place(&mut self, reference: &Reference<'a>) -> Copied<Node> {
        let (target, span) = (address(reference.target.node), reference.text.span);
        // A path item can contain itself through a callback. In place it would never end, so it is
        // an error, unlike a circular schema, which moves to `components` and refers to itself
        // there.
        if self.copying.iter().any(|(copied, _)| *copied == target) {
            let message = "the path item of another file contains itself, so it cannot be copied into this document";
            return Err(error("circular-ref", span, message));
        }
        self.copying.push((target, span));
        let copy = self.copy(reference.target.node);
        self.copying.pop();
        copy
    }

    /// Merges the entries beside a reference with those of its target; the former take precedence.
    fn merged(&mut self, holder: &Node, target: Node) -> Copied<Node> {
        let NodeValue::Object(target_entries) = target.value else {
            return Ok(target);
        };
        let beside = holder
            .as_object()
            .unwrap_or_default()
            .iter()
            .filter(|entry| entry.key != "$ref");
        let mut entries: Vec<Entry> = beside
            .map(|entry| self.copy_entry(entry))
            .collect::<Copied<_>>()?;
        // Of two entries with one name, that beside `$ref` stays: the standard leaves it open.
        for entry in target_entries {
            if entries.iter().all(|own| own.key != entry.key) {
                entries.push(entry);
            }
        }
        Ok(Node {
            span: target.span,
            value: NodeValue::Object(entries),
        })
    }

    /// Returns the string `text` of a node, or the new reference if the string is a reference to a
    /// node that moves.
    fn rewritten(&self, node: &Node, text: &str) -> String {
        let Some(reference) = self.references.get(&address(node)) else {
            return text.to_owned();
        };
        let target = &reference.target;
        // The metaschema stays a document of its own, so its address remains valid.
        if Some(target.document) == self.metaschema {
            return text.to_owned();
        }
        let new = if target.document == 0 {
            Some(target.pointer.to_string())
        } else {
            self.new_pointer(&target.pointer)
        };
        new.map_or_else(|| text.to_owned(), |new| pointer::fragment(&new))
    }
}

fn error(code: &'static str, span: Span, message: &str) -> Box<Diagnostic> {
    let help = "write the path item into this document, and refer to it there";
    Box::new(Diagnostic::error(code, span, message).help(help))
}

/// Returns the names of the components that the document has, by section of `components`.
fn names(root: &Node) -> HashMap<&str, HashSet<String>> {
    let sections = root
        .get("components")
        .and_then(Node::as_object)
        .unwrap_or_default();
    let keys = |node: &Node| {
        node.as_object()
            .unwrap_or_default()
            .iter()
            .map(|entry| entry.key.clone())
            .collect()
    };
    sections
        .iter()
        .map(|section| (section.key.as_str(), keys(&section.value)))
        .collect()
}

fn unique(taken: &mut HashSet<String>, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    let mut count = 1;
    while !taken.insert(name.clone()) {
        count += 1;
        name = format!("{wanted}{count}");
    }
    name
}

/// Returns the prefixes of a pointer that lead to the nodes around its node, outermost first,
/// without the empty one and the pointer itself.
fn prefixes(pointer: &str) -> impl Iterator<Item = &str> {
    pointer
        .match_indices('/')
        .skip(1)
        .map(|(at, _)| &pointer[..at])
}

/// Returns the value of a key. A missing one is added as an empty object with the given span. A
/// node that is not an object becomes one first.
fn entry<'n>(node: &'n mut Node, key: &str, span: Span) -> &'n mut Node {
    if !matches!(node.value, NodeValue::Object(_)) {
        node.value = NodeValue::Object(Vec::new());
    }
    let NodeValue::Object(entries) = &mut node.value else {
        unreachable!("it has just been made an object")
    };
    let at = entries
        .iter()
        .position(|entry| entry.key == key)
        .unwrap_or_else(|| {
            let value = Node {
                span,
                value: NodeValue::Object(Vec::new()),
            };
            entries.push(Entry {
                key: key.to_owned(),
                key_span: span,
                value,
            });
            entries.len() - 1
        });
    &mut entries[at].value
}
