//! `cargo xtask bench`: measures the generator, the generated code and the service, and prints the
//! tables of docs/benchmarks.md.

mod check;
mod compile;
mod generate;
mod lsp;
mod peers;
mod pingora;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::Exit;
use crate::workspace;

/// The benchmarks of the package `tests`. Each is a program of its own.
const PROGRAMS: [&str; 5] = ["codegen", "diff", "server", "client", "service"];
/// The benchmarks of the service as a process, which are ignored tests of the package `stratusd`.
const PROCESSES: [&str; 6] = [
    "cost",
    "neighbours",
    "balance",
    "reconcile",
    "replicas",
    "databases",
];
/// The benchmark of a quiet tenant beside a hostile one, one of [`PROCESSES`].
const NEIGHBOURS: &str = PROCESSES[1];
/// The benchmark of load balancers, one of [`PROCESSES`].
const BALANCE: &str = PROCESSES[2];
/// The benchmark of `cargo check` on generated crates.
const CHECK: &str = "check";
/// The CPU time and memory of `cargo check` on types and clients, beside those of another generator.
/// It runs only on request, because large documents take minutes.
const COMPILE: &str = "compile";
/// The wall time of whole runs of the generator, beside other generators. It runs only on request,
/// because its figures mean little without them.
const GENERATE: &str = "generate";
/// How long an editor waits for the language server.
const LSP: &str = "lsp";
/// The comparison with other generators. It runs only on request, because it takes half an hour.
const PEERS: &str = "peers";

/// Measure the generator, what it generates, and the service, in tables for docs/benchmarks.md
///
/// Also measures other documents, if `STRATUS_CORPUS` names their folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run only this benchmark
    #[arg(value_parser = [PROGRAMS[0], PROGRAMS[1], PROGRAMS[2], PROGRAMS[3], PROGRAMS[4], PROCESSES[0], PROCESSES[1], PROCESSES[2], PROCESSES[3], PROCESSES[4], PROCESSES[5], CHECK, COMPILE, GENERATE, LSP, PEERS])]
    only: Option<String>,
    /// The documents of `compile` and `generate`, which are read with --foreign, if not those that
    /// they choose, and further ones of `lsp`
    #[arg(value_name = "DOCUMENT")]
    documents: Vec<PathBuf>,
    /// The number of rounds of `compile`, of `generate` and of the benchmarks of the service as a process, if not the
    /// usual one
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Also measure a load balancer on Pingora in `balance`, which is built first and takes minutes
    #[arg(long)]
    pingora: bool,
    /// The largest number of neighbours' rows of `cost`
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    rows: Option<u32>,
    /// Measure only the attacks of `neighbours` whose name contains this text
    #[arg(long, value_name = "TEXT")]
    attack: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let is_compile = arguments.only.as_deref() == Some(COMPILE);
    let is_generate = arguments.only.as_deref() == Some(GENERATE);
    let is_lsp = arguments.only.as_deref() == Some(LSP);
    if !arguments.documents.is_empty() && !is_compile && !is_generate && !is_lsp {
        bail!("only the benchmarks `{COMPILE}`, `{GENERATE}` and `{LSP}` take documents");
    }
    if arguments.pingora && arguments.only.as_deref() != Some(BALANCE) {
        bail!("only the benchmark `{BALANCE}` takes --pingora");
    }
    if arguments.attack.is_some() && arguments.only.as_deref() != Some(NEIGHBOURS) {
        bail!("only the benchmark `{NEIGHBOURS}` takes --attack");
    }
    let is_wanted = |name: &str| arguments.only.as_deref().is_none_or(|only| only == name);
    writeln!(out, "{}", machine())?;
    for program in PROGRAMS.into_iter().filter(|program| is_wanted(program)) {
        out.flush()?;
        let mut command = launch::cargo();
        command
            .args(["bench", "--quiet", "--package", "tests", "--bench", program])
            .current_dir(&root);
        let status = command.status().context("failed to start cargo")?;
        if !status.success() {
            bail!("the benchmark `{program}` failed: its errors are above");
        }
    }
    for process in PROCESSES.into_iter().filter(|process| is_wanted(process)) {
        out.flush()?;
        let mut command = launch::cargo();
        command
            .args(["test", "--quiet", "--release", "--package", "stratusd"])
            .args(["--test", "service", &format!("bench::{process}::")])
            // One database after the other: each is to have the machine for itself.
            .args(["--", "--ignored", "--nocapture", "--test-threads", "1"])
            .current_dir(&root);
        if let Some(rounds) = arguments.rounds {
            command.env("STRATUS_BENCH_ROUNDS", rounds.to_string());
        }
        if let Some(rows) = arguments.rows {
            command.env("STRATUS_BENCH_ROWS", rows.to_string());
        }
        if let Some(attack) = &arguments.attack {
            command.env("STRATUS_BENCH_ATTACK", attack);
        }
        if arguments.pingora {
            command.env("STRATUS_BENCH_PINGORA", pingora::build(&root)?);
        }
        let status = command.status().context("failed to start cargo")?;
        if !status.success() {
            bail!("the benchmark `{process}` failed: its errors are above");
        }
    }
    if is_wanted(CHECK) {
        check::run(&root, out)?;
    }
    if is_wanted(LSP) {
        lsp::run(&root, &arguments.documents, out)?;
    }
    let rounds = arguments.rounds.map(usize::try_from).transpose()?;
    if is_compile {
        compile::run(&root, &arguments.documents, rounds, out)?;
    }
    if is_generate {
        generate::run(&root, &arguments.documents, rounds, out)?;
    }
    if arguments.only.as_deref() == Some(PEERS) {
        peers::run(&root, out)?;
    }
    Ok(Exit::Fresh)
}

/// Returns a line that describes the machine and the compiler.
fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // Linux lists a model per core, so the number of models is the number of cores.
    let models: Vec<&str> = processors
        .lines()
        .filter_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, model)| model.trim())
        .collect();
    let model = models.first().unwrap_or(&"an unknown processor");
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map_or_else(
        |_| "rustc".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    format!("{} cores of {model}, {}", models.len(), rustc.trim())
}
