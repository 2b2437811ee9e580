//! Measures the CPU time and the memory that `cargo check` takes for generated types and clients,
//! without their dependencies, beside those of openapi-to-rust.
//!
//! Each figure is that of the one compiler process that checks a crate, as GNU time reports it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

use anyhow::{Context as _, bail};
use codegen::Options;

use super::peers::{self, Peer};
use crate::Progress;

/// The number of times that each crate is checked, if not `--rounds` of them.
const RUNS: usize = 3;
/// The numbers of schemas of the documents that are made.
const SIZES: [usize; 3] = [500, 1_500, 5_000];
/// The program that cargo starts the compiler with.
pub(super) const TIME: &str = "/usr/bin/time";
/// The start of the lines that [`TIME`] prints, among those of the compiler.
pub(super) const MARK: &str = "measured:";

/// Prints a table with a line for each document. Makes documents if there are none.
pub(super) fn run(
    root: &Path,
    documents: &[PathBuf],
    rounds: Option<usize>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let runs = rounds.unwrap_or(RUNS);
    if !time_is_installed() {
        writeln!(out, "skipped: GNU time is not installed as {TIME}")?;
        return Ok(());
    }
    if !Peer::OpenapiToRust.is_installed() {
        writeln!(out, "skipped: openapi-to-rust is not installed")?;
    }
    let scratch = root.join("target/bench-compile");
    let made = if documents.is_empty() {
        made(&scratch)?
    } else {
        Vec::new()
    };
    writeln!(
        out,
        "\n### `cargo check` of types and client, dependencies warm: CPU time, peak memory\n"
    )?;
    writeln!(
        out,
        "| document | operations | types | types crate | client crate | both | openapi-to-rust | CPU | memory |"
    )?;
    writeln!(
        out,
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    )?;
    for document in documents.iter().chain(&made) {
        writeln!(out, "{}", Row::of(root, &scratch, document, runs)?)?;
        // A document may take minutes, so its line is shown at once.
        out.flush()?;
    }
    Ok(())
}

/// Returns whether GNU time is where [`TIME`] says.
pub(super) fn time_is_installed() -> bool {
    Command::new(TIME).arg("--version").output().is_ok()
}

/// The figures of one document.
struct Row {
    document: String,
    operations: usize,
    types: usize,
    types_crate: Cost,
    client_crate: Cost,
    /// The cost of the one crate of types and client that openapi-to-rust generates, or why there is
    /// none.
    theirs: Result<Cost, &'static str>,
}

