//! The collections that a contract has, recognised by its paths and schemas alone.
//!
//! A path such as `/widgets/{id}` is that of an item if its GET has an object in JSON as its first
//! success. The collection is kept if an operation creates items: a POST of `/widgets`, or a PUT or
//! POST of the item's path, whose first success has the same schema as the GET.

use std::collections::BTreeMap;

use codegen::ir::{self, Api, MediaKind};
use contract::Contract;
use contract::model::{Method, SchemaId, SchemaKind, StatusKey};

/// The collections of a contract.
#[derive(Default)]
pub(crate) struct Collections {
    pub(crate) all: Vec<Collection>,
    /// What an operation does with which collection, by its id.
    roles: BTreeMap<&'static str, Role>,
}

/// A collection.
pub(crate) struct Collection {
    /// The path of an item.
    path: &'static str,
    pub(crate) item: SchemaId,
    /// The properties of an item by which a path may name it.
    pub(crate) names: Vec<&'static str>,
}

/// What an operation does with a collection.
#[derive(Clone, Copy)]
pub(crate) struct Role {
    /// The index of the collection.
    pub(crate) collection: usize,
    pub(crate) action: Action,
}

/// What is done with items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// POST of the collection: a new item, which gets a name.
    Create,
    /// PUT of an item: a new one, or another in its place.
    Put,
    /// POST of an item: a new one of this name.
    CreateNamed,
    /// GET of an item.
    View,
    /// PATCH of an item.
    Merge,
    /// DELETE of an item.
    Remove,
    /// GET of the collection.
    List(List),
}

/// The schema of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) schema: SchemaId,
    /// The property that holds the items, unless the list is the array itself.
    pub(crate) items: Option<&'static str>,
    /// The schema of an item in the list: that of the item, or one of some of its properties.
    pub(crate) item: SchemaId,
    /// Whether an item in the list is a whole one.
    pub(crate) is_whole: bool,
    /// The maximum number of items that the list may have.
    pub(crate) most: Option<u64>,
}

impl Collections {
    /// Recognises the collections of a contract.
    pub(crate) fn of(api: &'static Api<'static>) -> Self {
        let mut found = Self::default();
        for view in &api.operations {
            let Some((parent, parameter)) = item_path(view) else {
                continue;
            };
            let Some(item) = success(api, view).filter(|_| view.method == Method::Get) else {
                continue;
            };
            let properties = properties(api.contract, item);
            let collection = Collection {
                path: &view.path,
                item,
                names: names(parameter, &properties),
            };
            let roles = roles(api, view, parent, &collection);
            let creates = |(_, action): &(&str, Action)| {
                matches!(action, Action::Create | Action::Put | Action::CreateNamed)
            };
            // What nobody creates would always be missing.
            if properties.is_empty() || !roles.iter().any(creates) {
                continue;
            }
            let index = found.all.len();
            found.all.push(collection);
            for (id, action) in roles {
                let role = Role {
                    collection: index,
                    action,
                };
                // Two kinds of items can have the same path before them. Its operations go to the
                // first.
                found.roles.entry(id).or_insert(role);
            }
        }
        found
    }

    /// Returns what an operation does with a collection, if it does anything.
    pub(crate) fn role(&self, operation: &str) -> Option<Role> {
        self.roles.get(operation).copied()
    }

    /// Returns a line for each collection: its path and its operations.
    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = self.all.iter().enumerate().map(|(index, collection)| {
            let of = self
                .roles
                .iter()
                .filter(|(_, role)| role.collection == index);
            let ids: Vec<&str> = of.map(|(id, _)| *id).collect();
            format!("{} is kept: {}", collection.path, ids.join(", "))
        });
        lines.collect()
    }
}

/// Returns the path before the last segment and the name of the parameter that this segment is, if
/// it is one.
fn item_path(operation: &'static ir::Operation) -> Option<(&'static str, &'static str)> {
    let (parent, segment) = operation.path.rsplit_once('/')?;
    let name = segment.strip_prefix('{')?.strip_suffix('}')?;
    (!name.contains(['{', '}'])).then_some((parent, name))
}

