//! Documents of others: reads what their authors wrote against the standard in the one way that
//! they can have meant it, where there is one.
//!
//! A repair begins with a diagnostic. Its [`Reading`] changes the node at the span of the
//! diagnostic, and the document is checked again, until nothing is left to repair. So every repair
//! answers a diagnostic that is reported too, and a mistake without a reading stays an error.

mod ids;
mod labels;
mod mends;
mod misplaced;
mod moved;
mod operations;
mod places;
mod schemas;
mod shapes;
mod site;
mod table;
mod texts;

pub(crate) use misplaced::inline_misplaced;
pub use table::{READINGS, Reading};

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ptr;
use std::rc::Rc;

use crate::diagnostic::{Diagnostic, Severity};
use crate::documents::Documents;
use crate::node::NodeValue;
use crate::overlay::draft::{DraftAction, replaced};
use crate::source::{Sources, Span};
use moved::{Moved, follows};
use places::{Place, around, places};
use site::{Index, Site};
use table::Turn;

/// The number of times that a document is checked again after repairs. One repair can uncover
/// another mistake, or move it: of schemas inside of each other, each level takes a round, and one
/// more where the syntax is repaired before the rest is checked.
const MOST_ROUNDS: usize = 32;

/// What the repairs of a round have changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Repaired {
    /// Nothing: no mistake is left that has a repair.
    Nothing,
    /// Only defaults that their schemas reject were dropped, and every diagnostic that has a repair
    /// was about one of them.
    RejectedDefaults(Dropped),
    /// A document has changed, and has to be checked again.
    Document,
}

/// A repair: the rule that reported the mistake, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repair {
    /// The rule of the diagnostic, such as `bad-default`.
    pub rule: &'static str,
    /// The pointer of what was repaired, which does not change with the lines of the document.
    pub pointer: String,
    /// What was repaired there, if the pointer does not say it: the name of a parameter, a method, an
    /// operation id, or a line of the value. Without it, two repairs of one place would be one in a list.
    pub part: Option<String>,
}

/// The defaults that were dropped in a round.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// The pointer of each default.
    pub(crate) pointers: BTreeSet<String>,
    /// The rule and the span of each diagnostic about them.
    reported: HashSet<(&'static str, Span)>,
}

impl Dropped {
    /// Returns whether a diagnostic is about one of these defaults.
    pub(crate) fn answers(&self, diagnostic: &Diagnostic) -> bool {
        self.reported.contains(&(diagnostic.code, diagnostic.span))
    }
}

/// Returns whether a document of others can be used although it has this error.
pub(crate) fn is_accepted(diagnostic: &Diagnostic) -> bool {
    table::of(diagnostic.code).any(|reading| reading.repair.is_none())
}

/// The repairs of a contract's documents so far.
#[derive(Default)]
pub(crate) struct Repairs {
    rounds: usize,
    /// What was repaired, so that a repair that does not help is not repeated. What could not be
    /// repaired is tried again: another repair may have moved it.
    repaired: HashSet<(&'static str, Span)>,
    /// A warning for each repair that has changed a document.
    warnings: Vec<Diagnostic>,
    done: Vec<Repair>,
    /// The number of nodes that were copied in place of references to path items.
    copied: usize,
    /// The number of paths that were renamed.
    renamed: Rc<Cell<usize>>,
    /// What was repaired in each document, by its index, if that is recorded for an overlay.
    drafts: Option<BTreeMap<usize, Drafted>>,
    /// Whether an overlay leaves out what is read without it in a document of others.
    leaves_readings: bool,
}

/// What was repaired in a document.
#[derive(Debug, Default)]
pub(crate) struct Drafted {
    /// The number of repairs.
    pub(crate) mended: usize,
    /// The actions of an overlay that make the same changes.
    pub(crate) actions: Vec<DraftAction>,
}

impl Repairs {
    /// Returns repairs that are recorded as actions of an overlay, with what an overlay may mend
    /// beyond them. With `leaves_readings`, returns only those beyond the readings.
    pub(crate) fn drafting(leaves_readings: bool) -> Self {
        Self {
            drafts: Some(BTreeMap::new()),
            leaves_readings,
            ..Self::default()
        }
    }

    /// Returns what was recorded for each document, by its index.
    pub(crate) fn drafted(self) -> BTreeMap<usize, Drafted> {
        self.drafts.unwrap_or_default()
    }