impl Row {
    fn of(root: &Path, scratch: &Path, document: &Path, runs: usize) -> anyhow::Result<Self> {
        let options = contract::Options {
            foreign: true,
            ..contract::Options::default()
        };
        let loaded = contract::load_with(document, &options);
        let Some(contract) = &loaded.contract else {
            bail!("{} is not a contract", document.display())
        };
        let stem = document.file_stem().unwrap_or_default().to_string_lossy();
        let prefix = crate::corpus::prefix(&stem);
        let files = codegen::generate(contract, &Options::new(prefix.as_str()))?;
        let folder = scratch.join(&prefix);
        codegen::emit::write(&folder, &files)?;
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
            .context("failed to copy Cargo.lock")?;
        let target = scratch.join("target");
        let _progress = Progress::start(format!("compiling {prefix}"));
        Ok(Self {
            document: document
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            operations: contract.operations.len(),
            types: codegen::lower(contract, &prefix).types.len(),
            types_crate: cost(&folder, &format!("{prefix}-types"), &target, runs)?,
            client_crate: cost(&folder, &format!("{prefix}-client"), &target, runs)?,
            theirs: theirs(
                document,
                &scratch.join(format!("{prefix}-theirs")),
                &target,
                runs,
            )?,
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let both = self.types_crate.and(self.client_crate);
        write!(
            f,
            "| {} | {} | {} | {} | {} | {both} | ",
            self.document, self.operations, self.types, self.types_crate, self.client_crate,
        )?;
        match self.theirs {
            Ok(theirs) => write!(
                f,
                "{theirs} | {:.2} | {:.2} |",
                both.seconds / theirs.seconds,
                both.mebibytes / theirs.mebibytes
            ),
            Err(why) => write!(f, "{why} | | |"),
        }
    }
}

/// What the check of a crate takes: CPU time of the compiler in seconds, and its peak memory in MiB.
#[derive(Debug, Clone, Copy)]
struct Cost {
    seconds: f64,
    mebibytes: f64,
}

impl Cost {
    /// Returns the cost of two crates of which one depends on the other: they are checked one after
    /// the other.
    fn and(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            mebibytes: self.mebibytes.max(other.mebibytes),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s, {:.0} MiB", self.seconds, self.mebibytes)
    }
}

/// Returns what the check of a package takes: the run with the median CPU time.
fn cost(folder: &Path, package: &str, target: &Path, runs: usize) -> anyhow::Result<Cost> {
    // The first check compiles the dependencies, so it is not measured.
    check(folder, package, target)?;
    let mut costs = Vec::new();
    for _ in 0..runs {
        peers::rewrite(folder, package)?;
        let printed = check(folder, package, target)?;
        // Before the compiler checks the crate, cargo asks it about itself, by the same wrapper.
        let Some(cost) = printed.lines().filter_map(measured).next_back() else {
            bail!("{TIME} reports nothing about {package}")
        };
        costs.push(cost);
    }
    costs.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    Ok(costs[runs / 2])
}

/// Checks a package, and returns what the compiler and [`TIME`] print.
fn check(folder: &Path, package: &str, target: &Path) -> anyhow::Result<String> {
    let output = launch::cargo()
        .args(["check", "--package", package])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        // Otherwise the compiler would find that nothing has changed since the last check, and
        // check nothing.
        .env("CARGO_INCREMENTAL", "0")
        .env("RUSTC_WRAPPER", TIME)
        .env("TIME", format!("{MARK} %U %S %M"))
        .output()
        .context("failed to start cargo")?;
    if !output.status.success() {
        bail!("cargo check of {package} in {} failed", folder.display());
    }
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Parses a line of [`TIME`]: the seconds in the program and in the kernel, and the peak memory in
/// KiB. Returns `None` for any other line.
fn measured(line: &str) -> Option<Cost> {
    let mut numbers = line.strip_prefix(MARK)?.split_whitespace();
    let mut next = || numbers.next()?.parse::<f64>().ok();
    let (user, system, kibibytes) = (next()?, next()?, next()?);
    Some(Cost {
        seconds: user + system,
        mebibytes: kibibytes / 1024.0,
    })
}

/// Generates the types and the client with openapi-to-rust, and returns what their check takes, or
/// why there is nothing to check.
fn theirs(
    document: &Path,
    folder: &Path,
    target: &Path,
    runs: usize,
) -> anyhow::Result<Result<Cost, &'static str>> {
    if !Peer::OpenapiToRust.is_installed() {
        return Ok(Err("not installed"));
    }
    let Some(_) = peers::openapi_to_rust(document, peers::CLIENT, "theirs", folder)? else {
        return Ok(Err("does not generate"));
    };
    Ok(cost(folder, "theirs", target, runs).map_err(|_| "does not compile"))
}

/// Makes documents of [`SIZES`] in a folder, and returns their paths.
fn made(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    SIZES
        .into_iter()
        .map(|schemas| {
            let path = folder.join(format!("{schemas}.json"));
            fs::write(&path, synthetic(schemas).to_string())
                .with_context(|| format!("failed to write {}", path.display()))?;
            Ok(path)
        })
        .collect()
}

/// Returns a document of so many component schemas: of five, four are objects with eight properties
/// and one is an enumeration. For each ten there is an operation.
fn synthetic(schemas: usize) -> serde_json::Value {
    let reference =
        |number: usize| serde_json::json!({"$ref": format!("#/components/schemas/Schema{number}")});
    let body =
        |number: usize| serde_json::json!({"application/json": {"schema": reference(number)}});
    let mut components = serde_json::Map::new();
    let mut paths = serde_json::Map::new();
    for number in 0..schemas {
        // Those of the same five: an enumeration, and the objects before this one.
        let first = number - number % 5;
        let schema = if number == first {
            serde_json::json!({
                "description": format!("The state of resource {number}."),
                "type": "string",
                "enum": ["new", "active", "suspended", "deleted"],
            })
        } else {
            serde_json::json!({
                "description": format!("Resource {number}."),
                "type": "object",
                "required": ["id", "state", "count", "enabled"],
                "properties": {
                    "id": {"type": "string", "description": "The id of the resource."},
                    "state": reference(first),
                    "count": {"type": "integer", "format": "int64", "description": "The number of its parts."},
                    "enabled": {"type": "boolean"},
                    "name": {"type": ["string", "null"], "description": "The name, if it has one."},
                    "amount": {"type": "number"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "parent": reference(if number == first + 1 { number } else { number - 1 }),
                },
            })
        };
        components.insert(format!("Schema{number}"), schema);
        if number % 10 == 9 {
            let operation = serde_json::json!({"post": {
                "operationId": format!("resource_create_{number}"),
                "tags": [format!("tag_{}", number / 200)],
                "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
                "requestBody": {"required": true, "content": body(number - 1)},
                "responses": {
                    "200": {"description": "Done.", "content": body(number)},
                    "default": {"description": "Not done.", "content": body(number - 2)},
                },
            }});
            paths.insert(format!("/resources_{number}/{{id}}"), operation);
        }
    }
    serde_json::json!({
        "openapi": "3.1.0",
        "info": {"title": "Synthetic", "version": "1.0.0"},
        "paths": paths,
        "components": {"schemas": components},
    })
}
