//! The stored list of repairs of a document of others, a file of the generated types crate.
//!
//! The list may only shrink unless the caller accepts more: a new version of somebody else's
//! document must not change in silence what is read into it.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;
use codegen::File;
use contract::Repair;

/// Returns the file that lists the repairs, or `None` if there are none.
pub(crate) fn file(prefix: &str, repairs: &[Repair]) -> Option<File> {
    let lines = lines(repairs);
    (!lines.is_empty()).then(|| File {
        path: path(prefix),
        text: lines.into_iter().map(|line| line + "\n").collect(),
    })
}

/// Returns the repairs that the list in a folder does not have. Of crates that are written for the
/// first time, none is new.
pub(crate) fn new(folder: &Path, prefix: &str, repairs: &[Repair]) -> anyhow::Result<Vec<String>> {
    let path = folder.join(path(prefix));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        // Without a list nothing was repaired: crates that exist must not be repaired in silence.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if !folder.join(format!("{prefix}-types")).exists() {
                return Ok(Vec::new());
            }
            String::new()
        }
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read {}", path.display()));
        }
    };
    let known: BTreeSet<&str> = text.lines().collect();
    let lines = lines(repairs).into_iter();
    Ok(lines
        .filter(|line| !known.contains(line.as_str()))
        .collect())
}

fn path(prefix: &str) -> String {
    format!("{prefix}-types/repairs.txt")
}

/// Returns a line for each repair: its rule, the pointer of what was repaired, and what of it.
fn lines(repairs: &[Repair]) -> BTreeSet<String> {
    let line = |repair: &Repair| {
        let mut line = format!("{} {}", repair.rule, repair.pointer);
        if let Some(part) = &repair.part {
            line.push(' ');
            line.push_str(part);
        }
        // A pointer and a name can hold what would end the line.
        line.replace(char::is_control, "\u{fffd}")
    };
    repairs.iter().map(line).collect()
}
