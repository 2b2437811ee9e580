//! The live verdict: whom the edits since the base revision break, beside the nodes that were
//! changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use compatibility::{Finding, Kind, compare};
use contract::source::Span;
use contract::{Contract, Sources};
use gen_lsp_types::{CodeLens, Command, Range};
use policy::{Change, Judge, Policy};

use crate::parsed::Shift;
use crate::position::Lines;
use crate::texts::Texts;
use crate::world::{Analysis, World, held};

/// The maximum number of lenses that a file has.
const MOST_LENSES: usize = 500;

/// A contract that was compared with its base revision.
pub(crate) struct Verdict {
    /// What the base revision is known by, and its contract with its files, if it can be read.
    base: (String, Option<Arc<(Contract, Sources)>>),
    analysis: Arc<Analysis>,
    findings: Vec<Finding>,
}

/// Compares every contract that has changed with its base revision. Returns whether a verdict has
/// changed.
pub(crate) fn judge(world: &World, texts: &Texts) -> bool {
    let Some(base) = &world.settings.base else {
        return false;
    };
    let mut has_changed = false;
    for root in world.roots(texts) {
        let known = held(&world.verdicts).get(&root).cloned();
        let Some(analysis) = world.analyse(texts, &root) else {
            continue;
        };
        // While the document has errors, its last verdict stays.
        let Some(revision) = analysis.contract.clone() else {
            continue;
        };
        // A document in no repository, or without the revision there, has no verdict.
        let Ok(identity) = base.identity(&root) else {
            has_changed |= held(&world.verdicts).remove(&root).is_some();
            continue;
        };
        let contract = match &known {
            Some(known) if known.base.0 == identity => known.base.1.clone(),
            _ => base.contract(&root).ok().map(Arc::new),
        };
        let findings = contract.as_ref().map(|base| {
            let findings = compare(&base.0, &revision).findings;
            refusing(world, &root, findings, base, &analysis.sources)
        });
        let verdict = Verdict {
            base: (identity, contract),
            analysis,
            findings: findings.unwrap_or_default(),
        };
        has_changed |= known.is_none_or(|known| known.findings != verdict.findings);
        held(&world.verdicts).insert(root, Arc::new(verdict));
    }
    has_changed
}

/// Returns the findings that refuse a change, by the policy of the contract.
fn refusing(
    world: &World,
    root: &Path,
    mut findings: Vec<Finding>,
    (contract, base): &(Contract, Sources),
    revision: &Sources,
) -> Vec<Finding> {
    let Some(today) = world.settings.today else {
        findings.retain(|finding| finding.kind.is_gating());
        return findings;
    };
    // What is wrong with the policy is a diagnostic.
    let policy = Policy::find(root).unwrap_or_default();
    let judge = Judge::new(&policy, today(), (contract, base), revision);
    findings.retain(|finding| {
        let gates = policy.gates(&finding.kind.name());
        let change = Change {
            gates: gates.unwrap_or_else(|| finding.kind.is_gating()),
            rule: finding.rule,
            message: &finding.message,
            base: finding.base,
            revision: finding.revision,
            operations: &finding.operations,
        };
        judge.judge(&change).refuses
    });
    findings
}

/// Returns the lenses of a file: one for each node that was changed so that somebody is harmed.
pub(crate) fn lenses(world: &World, texts: &Texts, path: &Path) -> Vec<CodeLens> {
    let verdicts: Vec<Arc<Verdict>> = held(&world.verdicts).values().cloned().collect();
    let Some(parsed) = world.parse(texts, path) else {
        return Vec::new();
    };
    let mut found: BTreeMap<Range, Vec<String>> = BTreeMap::new();
    for verdict in verdicts {
        let Some(file) = verdict.analysis.file_id(path) else {
            continue;
        };
        // The text may have changed since, and its lines have moved.
        let judged = &verdict.analysis.sources.file(file).text;
        let shift = Shift::between(judged, parsed.text.trim_start_matches('\u{feff}'));
        let text = parsed.text.trim_start_matches('\u{feff}');
        let lines = Lines::of(text);
        for finding in &verdict.findings {
            let span = match finding.revision {
                Some(span) if span.file == file => span,
                // What was removed has no place of its own.
                None if verdict.analysis.index.file(path) == Some(0) => Span {
                    file,
                    ..Span::default()
                },
                Some(_) | None => continue,
            };
            let Some(at) = shift.forward(span.start as usize..span.end as usize) else {
                continue;
            };
            let end = lines.line(text, lines.line_of(at.start)).end;
            let range = lines.range(
                text,
                world.encoding,
                at.start..at.end.min(end).max(at.start),
            );
            found.entry(range).or_default().push(title(finding));
        }
    }
    let lenses = found.into_iter().flat_map(|(range, titles)| {
        titles.into_iter().map(move |title| CodeLens {
            range,
            command: Some(Command {
                title,
                tooltip: None,
                // There is nothing to do: the words are all.
                command: String::new(),
                arguments: None,
            }),
            data: None,
        })
    });
    lenses.take(MOST_LENSES).collect()
}

fn title(finding: &Finding) -> String {
    let operations = match finding.operations.len() {
        0 => String::new(),
        1 => " of 1 operation".to_owned(),
        count => format!(" of {count} operations"),
    };
    let verdict = match finding.kind {
        Kind::Breaking => format!("breaks callers{operations}"),
        kind => format!("{} for callers{operations}", kind.words()),
    };
    format!("{verdict}: {}", finding.message)
}
