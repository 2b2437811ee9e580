//! `cargo xtask corpus foreign`: reads and generates public documents of others, and compares the
//! results with those in the list.
//!
//! The documents are not part of the repository. What is not in their folder is skipped and named;
//! packages are fetched on request only.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use contract::{Loaded, Severity};

use super::list::{Check, Examples, Line, List, Outcome, Results, Source};
use super::report;
use super::{check, prefix};
use crate::Exit;
use crate::{Progress, workspace};

/// The list with the stored results, which is part of the repository.
const LIST: &str = "tests/foreign.txt";

/// The folder of the documents by default, in the workspace's root.
const FOLDER: &str = "target/foreign";

/// Read and generate public documents of others with --foreign, and compare with the stored results
///
/// A document is read from `github/OWNER/REPOSITORY`, a clone at the commit that the list names, or
/// from `npm/PACKAGE/VERSION`, which --fetch fills. What is not there is skipped and named.
///
/// Exit codes: 0 nothing is worse, 1 something is, 2 the arguments are wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder of the documents [default: target/foreign of the workspace]
    folder: Option<PathBuf>,
    /// Fetch the packages that are not there, with npm
    #[arg(long)]
    fetch: bool,
    /// Compile the generated crates as well
    #[arg(long)]
    compile: bool,
    /// Read the examples of responses as well, as a lenient client does; with --compile, also as the
    /// generated types
    #[arg(long)]
    examples: bool,
    /// Only documents whose line of the list contains this text
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// Store the results of the documents that are there
    #[arg(long)]
    update: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let path = root.join(LIST);
    let text =
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    let mut list = List::read(&text)?;
    let folder = arguments
        .folder
        .clone()
        .unwrap_or_else(|| root.join(FOLDER));
    let reader = arguments
        .examples
        .then(|| build_reader(&root))
        .transpose()?;
    let mut totals = Totals::default();
    let mut skipped = Vec::new();
    let mut worse = Vec::new();
    for line in &mut list.lines {
        let name = line.name();
        let is_chosen = |part: &String| name.contains(part.as_str());
        if !arguments.only.as_ref().is_none_or(is_chosen) {
            continue;
        }
        if arguments.fetch {
            fetch(&line.source, &folder)?;
        }
        let document = folder.join(line.file());
        if !document.is_file() {
            skipped.push(format!("since it is not there: {name}"));
            continue;
        }
        match line.source.is_at_version(&folder)? {
            Some(true) => {}
            Some(false) => {
                skipped.push(format!("since the clone is at another commit: {name}"));
                continue;
            }
            None => totals.unversioned += 1,
        }
        let trial = Trial {
            document: &document,
            line,
            root: &root,
            is_compiled: arguments.compile,
            reader: reader.as_deref(),
        };
        let progress = Progress::start(format!("document {}: {name}", totals.documents + 1));
        let results = trial.judge(out)?;
        progress.end();
        totals.add(&results);
        writeln!(out, "{name} | {results}")?;
        // A document takes seconds to minutes, so its line is shown at once.
        out.flush()?;
        if results.is_worse_than(&line.results) {
            worse.push(format!("{name} was `{}`", line.results));
        }
        line.results = results.or(&line.results);
    }
    writeln!(out, "\n{totals}")?;
    report_skipped(&skipped, &folder, out)?;
    if arguments.update {
        fs::write(&path, list.text())
            .with_context(|| format!("failed to write {}", path.display()))?;
        return Ok(Exit::Fresh);
    }
    for line in &worse {
        writeln!(out, "worse: {line}")?;
    }
    Ok(if worse.is_empty() {
        Exit::Fresh
    } else {
        Exit::Failed
    })
}

fn report_skipped(skipped: &[String], folder: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    for name in skipped {
        writeln!(out, "skipped, {name}")?;
    }
    if !skipped.is_empty() {
        writeln!(
            out,
            "clone repositories at these commits to {0}/github/OWNER/REPOSITORY; `--fetch` fetches packages to {0}/npm",
            folder.display()
        )?;
    }
    Ok(())
}

/// The figures below the table.
#[derive(Debug, Default)]
struct Totals {
    documents: usize,
    read: usize,
    generated: usize,
    operations: usize,
    /// The number of documents whose examples were read, and the number of the examples.
    examples: (usize, usize),
    /// The number of examples that do not fit their schemas.
    misfits: usize,
    /// The number of documents with an example that is not read.
    unread: usize,
    /// The number of documents from folders that do not say which version they hold.
    unversioned: usize,
}

