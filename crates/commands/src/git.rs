//! Reads a document and the files beside it from a git revision.

mod blobs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::policy::Policy;
use anyhow::{Context as _, bail};
use tempfile::TempDir;

use crate::versions::{self, Declared};
use crate::workspace;

/// The documents of a git revision in a temporary folder.
pub(crate) struct Checkout {
    folder: TempDir,
    /// The revision, as its documents are read.
    pub(crate) revision: contract::Revision,
    /// The path of the document in the folder.
    pub(crate) document: PathBuf,
    /// What to do about each file whose content is not in git.
    pub(crate) pointers: Vec<String>,
}

impl Checkout {
    /// Returns the folder that stands for the root of the repository.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("tree")
    }
}

/// The file that lists the contracts of a repository.
const FILE: &str = "contract.toml";
/// The name of the contract of a repository that lists none.
const ONLY: &str = "api";

/// Copies every YAML and JSON file of a revision to a temporary folder, so that a contract of
/// several files is whole. No program that the repository names for its files runs. `document` is the path of its first file in the working copy.
pub(crate) fn checkout(document: &Path, revision: &str) -> anyhow::Result<Checkout> {
    let parent = match document.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let name = document
        .file_name()
        .with_context(|| format!("{} is not a file", document.display()))?;
    let prefix = output(git(parent).args(["rev-parse", "--show-prefix"])).with_context(|| {
        format!(
            "failed to find the git repository of {}: name a file to compare with, as in `{} diff old.yaml`",
            document.display(),
            workspace::called()
        )
    })?;
    let root = output(git(parent).args(["rev-parse", "--show-toplevel"]))?;
    let root = PathBuf::from(text(&root)?);
    // A tag stands for its commit, and what is no commit is refused.
    let commit = format!("{revision}^{{commit}}");
    // A revision may begin with a hyphen, and must not be taken for an option.
    let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
    let found = git(&root).args(verify).arg(&commit).output();
    let found = found.context("failed to start git")?;
    if !found.status.success() {
        bail!(
            "failed to find `{revision}` in git: get it with `git fetch`, or name another revision with --base, or a file"
        );
    }
    let folder = tempfile::tempdir().context("failed to create a temporary folder")?;
    let tree = folder.path().join("tree");
    let pointers = blobs::copy(&root, text(&found.stdout)?, &tree)?;
    let inside = PathBuf::from(text(&prefix)?).join(name);
    if pointers.contains(&inside) {
        bail!("{}", fetched(revision, &inside));
    }
    let document = tree.join(&inside);
    if !document.is_file() {
        bail!(
            "`{revision}` has no {}: name the file to compare with, as in `{} diff old.yaml`",
            inside.display(),
            workspace::called()
        );
    }
    let pointers = pointers.iter().map(|path| fetched(revision, path));
    Ok(Checkout {
        revision: contract::Revision {
            name: revision.to_owned(),
            copy: tree,
            original: root,
        },
        document,
        pointers: pointers.collect(),
        folder,
    })
}

/// Returns whether a contract that `contract.toml` lists was added since a revision: the revision has
/// no document at its path, and no contract of its name, whose document may have been renamed.
pub(crate) fn is_new(document: &Path, name: &str, revision: &str) -> anyhow::Result<bool> {
    let Ok(commit) = commit(document, revision) else {
        return Ok(false);
    };
    let folder = match document.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let file = document.file_name().map(Path::new);
    if file.is_none_or(|file| shown(&commit, folder, file).is_some()) {
        return Ok(false);
    }
    let Some(earlier) = policy(&commit)? else {
        return Ok(false);
    };
    Ok(match earlier.contracts() {
        [] => name != ONLY,
        contracts => contracts.iter().all(|listed| listed.name != name),
    })
}

/// Returns the versions of the crates of a contract that `contract.toml` lists at a revision.
pub(crate) fn versions(document: &Path, name: &str, revision: &str) -> anyhow::Result<Declared> {
    // That a revision is unknown is said when its document is read.
    let Ok(commit) = commit(document, revision) else {
        return Ok(Declared::default());
    };
    let earlier = policy(&commit)?.unwrap_or_default();
    let mut contracts = earlier.contracts().iter();
    let listed = contracts.find(|listed| listed.name == name);
    Ok(listed.map(versions::declared).unwrap_or_default())
}

/// Returns what the `contract.toml` of the current folder, or of one above it, said at a commit: the
/// default without one, and `None` if it cannot be read.
fn policy(commit: &str) -> anyhow::Result<Option<Policy>> {
    let now = match Policy::around(Path::new("")) {
        Ok(Some(policy)) => policy.folder().to_owned(),
        _ => return Ok(None),
    };
    let Some(listed) = shown(commit, &PathBuf::from(".").join(now), Path::new(FILE)) else {
        return Ok(Some(Policy::default()));
    };
    let folder = tempfile::tempdir().context("failed to create a temporary folder")?;
    let copy = folder.path().join(FILE);
    fs::write(&copy, listed).context("failed to write a temporary file")?;
    Ok(Policy::load(&copy).ok())
}

/// Returns a file in a folder of the working copy as it is at a commit, if it is there.
fn shown(commit: &str, folder: &Path, file: &Path) -> Option<Vec<u8>> {
    let mut git = git(folder);
    git.args(["cat-file", "blob"])
        .arg(format!("{commit}:./{}", file.display()));
    output(&mut git).ok()
}

/// Returns the id of the commit that a revision is, in the repository of a document.
pub(crate) fn commit(document: &Path, revision: &str) -> anyhow::Result<String> {
    let parent = document.parent().unwrap_or(Path::new("."));
    let id = output(
        git(parent)
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{revision}^{{commit}}")),
    )?;
    Ok(text(&id)?.to_owned())
}

/// Returns what to do about a file whose content git does not have.
fn fetched(revision: &str, path: &Path) -> String {
    format!(
        "`{revision}:{0}` is a pointer of Git LFS, and its content is not in git: check the revision out with `git worktree add ../before {revision}`, and compare with the file there, as in `{1} diff ../before/{0}`",
        path.display(),
        workspace::called()
    )
}

/// Returns git in a folder, without the programs that the settings of a repository may name for what
/// it only reads: its hooks, and its monitor of files.
fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder);
    // A partial clone would fetch what it lacks, by a program that its settings may name.
    git.env("GIT_NO_LAZY_FETCH", "1");
    for setting in ["core.hooksPath=/dev/null", "core.fsmonitor=false"] {
        git.args(["-c", setting]);
    }
    git
}

fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().context("failed to start git")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!("git failed: {}", why.trim());
    }
    Ok(output.stdout)
}

fn text(bytes: &[u8]) -> anyhow::Result<&str> {
    let text = std::str::from_utf8(bytes).context("failed to read a path of git")?;
    Ok(text.trim_end_matches(['\n', '\r']))
}
