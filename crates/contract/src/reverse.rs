//! The contract of the other direction: the operations that an API calls on its subscribers.
//!
//! Webhooks and callbacks are operations whose server is the subscriber and whose client is the
//! API. The document does not say at which path a subscriber is called, so paths are made here: the
//! webhook's name, or the operation's id and the callback's name. Schemas keep the ids that they
//! have in the original contract.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::model::{Contract, Document, Info, Location, Method, Operation, PathPart, Tag};
use crate::pointer;

/// Returns the contract of a document's webhooks and callbacks, or `None` if it has none.
///
/// An operation of it has only the security that it declares itself: the document's security
/// protects the API, not its subscribers.
#[must_use]
pub fn reversed(contract: &Contract) -> Option<Contract> {
    let Reversing {
        paths, operations, ..
    } = reversing(contract);
    if operations.is_empty() {
        return None;
    }
    Some(Contract {
        yaml: None,
        servers: Vec::new(),
        tags: tags(contract, &operations),
        operations,
        webhooks: Vec::new(),
        security: Vec::new(),
        paging: None,
        document: later(contract, paths),
        info: Info {
            title: format!("{} webhooks", contract.info.title.trim()),
            ..contract.info.clone()
        },
        version: contract.version.clone(),
        schemas: contract.schemas.clone(),
        components: contract.components.clone(),
        security_schemes: contract.security_schemes.clone(),
        dialect: contract.dialect,
        formats: contract.formats,
    })
}

/// Returns the number of operations that the contract of a document's webhooks and callbacks has,
/// without the cost of making that contract.
#[must_use]
pub fn reversed_count(contract: &Contract) -> usize {
    reversing(contract).operations.len()
}

fn reversing(contract: &Contract) -> Reversing {
    let mut reversing = Reversing {
        ids: HashSet::new(),
        paths: IndexMap::new(),
        routes: HashSet::new(),
        operations: Vec::new(),
    };
    for webhook in &contract.webhooks {
        reversing.webhook(webhook);
    }
    for operation in contract.operations.iter().chain(&contract.webhooks) {
        reversing.callbacks(operation, &operation.tags);
    }
    reversing
}

struct Reversing {
    ids: HashSet<String>,
    /// The new paths, each with the pointer of its path item in the original document.
    paths: IndexMap<String, String>,
    /// The paths and methods in use.
    routes: HashSet<(String, Method)>,
    operations: Vec<Operation>,
}

impl Reversing {
    fn webhook(&mut self, webhook: &Operation) {
        self.add(
            webhook,
            &format!("/{}", webhook.path),
            &webhook.id,
            &webhook.tags,
        );
    }

    /// Adds the callbacks of an operation, and the callbacks of those. A callback without tags has
    /// those of its operation.
    fn callbacks(&mut self, operation: &Operation, tags: &[String]) {
        // A callback component that is used under two names is one callback.
        let mut pointers = HashSet::new();
        let callbacks = operation
            .callbacks
            .iter()
            .filter(|callback| pointers.insert(&*callback.pointer));
        let callbacks: Vec<&Operation> = callbacks.collect();
        let mut several: HashMap<&str, usize> = HashMap::new();
        for callback in &callbacks {
            *several.entry(name(callback)).or_default() += 1;
        }
        for callback in callbacks {
            let name = name(callback);
            let method = if several[name] > 1 {
                format!("_{}", callback.method.key())
            } else {
                String::new()
            };
            let derived = format!("{}_{name}{method}", operation.id);
            // An id that was derived from the expression, such as `post_request_body_url`, says
            // little.
            let id = if callback.id_is_derived || self.ids.contains(&callback.id) {
                derived
            } else {
                callback.id.clone()
            };
            let tags = if callback.tags.is_empty() {
                tags
            } else {
                &callback.tags
            };
            self.add(callback, &format!("/{}/{name}", operation.id), &id, tags);
            self.callbacks(callback, tags);
        }
    }