    /// Returns the readings of a rule, in the order in which they are tried.
    fn readings(&self, rule: &'static str) -> impl Iterator<Item = &'static Reading> + use<> {
        let mends = self.drafts.is_some().then(|| mends::of(rule));
        table::of(rule).chain(mends.into_iter().flatten())
    }

    /// Returns whether an overlay for a document of others need not mend this.
    fn leaves(&self, diagnostic: &Diagnostic) -> bool {
        // A warning refuses nothing, and an author who does not own the document reads it in vain.
        let is_refused = diagnostic.severity == Severity::Error && !is_accepted(diagnostic);
        self.leaves_readings && !is_refused
    }

    /// Returns the diagnostics of a round, in the first one only the causes of others: for a
    /// misspelt section, a draft would change all references into it.
    fn first<'d>(&self, fresh: Vec<&'d Diagnostic>) -> Vec<&'d Diagnostic> {
        let is_cause = |diagnostic: &&Diagnostic| diagnostic.code == "misspelt-keyword";
        if self.drafts.is_none() || self.rounds > 1 || !fresh.iter().any(is_cause) {
            return fresh;
        }
        fresh.into_iter().filter(is_cause).collect()
    }

    /// Returns whether a diagnostic has a repair that has not been made.
    pub(crate) fn is_repairable(&self, diagnostic: &Diagnostic) -> bool {
        let mut readings = self.readings(diagnostic.code);
        readings.any(|reading| reading.repair.is_some())
            && !self.is_repaired(diagnostic)
            && !self.leaves(diagnostic)
    }

    /// Returns whether a diagnostic was repaired.
    pub(crate) fn is_repaired(&self, diagnostic: &Diagnostic) -> bool {
        let key = (diagnostic.code, diagnostic.span);
        self.repaired.contains(&key)
    }

    /// Repairs what the diagnostics report.
    pub(crate) fn repair(
        &mut self,
        documents: &mut Documents,
        sources: &Sources,
        diagnostics: &[Diagnostic],
    ) -> Repaired {
        self.rounds += 1;
        if self.rounds > MOST_ROUNDS {
            return Repaired::Nothing;
        }
        let fresh: Vec<&Diagnostic> = diagnostics
            .iter()
            .filter(|diagnostic| self.is_repairable(diagnostic))
            .collect();
        let before = self.done.len();
        let all = fresh.len();
        let fresh = self.first(fresh);
        // The others need another round, even if this one repairs nothing.
        let is_part = fresh.len() < all;
        let spans: HashSet<Span> = fresh.iter().map(|diagnostic| diagnostic.span).collect();
        let places = places(documents, &spans);
        let mut work: Vec<(&Place, &Diagnostic)> = fresh
            .iter()
            .flat_map(|diagnostic| {
                let found = places.get(&diagnostic.span).into_iter().flatten();
                found.map(move |place| (place, *diagnostic))
            })
            .collect();
        // From the end, so that what is removed moves only what has been repaired already.
        work.sort_by(|(one, _), (other, _)| other.cmp(one));
        // A repair can make others needless, so those of a later turn wait for another round.
        let turn = Turn::ALL
            .into_iter()
            .find(|turn| self.repair_all(documents, sources, &work, *turn));
        match turn {
            None if is_part => Repaired::Document,
            None => Repaired::Nothing,
            // One that is left may be about another part of a default that is not there any more.
            Some(Turn::RejectedDefaults) if fresh.iter().all(|one| self.is_repaired(one)) => {
                let done = self.done[before..].iter();
                Repaired::RejectedDefaults(Dropped {
                    pointers: done.map(|repair| repair.pointer.clone()).collect(),
                    reported: fresh.iter().map(|one| (one.code, one.span)).collect(),
                })
            }
            Some(_) => Repaired::Document,
        }
    }

