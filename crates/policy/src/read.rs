//! Reads a policy, and reports what is wrong with it at its place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use contract::overlay::Selector;
use contract::rules;
use contract::source::{FileId, SourceFile, Span};
use contract::{Diagnostic, LintSet, Sources};
use regex::{Regex, RegexBuilder};
use toml::Spanned;
use toml::value::Date;

use crate::approvals::Approval;
use crate::contracts::Listed;
use crate::file::{Denied, File, Ignore, Level, Own, Part};
use crate::names::intern;
use crate::own::OwnRule;

/// The number of entries that each list of a policy may have.
const MOST_ENTRIES: usize = 10_000;

/// The largest regular expression of a policy, compiled, in bytes.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// The policy of a contract. The default one changes nothing.
#[derive(Debug, Default)]
pub struct Policy {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) contracts: Vec<Listed>,
    pub(crate) sets: BTreeSet<LintSet>,
    pub(crate) denies_warnings: bool,
    pub(crate) levels: BTreeMap<String, Level>,
    pub(crate) parts: Vec<PartLevels>,
    pub(crate) ignores: Vec<Ignored>,
    pub(crate) own: Vec<OwnRule>,
    /// The kinds of findings that refuse a change, each with its place; `None` for the default.
    pub(crate) gate: Option<Vec<(String, Range<usize>)>>,
    pub(crate) ungated: Option<Vec<contract::Stability>>,
    pub(crate) sunset: Option<bool>,
    pub(crate) approvals: Vec<Approval>,
}

/// Levels in a part of a contract.
#[derive(Debug)]
pub(crate) struct PartLevels {
    pub(crate) place: Place,
    pub(crate) at: Range<usize>,
    pub(crate) levels: BTreeMap<String, Level>,
}

/// A part of a contract.
#[derive(Debug)]
pub(crate) enum Place {
    Tag(String),
    Path(Regex),
    Pointer(String),
}

/// Warnings that are accepted for a time.
#[derive(Debug)]
pub(crate) struct Ignored {
    pub(crate) rule: String,
    pub(crate) pointer: String,
    pub(crate) until: Date,
    pub(crate) at: Range<usize>,
    pub(crate) until_at: Range<usize>,
}

/// What is wrong with a policy.
#[derive(Debug)]
pub struct Wrong {
    /// The file, for quoting it.
    pub sources: Sources,
    /// The errors.
    pub diagnostics: Vec<Diagnostic>,
}

impl Policy {
    /// Reads a policy from a text. `name` is the name of the file, for messages.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it.
    pub fn read(name: &str, text: &str) -> Result<Self, Box<Wrong>> {
        let mut reading = Reading::default();
        let policy = match toml::from_str::<File>(text) {
            Ok(file) => reading.policy(file),
            Err(error) => {
                reading.syntax(&error);
                Self::default()
            }
        };
        if reading.diagnostics.is_empty() {
            return Ok(Self {
                name: name.to_owned(),
                text: text.to_owned(),
                ..policy
            });
        }
        let mut sources = Sources::default();
        sources.add(SourceFile {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        Err(Box::new(Wrong {
            sources,
            diagnostics: reading.diagnostics,
        }))
    }

    /// Returns the sets of lints that the policy chooses, with [`LintSet::Correct`].
    #[must_use]
    pub fn sets(&self) -> BTreeSet<LintSet> {
        let mut sets = self.sets.clone();
        sets.insert(LintSet::Correct);
        sets
    }

    /// Returns whether warnings fail the command.
    #[must_use]
    pub fn denies_warnings(&self) -> bool {
        self.denies_warnings
    }

    /// Adds the file to those of a contract, so that diagnostics can quote it.
    pub(crate) fn source(&self, sources: &mut Sources) -> FileId {
        sources.add(SourceFile {
            name: self.name.clone(),
            text: self.text.clone(),
        })
    }
}

/// Returns the span of a range in a file.
pub(crate) fn span(file: FileId, range: &Range<usize>) -> Span {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span {
        file,
        start: offset(range.start),
        end: offset(range.end),
    }
}

/// Returns the name that is most similar to a misspelt one, if any is similar enough.
pub(crate) fn nearest<'c>(word: &str, known: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    contract::nearest(word, known.into_iter())
}

/// What was found wrong so far.
#[derive(Default)]
pub(crate) struct Reading {
    diagnostics: Vec<Diagnostic>,
}

impl Reading {
    pub(crate) fn error(&mut self, range: &Range<usize>, message: String, help: &str) {
        let span = span(FileId::default(), range);
        let found = Diagnostic::error("policy-value", span, message);
        self.diagnostics.push(found.help(help));
    }

