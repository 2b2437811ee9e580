//! Compares items as a whole: which are there, what they are, and which traits they have.

use std::collections::{BTreeMap, BTreeSet};

use codegen::surface::{Crate, Item, Piece, Signature, Surface};

use super::change::Change;
use super::members;

/// The items of two surfaces.
pub(super) struct Items<'s> {
    pub(super) base: &'s Surface,
    pub(super) revision: &'s Surface,
    /// The paths that are gone, with the new path of the same item if there is one.
    pub(super) gone: BTreeMap<&'s str, Option<&'s str>>,
}

impl<'s> Items<'s> {
    pub(super) fn new(base: &'s Surface, revision: &'s Surface) -> Self {
        let gone = base.items.keys().map(String::as_str);
        let gone = gone.filter(|path| !revision.items.contains_key(*path));
        let mut items = Self {
            base,
            revision,
            gone: gone.map(|path| (path, None)).collect(),
        };
        items.find_new_names();
        items
    }

    /// Finds the new name of each item that is gone: of the new items, the only one with the same
    /// members.
    fn find_new_names(&mut self) {
        let new = self.revision.items.iter();
        let new: Vec<&Item> = new
            .filter(|(path, _)| !self.base.items.contains_key(*path))
            .map(|(_, item)| item)
            .collect();
        // By what they are: a pair counts only if no other item looks alike on either side.
        let mut by_shape: BTreeMap<String, Vec<&'s str>> = BTreeMap::new();
        for item in &new {
            let paths = by_shape.entry(self.shape(item)).or_default();
            paths.push(item.path.as_str());
        }
        let mut wanted: BTreeMap<String, Vec<&'s str>> = BTreeMap::new();
        for path in self.gone.keys().copied() {
            let paths = wanted
                .entry(self.shape(&self.base.items[path]))
                .or_default();
            paths.push(path);
        }
        for (shape, old) in wanted {
            if let ([old], Some([new])) = (old.as_slice(), by_shape.get(&shape).map(Vec::as_slice))
            {
                self.gone.insert(old, Some(new));
            }
        }
    }

    /// Returns all that makes an item what it is, without names that only one surface has.
    fn shape(&self, item: &Item) -> String {
        let is_shared = |path: &str| {
            self.base.items.contains_key(path) && self.revision.items.contains_key(path)
        };
        let mut text = format!("{:?} {:?} {:?}", item.krate, item.form, item.traits);
        for member in &item.members {
            text.push_str(&format!(
                "\n{} {} {}",
                member.name, member.wire, member.is_required
            ));
            for piece in member.signature.pieces() {
                match piece {
                    Piece::Item(path) if !is_shared(path) => text.push_str(" _"),
                    Piece::Item(path) | Piece::Text(path) => text.push_str(path),
                }
            }
        }
        text
    }

    /// Returns every change that breaks programs.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, new) in &self.gone {
            changes.push(self.removed(&self.base.items[*path], *new));
        }
        for (path, old) in &self.base.items {
            if let Some(new) = self.revision.items.get(path) {
                changes.extend(self.changed(old, new));
            }
        }
        changes
    }

    fn removed(&self, old: &Item, new: Option<&str>) -> Change {
        let new = new.and_then(|path| self.revision.items.get(path));
        let (rule, message) = match new {
            Some(new) => ("rust-renamed", format!("is called `{}` now", new.path)),
            None => ("rust-removed", "is gone".to_owned()),
        };
        let span = new.and_then(|new| new.span);
        Change::of_item(rule, old, &message).at(old.span, span)
    }

    /// Returns the changes of an item that both surfaces have.
    fn changed(&self, old: &Item, new: &Item) -> Vec<Change> {
        let change =
            |rule, message: &str| Change::of_item(rule, old, message).at(old.span, new.span);
        if old.form != new.form {
            let message = format!("is {} instead of {}", new.form.words(), old.form.words());
            return vec![change("rust-form-changed", &message)];
        }
        let mut changes = members::changes(self, old, new);
        if old.generics != new.generics {
            let shown = |generics: &str| match generics {
                "" => "no parameter".to_owned(),
                generics => format!("`{generics}`"),
            };
            let message = format!(
                "has {} instead of {}",
                shown(new.generics),
                shown(old.generics)
            );
            changes.push(change("rust-generics-changed", &message));
        }
        if new.is_open && !old.is_open {
            let message = "has become `#[non_exhaustive]`: a `match` on it needs a further arm";
            changes.push(change("rust-non-exhaustive", message));
        }
        let lost: Vec<String> = old
            .traits
            .difference(&new.traits)
            .map(|name| format!("`{}`", name.trim_matches('`')))
            .collect();
        if !lost.is_empty() {
            let message = format!("loses {}", lost.join(", "));
            changes.push(change("rust-trait-removed", &message));
        }
        changes.extend(self.hidden(old, new));
        changes
    }

    /// Returns a change if an item is behind a feature that it was not behind before.
    fn hidden(&self, old: &Item, new: &Item) -> Option<Change> {
        let feature = new.feature.as_deref()?;
        let before = old.feature.as_deref();
        if before == Some(feature) {
            return None;
        }
        if before.is_some_and(|before| self.is_feature_gone(old.krate, before)) {
            return None;
        }
        let message = format!("is behind the feature `{feature}` now");
        Some(Change::of_item("rust-feature-changed", old, &message).at(old.span, new.span))
    }

    /// Returns whether a crate no longer has a feature.
    pub(super) fn is_feature_gone(&self, krate: Crate, feature: &str) -> bool {
        self.feature(krate, feature)
            .is_some_and(|item| self.gone.contains_key(item.path.as_str()))
    }

    /// Returns the feature of a crate before the change.
    pub(super) fn feature(&self, krate: Crate, feature: &str) -> Option<&'s Item> {
        let end = format!("[{feature}]");
        let mut items = self.base.items.values();
        items.find(|item| item.krate == krate && item.path.ends_with(&end))
    }

    /// Returns whether a type is another one only because items that it names are gone.
    pub(super) fn is_explained(&self, old: &Signature, new: &Signature) -> bool {
        let mut gone = old.pieces().iter().filter_map(|piece| match piece {
            Piece::Item(path) => self.gone.get(path.as_str()),
            Piece::Text(_) => None,
        });
        // Where all have new names, nothing else may have changed.
        let first = gone.next();
        let Some(first) = first else {
            return false;
        };
        if first.is_none() || gone.any(Option::is_none) {
            return true;
        }
        let renamed = |piece: &'_ Piece| match piece {
            Piece::Item(path) => match self.gone.get(path.as_str()) {
                Some(Some(new)) => Piece::Item((*new).to_owned()),
                _ => piece.clone(),
            },
            Piece::Text(_) => piece.clone(),
        };
        old.pieces()
            .iter()
            .map(renamed)
            .eq(new.pieces().iter().cloned())
    }

    /// Returns the crates that have a new item or a new member.
    pub(super) fn extended(&self) -> Vec<Crate> {
        let mut crates = BTreeSet::new();
        for (path, new) in &self.revision.items {
            let is_extended = self.base.items.get(path).is_none_or(|old| {
                let has = |name: &str| old.members.iter().any(|member| member.name == name);
                new.members.iter().any(|member| !has(&member.name))
                    || !new.traits.is_subset(&old.traits)
            });
            if is_extended {
                crates.insert(new.krate);
            }
        }
        crates.into_iter().collect()
    }
}