    /// Makes the repairs of one [`Turn`]. Returns whether any repair was made.
    fn repair_all(
        &mut self,
        documents: &mut Documents,
        sources: &Sources,
        work: &[(&Place, &Diagnostic)],
        turn: Turn,
    ) -> bool {
        let before = self.done.len();
        let mut moved = Moved::new();
        let mut indices: HashMap<usize, Index> = HashMap::new();
        let copied = self.copied;
        for (place, diagnostic) in work {
            let document = &mut documents.list[place.document];
            let prefix = document.pointer();
            let root = &mut document.root;
            let index = indices
                .entry(place.document)
                .or_insert_with(|| Index::after(copied, Rc::clone(&self.renamed)));
            let Some(mut site) = Site::new(root, place, diagnostic, sources, index) else {
                continue;
            };
            let pointer = prefix + &site.pointer();
            if self.drafts.is_some() {
                site.record();
            }
            let reading = self
                .readings(diagnostic.code)
                .filter(|reading| reading.turn == turn)
                .find(|reading| {
                    reading
                        .repair
                        .is_some_and(|repair| repair(&mut site).is_some())
                });
            let Some(reading) = reading else { continue };
            // Reading the document as one of others makes this change without an overlay.
            if self.leaves_readings && table::of(diagnostic.code).any(|it| ptr::eq(it, reading)) {
                site.revert();
                self.repaired.insert((diagnostic.code, diagnostic.span));
                continue;
            }
            moved
                .entry(place.document)
                .or_default()
                .extend(site.moved.take());
            if let Some(drafts) = &mut self.drafts {
                let drafted = drafts.entry(place.document).or_default();
                drafted.mended += 1;
                drafted.actions.extend(site.actions().unwrap_or_default());
            }
            self.repaired.insert((diagnostic.code, diagnostic.span));
            self.note(reading, diagnostic, &pointer);
        }
        self.copied += indices.values().map(Index::copied).sum::<usize>();
        self.follow(documents, &moved);
        self.done.len() > before
    }

    /// Rewrites the references into schemas that have moved.
    fn follow(&mut self, documents: &mut Documents, moved: &Moved) {
        for follow in follows(documents, moved) {
            let root = &mut documents.list[follow.document].root;
            if let Some(drafts) = &mut self.drafts {
                let drafted = drafts.entry(follow.document).or_default();
                let why = "wrong-dialect: the schema that this leads into is the first branch of an `anyOf` with null";
                drafted
                    .actions
                    .push(replaced(root, &follow.path, &follow.text, why));
                // In another file, nothing else says that it needs an overlay.
                drafted.mended += usize::from(!moved.contains_key(&follow.document));
            }
            if let Some(node) = root.at_mut(follow.path.iter().copied()) {
                node.value = NodeValue::String(follow.text);
            }
        }
    }

    /// Makes warnings of the errors that are left and that do not prevent generation, and adds the
    /// warnings of all repairs.
    pub(crate) fn finish(
        mut self,
        documents: &Documents,
        sources: &Sources,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Repair> {
        let accepted = |diagnostic: &Diagnostic| {
            table::of(diagnostic.code)
                .find(|reading| reading.repair.is_none())
                .filter(|_| diagnostic.severity == Severity::Error)
        };
        let spans: HashSet<Span> = diagnostics
            .iter()
            .filter(|diagnostic| accepted(diagnostic).is_some())
            .map(|diagnostic| diagnostic.span)
            .collect();
        let places: HashMap<Span, Vec<Place>> = places(documents, &spans);
        diagnostics.retain(|diagnostic| {
            let Some(reading) = accepted(diagnostic) else {
                return true;
            };
            let known = places.get(&diagnostic.span);
            let place = known.and_then(|places| places.first()).cloned();
            // A line of a text is no node, but in one, of which several lines may be wrong.
            let within = place.is_none().then(|| around(documents, diagnostic.span));
            let mut diagnostic = diagnostic.clone();
            if let Some(around) = within.as_ref().and_then(Option::as_ref)
                && let Some(line) = around.line(documents, sources, diagnostic.span)
            {
                diagnostic.parts.push(format!("line {line}"));
            }
            let place = place.or(within.flatten());
            let pointer = place.map_or_else(String::new, |place| place.pointer(documents));
            self.note(reading, &diagnostic, &pointer);
            false
        });
        diagnostics.append(&mut self.warnings);
        self.done.sort();
        self.done.dedup();
        self.done
    }

    fn note(&mut self, reading: &Reading, diagnostic: &Diagnostic, pointer: &str) {
        let whole = [String::new()];
        let parts: &[String] = if diagnostic.parts.is_empty() {
            &whole
        } else {
            &diagnostic.parts
        };
        for part in parts {
            self.done.push(Repair {
                rule: diagnostic.code,
                pointer: pointer.to_owned(),
                part: Some(part.clone()).filter(|part| !part.is_empty()),
            });
        }
        let mut help = format!("read as a document of others: {}", reading.meaning);
        // What the author probably means is as good to know where it is not what is read.
        if let Some(meant) = diagnostic.help.as_deref()
            && meant.starts_with("did you mean ")
        {
            help = format!("{help}; {meant}");
        }
        self.warnings.push(Diagnostic {
            severity: Severity::Warning,
            help: Some(help),
            ..diagnostic.clone()
        });
    }
}
