//! Measures how long `cargo check` takes for generated crates, without their dependencies.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context as _, bail};
use codegen::Options;
use contract::Loaded;

use super::peers::{self, Peer};

/// The number of times that each set of crates is checked.
const RUNS: usize = 5;

/// Prints a table of times for the crates of `openapi.yaml`, and for those of `nexus.json` in the
/// folder that `STRATUS_CORPUS` names, if it names one.
pub(super) fn run(root: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut documents = vec![root.join("openapi.yaml")];
    match env::var_os("STRATUS_CORPUS")
        .map(PathBuf::from)
        .filter(|folder| folder.is_dir())
    {
        Some(corpus) => documents.push(corpus.join("nexus.json")),
        None => writeln!(out, "skipped: STRATUS_CORPUS names no folder")?,
    }
    writeln!(
        out,
        "\n### `cargo check` of generated crates, dependencies warm\n"
    )?;
    writeln!(
        out,
        "| document | operations | types and server | per 100 operations | all crates | openapi-to-rust |"
    )?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- |")?;
    for document in documents {
        let measured = Measured::of(root, &document)?;
        let name = document
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        #[expect(clippy::cast_precision_loss, reason = "documents have few operations")]
        let hundreds = measured.operations as f64 / 100.0;
        let theirs = measured
            .theirs
            .map_or_else(|why| why, |seconds| format!("{seconds:.1} s"));
        writeln!(
            out,
            "| {name} | {} | {:.1} s | {:.1} s | {:.1} s | {theirs} |",
            measured.operations,
            measured.served,
            measured.served / hundreds,
            measured.all,
        )?;
        out.flush()?;
    }
    Ok(())
}

/// The times for one document, in seconds; each is the median of several runs.
struct Measured {
    operations: usize,
    /// The time to check the types and the server.
    served: f64,
    /// The time to check the types, the server and the client.
    all: f64,
    /// The time to check the types and server that openapi-to-rust generates, or why there is none.
    theirs: Result<f64, String>,
}

impl Measured {
    fn of(root: &Path, document: &Path) -> anyhow::Result<Self> {
        let loaded = contract::load(document);
        let Some(contract) = &loaded.contract else {
            bail!("{} is not a contract", document.display())
        };
        // All documents share a target folder, so that dependencies are compiled once. Crates with
        // equal names would replace each other there.
        let prefix = document
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase();
        let files = codegen::generate(contract, &Options::new(prefix.as_str()))?;
        let scratch = root.join("target/bench-check");
        let folder = scratch.join(document.file_stem().unwrap_or_default());
        codegen::emit::write(&folder, &files)?;
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
            .context("failed to copy Cargo.lock")?;
        let checked = Checked {
            folder: &folder,
            target: scratch.join("target"),
        };
        let [types, server, client] =
            ["types", "server", "client"].map(|part| format!("{prefix}-{part}"));
        Ok(Self {
            operations: contract.operations.len(),
            served: checked.seconds(&[&types, &server])?,
            all: checked.seconds(&[&types, &server, &client])?,
            theirs: theirs(document, &loaded, &scratch)?,
        })
    }
}

/// A generated workspace, and the target folder that it is checked in.
struct Checked<'f> {
    folder: &'f Path,
    target: PathBuf,
}

impl Checked<'_> {
    /// Returns the median time in seconds to check these packages together, when everything that
    /// they depend on is compiled.
    fn seconds(&self, packages: &[&str]) -> anyhow::Result<f64> {
        // The first check compiles the dependencies, so it is not measured.
        self.check(packages)?;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            // Rewriting a file makes cargo check its package again, and leaves the dependencies
            // alone.
            for package in packages {
                peers::rewrite(self.folder, package)?;
            }
            let start = Instant::now();
            self.check(packages)?;
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok(times[RUNS / 2])
    }

    fn check(&self, packages: &[&str]) -> anyhow::Result<()> {
        let mut command = launch::cargo();
        command
            .args(["check", "--quiet"])
            .current_dir(self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            // Otherwise the compiler would find that nothing has changed, and check nothing.
            .env("CARGO_INCREMENTAL", "0");
        for package in packages {
            command.args(["--package", package]);
        }
        let status = command.status().context("failed to start cargo")?;
        if !status.success() {
            bail!(
                "cargo check of {} in {} failed",
                packages.join(", "),
                self.folder.display()
            );
        }
        Ok(())
    }
}

/// Returns the time in seconds to check the types and server that openapi-to-rust generates for the
/// same document, or why there is none.
fn theirs(document: &Path, loaded: &Loaded, scratch: &Path) -> anyhow::Result<Result<f64, String>> {
    if !Peer::OpenapiToRust.is_installed() {
        return Ok(Err("not installed".to_owned()));
    }
    let folder = scratch.join(format!(
        "theirs-{}",
        document.file_stem().unwrap_or_default().to_string_lossy()
    ));
    let settings = peers::server_settings(loaded);
    let Some(_) = peers::openapi_to_rust(document, &settings, "theirs", &folder)? else {
        return Ok(Err("does not generate".to_owned()));
    };
    let checked = Checked {
        folder: &folder,
        target: scratch.join("target"),
    };
    Ok(checked
        .seconds(&["theirs"])
        .map_err(|_| "does not compile".to_owned()))
}
