//! Compares the members of an item that both contracts have.

use std::collections::BTreeSet;

use codegen::surface::{Constructor, Form, Item, Member};

use super::change::Change;
use super::items::Items;

/// Returns the changes of the members of an item that break programs.
pub(super) fn changes(items: &Items<'_>, old: &Item, new: &Item) -> Vec<Change> {
    let pairs = Pairs::of(old, new);
    let mut changes: Vec<Change> = pairs
        .gone
        .iter()
        .map(|member| {
            let span = new.span;
            Change::of_member("rust-member-removed", old, member, "is gone")
                .at(member.span.or(old.span), span)
        })
        .collect();
    for (one, other) in &pairs.both {
        changes.extend(changed(items, (old, one), (new, other)));
    }
    for member in &pairs.new {
        changes.extend(added(old, new, member));
    }
    changes.extend(reordered(old, new, &changes));
    changes
}

/// The members of two versions of an item.
struct Pairs<'i> {
    both: Vec<(&'i Member, &'i Member)>,
    gone: Vec<&'i Member>,
    new: Vec<&'i Member>,
}

impl<'i> Pairs<'i> {
    /// Pairs members by what they stand for in the contract, and what is left by their names.
    fn of(old: &'i Item, new: &'i Item) -> Self {
        let mut gone: Vec<&Member> = old.members.iter().collect();
        let mut left: Vec<&Member> = new.members.iter().collect();
        let mut both = Vec::new();
        // First by the wire, since a member keeps its meaning when its name in Rust changes.
        let keys: [fn(&Member) -> &str; 2] = [|member| &member.wire, |member| &member.name];
        for key in keys {
            gone.retain(|one| {
                let found = left.iter().position(|other| key(one) == key(other));
                if let Some(found) = found {
                    both.push((*one, left.remove(found)));
                }
                found.is_none()
            });
        }
        Self {
            both,
            gone,
            new: left,
        }
    }
}

fn changed(
    items: &Items<'_>,
    (old, one): (&Item, &Member),
    (new, other): (&Item, &Member),
) -> Vec<Change> {
    let spans = (one.span.or(old.span), other.span.or(new.span));
    let change =
        |rule, message: &str| Change::of_member(rule, old, one, message).at(spans.0, spans.1);
    let mut changes = Vec::new();
    if one.name != other.name {
        let taken = new.members.iter().find(|member| member.name == one.name);
        let why = match taken {
            Some(taken) => format!(", because {} has its name", taken.wire),
            None => String::new(),
        };
        let message = format!("is called `{}` now{why}", other.name);
        changes.push(change("rust-member-renamed", &message));
    }
    if one.signature != other.signature {
        if !items.is_explained(&one.signature, &other.signature) {
            let shown = |member: &Member| match member.signature.to_string() {
                text if text.is_empty() => "nothing".to_owned(),
                text => format!("`{text}`"),
            };
            let message = format!("is {} instead of {}", shown(other), shown(one));
            changes.push(change("rust-type-changed", &message));
        }
    } else if one.converts && !other.converts {
        let message = format!("no longer comes by `From<{}>`", one.signature);
        changes.push(change("rust-trait-removed", &message));
    } else if one.is_required != other.is_required {
        let what = if other.is_required {
            "must be given when the value is built"
        } else {
            "is no longer given when the value is built"
        };
        changes.push(change("rust-constructor-changed", what).for_builders(old));
    }
    changes
}

/// Returns a change if a new member breaks programs.
fn added(old: &Item, new: &Item, member: &Member) -> Option<Change> {
    let change = |rule, message: &str| {
        let span = member.span.or(new.span);
        // A member with a place of its own is a cause of its own.
        let base = if member.span.is_some() {
            None
        } else {
            old.span
        };
        Change::of_member(rule, new, member, message).at(base, span)
    };
    match (old.form, &new.constructor) {
        (Form::Values | Form::Enum, _) if !old.is_open => Some(change(
            "rust-variant-added",
            "is new: a `match` on the enum needs a further arm",
        )),
        (Form::Trait, _) if !old.is_open => Some(change(
            "rust-method-added",
            "is new, and implementations must have it",
        )),
        (Form::Struct, Constructor::Literal) => Some(change(
            "rust-field-added",
            "is new, and the struct is built with all its fields",
        )),
        (Form::Struct, Constructor::New | Constructor::Fields(_)) if member.is_required => {
            let message = "is new, and must be given when the value is built";
            Some(change("rust-constructor-changed", message).for_builders(old))
        }
        _ => None,
    }
}

/// Returns a change if a struct is built in another way, though no member says so.
fn reordered(old: &Item, new: &Item, known: &[Change]) -> Option<Change> {
    let order = |item: &Item| -> Vec<String> {
        let required = item.members.iter().filter(|member| member.is_required);
        required.map(|member| member.name.clone()).collect()
    };
    let (one, other) = (order(old), order(new));
    let message = match (&old.constructor, &new.constructor) {
        (Constructor::New, Constructor::New) if one != other => {
            let sets: [BTreeSet<&String>; 2] = [one.iter().collect(), other.iter().collect()];
            (sets[0] == sets[1])
                .then(|| format!("takes `{}` in `new`, in another order", other.join("`, `")))?
        }
        (Constructor::Fields(before), Constructor::Fields(after)) if before != after => {
            format!("is built from `{after}` instead of `{before}`")
        }
        _ => return None,
    };
    if known
        .iter()
        .any(|change| change.rule == "rust-constructor-changed")
    {
        return None;
    }
    let change = Change::of_item("rust-constructor-changed", old, &message);
    Some(change.at(old.span, new.span).for_builders(old))
}
