//! A copy of the workspace with all faults in it, and its build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use crate::fault::{Fault, Genre};
use crate::weave::{Woven, weave};

/// The source of the module that says which fault is active.
const SEEDED: &str = include_str!("seeded.rs");

/// The folders of the workspace with programs that were installed for the tests, which find them there.
const INSTALLED: [&str; 2] = ["target/postgres", "target/proxies"];

/// The number of times that the faults which do not compile are left out.
const MOST_ROUNDS: usize = 40;

/// A copy of the workspace.
pub(crate) struct Tree {
    root: PathBuf,
    /// The package that has the faults, and its folder in the workspace.
    package: String,
    folder: PathBuf,
    target: PathBuf,
}

/// A program with tests.
#[derive(Debug, Clone)]
pub(crate) struct TestProgram {
    pub(crate) path: PathBuf,
    /// The name of its target.
    pub(crate) name: String,
}

impl Tree {
    /// Copies what git knows of the workspace, and all that is new there. What was copied before and is
    /// the same stays, with its time, so that cargo does not compile it again.
    pub(crate) fn copy(workspace: &Path, package: &str, into: &Path) -> anyhow::Result<Self> {
        let root = into.join("tree");
        let listed = Command::new("git")
            .args([
                "ls-files",
                "--cached",
                "--others",
                "--exclude-standard",
                "-z",
            ])
            .current_dir(workspace)
            .output()
            .context("failed to start git")?;
        ensure!(listed.status.success(), "git does not list the files");
        let listed = String::from_utf8(listed.stdout).context("a file has no name in UTF-8")?;
        for file in listed.split('\0').filter(|file| !file.is_empty()) {
            // A file that is removed and not committed is still listed.
            let Ok(bytes) = fs::read(workspace.join(file)) else {
                continue;
            };
            write_changed(&root.join(file), &bytes)?;
        }
        for folder in INSTALLED {
            link(&workspace.join(folder), &root.join(folder))?;
        }
        // Some faults are what lints deny.
        let manifest = root.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).context("the workspace has no manifest")?;
        write_changed(&manifest, without_lints(&text).as_bytes())?;
        Ok(Self {
            root,
            package: package.to_owned(),
            folder: Path::new("crates").join(package),
            target: into.join("target"),
        })
    }

    /// Returns the folder of the package.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join(&self.folder)
    }

    /// Seeds the faults, and leaves out those that do not compile, until the others do. Returns the
    /// faults that are left out, by index.
    pub(crate) fn seed(&self, faults: &[Fault]) -> anyhow::Result<BTreeSet<usize>> {
        let mut files: BTreeMap<&str, Vec<(usize, &Fault)>> = BTreeMap::new();
        for (index, fault) in faults.iter().enumerate() {
            files.entry(&fault.file).or_default().push((index, fault));
        }
        let sources: BTreeMap<&str, String> = files
            .keys()
            .map(|file| Ok((*file, fs::read_to_string(self.root.join(file))?)))
            .collect::<anyhow::Result<_>>()
            .context("a file with faults cannot be read")?;
        self.add_module(faults.len())?;
        let elsewhere = faults.iter().enumerate().filter(|(_, fault)| {
            let source = sources.get(&*fault.file);
            source.is_some_and(|source| fault.is_elsewhere(source))
        });
        let mut left_out: BTreeSet<usize> = elsewhere.map(|(index, _)| index).collect();
        for round in 1..=MOST_ROUNDS {
            let mut woven = BTreeMap::new();
            for (file, all) in &files {
                let kept: Vec<_> = all
                    .iter()
                    .filter(|(index, _)| !left_out.contains(index))
                    .copied()
                    .collect();
                let whole = weave(&sources[file], &kept).with_context(|| (*file).to_owned())?;
                write_changed(&self.root.join(file), whole.text.as_bytes())?;
                left_out.extend(&whole.lost);
                woven.insert(*file, whole);
            }
            let errors = self.check()?;
            if errors.is_empty() {
                return Ok(left_out);
            }
            let before = left_out.len();
            for error in &errors {
                left_out.extend(to_blame(error, &woven, faults));
            }
            println!(
                "round {round}: {} errors, {} faults left out so far",
                errors.len(),
                left_out.len()
            );
            if left_out.len() == before {
                bail!("no fault is to blame for this: {}", errors[0].rendered);
            }
        }
        bail!("faults still do not compile after {MOST_ROUNDS} rounds");
    }

    /// Adds the module that says which fault is active.
    fn add_module(&self, faults: usize) -> anyhow::Result<()> {
        let folder = self.folder().join("src");
        let text = format!("{SEEDED}\nconst FAULTS: usize = {faults};\n");
        write_changed(&folder.join("seeded.rs"), text.as_bytes())?;
        let root = folder.join("lib.rs");
        let text = fs::read_to_string(&root).context("the package has no library")?;
        write_changed(&root, format!("{text}\npub mod seeded;\n").as_bytes())
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(arguments)
            .args(["--package", &self.package, "--message-format", "json"])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .stderr(Stdio::null());
        command
    }

    /// Returns the errors of the compiler in the library.
    fn check(&self) -> anyhow::Result<Vec<CompilerMessage>> {
        let output = self.cargo(&["check", "--lib", "--keep-going"]).output();
        let output = output.context("failed to start cargo")?;
        let messages = messages(&output.stdout);
        let errors: Vec<CompilerMessage> = messages
            .filter_map(|message| message.message)
            .filter(|message| message.level == "error" && !message.spans.is_empty())
            .collect();
        ensure!(
            output.status.success() || !errors.is_empty(),
            "cargo check fails in {}",
            self.root.display()
        );
        Ok(errors)
    }

    /// Builds the programs with tests.
    pub(crate) fn build(&self) -> anyhow::Result<Vec<TestProgram>> {
        let output = self
            .cargo(&["test", "--no-run"])
            .output()
            .context("failed to start cargo")?;
        ensure!(
            output.status.success(),
            "cargo test --no-run fails in {}",
            self.root.display()
        );
        let programs = messages(&output.stdout).filter_map(|message| {
            let is_test = message.profile?.test;
            Some(TestProgram {
                path: message.executable.filter(|_| is_test)?,
                name: message.target?.name,
            })
        });
        Ok(programs.collect())
    }
}