impl Totals {
    fn add(&mut self, results: &Results) {
        self.documents += 1;
        self.read += usize::from(results.own == Outcome::Read);
        if let Outcome::Generated { operations, .. } = results.foreign {
            self.generated += 1;
            self.operations += operations;
        }
        match results.examples {
            Some(Examples::Read { all, misfits, .. }) => {
                self.examples.0 += 1;
                self.examples.1 += all;
                self.misfits += misfits;
            }
            Some(Examples::Broken) => self.unread += 1,
            None => {}
        }
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} documents: {} are read without --foreign, {} generate with it, {} operations",
            self.documents, self.read, self.generated, self.operations
        )?;
        if self.examples.0 + self.unread > 0 {
            write!(
                f,
                "\n{} examples of {} documents are read, of which {} do not fit; {} documents have one that is not read",
                self.examples.1, self.examples.0, self.misfits, self.unread
            )?;
        }
        match self.unversioned {
            0 => Ok(()),
            count => write!(
                f,
                "\n{count} of them are in no clone, so nothing says whether they are at the commit of the list"
            ),
        }
    }
}

/// A document that is read and generated.
struct Trial<'t> {
    document: &'t Path,
    line: &'t Line,
    /// The root of the workspace, in whose target folder crates are compiled.
    root: &'t Path,
    /// Whether the crates are compiled.
    is_compiled: bool,
    /// The program that reads the examples, if they are read.
    reader: Option<&'t Path>,
}

/// Why a document has no crates.
enum Failure {
    Refused(BTreeSet<String>),
    Broken(String),
}

impl Trial<'_> {
    /// Reads the document without and with `--foreign`, and generates its crates.
    fn judge(&self, out: &mut dyn Write) -> anyhow::Result<Results> {
        let own = match refused(&contract::load(self.document)) {
            Some(rules) => Outcome::Refused(rules),
            None => Outcome::Read,
        };
        // A panic must not hide the results of the other documents.
        let foreign = match catch_unwind(AssertUnwindSafe(|| self.generate())) {
            Err(_) => Outcome::Broken,
            Ok(Err(Failure::Refused(rules))) => Outcome::Refused(rules),
            Ok(Err(Failure::Broken(why))) => {
                writeln!(out, "{why}")?;
                Outcome::Broken
            }
            Ok(Ok((operations, files))) if self.is_compiled => {
                self.compile(&files, operations, out)?
            }
            Ok(Ok((operations, _))) => Outcome::Generated {
                operations,
                check: None,
            },
        };
        let examples = match (&foreign, self.reader) {
            (Outcome::Generated { check, .. }, Some(reader)) => {
                Some(self.examples(reader, check.is_some(), out)?)
            }
            _ => None,
        };
        Ok(Results {
            own,
            foreign,
            examples,
        })
    }

    /// Reads the examples of the document's responses, in a process of its own: a schema on which the
    /// validator panics must not hide the results of the other documents. Reads them as the generated
    /// types too, if these compile.
    fn examples(
        &self,
        reader: &Path,
        are_typed: bool,
        out: &mut dyn Write,
    ) -> anyhow::Result<Examples> {
        let mut command = Command::new(reader);
        let read = match attempt(command.arg(self.document), out)? {
            Some(printed) => Examples::read(printed.trim())?,
            None => return Ok(Examples::Broken),
        };
        match read {
            Examples::Read { all, misfits, .. } if are_typed => {
                Ok(match self.typed(reader, out)? {
                    Some(typed) => Examples::Read {
                        all,
                        misfits,
                        typed: Some(typed),
                    },
                    None => Examples::Broken,
                })
            }
            read => Ok(read),
        }
    }

    /// Reads the examples as the generated types, which are compiled already. Returns how many there
    /// are, or `None` if one is not read.
    fn typed(&self, reader: &Path, out: &mut dyn Write) -> anyhow::Result<Option<usize>> {
        let prefix = self.prefix();
        let folder = self.scratch().join("examples").join(&prefix);
        let mut command = Command::new(reader);
        command
            .arg(self.document)
            .arg(&prefix)
            .arg(self.crates())
            .arg(self.root.join(RUNTIME))
            .arg(&folder);
        let Some(count) = attempt(&mut command, out)? else {
            return Ok(None);
        };
        let count = count
            .trim()
            .parse()
            .context("the reader has counted nothing")?;
        if count == 0 {
            return Ok(Some(0));
        }
        copy_lock(self.root, &folder)?;
        let mut command = launch::cargo();
        command
            .args(["run", "--quiet"])
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", self.scratch().join("target"));
        Ok(attempt(&mut command, out)?.map(|_| count))
    }

    /// The start of the names of the document's crates.
    fn prefix(&self) -> String {
        prefix(&self.line.path)
    }

    /// The folder of everything that is generated and compiled.
    fn scratch(&self) -> PathBuf {
        self.root.join("target/corpus")
    }

    /// The folder of the document's crates.
    fn crates(&self) -> PathBuf {
        self.scratch().join("foreign").join(self.prefix())
    }

    /// Returns the number of operations and the generated files.
    fn generate(&self) -> Result<(usize, Vec<codegen::File>), Failure> {
        let options = contract::Options {
            foreign: true,
            ..contract::Options::default()
        };
        let loaded = contract::load_with(self.document, &options);
        let Some(contract) = &loaded.contract else {
            return Err(Failure::Refused(refused(&loaded).unwrap_or_default()));
        };
        let prefix = self.prefix();
        let api = codegen::lower(contract, &prefix);
        let (operations, generated) = (contract.operations.len(), api.operations.len());
        if generated != operations {
            let why = format!("{generated} of {operations} operations are generated");
            return Err(Failure::Broken(why));
        }
        // That of this workspace, so that it is compiled once for all documents.
        let runtime = self.root.join(RUNTIME).display().to_string();
        let options = codegen::Options {
            runtime: codegen::Runtime::Path(runtime),
            ..codegen::Options::new(prefix.as_str())
        };
        match codegen::generate(contract, &options) {
            Ok(files) => Ok((operations, files)),
            Err(error) => Err(Failure::Broken(error.to_string())),
        }
    }

    /// Writes and compiles the crates.
    fn compile(
        &self,
        files: &[codegen::File],
        operations: usize,
        out: &mut dyn Write,
    ) -> anyhow::Result<Outcome> {
        let folder = self.crates();
        codegen::emit::write(&folder, files)?;
        copy_lock(self.root, &folder)?;
        let generated = |check| Outcome::Generated {
            operations,
            check: Some(check),
        };
        Ok(match check(&folder, &self.scratch().join("target"))? {
            report::Outcome::Compiles => generated(Check::Compiles),
            report::Outcome::Warns(first) => {
                writeln!(out, "{first}")?;
                generated(Check::Warns)
            }
            report::Outcome::Broken(first) | report::Outcome::Invalid(first) => {
                writeln!(out, "{first}")?;
                Outcome::Broken
            }
        })
    }
}

