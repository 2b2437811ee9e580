//! Puts generated files on a disk, or compares a disk with them. The only code here that touches one.
//!
//! A generated crate's folder is ours as a whole: what lies there and is not generated any more is removed.
//! A folder or file that was not generated is refused, never overwritten, and no symbolic link is followed.

mod diff;
mod scan;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use scan::MARK;
pub use scan::is_generated;

use crate::File;
use scan::Entry;

/// Writes files below a folder, and removes what was generated there before and is not any more.
///
/// A file that is right already is not touched. Each is replaced in one step, so that nobody reads half of one.
pub fn write(out: &Path, files: &[File]) -> Result<Emitted, EmitError> {
    let differences = compare(out, files)?;
    let mut emitted = Emitted::default();
    // The file that marks a crate as generated comes first: an interrupted run can then be repeated.
    let (marks, others): (Vec<_>, Vec<_>) = differences
        .into_iter()
        .partition(|difference| is_mark(difference.path()));
    for difference in marks.into_iter().chain(others) {
        match difference {
            Difference::Changed { file, .. } | Difference::Missing { file } => {
                replace(out, file)?;
                emitted.written.push(file.path.clone());
            }
            Difference::Orphaned { path } => {
                remove(out, &path)?;
                emitted.removed.push(path);
            }
        }
    }
    emitted.written.sort();
    Ok(emitted)
}

/// What differs between files and the folder that should hold them; nothing is written.
pub fn check(out: &Path, files: &[File]) -> Result<Vec<Stale>, EmitError> {
    let differences = compare(out, files)?;
    let stale = differences.into_iter().map(|difference| {
        let path = difference.path().to_owned();
        let (kind, diff) = match difference {
            Difference::Changed { file, found } => (
                StaleKind::Stale,
                diff::unified(&path, &String::from_utf8_lossy(&found), &file.text),
            ),
            Difference::Missing { file } => {
                (StaleKind::Missing, diff::unified(&path, "", &file.text))
            }
            Difference::Orphaned { .. } => {
                // What cannot be read, such as a link, has nothing to show.
                let found = scan::read(&below(out, &path))
                    .ok()
                    .flatten()
                    .unwrap_or_default();
                (
                    StaleKind::Orphaned,
                    diff::unified(&path, &String::from_utf8_lossy(&found), ""),
                )
            }
        };
        Stale { path, kind, diff }
    });
    Ok(stale.collect())
}

/// What [`write()`] has done; both lists are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Emitted {
    /// Files that are new or have changed.
    pub written: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
}

/// A file that is not what the contract says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// Path below the output folder.
    pub path: String,
    /// In which way.
    pub kind: StaleKind,
    /// What writing would change, in a few lines.
    pub diff: String,
}

/// The ways of being stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleKind {
    /// It holds something else.
    Stale,
    /// It is not there.
    Missing,
    /// It was generated once, or lies in a generated crate, and is not generated any more.
    Orphaned,
}

/// Why files could not be written or compared.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// Something of the user's stands where a generated file or folder belongs.
    #[error(
        "`{}` exists and was not generated, so it is left alone: \
         choose another --out or --name, or move it away", .0.display()
    )]
    NotGenerated(PathBuf),
    /// A link leads somewhere else.
    #[error("`{}` is a symbolic link, and those are not followed: put a folder in its place", .0.display())]
    Link(PathBuf),
    /// A folder stands where a file belongs, or a file where a folder does.
    #[error("`{}` is not a {wanted}: move it away", path.display())]
    WrongKind {
        /// Where.
        path: PathBuf,
        /// What belongs there.
        wanted: &'static str,
    },
    /// The disk refuses.
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl EmitError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// One thing that writing would change.
enum Difference<'f> {
    Changed { file: &'f File, found: Vec<u8> },
    Missing { file: &'f File },
    Orphaned { path: String },
}

impl Difference<'_> {
    fn path(&self) -> &str {
        match self {
            Self::Changed { file, .. } | Self::Missing { file } => &file.path,
            Self::Orphaned { path } => path,
        }
    }
}

/// Everything that writing would change, sorted by path.
fn compare<'f>(out: &Path, files: &'f [File]) -> Result<Vec<Difference<'f>>, EmitError> {
    let folders: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| Some(file.path.split_once('/')?.0))
        .collect();
    let mut differences = Vec::new();
    for folder in &folders {
        scan::ensure_ours(&out.join(folder))?;
    }
    let mut expected = BTreeSet::new();
    for file in files {
        expected.insert(file.path.as_str());
        match scan::look(out, &file.path)? {
            Entry::Absent => differences.push(Difference::Missing { file }),
            Entry::Link => differences.push(Difference::Changed {
                file,
                found: Vec::new(),
            }),
            Entry::File(found) if found == file.text.as_bytes() => {}
            Entry::File(found) => {
                if !file.path.contains('/') && !scan::starts_with_mark(&found) {
                    return Err(EmitError::NotGenerated(out.join(&file.path)));
                }
                differences.push(Difference::Changed { file, found });
            }
        }
    }
    for folder in &folders {
        let found = scan::files(&out.join(folder), folder)?;
        let orphans = found
            .into_iter()
            .filter(|path| !expected.contains(path.as_str()));
        differences.extend(orphans.map(|path| Difference::Orphaned { path }));
    }
    differences.sort_by(|a, b| a.path().cmp(b.path()));
    Ok(differences)
}

/// Writes one file: next to its place first, then in one step over it.
fn replace(out: &Path, file: &File) -> Result<(), EmitError> {
    let path = below(out, &file.path);
    let folder = path.parent().unwrap_or(out);
    fs::create_dir_all(folder).map_err(|error| EmitError::io("create", folder, error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let done = fs::write(&draft, &file.text).and_then(|()| fs::rename(&draft, &path));
    done.map_err(|error| {
        // The first error is the one to report.
        let _ = fs::remove_file(&draft);
        EmitError::io("write", &path, error)
    })
}

/// Removes one file, and the folders that it leaves empty.
fn remove(out: &Path, path: &str) -> Result<(), EmitError> {
    let path = below(out, path);
    fs::remove_file(&path).map_err(|error| EmitError::io("remove", &path, error))?;
    for folder in path.ancestors().skip(1).take_while(|folder| *folder != out) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

fn below(out: &Path, path: &str) -> PathBuf {
    path.split('/')
        .fold(out.to_owned(), |folder, part| folder.join(part))
}

fn is_mark(path: &str) -> bool {
    path.ends_with("Cargo.toml")
}
