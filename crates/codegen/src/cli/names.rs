//! The names of commands and flags, as people type them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use contract::model::{Location, PathPart};

use crate::ir::{Api, Operation, Parameter};
use crate::names;

/// The commands that every program has.
const COMMANDS: [&str; 3] = ["completions", "help", "man"];

/// The names of the commands of an API.
pub(super) struct Names {
    /// The command of each tag; `None` for operations without a tag, which are commands of the
    /// program itself.
    pub(super) groups: Vec<Option<String>>,
    /// The command of each operation.
    pub(super) operations: Vec<String>,
    /// The starts of paths that end with a parameter which is a setting of the program.
    contexts: HashSet<String>,
}

impl Names {
    pub(super) fn new(api: &Api<'_>) -> Self {
        let mut taken: HashSet<String> = COMMANDS.map(str::to_owned).into();
        let groups: Vec<Option<String>> = api
            .tags
            .iter()
            .map(|tag| {
                tag.name.as_ref()?;
                let wanted = tag.module.trim_end_matches('_').replace('_', "-");
                Some(names::unique(&mut taken, wanted))
            })
            .collect();
        let mut operations = vec![String::new(); api.operations.len()];
        for (tag, group) in groups.iter().enumerate() {
            let own = HashSet::from(["help".to_owned()]);
            let mut taken = if group.is_some() { own } else { taken.clone() };
            for (at, name) in in_tag(api, tag) {
                operations[at] = names::unique(&mut taken, name);
            }
        }
        Self {
            groups,
            operations,
            contexts: contexts(api),
        }
    }

    /// Returns whether a parameter is a setting of the program: operations of several tags share
    /// the path up to it, so it says where they work and not what this one is about.
    pub(super) fn is_context(&self, operation: &Operation, parameter: &Parameter) -> bool {
        let prefix = prefix(operation, parameter);
        let inner = prefix.filter(|prefix| prefix.len() < operation.segments.len());
        inner.is_some_and(|prefix| self.contexts.contains(&key(prefix)))
    }
}

/// Returns the index and the wanted name of each operation of a tag: its id without the words of the
/// tag, or with them where two ids differ in these alone.
fn in_tag(api: &Api<'_>, tag: usize) -> Vec<(usize, String)> {
    let module = &api.tags[tag].module;
    let of_tag = api.operations.iter().enumerate();
    let of_tag = of_tag.filter(|(_, operation)| operation.tag == tag);
    let short: Vec<(usize, &Operation, String)> = of_tag
        .map(|(at, operation)| {
            let name = operation.name.trim_start_matches("r#").trim_matches('_');
            (at, operation, without(name, module.trim_matches('_')))
        })
        .collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (.., name) in &short {
        *uses.entry(name).or_default() += 1;
    }
    let named = short.iter().map(|(at, operation, name)| {
        let whole = operation.name.trim_start_matches("r#");
        let name = if uses[name.as_str()] == 1 {
            name
        } else {
            whole
        };
        (*at, name.trim_matches('_').replace('_', "-"))
    });
    named.collect()
}

/// Returns a name in `snake_case` without the words of a tag, the last of which may be in the
/// singular or the plural: `list` for `list_pets` and `pet`.
fn without(name: &str, tag: &str) -> String {
    let words: Vec<&str> = name.split('_').collect();
    let of_tag: Vec<&str> = tag.split('_').collect();
    let is_same = |one: &str, other: &str| {
        one == other || one.strip_suffix('s') == Some(other) || other.strip_suffix('s') == Some(one)
    };
    let found = words.windows(of_tag.len()).position(|window| {
        let mut pairs = window.iter().zip(&of_tag);
        pairs.all(|(one, other)| is_same(one, other))
    });
    let Some(found) = found.filter(|_| words.len() > of_tag.len()) else {
        return name.to_owned();
    };
    let rest = [&words[..found], &words[found + of_tag.len()..]].concat();
    rest.join("_")
}

/// Returns the flag of a parameter or property with a Rust name.
pub(super) fn flag(name: &str) -> String {
    name.trim_start_matches("r#")
        .trim_matches('_')
        .replace('_', "-")
}

/// Returns the paths up to the parameters that say in what the operations of several tags work, such
/// as a project: they are settings, and no arguments of each command.
///
/// Such a path is that of operations of two tags at least. A name that several such paths end with is
/// no setting, since one value cannot be that of all.
fn contexts(api: &Api<'_>) -> HashSet<String> {
    let mut tags: BTreeMap<(&str, String), BTreeSet<usize>> = BTreeMap::new();
    for operation in &api.operations {
        for parameter in &operation.parameters {
            if let Some(prefix) = prefix(operation, parameter) {
                let key = (parameter.wire.as_str(), key(prefix));
                tags.entry(key).or_default().insert(operation.tag);
            }
        }
    }
    tags.retain(|_, tags| tags.len() > 1);
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (name, _) in tags.keys() {
        *uses.entry(name).or_default() += 1;
    }
    let keys = tags.keys().filter(|(name, _)| uses[name] == 1);
    keys.map(|(_, key)| key.clone()).collect()
}

/// Returns the path of an operation up to a parameter and with it.
fn prefix<'o>(operation: &'o Operation, parameter: &Parameter) -> Option<&'o [PathPart]> {
    if parameter.location != Location::Path {
        return None;
    }
    let part = PathPart::Parameter(parameter.wire.clone());
    let end = operation.segments.iter().position(|other| *other == part)?;
    Some(&operation.segments[..=end])
}

/// Returns the beginning of a path as text.
fn key(parts: &[PathPart]) -> String {
    let texts = parts.iter().map(|part| match part {
        PathPart::Literal(text) => text.clone(),
        PathPart::Parameter(name) => format!("{{{name}}}"),
    });
    texts.collect()
}
