//! Compares this generator with other generators of Rust, on every document of a folder: whether
//! they generate, whether the result compiles, and how long both take.
//!
//! Each generates types and an axum server, which `cargo check` then checks with its dependencies
//! compiled already. Generators that are not installed are left out.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::Context as _;
use codegen::Options;
use contract::{Contract, Loaded};

/// The time that a generator may take for one document.
const PATIENCE: Duration = Duration::from_secs(60);

/// A generator to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    Ours,
    OpenapiToRust,
    Oas3Gen,
}

impl Peer {
    const ALL: [Self; 3] = [Self::Ours, Self::OpenapiToRust, Self::Oas3Gen];

    /// Returns the name of the generator's program.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::OpenapiToRust => "openapi-to-rust",
            Self::Oas3Gen => "oas3-gen",
        }
    }

    /// Returns the generators that are installed.
    pub(super) fn installed() -> Vec<Self> {
        let all = Self::ALL.into_iter();
        all.filter(|peer| peer.is_installed()).collect()
    }

    pub(super) fn is_installed(self) -> bool {
        self == Self::Ours
            || Command::new(self.program())
                .arg("--version")
                .output()
                .is_ok()
    }
}

/// The result of a generator for a document.
enum Outcome {
    /// The generated crates compile. Holds the milliseconds to generate and the seconds to check.
    Compiles(u128, f64),
    /// The generated crates do not compile. Holds the milliseconds to generate.
    DoesNotCompile(u128),
    /// The generator fails, or takes too long.
    DoesNotGenerate,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compiles(generated, checked) => write!(f, "{generated} ms, {checked:.1} s"),
            Self::DoesNotCompile(generated) => write!(f, "{generated} ms, does not compile"),
            Self::DoesNotGenerate => f.write_str("does not generate"),
        }
    }
}

/// Prints the title of a table, and its head with the given columns and one for each generator.
pub(super) fn begin_table(
    title: &str,
    columns: &[&str],
    peers: &[Peer],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let names = columns.iter().copied();
    let names: Vec<&str> = names
        .chain(peers.iter().map(|peer| peer.program()))
        .collect();
    let lines = " --- |".repeat(names.len());
    let names = names.join(" | ");
    writeln!(out, "\n### {title}\n\n| {names} |\n|{lines}")?;
    Ok(())
}

/// Prints a table with a line for each document in the folder that `STRATUS_CORPUS` names, and a
/// column for each installed generator.
pub(super) fn run(root: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let Some(corpus) = env::var_os("STRATUS_CORPUS")
        .map(PathBuf::from)
        .filter(|folder| folder.is_dir())
    else {
        writeln!(out, "skipped: STRATUS_CORPUS names no folder")?;
        return Ok(());
    };
    let peers = Peer::installed();
    begin_table(
        "Generators of Rust, types and server: time to generate, `cargo check` of what comes out",
        &["document"],
        &peers,
        out,
    )?;
    let mut compiled = vec![0; peers.len()];
    let documents = crate::corpus::documents(&corpus, None)?;
    for document in &documents {
        let name = document.file_name().unwrap_or_default().to_string_lossy();
        write!(out, "| {name} |")?;
        for (peer, count) in peers.iter().zip(&mut compiled) {
            let outcome = judge(*peer, document, root)?;
            *count += usize::from(matches!(outcome, Outcome::Compiles(..)));
            write!(out, " {outcome} |")?;
            out.flush()?;
        }
        writeln!(out)?;
    }
    let counts: Vec<String> = compiled
        .iter()
        .map(|count| format!("{count} of {} compile", documents.len()))
        .collect();
    writeln!(out, "| | {} |", counts.join(" | "))?;
    Ok(())
}

