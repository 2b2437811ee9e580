//! Resolves references: `$ref` to a pointer, an anchor, another file or a schema's `$id`.

mod resources;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::documents::{Documents, METASCHEMA, Unavailable};
use crate::load::is_32;
use crate::node::{Node, NodeValue};
use crate::node_ref::{NodeRef, address, reference_of};
use crate::pointer;
use crate::spelling::nearest;
use crate::uri::{has_scheme, local_file};
use resources::Resources;

/// The reason why a reference cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RefProblem {
    /// The document has no such node. Holds the reference that was probably meant, if one is
    /// similar.
    Dangling(Option<String>),
    /// The reference names a document on another host.
    Remote,
    /// The reference names a file, but the document came from memory.
    NoFiles,
    /// The reference names a file that cannot be read, for this reason.
    Unreadable(String),
    /// The reference names a file that is not JSON or YAML, which has been reported.
    Broken,
    /// The string in `$ref` is not a URI reference.
    Malformed,
}

type Resolved<'a> = Result<NodeRef<'a>, RefProblem>;

/// Resolves references, and caches the results.
pub(crate) struct Resolver<'a> {
    pub(crate) documents: &'a Documents,
    resources: Resources<'a>,
    /// The result of each reference that was resolved before.
    known: RefCell<HashMap<Key<'a>, Resolved<'a>>>,
    /// The position of each key in its object, by the address of the object, for objects with many
    /// keys.
    keys: RefCell<HashMap<usize, HashMap<&'a str, usize>>>,
    /// The end of the chain that starts at each reference, by the address of its object.
    ends: RefCell<HashMap<usize, Option<NodeRef<'a>>>>,
    /// The number of suggestions that may still be searched for.
    suggestions: Cell<u32>,
}

/// The number of suggestions that are searched for. Each one compares a name with thousands of
/// others; a document with more wrong references usually has one cause for all.
const MOST_SUGGESTIONS: u32 = 100;

/// The maximum number of keys of an object that a wrong name is compared with.
const MOST_NEAR: usize = 5_000;

/// The index of a document, the index of the resource (a schema with `$id`) that contains the
/// reference, and the reference as written.
type Key<'a> = (usize, Option<usize>, &'a str);

impl<'a> Resolver<'a> {
    pub(crate) fn new(documents: &'a Documents) -> Self {
        Self {
            documents,
            resources: Resources::of(documents),
            known: RefCell::default(),
            keys: RefCell::default(),
            ends: RefCell::default(),
            suggestions: Cell::new(MOST_SUGGESTIONS),
        }
    }

