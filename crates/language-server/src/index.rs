//! What refers to what in the files of a contract: a walk by the tables of the standard.

mod walk;

use std::collections::hash_map;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::model::Dialect;
use contract::node::Node;
use contract::place::{Form, Place};
use contract::pointer;
use contract::source::Span;

use crate::parsed::{self, Parsed};
use walk::Walk;

/// The maximum number of references that lead from one to the next. A cycle ends here.
const MOST_HOPS: usize = 64;

/// The names and references of a contract.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) dialect: Dialect,
    /// The files, the first document first.
    pub(crate) files: Vec<IndexedFile>,
    pub(crate) references: Vec<Reference>,
    pub(crate) names: Vec<Name>,
    /// The first file with a schema that has an `$id`. References that are resolved by it are not
    /// among the references.
    pub(crate) with_id: Option<usize>,
    /// What the standard allows where a reference of another file leads, by file and pointer.
    places: HashMap<(usize, String), Place>,
    by_path: HashMap<PathBuf, usize>,
}

/// A file of a contract.
#[derive(Debug)]
pub(crate) struct IndexedFile {
    /// The canonical path.
    pub(crate) path: PathBuf,
    pub(crate) parsed: Arc<Parsed>,
}

/// A node of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) file: usize,
    pub(crate) pointer: String,
}

/// A text that refers to a node.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) file: usize,
    pub(crate) span: Span,
    pub(crate) target: Target,
    pub(crate) form: ReferenceForm,
}

/// How a reference is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReferenceForm {
    /// A URI with a pointer, as in `$ref`.
    Uri,
    /// The name of a component alone, as in the mapping of a discriminator, or as the key of a
    /// security requirement.
    Name,
    /// The value of a discriminator that a union takes from the name of a component. Renaming the
    /// component would change what is sent.
    Implied,
}

/// The name of something that has no node of its own.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) file: usize,
    pub(crate) span: Span,
    pub(crate) kind: NameKind,
    pub(crate) text: String,
    pub(crate) is_declaration: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    Tag,
    Operation,
}

/// Something that is declared in one place and named in others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Symbol {
    Node(Target),
    Name(NameKind, String),
}

impl Index {
    /// Searches a contract. `parse` returns a file by its canonical path.
    pub(crate) fn of(root: &Path, parse: &dyn Fn(&Path) -> Option<Arc<Parsed>>) -> Option<Self> {
        let parsed = parse(root)?;
        let mut index = Self {
            dialect: dialect(&parsed),
            files: Vec::new(),
            references: Vec::new(),
            names: Vec::new(),
            with_id: None,
            places: HashMap::new(),
            by_path: HashMap::new(),
        };
        index.add(root.to_owned(), parsed);
        index.places.insert((0, String::new()), Place::document());
        let mut pending = vec![Target {
            file: 0,
            pointer: String::new(),
        }];
        let mut seen = HashSet::new();
        while let Some(target) = pending.pop() {
            let Some(place) = index.places.get(&(target.file, target.pointer.clone())) else {
                continue;
            };
            let place = *place;
            // The walk changes the index, so it needs a tree of its own.
            let Some(tree) = index.files[target.file].parsed.tree.clone() else {
                continue;
            };
            let Some(found) = parsed::at(&tree.root, &target.pointer) else {
                continue;
            };
            let mut walk = Walk {
                index: &mut index,
                parse,
                file: target.file,
                seen: &mut seen,
                found: Vec::new(),
            };
            walk.run(found.node, place);
            for (target, place) in walk.found {
                let key = (target.file, target.pointer.clone());
                if let hash_map::Entry::Vacant(entry) = index.places.entry(key) {
                    entry.insert(place);
                    pending.push(target);
                }
            }
        }
        Some(index)
    }

    fn add(&mut self, path: PathBuf, parsed: Arc<Parsed>) -> usize {
        let file = self.files.len();
        self.by_path.insert(path.clone(), file);
        self.files.push(IndexedFile { path, parsed });
        file
    }