    /// Adds an operation at a path, or at a numbered one if the path belongs to another path item.
    /// Does nothing if the operation was added before.
    fn add(&mut self, operation: &Operation, path: &str, id: &str, tags: &[String]) {
        let old = operation
            .pointer
            .rsplit_once('/')
            .map_or("", |(item, _)| item);
        let candidates =
            std::iter::once(path.to_owned()).chain((2..).map(|count| format!("{path}/{count}")));
        let path = candidates
            .into_iter()
            .find(|path| self.paths.get(path).is_none_or(|item| item == old))
            .expect("there is always another number");
        self.paths
            .entry(path.clone())
            .or_insert_with(|| old.to_owned());
        if !self.routes.insert((path.clone(), operation.method.clone())) {
            return;
        }
        let mut counted =
            std::iter::once(id.to_owned()).chain((2..).map(|count| format!("{id}_{count}")));
        let id = counted
            .find(|id| self.ids.insert(id.clone()))
            .expect("there is always another number");
        let mut operation = Operation {
            id,
            tags: tags.to_vec(),
            segments: vec![PathPart::Literal(path.clone())],
            path: path.clone(),
            callbacks: Vec::new(),
            ..operation.clone()
        };
        // A path made here has no template, so there are no path parameters.
        operation
            .parameters
            .retain(|parameter| parameter.location != Location::Path);
        move_pointers(&mut operation, old, &pointer::join("/paths", &path));
        self.operations.push(operation);
    }
}

/// Returns the tags of the contract, then those that only `operations` name, in the order of their
/// first use.
fn tags(contract: &Contract, operations: &[Operation]) -> Vec<Tag> {
    let mut tags = contract.tags.clone();
    for name in operations
        .iter()
        .filter_map(|operation| operation.tags.first())
    {
        if tags.iter().all(|tag| tag.name != *name) {
            tags.push(Tag {
                name: name.clone(),
                description: None,
            });
        }
    }
    tags
}

/// Returns the name of a callback: in its pointer, the token before the expression and the method.
fn name(callback: &Operation) -> &str {
    callback.pointer.rsplit('/').nth(2).unwrap_or("callback")
}

/// Replaces `old`, the pointer of the path item, by `new` in the pointers of an operation and its
/// parts.
fn move_pointers(operation: &mut Operation, old: &str, new: &str) {
    let moved = |pointer: &mut String| {
        if let Some(rest) = pointer.strip_prefix(old)
            && rest.starts_with('/')
        {
            *pointer = format!("{new}{rest}");
        }
    };
    moved(&mut operation.pointer);
    let contents = operation
        .request_body
        .iter_mut()
        .flat_map(|body| &mut body.content);
    contents.for_each(|media| moved(&mut media.pointer));
    for parameter in &mut operation.parameters {
        moved(&mut parameter.pointer);
    }
    for response in &mut operation.responses {
        moved(&mut response.pointer);
        response
            .content
            .iter_mut()
            .for_each(|media| moved(&mut media.pointer));
        response
            .headers
            .iter_mut()
            .for_each(|header| moved(&mut header.pointer));
    }
}

/// Returns the document of the webhooks and callbacks, which is built once a command needs it.
fn later(contract: &Contract, paths: IndexMap<String, String>) -> Document {
    let original = contract.document.clone();
    let (version, title) = (contract.version.clone(), contract.info.title.clone());
    Document::later(move || document(&original, &version, &title, &paths))
}

/// Returns the OpenAPI document of the webhooks and callbacks: the path items of the original at
/// their new paths, with its tags and components.
fn document(whole: &Value, version: &str, title: &str, paths: &IndexMap<String, String>) -> Value {
    let mut document = Map::new();
    let original = whole.as_object();
    let kept = |key: &str| original.and_then(|document| document.get(key)).cloned();
    document.insert("openapi".to_owned(), version.into());
    let mut info = kept("info").unwrap_or_else(|| json!({}));
    info["title"] = format!("{} webhooks", title.trim()).into();
    document.insert("info".to_owned(), info);
    document.extend(kept("tags").map(|tags| ("tags".to_owned(), tags)));
    let items = paths
        .iter()
        .filter_map(|(path, pointer)| Some((path.clone(), whole.pointer(pointer)?.clone())));
    document.insert("paths".to_owned(), Value::Object(items.collect()));
    document.extend(kept("components").map(|components| ("components".to_owned(), components)));
    Value::Object(document)
}