    /// Reports a text that is not TOML, an unknown key or a value of the wrong type.
    fn syntax(&mut self, error: &toml::de::Error) {
        let message = error.message();
        let range = error.span().unwrap_or(0..0);
        let span = span(FileId::default(), &range);
        let first = message.lines().next().unwrap_or_default();
        let found = Diagnostic::error("policy-syntax", span, first);
        // The names in the message of serde: the unknown one, and then those that are known.
        let mut names = first.split('`').skip(1).step_by(2);
        let unknown = names.next().filter(|_| first.starts_with("unknown "));
        let meant = unknown.and_then(|unknown| nearest(unknown, names));
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if first.starts_with("invalid type: map, expected a sequence") => {
                "write the name in two brackets, such as `[[contract]]`: there may be several"
                    .to_owned()
            }
            None => "`lint --policy-schema` prints what the file may have".to_owned(),
        };
        self.diagnostics.push(found.help(help));
    }

    fn policy(&mut self, file: File) -> Policy {
        let File {
            contract,
            lint,
            diff,
        } = file;
        for (name, count) in [
            ("contract", contract.len()),
            ("lint.in", lint.parts.len()),
            ("lint.ignore", lint.ignore.len()),
            ("lint.own", lint.own.len()),
            ("diff.approve", diff.approve.len()),
        ] {
            if count > MOST_ENTRIES {
                self.error(
                    &(0..0),
                    format!("`{name}` has {count} entries, more than {MOST_ENTRIES}"),
                    "remove some",
                );
            }
        }
        // Own rules first, since the entries that follow may name them.
        let own: Vec<OwnRule> = lint
            .own
            .into_iter()
            .filter_map(|own| self.own(own))
            .collect();
        let names: Vec<&str> = own.iter().map(|own| own.code).collect();
        let levels = self.levels(lint.rules, &names);
        let parts = lint.parts.into_iter();
        let parts = parts.filter_map(|part| self.part(part, &names)).collect();
        let ignores = lint.ignore.into_iter();
        let ignores = ignores.map(|ignore| self.ignored(ignore, &names)).collect();
        let approvals = diff.approve.into_iter();
        let approvals = approvals.map(|approve| {
            for text in [&approve.reason, &approve.by] {
                self.filled(text);
            }
            Approval::of(approve)
        });
        let approvals = approvals.collect();
        Policy {
            contracts: self.contracts(contract),
            approvals,
            sets: lint.sets.into_iter().map(LintSet::from).collect(),
            denies_warnings: lint.deny.contains(&Denied::Warnings),
            levels,
            parts,
            ignores,
            own,
            gate: diff.gate.map(|gate| {
                let kinds = gate.into_iter();
                kinds
                    .map(|kind| (kind.get_ref().clone(), kind.span()))
                    .collect()
            }),
            ungated: diff
                .ungated
                .map(|levels| levels.into_iter().map(contract::Stability::from).collect()),
            sunset: diff.sunset,
            ..Policy::default()
        }
    }

    /// Reports a text without anything in it.
    pub(crate) fn filled(&mut self, text: &Spanned<String>) {
        if text.get_ref().trim().is_empty() {
            let message = "nothing is written here".to_owned();
            self.error(&text.span(), message, "say it in a few words");
        }
    }

