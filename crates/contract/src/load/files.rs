//! Files and their paths.

use std::path::{Component, Path, PathBuf};

use crate::read::MAX_BYTES;

/// Reads a regular file of at most [`MAX_BYTES`] bytes. The error completes the sentence "the file
/// …".
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !about.is_file() {
        return Err("cannot be read: it is not a file".to_owned());
    }
    if about.len() > MAX_BYTES as u64 {
        return Err(format!("is larger than {MAX_BYTES} bytes"));
    }
    std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))
}

/// Returns the canonical path, which is equal for two paths to the same file. For a missing file,
/// returns the path as [`clean`] does.
pub(super) fn identity(path: &Path) -> PathBuf {
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
