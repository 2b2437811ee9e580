//! Measures the wall time and the memory of whole runs of the generator, beside other generators: a
//! process reads a document and writes its crates.
//!
//! The generators take turns, so that all of them meet the same noise.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context as _, bail};

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
    peers::begin_table(
        "Generating types and client: wall time and peak memory of the process",
        &peers,
        out,
    )?;
    let scratch = root.join("target/bench-generate");
    for document in &documents {
        let document = document
            .canonicalize()
            .with_context(|| format!("failed to find {}", document.display()))?;
        let name = document.file_name().unwrap_or_default().to_string_lossy();
        let _progress = Progress::start(format!("generating {name}"));
        let cells = measured(root, &scratch, &document, &peers, rounds.unwrap_or(RUNS))?;
        writeln!(out, "| {name} | {} |", cells.join(" | "))?;
        out.flush()?;
    }
    Ok(())
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

/// Runs the generators in turn, and returns the medians of each as a cell of the table.
fn measured(
    root: &Path,
    scratch: &Path,
    document: &Path,
    peers: &[Peer],
    rounds: usize,
) -> anyhow::Result<Vec<String>> {
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); peers.len()];
    // The first round is not measured: it reads the programs and the document from the disk.
    for round in 0..=rounds {
        for (peer, runs) in peers.iter().zip(&mut runs) {
            let folder = scratch.join(peer.program());
            if folder.exists() {
                fs::remove_dir_all(&folder)
                    .with_context(|| format!("failed to remove {}", folder.display()))?;
            }
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

/// Returns the medians of the runs of a generator, or that it does not generate if one has failed.
fn median(runs: &[Run], rounds: usize) -> String {
    if runs.len() < rounds {
        return "does not generate".to_owned();
    }
    let middle = |of: fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    format!(
        "{:.0} ms, {:.0} MiB",
        middle(|run| run.milliseconds),
        middle(|run| run.mebibytes)
    )
}
