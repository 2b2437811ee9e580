//! Code actions: what mends a diagnostic, where there is one certain way, as `lint --fix` does.

use std::collections::HashMap;
use std::path::Path;

use gen_lsp_types::{CodeAction, CodeActionKind, Range, TextEdit, Uri, WorkspaceEdit};

use crate::diagnostics::Files;
use crate::texts::Texts;
use crate::world::World;

/// The maximum number of actions that one response lists.
const MOST_ACTIONS: usize = 100;

/// Returns what mends the diagnostics of a part of a file.
pub(crate) fn actions(world: &World, texts: &Texts, path: &Path, asked: Range) -> Vec<CodeAction> {
    let mut actions: Vec<CodeAction> = Vec::new();
    for root in world.roots(texts) {
        let Some(analysis) = world.analyse(texts, &root) else {
            continue;
        };
        let Some(file) = analysis.file_id(path) else {
            continue;
        };
        let files = Files::of(world, texts, &analysis);
        let mended = analysis
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.span.file == file && !diagnostic.edits.is_empty());
        for diagnostic in mended {
            let range = files.range(diagnostic.span);
            if range.end < asked.start || asked.end < range.start {
                continue;
            }
            let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
            for edit in &diagnostic.edits {
                let uri = files.uri(edit.span.file);
                changes.entry(uri).or_default().push(TextEdit {
                    range: files.exact_range(edit.span),
                    new_text: edit.replacement.clone(),
                });
            }
            let title = match diagnostic.edits.as_slice() {
                [edit] if edit.replacement.is_empty() => "remove this".to_owned(),
                [edit] if !edit.replacement.contains('\n') => {
                    format!("write `{}`", edit.replacement)
                }
                _ => diagnostic
                    .help
                    .clone()
                    .unwrap_or_else(|| "mend this".to_owned()),
            };
            let action = CodeAction {
                title,
                kind: Some(CodeActionKind::QuickFix),
                diagnostics: Some(vec![files.convert(diagnostic)]),
                is_preferred: Some(true),
                edit: Some(WorkspaceEdit {
                    changes: Some(changes),
                    ..WorkspaceEdit::default()
                }),
                ..CodeAction::default()
            };
            // Two contracts can have one file.
            if actions.len() < MOST_ACTIONS && !actions.contains(&action) {
                actions.push(action);
            }
        }
    }
    actions
}
