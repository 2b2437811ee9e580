//! Applies a policy to the diagnostics of a contract.

use std::collections::BTreeSet;

use contract::rules;
use contract::source::{FileId, Span};
use contract::{Diagnostic, LintSet, Severity, Sources};
use toml::value::Date;

use crate::file::Level;
use crate::places::{Places, is_within};
use crate::read::{Place, Policy, span};

impl Policy {
    /// Returns the sets that a contract must be checked with, so that every rule of `chosen` sets
    /// runs, and every rule with a level.
    #[must_use]
    pub fn needed(&self, chosen: &BTreeSet<LintSet>) -> BTreeSet<LintSet> {
        let parts = self.parts.iter().flat_map(|part| &part.levels);
        let named = self.levels.iter().chain(parts);
        // A set need not run for a rule that is only switched off.
        let named = named.filter(|(_, level)| **level != Level::Off);
        let named = named.filter_map(|(name, _)| rules::find(name));
        named
            .map(|rule| rule.set)
            .chain(chosen.iter().copied())
            .collect()
    }

    /// Returns the diagnostics of a contract as the policy wants them: with those of own rules, at
    /// their levels, and without those that are ignored. What is an error without the policy stays
    /// one: nothing can be generated from such a contract.
    ///
    /// `found` are the diagnostics of the sets that [`needed`](Self::needed) returns for `chosen`.
    /// An entry that ignores nothing, or has ended before `today`, is an error in the policy, whose
    /// text is added to `sources`.
    #[must_use]
    pub fn lint(
        &self,
        sources: &mut Sources,
        found: Vec<Diagnostic>,
        chosen: &BTreeSet<LintSet>,
        today: Date,
    ) -> Vec<Diagnostic> {
        // Without a policy, the files need not be read once more.
        if self.name.is_empty() {
            return found;
        }
        let places = Places::of(sources);
        let file = self.source(sources);
        let is_wrong = found.iter().any(|one| one.severity == Severity::Error);
        let own = self.own.iter().flat_map(|own| own.check(&places));
        let levels = Levels::of(self, &places, chosen);
        let mut found: Vec<Found> = found
            .into_iter()
            .filter_map(|one| {
                Some(Found {
                    can_be_ignored: one.severity == Severity::Warning,
                    diagnostic: levels.at(one)?,
                })
            })
            .collect();
        found.extend(own.filter_map(|one| {
            Some(Found {
                can_be_ignored: true,
                diagnostic: levels.own(one)?,
            })
        }));
        let judged = Judged {
            today,
            file,
            chosen: self.needed(chosen),
            // What follows an error is not checked, so an entry may only seem to ignore nothing.
            is_whole: !is_wrong && !self.has_several_contracts(),
        };
        let idle = levels.idle(&judged);
        let mut found = self.ignore(found, &places, &judged);
        found.extend(idle);
        found
    }

    fn ignore(&self, mut found: Vec<Found>, places: &Places, judged: &Judged) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        for ignore in &self.ignores {
            let parts = places.at(&ignore.pointer);
            let is_meant = |one: &Found| {
                one.can_be_ignored
                    && one.diagnostic.code == ignore.rule
                    && parts
                        .iter()
                        .any(|part| is_within(one.diagnostic.span, *part))
            };
            let is_used = found.iter().any(is_meant);
            // Before it is asked what the entry ignores: after its date it ignores nothing.
            if ignore.until < judged.today {
                let message = format!("this has ended on {}", ignore.until);
                wrong.push(
                    Diagnostic::error("policy-ended", span(judged.file, &ignore.until_at), message)
                        .help("correct what it ignores, or decide again and give it another date"),
                );
            } else if is_used {
                found.retain(|one| !is_meant(one));
            } else if judged.is_whole && judged.runs(&ignore.rule) {
                let message = if parts.is_empty() {
                    format!("there is nothing at `{}`", ignore.pointer)
                } else {
                    format!("`{}` reports no warning here", ignore.rule)
                };
                wrong.push(
                    Diagnostic::error("policy-idle", span(judged.file, &ignore.at), message)
                        .help("remove the entry, or correct its pointer"),
                );
            }
        }
        let found = found.into_iter().map(|one| one.diagnostic);
        found.chain(wrong).collect()
    }
}

