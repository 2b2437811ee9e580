//! Reads a contract as `lint` does: with the open texts, and as `contract.toml` judges it.

use std::path::Path;

use compatibility::searched_lints;
use contract::source::{SourceFile, Span};
use contract::{Diagnostic, Loaded};
use policy::{NotFound, Policy};

use crate::Settings;
use crate::texts::Texts;

/// The maximum number of schemas of a contract that are searched for values. In larger ones the
/// search would be felt while one types.
const MOST_SCHEMAS: usize = 5_000;

/// Reads the contract that starts with a document.
pub(crate) fn load(settings: &Settings, texts: &Texts, root: &Path) -> Loaded {
    let mut options = contract::Options {
        open: texts.open_files(),
        ..settings.options_of(root)
    };
    let Some(today) = settings.today else {
        return read(root, &options);
    };
    let (policy, wrong) = match Policy::find(root) {
        Ok(policy) => (policy, None),
        Err(wrong) => (Policy::default(), Some(wrong)),
    };
    let chosen = policy.sets();
    options.sets.extend(policy.needed(&chosen));
    let mut loaded = read(root, &options);
    loaded.diagnostics = policy.lint(
        &mut loaded.sources,
        std::mem::take(&mut loaded.diagnostics),
        &chosen,
        today(),
    );
    if let Some(wrong) = wrong {
        add(&mut loaded, wrong);
    }
    loaded
}

fn read(root: &Path, options: &contract::Options) -> Loaded {
    let mut loaded = contract::load_with(root, options);
    if let Some(contract) = &loaded.contract
        && contract.schemas.len() <= MOST_SCHEMAS
    {
        let found = searched_lints(contract, &loaded.diagnostics);
        loaded.diagnostics.extend(found);
    }
    loaded
}

/// Adds what is wrong with the policy, in its own file.
fn add(loaded: &mut Loaded, wrong: NotFound) {
    let (path, why) = match wrong {
        NotFound::Wrong(wrong) => {
            // A policy is one file.
            let Some((_, about)) = wrong.sources.files().next() else {
                return;
            };
            let file = loaded.sources.add(about.clone());
            for mut diagnostic in wrong.diagnostics {
                diagnostic.span.file = file;
                for (span, _) in &mut diagnostic.related {
                    span.file = file;
                }
                diagnostic.edits.clear();
                loaded.diagnostics.push(diagnostic);
            }
            return;
        }
        NotFound::Unreadable(path, error) => (path, format!("cannot be read: {error}")),
        NotFound::TooLarge(path) => (path, "has more than a MiB".to_owned()),
    };
    let file = loaded.sources.add(SourceFile {
        name: path.display().to_string(),
        text: String::new(),
    });
    let span = Span {
        file,
        ..Span::default()
    };
    let message = format!("the policy {why}");
    loaded
        .diagnostics
        .push(Diagnostic::error("unreadable-file", span, message));
}
