//! Drafts an overlay that mends what is wrong with a document.

use std::path::Path;

use super::files::identity;
use super::{Options, read_files};
use crate::foreign::Repairs;
use crate::overlay::draft::Draft;
use crate::source::SourceFile;

/// Drafts an overlay that mends what the lints find in a document, for an author to edit.
///
/// It makes the changes of [`READINGS`](crate::READINGS) and some that are less certain: it
/// declares components that references name, and removes examples that do not fit and keywords
/// that have no effect. `of` is the file of the contract that the overlay is for, which is the
/// document itself by default.
#[must_use]
pub fn draft_overlay(path: &Path, options: &Options, of: Option<&Path>) -> Draft {
    let mut loader = read_files(path, options);
    loader.is_drafting = true;
    if loader.wants_metaschema {
        loader.add_metaschema();
    }
    let read = std::mem::take(&mut loader.diagnostics);
    let mut repairs = Repairs::drafting();
    loop {
        loader.diagnostics.clone_from(&read);
        if loader.is_stopped {
            break;
        }
        loader.build();
        if !repairs.repair(&mut loader.documents, &loader.sources, &loader.diagnostics) {
            break;
        }
    }
    let wanted = of.map_or(Some(0), |of| {
        let found = loader.documents.paths.get(&identity(of))?;
        found.as_ref().ok().copied()
    });
    let mut draft = Draft {
        sources: loader.sources,
        actions: Vec::new(),
        mended: 0,
        elsewhere: Vec::new(),
        left: loader.diagnostics,
    };
    for (index, drafted) in repairs.drafted() {
        if Some(index) == wanted {
            draft.mended = drafted.mended;
            draft.actions = drafted.actions;
            continue;
        }
        let file = loader.documents.list[index].root.span.file;
        let SourceFile { name, .. } = draft.sources.file(file);
        draft.elsewhere.push((name.clone(), drafted.mended));
    }
    draft
        .left
        .sort_by(|a, b| (a.span, a.code, &a.message).cmp(&(b.span, b.code, &b.message)));
    draft.left.dedup();
    draft
}
