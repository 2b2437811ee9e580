//! What callers of a stateful mock have created.
//!
//! An item belongs to a collection and to the path that was called, so `/a/1/widgets` and
//! `/a/2/widgets` are apart. It is found by the name of its path and by the properties that paths
//! may name it by.

use std::sync::{Mutex, MutexGuard, PoisonError};

use codegen::ir::Api;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::bounds::{MOST_KEPT, MOST_KEPT_BYTES};
use crate::collections::{Action, Collection, Collections, Role};
use crate::values::{NoValue, Values};

/// The number of names that are tried for a new item.
const TRIES: u64 = 24;

/// Everything that is kept.
pub(crate) struct Kept {
    pub(crate) collections: Collections,
    items: Mutex<Items>,
}

#[derive(Default)]
struct Items {
    all: Vec<Item>,
    bytes: usize,
    /// The number of items that were ever created, by which made up parts of items differ.
    created: u64,
}

struct Item {
    collection: usize,
    /// The path of its collection, as it was called.
    scope: String,
    /// The name in the path that it was created at.
    name: Option<String>,
    value: Value,
    bytes: usize,
}

/// What a request asks of a collection.
pub(crate) struct Asked<'r> {
    pub(crate) role: Role,
    pub(crate) path: &'r str,
    /// The path as the contract writes it.
    pub(crate) template: &'r str,
    /// The body, if it is JSON.
    pub(crate) body: Option<&'r Value>,
    /// The properties that the schema of the body has.
    pub(crate) settable: Vec<&'static str>,
    pub(crate) seed: u64,
}

/// What was done.
pub(crate) enum Done {
    /// A new item.
    Created(Value),
    /// An item as it is now, or as it was before it was removed.
    Existing(Value),
    /// The items of a list.
    Listed(Vec<Value>),
    /// There is no such item.
    Missing,
    /// There is such an item already.
    Taken,
    /// There is no room for another item.
    Full,
    /// No value was found that fits the schema.
    Impossible(NoValue),
}

impl<'r> Asked<'r> {
    /// Returns the names and values of the parameters that are whole segments of the path.
    fn parameters(&self) -> impl Iterator<Item = (&'r str, String)> {
        let segments = self.template.split('/').zip(self.path.split('/'));
        segments.filter_map(|(template, segment)| {
            let name = template.strip_prefix('{')?.strip_suffix('}')?;
            let value = percent_decode_str(segment).decode_utf8_lossy().into_owned();
            Some((name, value))
        })
    }
}

impl Kept {
    pub(crate) fn new(api: &'static Api<'static>) -> Self {
        Self {
            collections: Collections::of(api),
            items: Mutex::default(),
        }
    }

    /// Does what a request asks.
    pub(crate) fn run(&self, values: &Values, asked: &Asked<'_>) -> Done {
        let collection = &self.collections.all[asked.role.collection];
        let mut items = self.items();
        let (scope, name) = match asked.role.action {
            Action::List(_) => {
                let of = items.all.iter().filter(|item| {
                    item.collection == asked.role.collection && item.scope == asked.path
                });
                return Done::Listed(of.map(|item| item.value.clone()).collect());
            }
            Action::Create => (asked.path, None),
            _ => match asked.path.rsplit_once('/') {
                Some((scope, name)) => (scope, Some(percent_decode_str(name).decode_utf8_lossy())),
                None => return Done::Missing,
            },
        };
        let found = name.as_deref().and_then(|name| {
            let mut all = items.all.iter();
            all.position(|item| item.is(collection, asked.role.collection, scope, name))
        });
        let writing = Writing {
            values,
            collection,
            asked,
        };
        match (asked.role.action, found) {
            (Action::View, Some(at)) => Done::Existing(items.all[at].value.clone()),
            (Action::Remove, Some(at)) => {
                let item = items.all.remove(at);
                items.bytes -= item.bytes;
                Done::Existing(item.value)
            }
            (Action::Merge, Some(at)) => {
                let value = writing.merged(items.all[at].value.clone());
                items.replace(at, value)
            }
            (Action::CreateNamed, Some(_)) => Done::Taken,
            (Action::Put, Some(at)) => match writing.made(name.as_deref(), asked.seed) {
                Ok(value) => {
                    let value = writing.renamed(value, &items.all[at].value);
                    items.replace(at, value)
                }
                Err(error) => Done::Impossible(error),
            },
            (Action::Put | Action::CreateNamed, None) => {
                let seed = asked.seed.wrapping_add(items.created);
                match writing.made(name.as_deref(), seed) {
                    Ok(value) => items.insert(asked, scope, name.as_deref(), value),
                    Err(error) => Done::Impossible(error),
                }
            }
            (Action::Create, _) => {
                let seed = asked.seed.wrapping_add(items.created);
                let made = writing.made(None, seed);
                let made = made.map(|value| writing.named_anew(&items, scope, value, seed));
                match made {
                    Ok(Some(value)) => items.insert(asked, scope, None, value),
                    Ok(None) => Done::Taken,
                    Err(error) => Done::Impossible(error),
                }
            }
            (_, None) | (Action::List(_), Some(_)) => Done::Missing,
        }
    }

