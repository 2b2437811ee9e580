//! Reads the overlays of a contract, and applies each to its document.

use std::path::{Path, PathBuf};

use super::Loader;
use super::files::{clean, identity, read_file};
use crate::diagnostic::{Diagnostic, Severity};
use crate::mapping::Mapping;
use crate::node::Node;
use crate::overlay::{self, MAX_OVERLAY_BYTES, MOST_OVERLAYS, Overlay, apply};
use crate::source::{SourceFile, Span};
use crate::uri::{absolute, has_scheme, local_file};

/// An overlay with the document that it changes.
#[derive(Debug)]
pub(super) struct Pending {
    overlay: Overlay,
    /// The canonical path of the document, or `None` for the first one.
    target: Option<PathBuf>,
    is_applied: bool,
}

impl Loader {
    /// Reads overlays, in the order in which they are applied.
    pub(super) fn read_overlays(&mut self, paths: &[PathBuf], mapping: &Mapping) {
        for (index, path) in paths.iter().enumerate() {
            let span = self.next_span();
            if index >= MOST_OVERLAYS {
                self.add_empty(path);
                self.diagnostics.push(overlay::too_many(span));
                return self.stop();
            }
            let Some(root) = self.read_overlay(path) else {
                self.stop();
                continue;
            };
            let Some(overlay) = overlay::read(&root, &mut self.diagnostics) else {
                self.stop();
                continue;
            };
            let target = extended(&overlay, path, mapping);
            self.overlays.push(Pending {
                overlay,
                target,
                is_applied: false,
            });
        }
    }

    fn read_overlay(&mut self, path: &Path) -> Option<Node> {
        let span = self.next_span();
        let open = self.open.clone();
        let bytes = match read_file(path, &open) {
            Ok(bytes) if bytes.len() > MAX_OVERLAY_BYTES => {
                self.add_empty(path);
                let message = format!(
                    "the overlay has {} bytes, more than {MAX_OVERLAY_BYTES}",
                    bytes.len()
                );
                self.diagnostics.push(
                    Diagnostic::error("overlay-too-large", span, message)
                        .help("write several overlays"),
                );
                return None;
            }
            Ok(bytes) => bytes,
            Err(why) => {
                self.add_empty(path);
                self.diagnostics.push(
                    Diagnostic::error("unreadable-file", span, format!("the overlay {why}"))
                        .help("check the path"),
                );
                return None;
            }
        };
        let before = self.diagnostics.len();
        let root = self.read(&path.display().to_string(), &bytes);
        // A part of an overlay would make another document.
        let mut found = self.diagnostics[before..].iter();
        let is_wrong = found.any(|diagnostic| diagnostic.severity == Severity::Error);
        root.filter(|_| !is_wrong)
    }

    /// Returns the empty span at the start of the file that is read next.
    fn next_span(&self) -> Span {
        Span::new(self.sources.next(), 0, 0)
    }

    /// Adds a file without its text, for a diagnostic to name.
    fn add_empty(&mut self, path: &Path) {
        self.sources.add(SourceFile {
            name: path.display().to_string(),
            text: String::new(),
        });
    }

    /// Prevents that the contract is built: without an overlay its document is another one, whose
    /// diagnostics would hide what is wrong with the overlay.
    fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Applies the overlays of the first document to it.
    pub(super) fn overlay_first(&mut self, root: &mut Node, path: &Path) {
        let path = identity(path);
        for pending in &mut self.overlays {
            if pending.target.as_ref() == Some(&path) {
                pending.target = None;
            }
        }
        self.overlay(root, None);
    }

    /// Applies the overlays of a document to it: of that at a canonical path, or of the first one.
    pub(super) fn overlay(&mut self, root: &mut Node, path: Option<&Path>) {
        let errors = |found: &[Diagnostic]| {
            let mut found = found.iter();
            found.any(|diagnostic| diagnostic.severity == Severity::Error)
        };
        for pending in &mut self.overlays {
            if pending.target.as_deref() != path {
                continue;
            }
            pending.is_applied = true;
            let mut found = Vec::new();
            self.is_overlaid |= apply(root, &pending.overlay, &mut found);
            self.is_stopped |= errors(&found);
            self.diagnostics.append(&mut found);
        }
    }

    /// Reports the overlays of documents that are no part of the contract.
    pub(super) fn report_unapplied(&mut self) {
        for pending in &self.overlays {
            if pending.is_applied {
                continue;
            }
            if let Some((text, span)) = &pending.overlay.extends {
                let message =
                    format!("the overlay extends `{text}`, which is no document of this contract");
                self.diagnostics.push(
                    Diagnostic::error("overlay-extends", *span, message)
                        .help("correct it: the path starts from the folder of the overlay"),
                );
                self.is_stopped = true;
            }
        }
    }
}

/// Returns the canonical path of the document that an overlay extends, or `None` for the first
/// document: that of an overlay without `extends`, or with an address that has no local copy, of
/// which nobody can say which file it is.
fn extended(overlay: &Overlay, path: &Path, mapping: &Mapping) -> Option<PathBuf> {
    let (text, _) = overlay.extends.as_ref()?;
    if has_scheme(text) {
        let address = absolute(None, text)?;
        return Some(identity(&mapping.locate(address.as_str())?));
    }
    let written = local_file(text)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Some(identity(&clean(&folder.join(written))))
}