    /// Returns the index of a file by its canonical path, if the contract has it.
    pub(crate) fn file(&self, path: &Path) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// Returns the node of a target.
    pub(crate) fn node(&self, target: &Target) -> Option<parsed::Found<'_>> {
        parsed::at(self.files[target.file].parsed.root()?, &target.pointer)
    }

    /// Follows references to the first node that is none.
    pub(crate) fn end(&self, target: &Target) -> Target {
        let mut at = target.clone();
        for _ in 0..MOST_HOPS {
            let reference = self.node(&at).and_then(|found| {
                let span = found.node.get("$ref")?.span;
                self.references
                    .iter()
                    .find(|reference| reference.file == at.file && reference.span == span)
            });
            match reference {
                Some(reference) => at = reference.target.clone(),
                None => break,
            }
        }
        at
    }

    /// Returns what is at an offset of a file's tree, with the span that names it.
    pub(crate) fn symbol(&self, file: usize, offset: u32) -> Option<(Symbol, Span)> {
        let holds = |span: Span| (span.start..=span.end).contains(&offset);
        let reference = self.references.iter().find(|reference| {
            reference.file == file
                // Implied ones only forbid a new name: what is written in their span means
                // something else.
                && reference.form != ReferenceForm::Implied
                && holds(reference.span)
        });
        if let Some(reference) = reference {
            return Some((Symbol::Node(reference.target.clone()), reference.span));
        }
        let name = self
            .names
            .iter()
            .find(|name| name.file == file && holds(name.span));
        if let Some(name) = name {
            return Some((Symbol::Name(name.kind, name.text.clone()), name.span));
        }
        let root = self.files[file].parsed.root()?;
        let cursor = parsed::cursor(root, offset);
        if !cursor.is_key {
            return None;
        }
        let key = parsed::at(root, &cursor.pointer)?.key?;
        let target = Target {
            file,
            pointer: cursor.pointer,
        };
        Some((Symbol::Node(target), key))
    }

    /// Returns where a symbol is declared.
    pub(crate) fn declarations(&self, symbol: &Symbol) -> Vec<(usize, Span)> {
        match symbol {
            Symbol::Node(target) => {
                let found = self.node(target);
                let start = |node: &Node| Span {
                    end: node.span.start,
                    ..node.span
                };
                let span = found.map(|found| found.key.unwrap_or_else(|| start(found.node)));
                span.map(|span| (target.file, span)).into_iter().collect()
            }
            Symbol::Name(kind, text) => self
                .names
                .iter()
                .filter(|name| name.is_declaration && name.kind == *kind && name.text == *text)
                .map(|name| (name.file, name.span))
                .collect(),
        }
    }

    /// Returns the references to a symbol, and to what is inside it.
    pub(crate) fn references_to<'i>(
        &'i self,
        target: &'i Target,
    ) -> impl Iterator<Item = &'i Reference> {
        self.references.iter().filter(move |reference| {
            reference.target.file == target.file
                && reference
                    .target
                    .pointer
                    .strip_prefix(&target.pointer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Returns what references of a section can lead to: the components of every file, and what is
    /// referred to already.
    pub(crate) fn targets(&self, section: &str) -> Vec<Target> {
        let mut targets = Vec::new();
        for (file, indexed) in self.files.iter().enumerate() {
            let at = format!("/components/{section}");
            let root = indexed.parsed.root();
            let components = root.and_then(|root| parsed::at(root, &at)?.node.as_object());
            targets.extend(components.unwrap_or_default().iter().map(|entry| Target {
                file,
                pointer: pointer::join(&at, &entry.key),
            }));
        }
        let mut referred: Vec<Target> = self
            .places
            .iter()
            .filter(|((file, _), place)| *file != 0 && place.section() == Some(section))
            .map(|((file, pointer), _)| Target {
                file: *file,
                pointer: pointer.clone(),
            })
            .filter(|target| !targets.contains(target) && self.node(target).is_some())
            .collect();
        // Sorted, because the map that they are from has no order.
        referred.sort_by(|a, b| (a.file, &a.pointer).cmp(&(b.file, &b.pointer)));
        targets.extend(referred);
        targets
    }

    /// Returns what the standard allows at a place of a file, given by its keys and indices.
    pub(crate) fn place(&self, file: usize, tokens: &[String]) -> Option<Place> {
        let mut pointers = vec![String::new()];
        for token in tokens {
            let last = pointers.last().map_or("", String::as_str);
            pointers.push(pointer::join(last, token));
        }
        // The innermost one that is known: of another file, only what references lead to is.
        let (depth, place) = pointers
            .iter()
            .enumerate()
            .rev()
            .find_map(|(depth, at)| Some((depth, *self.places.get(&(file, at.clone()))?)))?;
        descend(place, &tokens[depth..], self.dialect)
    }
}

/// Returns the place below another one.
pub(crate) fn descend(place: Place, tokens: &[String], dialect: Dialect) -> Option<Place> {
    tokens.iter().try_fold(place, |place, token| {
        if matches!(place.form(), Form::List | Form::Types) {
            place.item()
        } else {
            place.entry(token, dialect)
        }
    })
}

/// Returns the version of a document: the latest if the document does not say one that is known.
fn dialect(parsed: &Parsed) -> Dialect {
    let version = parsed.root().and_then(|root| root.get("openapi")?.as_str());
    dialect_of(version.unwrap_or_default())
}

/// Returns the version that the text of `openapi` means.
pub(crate) fn dialect_of(version: &str) -> Dialect {
    match version.get(..3) {
        Some("3.0") => Dialect::V30,
        Some("3.1") => Dialect::V31,
        _ => Dialect::V32,
    }
}