/// A diagnostic at the level of the policy.
struct Found {
    diagnostic: Diagnostic,
    /// Whether it is no error without the policy. What the policy has made an error can be ignored.
    can_be_ignored: bool,
}

/// What entries that may match nothing are judged by.
struct Judged {
    today: Date,
    file: FileId,
    chosen: BTreeSet<LintSet>,
    is_whole: bool,
}

impl Judged {
    fn runs(&self, rule: &str) -> bool {
        // Own rules always run.
        rules::find(rule).is_none_or(|rule| self.chosen.contains(&rule.set))
    }
}

/// The levels of a policy, with the spans of its parts.
struct Levels<'p> {
    policy: &'p Policy,
    parts: Vec<Vec<Span>>,
    chosen: &'p BTreeSet<LintSet>,
}

impl<'p> Levels<'p> {
    fn of(policy: &'p Policy, places: &Places, chosen: &'p BTreeSet<LintSet>) -> Self {
        let parts = policy.parts.iter().map(|part| match &part.place {
            Place::Tag(tag) => places.tagged(tag),
            Place::Path(pattern) => places.paths(pattern),
            Place::Pointer(pointer) => places.at(pointer),
        });
        Self {
            policy,
            parts: parts.collect(),
            chosen,
        }
    }

    /// Returns an error for each part of the policy that no part of the contract is.
    fn idle(&self, judged: &Judged) -> Vec<Diagnostic> {
        let parts = self.policy.parts.iter().zip(&self.parts);
        let idle = parts.filter(|(_, spans)| judged.is_whole && spans.is_empty());
        let idle = idle.map(|(part, _)| {
            let (message, help) = match &part.place {
                Place::Tag(tag) => (
                    format!("no operation has the tag `{tag}`"),
                    "remove the entry, or correct its tag",
                ),
                Place::Path(_) => (
                    "no path matches".to_owned(),
                    "remove the entry, or correct its path",
                ),
                Place::Pointer(pointer) => (
                    format!("there is nothing at `{pointer}`"),
                    "remove the entry, or correct its pointer",
                ),
            };
            Diagnostic::error("policy-idle", span(judged.file, &part.at), message).help(help)
        });
        idle.collect()
    }

    /// Returns a diagnostic at its level, or `None` if it is off.
    fn at(&self, found: Diagnostic) -> Option<Diagnostic> {
        // No policy can make a wrong contract right.
        if found.severity == Severity::Error {
            return Some(found);
        }
        // A set that runs only because one of its rules has a level reports the others too.
        let is_chosen = rules::find(found.code)
            .is_none_or(|rule| rule.set == LintSet::Correct || self.chosen.contains(&rule.set));
        let default = if is_chosen {
            Level::Warning
        } else {
            Level::Off
        };
        self.with(found, default)
    }

    /// Returns a diagnostic of an own rule at its level, or `None` if it is off.
    fn own(&self, found: Diagnostic) -> Option<Diagnostic> {
        let default = match found.severity {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
        };
        self.with(found, default)
    }

    fn with(&self, mut found: Diagnostic, default: Level) -> Option<Diagnostic> {
        // In reverse, since the last part that has the rule counts.
        let parts = self.policy.parts.iter().zip(&self.parts).rev();
        let local = parts
            .filter(|(_, spans)| spans.iter().any(|part| is_within(found.span, *part)))
            .find_map(|(part, _)| part.levels.get(found.code));
        let level = local.or_else(|| self.policy.levels.get(found.code));
        found.severity = match level.copied().unwrap_or(default) {
            Level::Error => Severity::Error,
            Level::Warning => Severity::Warning,
            Level::Off => return None,
        };
        Some(found)
    }
}