    fn items(&self) -> MutexGuard<'_, Items> {
        // Each change is made in one step, so a panic elsewhere leaves the items valid.
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Item {
    /// Returns whether a path means this item.
    fn is(&self, collection: &Collection, index: usize, scope: &str, name: &str) -> bool {
        let is_named = |property: &&str| text(&self.value[property]).as_deref() == Some(name);
        self.collection == index
            && self.scope == scope
            && (self.name.as_deref() == Some(name) || collection.names.iter().any(is_named))
    }
}

impl Items {
    fn insert(&mut self, asked: &Asked<'_>, scope: &str, name: Option<&str>, value: Value) -> Done {
        let bytes = size(&value) + scope.len() + name.map_or(0, str::len);
        // The difference is not negative: nothing is ever kept beyond the bound.
        if self.all.len() >= MOST_KEPT || bytes > MOST_KEPT_BYTES - self.bytes {
            return Done::Full;
        }
        self.bytes += bytes;
        self.created += 1;
        self.all.push(Item {
            collection: asked.role.collection,
            scope: scope.to_owned(),
            name: name.map(str::to_owned),
            value: value.clone(),
            bytes,
        });
        Done::Created(value)
    }

    fn replace(&mut self, at: usize, value: Value) -> Done {
        let item = &mut self.all[at];
        // The difference is the size of its path and name, which stay the same.
        let bytes = item.bytes - size(&item.value) + size(&value);
        let others = self.bytes - item.bytes;
        if bytes > MOST_KEPT_BYTES - others {
            return Done::Full;
        }
        self.bytes = others + bytes;
        item.bytes = bytes;
        item.value = value.clone();
        Done::Existing(value)
    }
}

/// An item that is written.
struct Writing<'w> {
    values: &'w Values,
    collection: &'w Collection,
    asked: &'w Asked<'w>,
}