fn judge(peer: Peer, document: &Path, root: &Path) -> anyhow::Result<Outcome> {
    let scratch = root.join("target/bench-peers");
    let stem = document.file_stem().unwrap_or_default().to_string_lossy();
    let folder = scratch.join(peer.program()).join(&*stem);
    // Files of an earlier run would be compiled, or make a generator fail.
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("failed to remove {}", folder.display()))?;
    }
    let loaded = contract::load(document);
    let prefix = crate::corpus::prefix(&stem);
    let start = Instant::now();
    let packages = match peer {
        Peer::Ours => ours(document, &prefix, root, &folder)?,
        Peer::OpenapiToRust => {
            openapi_to_rust(document, &server_settings(&loaded), &prefix, &folder)?
        }
        Peer::Oas3Gen => oas3_gen(document, &prefix, &folder)?,
    };
    let Some(packages) = packages else {
        return Ok(Outcome::DoesNotGenerate);
    };
    let generated = start.elapsed().as_millis();
    let check = |packages: &[String]| {
        let mut command = launch::cargo();
        command
            .args(["check", "--quiet"])
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", scratch.join("target"))
            // Otherwise the compiler would find that nothing has changed, and check nothing.
            .env("CARGO_INCREMENTAL", "0");
        command.args(packages.iter().flat_map(|package| ["--package", package]));
        command
            .stderr(Stdio::null())
            .status()
            .context("failed to start cargo")
    };
    // The first check compiles the dependencies too, so only the second one is measured. Rewriting
    // a file in between makes cargo check its package again.
    if !check(&packages)?.success() {
        return Ok(Outcome::DoesNotCompile(generated));
    }
    for package in &packages {
        rewrite(&folder, package)?;
    }
    let start = Instant::now();
    check(&packages)?;
    Ok(Outcome::Compiles(generated, start.elapsed().as_secs_f64()))
}

/// Generates our types and server, and returns the names of the packages. Returns `None` if the
/// document is not a contract.
fn ours(
    document: &Path,
    prefix: &str,
    root: &Path,
    folder: &Path,
) -> anyhow::Result<Option<Vec<String>>> {
    let Some(contract) = contract::load(document).contract else {
        return Ok(None);
    };
    let files = codegen::generate(&contract, &Options::new(prefix))?;
    codegen::emit::write(folder, &files)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))
        .context("failed to copy Cargo.lock")?;
    Ok(Some(
        ["types", "server"]
            .map(|part| format!("{prefix}-{part}"))
            .to_vec(),
    ))
}

/// Rewrites a file of a package in a workspace, so that cargo compiles the package again.
pub(super) fn rewrite(folder: &Path, package: &str) -> anyhow::Result<()> {
    let library = folder.join(package).join("src/lib.rs");
    let text =
        fs::read(&library).with_context(|| format!("failed to read {}", library.display()))?;
    fs::write(&library, text).with_context(|| format!("failed to write {}", library.display()))
}

/// Returns the settings of openapi-to-rust for types and a server of every operation.
pub(super) fn server_settings(loaded: &Loaded) -> String {
    format!(
        "[features]\nenable_async_client = false\n\n[server]\nframework = \"axum\"\noperations = {}\n",
        serde_json::Value::Array(loaded.contract.as_ref().map(selectors).unwrap_or_default()),
    )
}

/// Generates code with openapi-to-rust, and returns the names of the packages. Returns `None` if it
/// fails. `settings` is the part of its settings that selects what to generate.
pub(super) fn openapi_to_rust(
    document: &Path,
    settings: &str,
    package: &str,
    folder: &Path,
) -> anyhow::Result<Option<Vec<String>>> {
    let source = folder.join(package).join("src");
    fs::create_dir_all(&source).with_context(|| format!("failed to make {}", source.display()))?;
    openapi_to_rust_settings(document, settings, &folder.join(package))?;
    let mut command = Command::new(Peer::OpenapiToRust.program());
    command
        .args(["generate", "--quiet"])
        .current_dir(folder.join(package));
    if !succeeds(command)? {
        return Ok(None);
    }
    let dependencies = fs::read_to_string(source.join("generated/REQUIRED_DEPS.toml"))?;
    around(folder, package, &dependencies, "pub mod generated;\n").map(Some)
}

