//! Puts the changes of one cause together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use codegen::surface::{Form, Item, Piece, Surface};
use contract::source::Span;

use super::change::Change;
use super::items::Items;
use super::{RustFinding, Who};

/// The maximum number of further items that a message names.
const MOST_NAMES: usize = 3;

/// The cause of changes. All changes with the same cause are reported as one finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Base(Span),
    Revision(Span),
    Item(String),
}

/// Returns a finding for each cause.
pub(super) fn findings(items: &Items<'_>, changes: Vec<Change>) -> Vec<RustFinding> {
    let mut groups: BTreeMap<Cause, Vec<Change>> = BTreeMap::new();
    for change in changes {
        groups
            .entry(cause(items, &change))
            .or_default()
            .push(change);
    }
    let users = [Users::of(items.base), Users::of(items.revision)];
    let mut findings: Vec<RustFinding> = groups
        .into_values()
        .map(|group| finding(items, &users, group))
        .collect();
    findings.sort_by(|one, other| {
        let key = |finding: &RustFinding| (finding.revision, finding.base);
        key(one)
            .cmp(&key(other))
            .then_with(|| one.item.cmp(&other.item))
    });
    findings
}

/// Returns the cause of a change: the tag that is gone with its feature, the schema that is gone
/// with those inside it, or the place of the change itself.
fn cause(items: &Items<'_>, change: &Change) -> Cause {
    let old = items.base.items.get(&change.path);
    let is_gone = items.gone.contains_key(change.path.as_str());
    let owner = old.filter(|_| is_gone).and_then(|old| owner(items, old));
    match (
        owner.and_then(|owner| owner.span).or(change.base),
        change.revision,
    ) {
        (Some(span), _) => Cause::Base(span),
        (None, Some(span)) => Cause::Revision(span),
        (None, None) => Cause::Item(change.path.clone()),
    }
}

/// Returns the item with which another one is gone.
fn owner<'s>(items: &Items<'s>, old: &Item) -> Option<&'s Item> {
    if let Some(feature) = &old.feature
        && items.is_feature_gone(old.krate, feature)
    {
        return items.feature(old.krate, feature);
    }
    if !old.is_inline {
        return None;
    }
    let name = last(&old.path);
    let gone = items.gone.keys().map(|path| &items.base.items[*path]);
    // A builder has the name from which those of its operation's schemas are made.
    let owners = gone.filter(|item| {
        !item.is_inline
            && (item.krate == old.krate || item.form == Form::Builder)
            && name.starts_with(last(&item.path))
    });
    owners.max_by_key(|item| last(&item.path).len())
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

fn finding(items: &Items<'_>, users: &[Users<'_>; 2], mut group: Vec<Change>) -> RustFinding {
    // Of an operation that is gone, the method says most; of a schema that is gone, its own type.
    group.sort_by_key(|change| {
        let old = items.base.items.get(&change.path);
        let is_inline = old.is_some_and(|item| item.is_inline);
        let form = old.map(|item| item.form);
        let rank = match form {
            Some(Form::Feature) => 0,
            Some(Form::Trait) => 1,
            _ if is_inline => 3,
            _ => 2,
        };
        (rank, change.krate, is_inline)
    });
    let who = group
        .iter()
        .fold(Who::default(), |who, change| who.and(change.who));
    let crates: BTreeSet<_> = group.iter().map(|change| change.krate).collect();
    let mut operations = BTreeSet::new();
    for change in &group {
        operations.extend(change.operation.clone());
        for (users, surface) in users.iter().zip([items.base, items.revision]) {
            operations.extend(users.operations(surface, &change.path));
        }
    }
    let first = &group[0];
    RustFinding {
        rule: first.rule,
        item: first.name.clone(),
        message: message(&group),
        who,
        crates: crates.into_iter().collect(),
        base: group.iter().find_map(|change| change.base),
        revision: group.iter().find_map(|change| change.revision),
        operations: operations.into_iter().collect(),
    }
}

/// Returns the message of the first change, and the names of others.
fn message(group: &[Change]) -> String {
    let first = &group[0];
    let mut same: Vec<&str> = Vec::new();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for change in &group[1..] {
        if change.path == first.path && change.message != first.message {
            same.push(&change.message);
        } else if change.name != first.name {
            names.insert(&change.name);
        }
    }
    let mut message = first.message.clone();
    for other in same.iter().take(MOST_NAMES) {
        message.push_str("; ");
        message.push_str(other);
    }
    if !names.is_empty() {
        let shown: Vec<String> = names
            .iter()
            .take(MOST_NAMES)
            .map(|name| format!("`{name}`"))
            .collect();
        let more = match names.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        message.push_str(&format!("; with it {}{more}", shown.join(", ")));
    }
    message
}

/// The items that name each item.
struct Users<'s> {
    by_item: HashMap<&'s str, Vec<&'s Item>>,
}

impl<'s> Users<'s> {
    fn of(surface: &'s Surface) -> Self {
        let mut by_item: HashMap<&str, Vec<&Item>> = HashMap::new();
        for item in surface.items.values() {
            for piece in item
                .members
                .iter()
                .flat_map(|member| member.signature.pieces())
            {
                if let Piece::Item(path) = piece {
                    by_item.entry(path).or_default().push(item);
                }
            }
        }
        Self { by_item }
    }

    /// Returns the operations whose requests or responses hold an item of the types crate.
    fn operations(&self, surface: &Surface, path: &str) -> BTreeSet<String> {
        let mut operations = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut pending: Vec<&str> = surface
            .items
            .get(path)
            .map(|item| item.path.as_str())
            .into_iter()
            .collect();
        while let Some(path) = pending.pop() {
            if !seen.insert(path.to_owned()) {
                continue;
            }
            let item = &surface.items[path];
            operations.extend(item.operation.clone());
            // The trait of a tag names every builder, and says nothing about one operation.
            if item.operation.is_none() && item.form != Form::Trait {
                let users = self.by_item.get(path).into_iter().flatten();
                pending.extend(
                    users
                        .filter(|user| user.form != Form::Trait)
                        .map(|user| user.path.as_str()),
                );
            }
        }
        operations
    }
}
