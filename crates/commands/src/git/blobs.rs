//! Reads the files of a commit as they are committed: without the filters, the line ends and the
//! encodings by which git would change them on their way to a working copy.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};

use super::{git, output, text};

/// The ends of the names of files that can be part of a contract.
const DOCUMENTS: [&str; 3] = [".yaml", ".yml", ".json"];
/// The maximum number of symbolic links that lead from one to the next.
const MOST_LINKS: usize = 8;
/// The maximum number of bytes of the target of a symbolic link.
const MOST_TARGET_BYTES: u64 = 4096;
/// What a pointer of Git LFS begins with. It stands in git in place of a large file.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Copies every YAML and JSON file of a commit to a folder. Returns the paths of those that are only
/// pointers of Git LFS.
pub(super) fn copy(root: &Path, commit: &str, folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = output(git(root).args(["ls-tree", "-r", "-z", "--full-tree", commit]))?;
    let listed: HashMap<PathBuf, Entry> = listed
        .split(|byte| *byte == 0)
        .filter_map(Entry::parse)
        .collect();
    let mut blobs = Blobs::open(root)?;
    let mut pointers = Vec::new();
    let mut paths: Vec<&PathBuf> = listed.keys().filter(|path| is_document(path)).collect();
    paths.sort_unstable();
    for path in paths {
        let Some(id) = target(&listed, path, &mut blobs)? else {
            continue;
        };
        let copy = folder.join(path);
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent).context("failed to create a temporary folder")?;
        }
        let file = File::create(&copy).context("failed to create a temporary file")?;
        if blobs.copy(&id, file)? {
            pointers.push(path.clone());
        }
    }
    link_folders(&listed, folder, &mut blobs)?;
    blobs.close()?;
    Ok(pointers)
}

/// Makes a symbolic link for each one of a commit that leads to a folder of it. Its target is a path
/// below the copy, so that nothing outside is read.
#[cfg(unix)]
fn link_folders(
    listed: &HashMap<PathBuf, Entry>,
    copy: &Path,
    blobs: &mut Blobs,
) -> anyhow::Result<()> {
    let ancestors = listed.keys().flat_map(|path| path.ancestors().skip(1));
    let folders: HashSet<&Path> = ancestors.collect();
    // What ends in the name of a document is a file, which is copied.
    let links = listed
        .iter()
        .filter(|(path, one)| one.is_link && !is_document(path));
    let mut links: Vec<(&PathBuf, &Entry)> = links.collect();
    links.sort_unstable_by_key(|(path, _)| *path);
    for (path, _) in links {
        let Some(target) = followed(listed, path, blobs)? else {
            continue;
        };
        let link = copy.join(path);
        // A file at its place is of a forged tree.
        if !folders.contains(&*target) || link.exists() {
            continue;
        }
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent).context("failed to create a temporary folder")?;
        }
        std::os::unix::fs::symlink(copy.join(&target), &link)
            .context("failed to create a temporary symbolic link")?;
    }
    Ok(())
}

/// Makes nothing: elsewhere, symbolic links need privileges.
#[cfg(not(unix))]
fn link_folders(_: &HashMap<PathBuf, Entry>, _: &Path, _: &mut Blobs) -> anyhow::Result<()> {
    Ok(())
}

/// A file or symbolic link of a commit.
struct Entry {
    id: String,
    is_link: bool,
}

impl Entry {
    /// Parses an entry such as `100644 blob 1f0c… TAB openapi.yaml`. Returns `None` for what is no
    /// file, and for a path that would lead out of the folder, which a forged tree may have.
    fn parse(line: &[u8]) -> Option<(PathBuf, Self)> {
        let line = std::str::from_utf8(line).ok()?;
        let (about, path) = line.split_once('\t')?;
        let mut about = about.split(' ');
        let (mode, kind, id) = (about.next()?, about.next()?, about.next()?);
        let path = PathBuf::from(path);
        let is_inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let entry = Self {
            id: id.to_owned(),
            is_link: mode == "120000",
        };
        (kind == "blob" && is_inside).then_some((path, entry))
    }
}

fn is_document(path: &Path) -> bool {
    let name = path.to_str().unwrap_or_default();
    DOCUMENTS.iter().any(|end| name.ends_with(end))
}

/// Returns the id of the file that a path leads to, by symbolic links or by itself. Returns `None` if
/// they lead out of the commit.
fn target(
    listed: &HashMap<PathBuf, Entry>,
    path: &Path,
    blobs: &mut Blobs,
) -> anyhow::Result<Option<String>> {
    let path = followed(listed, path, blobs)?;
    Ok(path.and_then(|path| Some(listed.get(&path)?.id.clone())))
}