/// The settings of openapi-to-rust that select types and a client.
pub(super) const CLIENT: &str = "[features]\nenable_async_client = true\n";

/// Writes the settings of openapi-to-rust into a folder, for code in `src/generated`. `settings` is
/// the part that selects what to generate.
pub(super) fn openapi_to_rust_settings(
    document: &Path,
    settings: &str,
    folder: &Path,
) -> anyhow::Result<()> {
    let settings = format!(
        "[generator]\nspec_path = {}\noutput_dir = \"src/generated\"\nmodule_name = \"openapi\"\n\n{settings}",
        serde_json::Value::from(document.canonicalize()?.display().to_string()),
    );
    write(&folder.join("openapi-to-rust.toml"), &settings)
}

/// Returns the id of each operation, or its method and path if it has none. openapi-to-rust
/// generates a server only for operations that its settings name.
fn selectors(contract: &Contract) -> Vec<serde_json::Value> {
    let selector = |operation: &contract::model::Operation| {
        let route = format!(
            "{} {}",
            operation.method.as_str().to_uppercase(),
            operation.path
        );
        serde_json::Value::from(if operation.id_is_derived {
            route
        } else {
            operation.id.clone()
        })
    };
    contract.operations.iter().map(selector).collect()
}

/// The dependencies of the code that oas3-gen generates, which comes without a manifest.
const OAS3_GEN_DEPENDENCIES: &str = r#"[dependencies]
anyhow = "1"
axum = { version = "0.8", features = ["multipart"] }
axum-extra = { version = "0.12", features = ["cookie", "query", "typed-header"] }
base64 = "0.22"
bytes = "1"
chrono = { version = "0.4", features = ["serde"] }
http = "1"
indexmap = { version = "2", features = ["serde"] }
mime = "0.3"
oas3-gen-support = "*"
regex = "1"
secrecy = { version = "0.10", features = ["serde"] }
serde = { version = "1", features = ["derive"] }
serde_json = "1"
serde_with = "3"
url = { version = "2", features = ["serde"] }
uuid = { version = "1", features = ["serde"] }
validator = { version = "0.20", features = ["derive"] }
"#;

/// Generates types and server with oas3-gen, and returns the names of the packages. Returns `None`
/// if it fails.
fn oas3_gen(document: &Path, package: &str, folder: &Path) -> anyhow::Result<Option<Vec<String>>> {
    let source = folder.join(package).join("src");
    fs::create_dir_all(&source).with_context(|| format!("failed to make {}", source.display()))?;
    let mut command = Command::new(Peer::Oas3Gen.program());
    command
        .args(["generate", "server-mod", "--input"])
        .arg(document)
        .arg("--output")
        .arg(source.join("generated"));
    if !succeeds(command)? {
        return Ok(None);
    }
    around(
        folder,
        package,
        OAS3_GEN_DEPENDENCIES,
        "pub mod generated;\n",
    )
    .map(Some)
}

/// Writes a workspace with one package that contains the generated sources, and returns the
/// package's name.
fn around(
    folder: &Path,
    package: &str,
    dependencies: &str,
    library: &str,
) -> anyhow::Result<Vec<String>> {
    let manifest = format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{dependencies}"
    );
    write(&folder.join(package).join("Cargo.toml"), &manifest)?;
    write(&folder.join(package).join("src/lib.rs"), library)?;
    write(
        &folder.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = [\"{package}\"]\n"),
    )?;
    Ok(vec![package.to_owned()])
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

/// Runs a program and returns whether it succeeds within [`PATIENCE`]. A program that takes longer
/// is killed.
fn succeeds(mut command: Command) -> anyhow::Result<bool> {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("failed to start it")?;
    let start = Instant::now();
    // The standard library cannot wait for a process with a time limit.
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}