/// Returns what the operations of an item's path and of the path before it do.
fn roles(
    api: &'static Api<'static>,
    view: &'static ir::Operation,
    parent: &str,
    collection: &Collection,
) -> Vec<(&'static str, Action)> {
    let actions = api.operations.iter().filter_map(|operation| {
        let is_item = success(api, operation) == Some(collection.item);
        let is_own = operation.path == view.path;
        let action = match &operation.method {
            Method::Get if is_own => Action::View,
            Method::Put if is_own && is_item => Action::Put,
            Method::Post if is_own && is_item => Action::CreateNamed,
            // A change may as well have a success without a body, such as 204.
            Method::Patch if is_own && (is_item || is_empty(operation)) => Action::Merge,
            Method::Delete if is_own => Action::Remove,
            Method::Get if operation.path == parent => {
                Action::List(list(api, operation, collection)?)
            }
            Method::Post if operation.path == parent && is_item => Action::Create,
            _ => return None,
        };
        Some((operation.id.as_str(), action))
    });
    actions.collect()
}

/// Returns the first success of an operation.
fn first(operation: &'static ir::Operation) -> Option<&'static ir::Response> {
    let mut responses = operation.responses.iter();
    responses.find(|response| match response.status {
        StatusKey::Code(code) => (200..300).contains(&code),
        StatusKey::Range(digit) => digit == 2,
        StatusKey::Default => false,
    })
}

/// Returns the schema of the first success of an operation, if that is JSON.
fn success(api: &'static Api<'static>, operation: &'static ir::Operation) -> Option<SchemaId> {
    let mut media = first(operation)?.media.iter();
    let json = media.find(|media| media.kind == MediaKind::Json)?;
    Some(api.contract.resolve(json.schema?))
}

/// Returns whether the first success of an operation has no body.
fn is_empty(operation: &'static ir::Operation) -> bool {
    first(operation).is_some_and(|response| response.media.is_empty())
}

/// Returns the shape of a list of items, if the first success of an operation is one.
fn list(
    api: &'static Api<'static>,
    operation: &'static ir::Operation,
    collection: &Collection,
) -> Option<List> {
    let contract = api.contract;
    let schema = success(api, operation)?;
    let listed = |array: SchemaId| {
        let SchemaKind::Object(keywords) = &contract.schema(contract.resolve(array)).kind else {
            return None;
        };
        let item = contract.resolve(keywords.items?);
        let own = properties(contract, collection.item);
        let summary = properties(contract, item);
        let is_part = !summary.is_empty() && summary.keys().all(|name| own.contains_key(name));
        let is_whole = item == collection.item;
        (is_whole || is_part).then_some(List {
            schema,
            items: None,
            item,
            is_whole,
            most: keywords.max_items,
        })
    };
    if let Some(list) = listed(schema) {
        return Some(list);
    }
    let properties = properties(contract, schema).into_iter();
    let mut lists = properties.filter_map(|(name, array)| Some((name, listed(array)?)));
    let (name, list) = lists.next()?;
    // Of two lists nobody knows which has what was created.
    let is_only = lists.next().is_none();
    let items = Some(name);
    is_only.then_some(List { items, ..list })
}

/// Returns the properties of an object and of the parts of its `allOf`, with their schemas, without
/// those that only requests have.
pub(crate) fn properties(
    contract: &'static Contract,
    id: SchemaId,
) -> BTreeMap<&'static str, SchemaId> {
    let (mut found, mut seen, mut pending) = (BTreeMap::new(), Vec::new(), vec![id]);
    while let Some(id) = pending.pop() {
        let id = contract.resolve(id);
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
            continue;
        };
        pending.extend(keywords.reference);
        pending.extend(keywords.all_of.iter().copied());
        for (name, property) in &keywords.properties {
            if !is_write_only(contract, *property) {
                found.entry(name.as_str()).or_insert(*property);
            }
        }
    }
    found
}

fn is_write_only(contract: &'static Contract, id: SchemaId) -> bool {
    let is = |id: SchemaId| match &contract.schema(id).kind {
        SchemaKind::Object(keywords) => keywords.write_only,
        SchemaKind::Bool(_) => false,
    };
    is(id) || is(contract.resolve(id))
}

/// Returns the properties by which the parameter of a path names an item: that of its name; else
/// that of its last word, such as `id` of `widget_id` and `widgetId`; else `id` and `name`.
fn names(
    parameter: &'static str,
    properties: &BTreeMap<&'static str, SchemaId>,
) -> Vec<&'static str> {
    let start = parameter.rfind(|it: char| it == '_' || it == '-' || it.is_ascii_uppercase());
    let last = start.map_or("", |at| parameter[at..].trim_start_matches(['_', '-']));
    let last = last.to_ascii_lowercase();
    let own = |wanted: &str| properties.keys().copied().find(|name| *name == wanted);
    if let Some(name) = own(parameter).or_else(|| own(&last)) {
        return vec![name];
    }
    ["id", "name"].into_iter().filter_map(own).collect()
}