impl Writing<'_> {
    /// Returns a new item: made up, except for what the request says.
    fn made(&self, name: Option<&str>, seed: u64) -> Result<Value, NoValue> {
        let schema = self.collection.item;
        let mut value = self.values.value(schema, seed, false)?;
        let own = self.values.properties(schema);
        let no_body = Map::new();
        let body = self
            .asked
            .body
            .and_then(Value::as_object)
            .unwrap_or(&no_body);
        // What the caller could have said, and did not, is left out where it may be.
        for property in &self.asked.settable {
            if !body.contains_key(*property) && own.contains_key(property) {
                self.try_change(&mut value, |entries| drop(entries.shift_remove(*property)));
            }
        }
        let own: Vec<&str> = own.into_keys().collect();
        self.overlay(&mut value, body, &own, |entries, name, value| {
            entries.insert(name.to_owned(), value.clone());
        });
        for (parameter, said) in self.asked.parameters() {
            // Such as the location in `/locations/{location}/widgets`.
            if own.contains(&parameter) && !body.contains_key(parameter) {
                self.try_change(&mut value, |entries| {
                    entries.insert(parameter.to_owned(), Value::from(said));
                });
            }
        }
        if let Some(name) = name {
            // By the property that fits, which the body may have said already.
            let is_said = |property: &&str| body.contains_key(*property);
            let names = self.collection.names.iter();
            for property in names.filter(|property| !is_said(property)) {
                let is_done = self.try_change(&mut value, |entries| {
                    entries.insert((*property).to_owned(), Value::from(name));
                });
                if is_done {
                    break;
                }
            }
        }
        Ok(value)
    }

    /// Returns an item with the changes of the body (RFC 7396), as far as they fit the schema.
    fn merged(&self, mut value: Value) -> Value {
        let own = self.values.properties(self.collection.item);
        let own: Vec<&str> = own.keys().copied().collect();
        if let Some(body) = self.asked.body.and_then(Value::as_object) {
            self.overlay(&mut value, body, &own, merge);
        }
        value
    }

    /// Sets the properties that an item has in common with the body: all at once if that fits the
    /// schema, else those that do.
    fn overlay(
        &self,
        value: &mut Value,
        body: &Map<String, Value>,
        own: &[&str],
        set: fn(&mut Map<String, Value>, &str, &Value),
    ) {
        let common = || body.iter().filter(|(name, _)| own.contains(&name.as_str()));
        let is_done = self.try_change(value, |entries| {
            for (name, change) in common() {
                set(entries, name, change);
            }
        });
        if is_done {
            return;
        }
        for (name, change) in common() {
            let is_set = self.try_change(value, |entries| set(entries, name, change));
            // What is required cannot be removed, but may be null.
            if !is_set && change.is_null() {
                self.try_change(value, |entries| {
                    entries.insert(name.clone(), Value::Null);
                });
            }
        }
    }

    /// Changes an item, unless the schema refuses it then. Returns whether it was changed.
    fn try_change(&self, value: &mut Value, change: impl FnOnce(&mut Map<String, Value>)) -> bool {
        let mut changed = value.clone();
        let Some(entries) = changed.as_object_mut() else {
            return false;
        };
        change(entries);
        let fits = self.values.check(self.collection.item, &changed).is_ok();
        if fits {
            *value = changed;
        }
        fits
    }

    /// Gives an item that takes the place of another its names, unless the body has others.
    fn renamed(&self, mut value: Value, before: &Value) -> Value {
        let body = self.asked.body.and_then(Value::as_object);
        for property in &self.collection.names {
            let is_said = body.is_some_and(|body| body.contains_key(*property));
            if let Some(old) = before.get(property).filter(|_| !is_said) {
                let old = old.clone();
                self.try_change(&mut value, |entries| {
                    entries.insert((*property).to_owned(), old);
                });
            }
        }
        value
    }

    /// Gives a new item names that no other item has, unless the body says them. Returns `None` if
    /// there are none.
    fn named_anew(&self, items: &Items, scope: &str, value: Value, seed: u64) -> Option<Value> {
        let index = self.asked.role.collection;
        let is_taken = |value: &Value| {
            let mut names = self
                .collection
                .names
                .iter()
                .filter_map(|it| text(&value[it]));
            names.any(|name| {
                let mut all = items.all.iter();
                all.any(|item| item.is(self.collection, index, scope, &name))
            })
        };
        let mut value = value;
        let said = self.asked.body.and_then(Value::as_object);
        for attempt in 0..TRIES {
            if !is_taken(&value) {
                return Some(value);
            }
            // Far from the seeds of the next items, which are one apart.
            let seed = seed.wrapping_add(attempt.wrapping_mul(0x9E37_79B9));
            let Ok(other) = self.values.value(self.collection.item, seed, true) else {
                continue;
            };
            for property in &self.collection.names {
                let is_said = said.is_some_and(|body| body.contains_key(*property));
                if let Some(name) = other.get(property).filter(|_| !is_said) {
                    self.try_change(&mut value, |entries| {
                        entries.insert((*property).to_owned(), name.clone());
                    });
                }
            }
        }
        (!is_taken(&value)).then_some(value)
    }
}

/// Applies one change of a merge patch (RFC 7396).
fn merge(entries: &mut Map<String, Value>, name: &str, change: &Value) {
    match change {
        Value::Null => {
            entries.shift_remove(name);
        }
        Value::Object(changes) => {
            let entry = entries
                .entry(name)
                .or_insert_with(|| Value::Object(Map::new()));
            if !entry.is_object() {
                *entry = Value::Object(Map::new());
            }
            if let Value::Object(inner) = entry {
                for (name, change) in changes {
                    merge(inner, name, change);
                }
            }
        }
        _ => {
            entries.insert(name.to_owned(), change.clone());
        }
    }
}

/// Returns a property as the text of a path, if it can be one.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}