    /// Returns the component schema with a name, if there is one.
    pub(crate) fn component_schema(&self, name: &str) -> Option<NodeRef<'a>> {
        let schemas = self.root().key("components")?.key("schemas")?;
        Some(schemas.child(name, self.value(schemas.node, name)?))
    }

    /// Returns the root of the document that the caller asked for.
    pub(crate) fn root(&self) -> NodeRef<'a> {
        self.document(0)
    }

    fn document(&self, index: usize) -> NodeRef<'a> {
        let document = &self.documents.list[index];
        NodeRef {
            document: index,
            node: &document.root,
            pointer: document.pointer().into(),
        }
    }

    /// Returns the target of a reference, without following the target's own reference. `holder` is
    /// the object that contains `$ref`.
    pub(crate) fn resolve(
        &self,
        document: usize,
        holder: &Node,
        reference: &'a str,
    ) -> Resolved<'a> {
        // The same text can lead to different targets in different resources, so the resource is
        // part of the key. Almost all documents have none, and then a text is resolved once per
        // document.
        let resource = self.resources.scope(holder);
        let key = (document, resource, reference);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let outcome = self.look_up(document, resource, reference);
        self.known.borrow_mut().insert(key, outcome.clone());
        outcome
    }

    /// Returns the target of a `$dynamicRef`: the outermost enclosing schema with that anchor.
    ///
    /// By JSON Schema, the target depends on the schemas through which validation has come. A
    /// generated type cannot depend on that, so the target is the one that applies when validation
    /// starts at the outermost resource of the document.
    pub(crate) fn resolve_dynamic(
        &self,
        document: usize,
        holder: &Node,
        reference: &'a str,
    ) -> Resolved<'a> {
        let target = self.resolve(document, holder, reference)?;
        let anchor = target.node.get("$dynamicAnchor").and_then(Node::as_str);
        let outermost = anchor
            // Only a reference by the anchor itself is dynamic. One by pointer to a schema that
            // happens to have a `$dynamicAnchor` behaves like `$ref`.
            .filter(|anchor| reference.ends_with(anchor))
            .and_then(|anchor| self.resources.outermost(document, holder, anchor));
        Ok(outermost.unwrap_or(target))
    }

    /// Follows references to the first node that is not a reference. Returns `None` if a reference
    /// cannot be resolved or the chain is circular.
    pub(crate) fn follow(&self, start: &NodeRef<'a>) -> Option<NodeRef<'a>> {
        let mut path = Vec::new();
        let mut at = start.clone();
        let end = loop {
            let Some(reference) = reference_of(at.node) else {
                break Some(at);
            };
            let key = address(at.node);
            if let Some(known) = self.ends.borrow().get(&key) {
                break known.clone();
            }
            // Until the end of the chain is known, a reference that leads back here has no target.
            // This ends cycles.
            self.ends.borrow_mut().insert(key, None);
            path.push(key);
            match self.resolve(at.document, at.node, reference) {
                Ok(next) => at = next,
                Err(_) => break None,
            }
        };
        // Every reference of the chain has the same end. Storing it for each of them keeps long
        // chains linear when each of their references is followed in turn.
        let mut ends = self.ends.borrow_mut();
        for key in path {
            ends.insert(key, end.clone());
        }
        end
    }

    /// Returns the name in `components` of the security scheme that a key of a requirement means:
    /// its own name, or the URI of the scheme (3.2). Returns `None` if there is no such component.
    pub(crate) fn security_scheme(&self, holder: &Node, key: &'a str) -> Option<String> {
        let schemes = self.root().key("components")?.key("securitySchemes")?;
        if schemes.node.get(key).is_some() {
            return Some(key.to_owned());
        }
        if !is_32(self.root().node) {
            return None;
        }
        let target = self.resolve(0, holder, key).ok()?;
        let name = target
            .pointer
            .strip_prefix("/components/securitySchemes/")?;
        (!name.contains('/')).then(|| pointer::unescape(name).into_owned())
    }

    fn look_up(&self, document: usize, resource: Option<usize>, reference: &str) -> Resolved<'a> {
        let (target, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = pointer::of_fragment(fragment).ok_or(RefProblem::Malformed)?;
        let (base, owner) = self.base(document, resource, target)?;
        if fragment.is_empty() {
            return Ok(base);
        }
        if fragment.starts_with('/') {
            return self.walk(base, target, &fragment);
        }
        self.resources
            .anchor(base.document, owner, &fragment)
            .ok_or(RefProblem::Dangling(None))
    }

    /// Returns the node that `target`, the part of a reference before `#`, names: a schema with
    /// that `$id`, with the index of its resource, or the root of a document.
    fn base(
        &self,
        document: usize,
        resource: Option<usize>,
        target: &str,
    ) -> Result<(NodeRef<'a>, Option<usize>), RefProblem> {
        if target.is_empty() {
            return Ok(match resource {
                Some(index) => (self.resources.list[index].root.clone(), resource),
                None => (self.document(document), None),
            });
        }
        let from = &self.documents.list[document];
        let base = &from.base;
        // A schema with this `$id` goes before a file of the same name: by JSON Schema, a URI
        // identifies the schema that declares it, wherever it was retrieved from.
        if let Some(index) = self.resources.find(resource, from.address(), target) {
            return Ok((self.resources.list[index].root.clone(), Some(index)));
        }
        if target == METASCHEMA
            && let Some(index) = self.documents.metaschema
        {
            return Ok((self.document(index), None));
        }
        let address = self.resources.address(resource, from.address(), target);
        if let Some(found) =
            address.and_then(|address| self.documents.addresses.get(address.as_str()))
        {
            return self.fetched(found);
        }
        // In a copy of a document on another host, relative references lead to that host, never to
        // files beside the copy.
        if has_scheme(target) || target.starts_with("//") || base.address().is_some() {
            return Err(RefProblem::Remote);
        }
        if self.documents.is_text {
            return Err(RefProblem::NoFiles);
        }
        let file = local_file(target).ok_or(RefProblem::Malformed)?;
        self.fetched(
            self.documents.list[document]
                .files
                .get(&file)
                .ok_or(RefProblem::Malformed)?,
        )
    }

    /// Returns the root of a document, or the problem if the document is unavailable.
    fn fetched(
        &self,
        found: &Result<usize, Unavailable>,
    ) -> Result<(NodeRef<'a>, Option<usize>), RefProblem> {
        match found {
            Ok(index) => Ok((self.document(*index), None)),
            Err(Unavailable::Unreadable(why)) => Err(RefProblem::Unreadable(why.clone())),
            Err(Unavailable::Broken) => Err(RefProblem::Broken),
        }
    }

    fn walk(&self, base: NodeRef<'a>, target: &str, pointer: &str) -> Resolved<'a> {
        let start = base.pointer.len();
        let mut at = base;
        let tokens: Vec<String> = pointer::tokens(pointer).map(Cow::into_owned).collect();
        for (depth, token) in tokens.iter().enumerate() {
            let next = match &at.node.value {
                NodeValue::Object(_) => self.value(at.node, token),
                NodeValue::Array(items) => token
                    .parse::<usize>()
                    .ok()
                    // RFC 6901 forbids leading zeros and signs, which `parse` accepts.
                    .filter(|index| index.to_string() == *token)
                    .and_then(|index| items.get(index)),
                _ => None,
            };
            let Some(next) = next else {
                let meant = self.suggest(&at, &tokens[depth..]);
                let meant = meant.map(|pointer| format!("{target}#{}", &pointer[start..]));
                return Err(RefProblem::Dangling(meant));
            };
            at = at.child(token, next);
        }
        Ok(at)
    }

    /// Returns the value of a key, through an index if the object is large: `components` can have
    /// thousands of keys, each looked up many times.
    pub(crate) fn value(&self, node: &'a Node, key: &str) -> Option<&'a Node> {
        let entries = node.as_object()?;
        // Scanning a few keys costs less than hashing them all for an index.
        if entries.len() < 16 {
            return node.get(key);
        }
        let mut keys = self.keys.borrow_mut();
        let index = keys.entry(address(node)).or_insert_with(|| {
            entries
                .iter()
                .enumerate()
                .map(|(index, entry)| (entry.key.as_str(), index))
                .collect()
        });
        index.get(key).map(|index| &entries[*index].value)
    }

    /// Returns the pointer that was probably meant, if a key similar to the first of `tokens`
    /// exists. Returns `None` once [`MOST_SUGGESTIONS`] have been searched for.
    fn suggest(&self, at: &NodeRef<'_>, tokens: &[String]) -> Option<String> {
        let left = self.suggestions.get().checked_sub(1)?;
        self.suggestions.set(left);
        let (wrong, rest) = tokens.split_first()?;
        let entries = at.node.as_object()?;
        let near = nearest(
            wrong,
            entries
                .iter()
                .take(MOST_NEAR)
                .map(|entry| entry.key.as_str()),
        )?;
        let mut meant = pointer::join(&at.pointer, near);
        for token in rest {
            pointer::push(&mut meant, token);
        }
        Some(meant)
    }
}