    /// Reports a name that no rule has.
    fn rule(&mut self, name: &Spanned<String>, own: &[&str]) {
        let text = name.get_ref().as_str();
        if rules::find(text).is_some() || own.contains(&text) {
            return;
        }
        let known = rules::all().into_iter().map(|rule| rule.code);
        let meant = nearest(text, known.chain(own.iter().copied()));
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`lint --rules` lists the rules".to_owned(),
        };
        self.error(&name.span(), format!("there is no rule `{text}`"), &help);
    }

    fn levels(
        &mut self,
        levels: BTreeMap<Spanned<String>, Level>,
        own: &[&str],
    ) -> BTreeMap<String, Level> {
        let levels = levels.into_iter().map(|(name, level)| {
            self.rule(&name, own);
            (name.into_inner(), level)
        });
        levels.collect()
    }

    fn part(&mut self, part: Part, own: &[&str]) -> Option<PartLevels> {
        let first = part.rules.keys().next().map(Spanned::span);
        let levels = self.levels(part.rules, own);
        let (at, place) = match (part.tag, part.path, part.pointer) {
            (Some(tag), None, None) => (tag.span(), Place::Tag(tag.into_inner())),
            (None, Some(path), None) => (path.span(), Place::Path(self.glob(&path)?)),
            (None, None, Some(pointer)) => {
                self.pointer(&pointer);
                (pointer.span(), Place::Pointer(pointer.into_inner()))
            }
            (tag, path, pointer) => {
                let names = [&tag, &path, &pointer];
                let at = names.into_iter().flatten().next().map(Spanned::span);
                self.error(
                    &at.or(first).unwrap_or(0..0),
                    "a part of the contract has one of `tag`, `path` and `pointer`".to_owned(),
                    "write an entry of `[[lint.in]]` for each",
                );
                return None;
            }
        };
        Some(PartLevels { place, at, levels })
    }

    fn ignored(&mut self, ignore: Ignore, own: &[&str]) -> Ignored {
        self.rule(&ignore.rule, own);
        self.pointer(&ignore.pointer);
        self.filled(&ignore.reason);
        Ignored {
            at: ignore.pointer.span(),
            until_at: ignore.until.span(),
            rule: ignore.rule.into_inner(),
            pointer: ignore.pointer.into_inner(),
            until: ignore.until.into_inner(),
        }
    }

    fn pointer(&mut self, pointer: &Spanned<String>) {
        let text = pointer.get_ref();
        if !text.is_empty() && !text.starts_with('/') {
            self.error(
                &pointer.span(),
                format!("`{text}` is not a JSON Pointer"),
                "write one such as `/paths/~1pets/get`",
            );
        }
    }

    /// Returns the regular expression of a path with `*` and `**`.
    fn glob(&mut self, path: &Spanned<String>) -> Option<Regex> {
        // Two stars first, or each of them would be taken for one.
        let parts = path.get_ref().split("**").map(|part| {
            let parts: Vec<String> = part.split('*').map(regex::escape).collect();
            parts.join("[^/]*")
        });
        let parts: Vec<String> = parts.collect();
        self.regex(&format!("^{}$", parts.join(".*")), &path.span())
    }

    fn regex(&mut self, pattern: &str, range: &Range<usize>) -> Option<Regex> {
        let built = RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        if built.is_err() {
            let message = "this is not a regular expression, or a too large one".to_owned();
            self.error(range, message, "write it in the syntax of Rust's `regex`");
        }
        built.ok()
    }

    fn own(&mut self, own: Own) -> Option<OwnRule> {
        let name = own.rule.get_ref().as_str();
        let is_word = |word: &str| {
            let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            !word.is_empty() && word.bytes().all(is_part)
        };
        if !name.split('-').all(is_word) {
            let help = "write it in kebab-case, such as `operation-has-summary`";
            self.error(&own.rule.span(), format!("`{name}` cannot be a name"), help);
        } else if rules::find(name).is_some() {
            let help = "give it a name of its own";
            self.error(
                &own.rule.span(),
                format!("there is a rule `{name}` already"),
                help,
            );
        }
        let is_empty = own.exists.is_none()
            && own.pattern.is_none()
            && own.casing.is_none()
            && own.one_of.is_none()
            && own.min_length.is_none()
            && own.max_length.is_none();
        if is_empty {
            self.error(
                &own.rule.span(),
                format!("`{name}` asserts nothing"),
                "add `exists`, `pattern`, `casing`, `one-of`, `min-length` or `max-length`",
            );
        }
        // `exists = false` without a field forbids what is selected.
        if own.exists.is_some() && own.field.is_none() && own.exists != Some(false) {
            self.error(
                &own.rule.span(),
                "what is selected exists".to_owned(),
                "name the `field` that must exist in it",
            );
        }
        let pattern = match &own.pattern {
            Some(pattern) => Some(self.regex(pattern.get_ref(), &pattern.span())?),
            None => None,
        };
        match Selector::parse(own.select.get_ref()) {
            Ok(selector) => Some(OwnRule {
                code: intern(name),
                selector,
                pattern,
                own,
            }),
            Err(wrong) => {
                self.error(&own.select.span(), wrong.message, &wrong.help);
                None
            }
        }
    }
}
