//! `cargo xtask corpus`: generates and checks the crates of every document in a folder, and
//! compares the results with those of an earlier run.

mod foreign;
mod known;
mod list;
mod report;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};
use codegen::Options;
use contract::Severity;

use crate::Exit;
use crate::{Progress, workspace};
use known::Known;
use report::{Outcome, Row, keywords};

/// The file with the stored results that a run is compared with, which is part of the repository.
const KNOWN: &str = "tests/corpus.txt";

/// Generate and check the crates of every document in a folder, and compare with the stored results
///
/// Exit codes: 0 nothing is worse, 1 something is, 2 the arguments are wrong.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    part: Option<Part>,
    /// The folder of documents
    #[arg(required = true)]
    folder: Option<PathBuf>,
    /// Store the results for later runs to compare with
    #[arg(long)]
    update: bool,
    /// Only documents whose file name contains this text
    // Storing the results of some documents would drop those of all others.
    #[arg(long, value_name = "PART", conflicts_with = "update")]
    only: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    Foreign(foreign::Arguments),
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    if let Some(Part::Foreign(arguments)) = &arguments.part {
        return foreign::run(arguments, out);
    }
    let folder = arguments.folder.as_ref();
    let folder = folder.context("the folder of documents is missing")?;
    let root = workspace::root()?;
    let scratch = root.join("target/corpus");
    let mut rows = Vec::new();
    writeln!(out, "{}", Row::HEAD)?;
    let documents = documents(folder, arguments.only.as_deref())?;
    for (at, document) in documents.iter().enumerate() {
        let name = document.file_name().unwrap_or_default().to_string_lossy();
        let step = format!("{} of {}: {name}", at + 1, documents.len());
        let progress = Progress::start(step);
        let row = judge(document, &scratch, &root)?;
        progress.end();
        writeln!(out, "{row}")?;
        // A document takes seconds to minutes, so its row is shown at once.
        out.flush()?;
        rows.push(row);
    }
    writeln!(out, "\n{}", report::summary(&rows))?;
    let path = root.join(KNOWN);
    if arguments.update {
        let text = Known::text(&rows);
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        return Ok(Exit::Fresh);
    }
    let text =
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    let worse = Known::read(&text)?.worse(&rows, arguments.only.is_none());
    for line in &worse {
        writeln!(out, "worse: {line}")?;
    }
    Ok(if worse.is_empty() {
        Exit::Fresh
    } else {
        Exit::Failed
    })
}

/// Returns the JSON and YAML files in a folder, sorted. With `only`, returns those whose file name
/// contains it.
///
/// # Errors
///
/// Returns an error if there is no such file.
pub(crate) fn documents(folder: &Path, only: Option<&str>) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    let mut documents = Vec::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("failed to read {}", folder.display()))?
            .path();
        let is_document = path.extension().is_some_and(|extension| {
            ["json", "yaml", "yml"]
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known))
        });
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_document && only.is_none_or(|part| name.contains(part)) {
            documents.push(path);
        }
    }
    documents.sort();
    if documents.is_empty() {
        bail!(
            "{} holds no document that ends in .json, .yaml or .yml",
            folder.display()
        );
    }
    Ok(documents)
}

/// Generates and checks the crates of one document, and returns its line of the table.
fn judge(document: &Path, scratch: &Path, root: &Path) -> anyhow::Result<Row> {
    let name = document
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let start = Instant::now();
    let loaded = contract::load(document);
    let count = |severity| {
        loaded
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let mut row = Row::new(name, errors, warnings);
    let Some(contract) = &loaded.contract else {
        let first = loaded
            .diagnostics
            .iter()
            .find(|diagnostic| diagnostic.severity == Severity::Error);
        row.outcome = Outcome::Invalid(
            first
                .map_or("unread", |diagnostic| diagnostic.code)
                .to_owned(),
        );
        return Ok(row);
    };
    let prefix = prefix(&row.name);
    let api = codegen::lower(contract, &prefix);
    row.operations = contract.operations.len();
    row.server = api.operations.len();
    row.events = contract::reversed_count(contract);
    row.progenitor = api
        .operations
        .iter()
        .filter(|operation| codegen::writes_request(&api, operation))
        .count();
    row.own = api.operations.len() - row.progenitor;
    (row.enforced, row.documented) = keywords(contract);
    let files = match codegen::generate(contract, &Options::new(prefix.as_str())) {
        Ok(files) => files,
        Err(error) => {
            row.outcome = Outcome::Broken(error.to_string());
            return Ok(row);
        }
    };
    // Before the files are written and checked, which measures the disk and cargo.
    row.milliseconds = start.elapsed().as_millis();
    let is_copied = |path: &str| {
        let mut copies = ["macros/", "runtime/"].into_iter();
        copies.any(|part| path.starts_with(&format!("{prefix}-{part}")))
    };
    let is_ours = |path: &str| path.ends_with(".rs") && !is_copied(path);
    row.lines = files
        .iter()
        .filter(|file| is_ours(&file.path))
        .map(|file| file.text.lines().count())
        .sum();
    let folder = scratch.join(&row.name);
    codegen::emit::write(&folder, &files)?;
    // With the versions of this workspace: a new release of a dependency must change no result.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
        .context("failed to copy Cargo.lock")?;
    row.outcome = check(&folder, &scratch.join("target"))?;
    Ok(row)
}

/// Returns the prefix of the names of a document's crates.
///
/// Each document has a prefix of its own: all are checked in one target folder, in which crates
/// with equal names would replace each other.
pub(crate) fn prefix(name: &str) -> String {
    let words = name
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    format!(
        "c-{}",
        name.chars()
            .take(40)
            .collect::<String>()
            .trim_end_matches('-')
    )
}

/// Runs `cargo check` on the crates in a folder, and returns whether they compile, and whether with
/// warnings.
fn check(folder: &Path, target: &Path) -> anyhow::Result<Outcome> {
    let mut command = launch::cargo();
    command.args([
        "check",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--quiet",
    ]);
    let output = command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .context("failed to start cargo")?;
    let printed = String::from_utf8_lossy(&output.stderr);
    let first = |start: &str| {
        printed
            .lines()
            .find(|line| line.starts_with(start))
            .map(str::to_owned)
    };
    Ok(match (output.status.success(), first("warning")) {
        (true, None) => Outcome::Compiles,
        (true, Some(warning)) => Outcome::Warns(warning),
        (false, _) => Outcome::Broken(first("error").unwrap_or_else(|| "cargo failed".to_owned())),
    })
}
