//! Measures the wall time and the memory of whole runs of the generator, beside other generators: a
//! process reads a document and writes its crates.
//!
//! The generators take turns, so that all of them meet the same noise, and each run writes into a
//! new and empty folder. The folders are removed when all is measured: ext4 passes over each file
//! that was removed in the last minutes when it makes a new one, so that runs after a removal would
//! be slower, and most of all those that write many files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fmt, fs};

use anyhow::{Context as _, bail};
use contract::Options;

use super::compile::{MARK, TIME, time_is_installed};
use super::peers::{self, Peer};
use crate::Progress;

/// The number of times that each generator runs, if not `--rounds` of them.
const RUNS: usize = 9;
/// The document of the corpus that is measured if no other is named.
const DOCUMENT: &str = "nexus.json";

/// Prints a table with a line for each document and a column for each installed generator.
pub(super) fn run(
    root: &Path,
    documents: &[PathBuf],
    rounds: Option<usize>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if !time_is_installed() {
        writeln!(out, "skipped: GNU time is not installed as {TIME}")?;
        return Ok(());
    }
    let of_corpus = env::var_os("STRATUS_CORPUS").map(|folder| Path::new(&folder).join(DOCUMENT));
    let documents = match (documents, of_corpus) {
        ([], Some(document)) => vec![document],
        ([], None) => {
            writeln!(out, "skipped: STRATUS_CORPUS names no folder")?;
            return Ok(());
        }
        (documents, _) => documents.to_vec(),
    };
    build(root)?;
    let peers = Peer::installed();
    let documents: Vec<PathBuf> = documents
        .iter()
        .map(|document| {
            if !document.is_file() {
                bail!("there is no file {}", document.display());
            }
            // Not `canonicalize`: the table names documents as the caller does.
            std::path::absolute(document)
                .with_context(|| format!("failed to find {}", document.display()))
        })
        .collect::<anyhow::Result<_>>()?;
    let names = names(&documents);
    peers::begin_table(
        "Generating types and client: wall time and peak memory of the process",
        &["document", "operations"],
        &peers,
        out,
    )?;
    // In the target folder, so that the disk is that of the workspace.
    let target = root.join("target");
    let scratch = tempfile::Builder::new()
        .prefix("bench-generate-")
        .tempdir_in(&target)
        .with_context(|| format!("failed to make a folder in {}", target.display()))?;
    let mut totals = Totals::new(&peers);
    for (at, (document, name)) in documents.iter().zip(&names).enumerate() {
        let progress = Progress::start(format!("{} of {}: {name}", at + 1, documents.len()));
        let folder = scratch.path().join(at.to_string());
        let results = measured(root, &folder, document, &peers, rounds.unwrap_or(RUNS))?;
        progress.end();
        let cells: Vec<String> = results.iter().map(|run| cell(run.as_ref())).collect();
        let operations = operations(document);
        writeln!(out, "| {name} | {operations} | {} |", cells.join(" | "))?;
        out.flush()?;
        totals.add(&results);
    }
    write!(out, "\n{totals}")?;
    Ok(())
}

/// Returns the paths of documents below the folder that has all of them.
fn names(documents: &[PathBuf]) -> Vec<String> {
    let is_around = |folder: &&Path| documents.iter().all(|one| one.starts_with(folder));
    let first = documents.first().and_then(|document| document.parent());
    let around = first.and_then(|folder| folder.ancestors().find(is_around));
    let inside = |document: &PathBuf| {
        let name = around.and_then(|around| document.strip_prefix(around).ok());
        name.unwrap_or(document).display().to_string()
    };
    documents.iter().map(inside).collect()
}

/// Returns the number of operations of a document, or a dash if it is refused.
fn operations(document: &Path) -> String {
    let options = Options {
        foreign: true,
        ..Options::default()
    };
    let loaded = contract::load_with(document, &options);
    loaded.contract.map_or_else(
        || "–".to_owned(),
        |contract| contract.operations.len().to_string(),
    )
}

/// What the table adds up to.
struct Totals {
    documents: usize,
    peers: Vec<Total>,
}

/// The line of one generator below the table.
struct Total {
    peer: Peer,
    generated: usize,
    fastest: usize,
    /// The milliseconds of all documents that every generator generates.
    milliseconds: f64,
}

impl Totals {
    fn new(peers: &[Peer]) -> Self {
        let total = |peer: &Peer| Total {
            peer: *peer,
            generated: 0,
            fastest: 0,
            milliseconds: 0.0,
        };
        Self {
            documents: 0,
            peers: peers.iter().map(total).collect(),
        }
    }