/// Returns the path that is left when each symbolic link is followed, or `None` if they lead out of the
/// commit.
///
/// As on a disk, `..` after a link is the folder above that to which the link leads.
fn followed(
    listed: &HashMap<PathBuf, Entry>,
    path: &Path,
    blobs: &mut Blobs,
) -> anyhow::Result<Option<PathBuf>> {
    let mut links = 0;
    let mut out = PathBuf::new();
    // The parts that are left, the next one last.
    let mut rest = parts(path);
    while let Some(part) = rest.pop() {
        match part {
            Part::Up => {
                if !out.pop() {
                    return Ok(None);
                }
            }
            Part::Outside => return Ok(None),
            Part::Name(name) => {
                out.push(name);
                let Some(entry) = listed.get(&out).filter(|entry| entry.is_link) else {
                    continue;
                };
                links += 1;
                let target = blobs.small(&entry.id)?;
                let Some(target) = target.filter(|_| links <= MOST_LINKS) else {
                    return Ok(None);
                };
                out.pop();
                rest.extend(parts(Path::new(&target)));
            }
        }
    }
    Ok(Some(out))
}

/// A part of a path.
enum Part {
    Name(OsString),
    Up,
    /// What leads out of any folder.
    Outside,
}

/// Returns the parts of a path, the first one last.
fn parts(path: &Path) -> Vec<Part> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
        Component::CurDir => None,
        Component::ParentDir => Some(Part::Up),
        Component::RootDir | Component::Prefix(_) => Some(Part::Outside),
    };
    path.components().rev().filter_map(part).collect()
}

/// A process of git that writes the bytes of files by their ids.
struct Blobs {
    process: std::process::Child,
    ids: ChildStdin,
    bytes: BufReader<ChildStdout>,
}

impl Blobs {
    fn open(root: &Path) -> anyhow::Result<Self> {
        let mut command: Command = git(root);
        let mut process = command
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start git")?;
        let ids = process.stdin.take().context("failed to write to git")?;
        let bytes = process.stdout.take().context("failed to read from git")?;
        Ok(Self {
            process,
            ids,
            bytes: BufReader::new(bytes),
        })
    }

    /// Asks for a file, and returns its size in bytes. Its bytes and a line feed come next.
    fn ask(&mut self, id: &str) -> anyhow::Result<u64> {
        writeln!(self.ids, "{id}").context("failed to write to git")?;
        let mut line = Vec::new();
        // git writes each file before it reads the next id, so none of both waits for the other.
        self.bytes
            .read_until(b'\n', &mut line)
            .context("failed to read from git")?;
        let line = text(&line)?;
        match line.rsplit_once(' ').map(|(_, size)| size.parse()) {
            Some(Ok(size)) => Ok(size),
            _ => bail!("git has no content of `{id}`: get it with `git fetch`"),
        }
    }

    /// Copies the bytes of a file, and returns whether they are a pointer of Git LFS.
    fn copy(&mut self, id: &str, mut to: File) -> anyhow::Result<bool> {
        let size = self.ask(id)?;
        let mut start = Vec::new();
        let mut whole = (&mut self.bytes).take(size);
        whole
            .by_ref()
            .take(POINTER.len() as u64)
            .read_to_end(&mut start)
            .context("failed to read from git")?;
        to.write_all(&start)
            .and_then(|()| io::copy(&mut whole, &mut to))
            .context("failed to write a temporary file")?;
        self.end()?;
        Ok(start == POINTER)
    }

    /// Returns a short text, or `None` if it is longer than the target of a link can be.
    fn small(&mut self, id: &str) -> anyhow::Result<Option<String>> {
        let size = self.ask(id)?;
        let mut text = Vec::new();
        let mut whole = (&mut self.bytes).take(size);
        whole
            .by_ref()
            .take(MOST_TARGET_BYTES)
            .read_to_end(&mut text)
            .and_then(|_| io::copy(&mut whole, &mut io::sink()))
            .context("failed to read from git")?;
        self.end()?;
        Ok(String::from_utf8(text)
            .ok()
            .filter(|_| size <= MOST_TARGET_BYTES))
    }

    /// Reads the line feed after a file.
    fn end(&mut self) -> anyhow::Result<()> {
        self.bytes
            .read_exact(&mut [0])
            .context("failed to read from git")
    }

    fn close(self) -> anyhow::Result<()> {
        let Self {
            mut process, ids, ..
        } = self;
        // git reads ids until this end is closed.
        drop(ids);
        if !process.wait().context("failed to wait for git")?.success() {
            bail!("git failed to read the files of a revision");
        }
        Ok(())
    }
}
