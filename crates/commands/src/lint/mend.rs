//! Mends what is wrong with the files of a contract where there is one certain way.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, bail};
use contract::fix;
use contract::source::FileId;
use contract::{Diagnostic, Sources};

use crate::replace::replace;

/// Applies the edits of diagnostics to the files on disk, and prints each. Returns whether a file
/// has changed.
///
/// Nothing is written unless every file can be read as well after its edits as before.
pub(super) fn mend(
    sources: &Sources,
    diagnostics: &[Diagnostic],
    out: &mut dyn Write,
) -> anyhow::Result<bool> {
    let all = diagnostics.iter().flat_map(|found| &found.edits);
    let files: BTreeSet<FileId> = all.map(|edit| edit.span.file).collect();
    let mut mended = Vec::new();
    for id in files {
        mended.push((id, mended_text(sources, diagnostics, id)?));
    }
    for (id, text) in &mended {
        let file = sources.file(*id);
        replace(Path::new(&file.name), text)
            .with_context(|| format!("failed to mend {}", file.name))?;
        for edit in fix::edits(diagnostics, *id) {
            let at = sources.line_column(edit.span);
            writeln!(
                out,
                "{}:{}:{}: `{}` → `{}`",
                file.name,
                at.line,
                at.column,
                sources.text(edit.span),
                edit.replacement
            )?;
        }
    }
    Ok(!mended.is_empty())
}

/// Returns the text of a file after its edits.
fn mended_text(
    sources: &Sources,
    diagnostics: &[Diagnostic],
    id: FileId,
) -> anyhow::Result<String> {
    let file = sources.file(id);
    let before =
        fs::read_to_string(&file.name).with_context(|| format!("failed to mend {}", file.name))?;
    // The reader leaves the byte order mark out of its text.
    let mark = if before.starts_with('\u{feff}') {
        "\u{feff}"
    } else {
        ""
    };
    if before.strip_prefix(mark) != Some(file.text.as_str()) {
        bail!(
            "{} has changed while it was read: run the command again",
            file.name
        );
    }
    let after = fix::apply(&file.text, &fix::edits(diagnostics, id));
    if let Some(why) = fix::broken(&file.name, &file.text, &after) {
        bail!(
            "no file was changed, since mending would break {}:{why}: correct it by hand",
            file.name
        );
    }
    Ok(format!("{mark}{after}"))
}