/// Writes a file unless it is the same already.
fn write_changed(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let write = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, bytes)
    };
    write().with_context(|| format!("failed to write {}", path.display()))
}

/// Makes a link to a folder, if the folder is there and the link is not.
fn link(folder: &Path, link: &Path) -> anyhow::Result<()> {
    if !folder.is_dir() || link.is_dir() {
        return Ok(());
    }
    let make = || {
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent)?;
        }
        symlink(folder.canonicalize()?, link)
    };
    make().with_context(|| format!("failed to link {}", link.display()))
}

/// Returns a manifest without the levels of lints. The sections stay, since packages refer to them.
fn without_lints(manifest: &str) -> String {
    let mut is_lints = false;
    let kept = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            is_lints = line.starts_with("[workspace.lints");
            return true;
        }
        !is_lints
    });
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the faults that an error of the compiler is about.
fn to_blame(
    error: &CompilerMessage,
    woven: &BTreeMap<&str, Woven>,
    faults: &[Fault],
) -> Vec<usize> {
    let of = |span: &CompilerSpan| {
        let added = woven.get(span.file_name.as_str()).map(|whole| &whole.added);
        let added = added.into_iter().flatten();
        // Within the text of a fault; the smallest, since another may be around it.
        let holding = added
            .clone()
            .filter(|(part, _)| part.start <= span.byte_start && span.byte_end <= part.end);
        if let Some((_, index)) = holding.min_by_key(|(part, _)| part.len()) {
            return vec![*index];
        }
        // Or what a fault in it has done to the whole, such as a `match` without an arm.
        let within =
            added.filter(|(part, _)| span.byte_start <= part.start && part.end <= span.byte_end);
        within.map(|(_, index)| *index).collect()
    };
    let (primary, others): (Vec<_>, Vec<_>) = error.spans.iter().partition(|span| span.is_primary);
    for spans in [primary, others] {
        let found: Vec<usize> = spans.into_iter().flat_map(of).collect();
        // A missing arm is to blame for a `match` that is not exhaustive, and no other fault in it.
        let arms: Vec<usize> = found
            .iter()
            .copied()
            .filter(|index| faults[*index].genre == Genre::MatchArm)
            .collect();
        if error.code.as_ref().is_some_and(|code| code.code == "E0004") && !arms.is_empty() {
            return arms;
        }
        if !found.is_empty() {
            return found;
        }
    }
    // What surrounds the error in the text: the nearest fault before it in the same file.
    let primary = error.spans.iter().find(|span| span.is_primary);
    let nearest = primary.and_then(|span| {
        let whole = woven.get(span.file_name.as_str())?;
        let before = whole
            .added
            .iter()
            .filter(|(part, _)| part.end <= span.byte_start);
        before
            .max_by_key(|(part, _)| part.end)
            .map(|(_, index)| *index)
    });
    nearest.into_iter().collect()
}

/// A line that cargo prints.
#[derive(Deserialize)]
struct Message {
    message: Option<CompilerMessage>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// A message of the compiler.
#[derive(Deserialize)]
struct CompilerMessage {
    level: String,
    spans: Vec<CompilerSpan>,
    code: Option<Code>,
    #[serde(default)]
    rendered: String,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct CompilerSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
}

fn messages(printed: &[u8]) -> impl Iterator<Item = Message> + '_ {
    let lines = printed.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok())
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    /// What `cargo xtask postgres` and `cargo xtask proxies` install is no part of git, and the tests look for it
    /// below the copy.
    #[test]
    fn installed_programs_are_in_the_copy() {
        let folder = env::temp_dir().join(format!("faults-tree-{}", process::id()));
        let workspace = folder.join("workspace");
        fs::create_dir_all(workspace.join("target/proxies/bin")).unwrap();
        fs::write(workspace.join("Cargo.toml"), "[workspace]\n").unwrap();
        fs::write(workspace.join(".gitignore"), "/target\n").unwrap();
        fs::write(workspace.join("target/proxies/bin/envoy"), "a program").unwrap();
        let made = Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(&workspace)
            .status()
            .unwrap();
        assert!(made.success());

        // An interrupted run copies into the same folder again.
        for _ in 0..2 {
            let tree = Tree::copy(&workspace, "some", &folder.join("copy")).unwrap();
            let program = tree.folder().join("../../target/proxies/bin/envoy");
            fs::create_dir_all(tree.folder()).unwrap();
            assert_eq!(fs::read_to_string(program).unwrap(), "a program");
        }
        assert!(!folder.join("copy/tree/target/postgres").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