/// The folder of the run time in the workspace.
const RUNTIME: &str = "crates/api-runtime";

/// Makes a folder use the versions of this workspace: a new release of a dependency must change no result.
fn copy_lock(root: &Path, folder: &Path) -> anyhow::Result<()> {
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
        .context("failed to copy Cargo.lock")?;
    Ok(())
}

/// Runs a command, and returns what it prints, or shows its errors and returns `None` if it fails.
fn attempt(command: &mut Command, out: &mut dyn Write) -> anyhow::Result<Option<String>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("failed to start {name}"))?;
    if output.status.success() {
        return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    writeln!(out, "{}", String::from_utf8_lossy(&output.stderr).trim())?;
    Ok(None)
}

/// The program of the package `tests` that reads the examples of one document.
const READER: &str = "read_examples";

/// Compiles the program that reads examples, and returns its path.
///
/// It is no part of this program, which would have to depend on what generated clients call.
fn build_reader(root: &Path) -> anyhow::Result<PathBuf> {
    let mut command = launch::cargo();
    command
        .args(["build", "--quiet", "--package", "tests", "--bin", READER])
        .args(["--message-format", "json"])
        .current_dir(root);
    let printed = printed(&mut command)?;
    let mut executables = printed
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    executables
        .next_back()
        .with_context(|| format!("cargo has not said where `{READER}` is"))
}

/// Returns the rules of a document's errors, or `None` if the document is read.
fn refused(loaded: &Loaded) -> Option<BTreeSet<String>> {
    if loaded.contract.is_some() {
        return None;
    }
    let errors = loaded.diagnostics.iter();
    let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
    Some(
        errors
            .map(|diagnostic| diagnostic.code.to_owned())
            .collect(),
    )
}

/// Fetches a package with the client of its registry, unless it is there.
fn fetch(source: &Source, folder: &Path) -> anyhow::Result<()> {
    let Source::Npm { package, version } = source else {
        return Ok(());
    };
    let folder = folder.join(source.folder());
    if folder.is_dir() {
        return Ok(());
    }
    // In another folder first, so that what is interrupted is fetched again.
    let partial = folder.with_extension("partial");
    fs::create_dir_all(&partial)
        .with_context(|| format!("failed to create {}", partial.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]);
    npm.arg(&partial).arg(format!("{package}@{version}"));
    let packed = printed(&mut npm)?;
    let archive = partial.join(packed.trim());
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&archive);
    tar.args(["--strip-components", "1", "-C"]).arg(&partial);
    let _ = printed(&mut tar)?;
    fs::remove_file(&archive).with_context(|| format!("failed to remove {}", archive.display()))?;
    fs::rename(&partial, &folder)
        .with_context(|| format!("failed to rename {}", partial.display()))?;
    Ok(())
}

/// Runs a command, and returns what it prints.
fn printed(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("failed to start {name}"))?;
    if !output.status.success() {
        bail!(
            "{name} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name} printed no text"))
}
