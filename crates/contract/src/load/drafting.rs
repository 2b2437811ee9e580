//! Drafts an overlay that mends what is wrong with a document.

use std::path::{Path, PathBuf};

use super::files::identity;
use super::{Options, read_files};
use crate::foreign::{Repaired, Repairs};
use crate::overlay::draft::Draft;
use crate::source::SourceFile;

/// Drafts an overlay that mends what the lints find in a document, for an author to edit.
///
/// It makes the changes of [`READINGS`](crate::READINGS) and some that are less certain: it
/// declares components that references name, and removes examples that do not fit and keywords
/// that have no effect. `of` is the file of the contract that the overlay is for, which is the
/// document itself by default. With [`Options::foreign`], the overlay leaves out what is read in a
/// document of others without it.
///
/// # Errors
///
/// Returns an error if `of` is no file of the contract.
pub fn draft_overlay(
    path: &Path,
    options: &Options,
    of: Option<&Path>,
) -> Result<Draft, NotInContract> {
    let mut loader = read_files(path, options);
    loader.is_drafting = true;
    loader.foreign = false;
    if loader.wants_metaschema {
        loader.add_metaschema();
    }
    let read = std::mem::take(&mut loader.diagnostics);
    let mut repairs = Repairs::drafting(options.foreign);
    loop {
        loader.diagnostics.clone_from(&read);
        if loader.is_stopped {
            break;
        }
        loader.build();
        // What a repair mends can have hidden another mistake, so all is built again.
        let repaired = repairs.repair(&mut loader.documents, &loader.sources, &loader.diagnostics);
        if repaired == Repaired::Nothing {
            break;
        }
    }
    let wanted = match of {
        // Without the document, what is left says why it could not be read.
        Some(of) if !loader.documents.list.is_empty() => {
            let found = loader.documents.paths.get(&identity(of));
            let not_in = || NotInContract(of.to_owned(), path.to_owned());
            let found = found.and_then(|found| found.as_ref().ok());
            *found.ok_or_else(not_in)?
        }
        _ => 0,
    };
    let mut draft = Draft::default();
    for (index, drafted) in repairs.drafted() {
        if index == wanted {
            draft.mended = drafted.mended;
            draft.actions = drafted.actions;
            continue;
        }
        let file = loader.documents.list[index].root.span.file;
        let SourceFile { name, .. } = loader.sources.file(file);
        draft.elsewhere.push((name.clone(), drafted.mended));
    }
    if options.foreign && !loader.is_stopped {
        loader.is_drafting = false;
        loader.foreign = true;
        loader.diagnostics = read;
        loader.build_repaired();
    }
    draft.sources = loader.sources;
    draft.left = loader.diagnostics;
    draft
        .left
        .sort_by(|a, b| (a.span, a.code, &a.message).cmp(&(b.span, b.code, &b.message)));
    draft.left.dedup();
    Ok(draft)
}

/// The error that an overlay is wanted for a file that no reference of the contract leads to, or
/// that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{}` is no file that the contract has read: name the document, or a file that its references lead to from `{}`",
    .0.display(), .1.display()
)]
pub struct NotInContract(PathBuf, PathBuf);
