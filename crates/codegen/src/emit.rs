//! Writes generated files to a folder, or compares them with it. Nothing else in this crate uses a
//! file system.
//!
//! The folder of a generated crate belongs to the generator as a whole: a file in it that is not
//! generated any more is removed. A folder or file that was not generated is an error, and is never
//! overwritten. No symbolic link is followed. Of the workspace around the crates only the
//! list of members is edited.

mod diff;
mod members;
mod scan;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

pub(crate) use scan::MARK;
pub use scan::is_generated;

use crate::{File, parallel};
use scan::Entry;

/// The ends of the names of crates that a contract can have.
const PARTS: [&str; 9] = [
    "types",
    "client",
    "server",
    "webhook-sender",
    "webhook-receiver",
    "cli",
    "mock",
    "runtime",
    "macros",
];

/// Returns the full path of a file or folder, which need not exist, without `.` and `..`.
///
/// # Errors
///
/// Returns an error if the path is empty, or the current folder cannot be found.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    let mut out = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    Ok(out)
}

/// Writes files below a folder, and removes the files of generated crates that are not generated
/// any more. Makes the crates members of the workspace around the folder, or of a new one in it.
///
/// A file that has the right content already is not written, so that cargo does not compile it
/// again. Each file is replaced in one step, so that no reader sees half of it.
pub fn write(out: &Path, files: &[File]) -> Result<Emitted, EmitError> {
    let (differences, members) = compare(out, files)?;
    let mut emitted = Emitted::default();
    let mut failed = None;
    for part in in_order(differences) {
        make_folders(out, &part)?;
        // On all processors: most of the time of a small document is that of creating the files of
        // the run time.
        let done = parallel::map(&part, |difference| difference.apply(out));
        for (difference, done) in part.into_iter().zip(done) {
            match (done, difference) {
                // The first error is the one to report.
                (Err(error), _) => failed = failed.or(Some(error)),
                (Ok(()), Difference::Changed { file, .. } | Difference::Missing { file }) => {
                    emitted.files.push(file.path.clone());
                }
                (Ok(()), Difference::Orphaned { path }) => emitted.removed.push(path),
            }
        }
        if failed.is_some() {
            break;
        }
    }
    for path in &emitted.removed {
        remove_empty(out, path);
    }
    if let Some(error) = failed {
        return Err(error);
    }
    emitted.files.sort();
    // Last, since a member without a manifest stops cargo.
    if let Some(edit) = members {
        replace(&edit.path, &edit.wanted)?;
        emitted.edited = edit.found.is_some().then_some(edit.path);
    }
    Ok(emitted)
}

/// Returns differences in the order in which they are applied, those of a part at the same time.
///
/// The manifest marks a crate as generated. It is the first file that is written, and the last that is
/// removed: without it a run after an interrupted one would find a folder that is not marked, and refuse
/// it. Nothing is removed before everything is written.
fn in_order(differences: Vec<Difference<'_>>) -> [Vec<Difference<'_>>; 4] {
    let mut parts = [const { Vec::new() }; 4];
    for difference in differences {
        let is_mark = is_mark(difference.path());
        let part = match difference {
            Difference::Changed { .. } | Difference::Missing { .. } => usize::from(!is_mark),
            Difference::Orphaned { .. } => 2 + usize::from(is_mark),
        };
        parts[part].push(difference);
    }
    parts
}

/// Compares files with the folder that should hold them, and returns every difference. Nothing is
/// written.
pub fn check(out: &Path, files: &[File]) -> Result<Vec<Stale>, EmitError> {
    let (differences, members) = compare(out, files)?;
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
    let members = members.map(|edit| {
        let kind = if edit.found.is_some() {
            StaleKind::Stale
        } else {
            StaleKind::Missing
        };
        let found = edit.found.unwrap_or_default();
        let diff = diff::unified(&edit.label, &found, &edit.wanted);
        Stale {
            path: edit.label,
            kind,
            diff,
        }
    });
    Ok(members.into_iter().chain(stale).collect())
}

/// The files that [`write()`] has written and removed, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Emitted {
    /// The files that are new or have changed.
    pub files: Vec<String>,
    /// The files that were removed.
    pub removed: Vec<String>,
    /// The manifest of a workspace, if its list of members has changed.
    pub edited: Option<PathBuf>,
}

/// A file that writing would change, create or remove, with the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stale {
    /// The path below the output folder.
    pub path: String,
    /// The kind of difference.
    pub kind: StaleKind,
    /// The beginning of the diff that writing would make.
    pub diff: String,
}

/// The ways in which a file can differ from the generated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleKind {
    /// The file has other content than the generated one.
    Stale,
    /// The file does not exist.
    Missing,
    /// The file is in a generated crate's folder, but is not generated any more.
    Orphaned,
}

