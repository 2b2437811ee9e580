//! Files and their paths.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::Revision;
use crate::read::MAX_BYTES;

/// Texts that are read in place of the files with the same paths, such as the unsaved files of an
/// editor.
#[derive(Debug, Clone, Default)]
pub struct OpenFiles(HashMap<PathBuf, Arc<str>>);

impl OpenFiles {
    /// Sets the text of a file, which does not have to exist.
    pub fn insert(&mut self, path: &Path, text: Arc<str>) {
        self.0.insert(identity(path), text);
    }

    fn get(&self, path: &Path) -> Option<&Arc<str>> {
        // Without open files, as in every command, no path has to be made canonical here.
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&identity(path))
    }
}

/// Reads an open file, or a regular file of at most [`MAX_BYTES`] bytes. The error completes the
/// sentence "the file …".
pub(super) fn read_file<'o>(path: &Path, open: &'o OpenFiles) -> Result<Cow<'o, [u8]>, String> {
    if let Some(text) = open.get(path) {
        // The reader of the bytes checks their size.
        return Ok(Cow::Borrowed(text.as_bytes()));
    }
    let about = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("cannot be read: it is not a file".to_owned());
    }
    if about.len() > MAX_BYTES as u64 {
        return Err(format!("is larger than {MAX_BYTES} bytes"));
    }
    std::fs::read(path)
        .map(Cow::Owned)
        .map_err(|error| format!("cannot be read: {error}"))
}

impl Revision {
    /// Returns the path of a file in the copy of the revision. The error completes the sentence "the
    /// file …".
    pub(super) fn place(&self, path: PathBuf) -> Result<PathBuf, String> {
        let found = identity(&path);
        if found.starts_with(identity(&self.copy)) {
            return Ok(path);
        }
        // Read where it is, the file would be that of the working copy.
        match found.strip_prefix(identity(&self.original)) {
            Ok(inside) => Ok(self.copy.join(inside)),
            Err(_) => Err(format!(
                "is outside of the repository, so it is not part of `{}`: move it into the repository, or compare with a file in place of a revision",
                self.name
            )),
        }
    }
}

/// Returns the canonical path, which is equal for two paths to the same file. Of a missing file,
/// returns the path without `.` and `..`.
#[must_use]
pub fn identity(path: &Path) -> PathBuf {
    // A missing file has no canonical path.
    path.canonicalize().unwrap_or_else(|_| clean(path))
}

/// Removes `.` from a path, and each `..` together with the name before it, without reading the
/// disk.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            // At the start, `..` leads out of the base, so it stays.
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Returns a path relative to `base`, the folder of the first document, with forward slashes on
/// every machine.
pub(super) fn relative(path: &Path, base: &Path) -> String {
    let base = clean(base);
    let mut rest = path;
    let mut ups = String::new();
    let mut from = base.as_path();
    loop {
        if let Ok(inside) = path.strip_prefix(from) {
            rest = inside;
            break;
        }
        let Some(parent) = from.parent() else { break };
        from = parent;
        ups.push_str("../");
    }
    let parts: Vec<_> = rest
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    ups + &parts.join("/")
}
