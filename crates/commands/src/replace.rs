//! Replaces a file, so that no reader sees a part of it.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use tempfile::NamedTempFile;

/// Replaces the text of a file.
pub(crate) fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    // What a link leads to is replaced, and not the link.
    let path = fs::canonicalize(path)?;
    let folder = path.parent().context("a file is in a folder")?;
    let mut new = NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file()
        .set_permissions(fs::metadata(&path)?.permissions())?;
    new.persist(&path)?;
    Ok(())
}