/// The reasons why files cannot be written or compared.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// A file or folder that was not generated has the path of a generated one.
    #[error(
        "`{}` exists and was not generated, so it is left alone: \
         choose another --out or --name, or move it away", .0.display()
    )]
    NotGenerated(PathBuf),
    /// A symbolic link has the path of a folder.
    #[error("`{}` is a symbolic link, and those are not followed: put a folder in its place", .0.display())]
    Link(PathBuf),
    /// The manifest of the workspace cannot be edited.
    #[error("failed to add members to `{}`: {message}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A folder has the path of a file, or a file that of a folder.
    #[error("`{}` is not a {wanted}: move it away", path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// The kind of entry that should have the path: a file or a folder.
        wanted: &'static str,
    },
    /// The file system reports an error.
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// The verb for the failed action, such as `read`.
        action: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
}

impl EmitError {
    /// Creates an error of the file system.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// A file that writing would change, create or remove.
enum Difference<'f> {
    Changed { file: &'f File, found: Vec<u8> },
    Missing { file: &'f File },
    Orphaned { path: String },
}

impl Difference<'_> {
    /// Returns the path of the file below the output folder.
    fn path(&self) -> &str {
        match self {
            Self::Changed { file, .. } | Self::Missing { file } => &file.path,
            Self::Orphaned { path } => path,
        }
    }

    /// Writes or removes the file.
    fn apply(&self, out: &Path) -> Result<(), EmitError> {
        let path = below(out, self.path());
        match self {
            Self::Changed { file, .. } | Self::Missing { file } => replace(&path, &file.text),
            Self::Orphaned { .. } => {
                fs::remove_file(&path).map_err(|error| EmitError::io("remove", &path, error))
            }
        }
    }
}

/// Returns every file that writing would change, sorted by path, and the edit of the workspace.
fn compare<'f>(
    out: &Path,
    files: &'f [File],
) -> Result<(Vec<Difference<'f>>, Option<members::Edit>), EmitError> {
    let folders: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| Some(file.path.split_once('/')?.0))
        .collect();
    let others = other_parts(&folders);
    let gone: Vec<&str> = others
        .iter()
        .map(String::as_str)
        .filter(|folder| is_generated(&out.join(folder)))
        .collect();
    let mut differences = Vec::new();
    // All of them before anything is written, so that an error leaves the disk as it was.
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
                // Folders of crates were checked as a whole above; a file outside any has to be
                // marked itself.
                if !file.path.contains('/') && !scan::starts_with_mark(&found) {
                    return Err(EmitError::NotGenerated(out.join(&file.path)));
                }
                differences.push(Difference::Changed { file, found });
            }
        }
    }
    for folder in folders.iter().chain(&gone) {
        scan::ensure_ours(&out.join(folder))?;
        let found = scan::files(&out.join(folder), folder)?;
        let orphans = found
            .into_iter()
            .filter(|path| !expected.contains(path.as_str()));
        differences.extend(orphans.map(|path| Difference::Orphaned { path }));
    }
    differences.sort_by(|a, b| a.path().cmp(b.path()));
    // A crate that is by hand now, or not there, is no member because of the generator.
    let left: Vec<String> = others
        .into_iter()
        .filter(|folder| is_generated(&out.join(folder)) || !out.join(folder).exists())
        .collect();
    let members = members::edit(out, &folders, &left)?;
    Ok((differences, members))
}

/// Returns the names of the crates that the same contract could have and does not have.
fn other_parts(folders: &BTreeSet<&str>) -> Vec<String> {
    let prefix = folders
        .iter()
        .find_map(|folder| folder.strip_suffix("-types"));
    let Some(prefix) = prefix else {
        return Vec::new();
    };
    PARTS
        .iter()
        .map(|part| format!("{prefix}-{part}"))
        .filter(|name| !folders.contains(name.as_str()))
        .collect()
}

/// Creates the folders of files that are to be written, each once.
fn make_folders(out: &Path, differences: &[Difference<'_>]) -> Result<(), EmitError> {
    let folders: BTreeSet<PathBuf> = differences
        .iter()
        .filter(|difference| !matches!(difference, Difference::Orphaned { .. }))
        .filter_map(|difference| Some(below(out, difference.path()).parent()?.to_owned()))
        .collect();
    for folder in &folders {
        fs::create_dir_all(folder).map_err(|error| EmitError::io("create", folder, error))?;
    }
    Ok(())
}

/// Replaces a file in one step: writes a new file beside it, and renames that one. Its folder has to
/// exist.
fn replace(path: &Path, text: &str) -> Result<(), EmitError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let done = fs::write(&draft, text).and_then(|()| fs::rename(&draft, path));
    done.map_err(|error| {
        // The first error is the one to report.
        let _ = fs::remove_file(&draft);
        EmitError::io("write", path, error)
    })
}

/// Removes the folders that a removed file has left empty.
fn remove_empty(out: &Path, path: &str) {
    let path = below(out, path);
    // `remove_dir` refuses a folder that is not empty, which is where to stop.
    for folder in path.ancestors().skip(1).take_while(|folder| *folder != out) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

/// Returns the path below a folder, with the separators of this machine.
fn below(out: &Path, path: &str) -> PathBuf {
    path.split('/')
        .fold(out.to_owned(), |folder, part| folder.join(part))
}

/// Returns whether a path is that of a `Cargo.toml`, which marks its crate as generated.
fn is_mark(path: &str) -> bool {
    path.ends_with("Cargo.toml")
}