    fn add(&mut self, results: &[Option<Run>]) {
        self.documents += 1;
        let times = results.iter().flatten().map(|run| run.milliseconds);
        let least = times.fold(f64::INFINITY, f64::min);
        let is_common = results.iter().all(Option::is_some);
        for (total, result) in self.peers.iter_mut().zip(results) {
            let Some(run) = result else {
                continue;
            };
            total.generated += 1;
            total.fastest += usize::from(run.milliseconds <= least);
            total.milliseconds += if is_common { run.milliseconds } else { 0.0 };
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for total in &self.peers {
            writeln!(
                f,
                "{}: generates {} of {} documents, is the fastest for {}, takes {:.1} s for those that all generate",
                total.peer.program(),
                total.generated,
                self.documents,
                total.fastest,
                total.milliseconds / 1000.0
            )?;
        }
        Ok(())
    }
}

/// Compiles our generator as its users do.
fn build(root: &Path) -> anyhow::Result<()> {
    let mut command = launch::cargo();
    command
        .args([
            "build",
            "--quiet",
            "--release",
            "--package",
            "cargo-stratus",
        ])
        .current_dir(root);
    let status = command.status().context("failed to start cargo")?;
    if !status.success() {
        bail!("cargo-stratus does not compile: the errors are above");
    }
    Ok(())
}

/// Runs the generators in turn, each time in a new folder below `scratch`, and returns the medians
/// of each, or `None` for one that does not generate.
fn measured(
    root: &Path,
    scratch: &Path,
    document: &Path,
    peers: &[Peer],
    rounds: usize,
) -> anyhow::Result<Vec<Option<Run>>> {
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); peers.len()];
    // The first round is not measured: it reads the programs and the document from the disk.
    for round in 0..=rounds {
        for (peer, runs) in peers.iter().zip(&mut runs) {
            let folder = scratch.join(format!("{}-{round}", peer.program()));
            let run = Run::of(command(*peer, root, document, &folder)?)?;
            runs.extend(run.filter(|_| round > 0));
        }
    }
    Ok(runs.iter().map(|runs| median(runs, rounds)).collect())
}

/// Returns the command that generates types and client into a folder. Ours writes the server too.
fn command(peer: Peer, root: &Path, document: &Path, folder: &Path) -> anyhow::Result<Command> {
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let mut command = Command::new(TIME);
    command.args(["--format", &format!("{MARK} %M")]);
    command.current_dir(folder);
    match peer {
        Peer::Ours => command
            .arg(root.join("target/release/cargo-stratus"))
            .args(["stratus", "codegen", "--foreign", "--accept"])
            .args(["--name", "ours", "--out", ".", "--contract"])
            .arg(document),
        Peer::OpenapiToRust => {
            peers::openapi_to_rust_settings(document, peers::CLIENT, folder)?;
            command.args([peer.program(), "generate", "--quiet"])
        }
        Peer::Oas3Gen => command
            .args([peer.program(), "generate", "client-mod", "--input"])
            .arg(document)
            .args(["--output", "generated"]),
    };
    Ok(command)
}

/// What one run of a generator takes: milliseconds, and its peak memory in MiB.
#[derive(Debug, Clone, Copy)]
struct Run {
    milliseconds: f64,
    mebibytes: f64,
}

impl Run {
    /// Runs a generator. Returns `None` if it fails.
    fn of(mut command: Command) -> anyhow::Result<Option<Self>> {
        command.stdout(Stdio::null());
        let start = Instant::now();
        let output = command.output().context("failed to start a generator")?;
        let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
        let printed = String::from_utf8_lossy(&output.stderr);
        let mut kibibytes = printed
            .lines()
            .filter_map(|line| line.strip_prefix(MARK)?.trim().parse::<f64>().ok());
        Ok(kibibytes
            .next_back()
            .filter(|_| output.status.success())
            .map(|kibibytes| Self {
                milliseconds,
                mebibytes: kibibytes / 1024.0,
            }))
    }
}

/// Returns the medians of the runs of a generator, or `None` if one has failed.
fn median(runs: &[Run], rounds: usize) -> Option<Run> {
    let middle = |of: fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    (runs.len() >= rounds).then(|| Run {
        milliseconds: middle(|run| run.milliseconds),
        mebibytes: middle(|run| run.mebibytes),
    })
}

/// Returns a cell of the table.
fn cell(run: Option<&Run>) -> String {
    match run {
        Some(run) => format!("{:.0} ms, {:.0} MiB", run.milliseconds, run.mebibytes),
        None => "does not generate".to_owned(),
    }
}
