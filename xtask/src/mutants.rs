//! `cargo xtask mutants`: seeds faults into the service, and compares those that no test notices with
//! a list that may only shrink.
//!
//! cargo-mutants finds the faults, and `.cargo/mutants.toml` says in which files. The program in
//! `tests/faults` puts all of them into one build, and runs the tests on each.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail};
use glob::Pattern;
use serde_json::Value;

use crate::Exit;
use crate::workspace;

/// The list of the faults that no test notices, each below a comment with the reason.
const LIST: &str = "crates/stratusd/mutants.txt";
/// The folder of the build with the faults, and of the results.
const OUTPUT: &str = "target/mutants";
/// The file that is there if only some tests were run.
const CHOSEN: &str = "target/mutants/chosen.txt";
/// The package that has the faults.
const PACKAGE: &str = "stratusd";

/// Seed the faults that cargo-mutants finds into the service, and compare those that no test notices with a list
///
/// Fails if a fault goes unnoticed that is not in crates/stratusd/mutants.txt, and if one is noticed that is. All
/// of them take hours: choose a shard or a file. Faults that do not compile are left out, and counted.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Seed only one part of all faults, such as 0/16 for the first of 16
    #[arg(long, value_name = "K/N", conflicts_with = "file")]
    shard: Option<String>,
    /// Seed only faults in files whose paths, or ends of paths, match; `*` stands for any characters
    #[arg(long, value_name = "GLOB")]
    file: Vec<String>,
    /// Run only tests whose names contain this, so that what others would notice counts as not noticed: while
    /// one writes tests, a run of hours takes minutes
    #[arg(long, value_name = "WORD")]
    test: Vec<String>,
    /// Go on with a run that was interrupted, with the sources and the tests as it found them
    #[arg(long, conflicts_with_all = ["shard", "file", "test"])]
    resume: bool,
    /// Remove from the list what is noticed
    #[arg(long)]
    update: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let text =
        fs::read_to_string(root.join(LIST)).with_context(|| format!("failed to read {LIST}"))?;
    let listed = read_list(&text)?;
    // Another command's output must not overtake ours.
    out.flush()?;
    seed(&root, arguments)?;
    // An interrupted run may have been one of some tests.
    let who = if root.join(CHOSEN).exists() {
        "none of the chosen tests"
    } else {
        "no test"
    };
    let missed = results(&root, "missed")?;
    let noticed: Vec<String> = ["caught", "timeout"]
        .into_iter()
        .map(|file| results(&root, file))
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    let mut is_same = true;
    for fault in missed.iter().filter(|fault| !listed.contains_key(*fault)) {
        is_same = false;
        writeln!(out, "{who} notices: {fault}")?;
    }
    // A fault of the same name may be there twice in one function.
    let gone: Vec<&String> = listed
        .keys()
        .filter(|fault| noticed.contains(fault) && !missed.contains(fault))
        .collect();
    for fault in &gone {
        writeln!(out, "noticed now, so remove it from {LIST}: {fault}")?;
    }
    if arguments.update {
        let kept = listed.iter().filter(|(fault, _)| !gone.contains(fault));
        fs::write(root.join(LIST), written(&text, kept))
            .with_context(|| format!("failed to write {LIST}"))?;
    } else {
        is_same &= gone.is_empty();
    }
    let (seeded, unnoticed) = (missed.len() + noticed.len(), missed.len());
    let left_out = results(&root, "left_out")?.len();
    let failing = results(&root, "failing")?.len();
    writeln!(
        out,
        "{seeded} faults were seeded, and {who} notices {unnoticed} of them; {left_out} do not compile beside the others, or are for other systems; tests that fail without a fault, and judge none: {failing}"
    )?;
    Ok(if is_same { Exit::Fresh } else { Exit::Failed })
}

/// Runs the tests on each fault. That no test notices one is no failure here.
fn seed(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let folder = root.join(OUTPUT);
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {OUTPUT}"))?;
    let mut command = launch::cargo();
    command
        .args(["run", "--quiet", "--release", "--manifest-path"])
        .arg(root.join("tests/faults/Cargo.toml"))
        .arg("--target-dir")
        .arg(root.join("target/faults"))
        .arg("--");
    if arguments.resume {
        command.arg("--resume").arg(&folder);
    } else {
        let faults = list(root, arguments, &folder)?;
        if arguments.test.is_empty() {
            let _ = fs::remove_file(root.join(CHOSEN));
        } else {
            fs::write(root.join(CHOSEN), arguments.test.join("\n"))
                .with_context(|| format!("failed to write {CHOSEN}"))?;
        }
        command.args([&faults, root, Path::new(PACKAGE), &folder]);
        command.args(&arguments.test);
    }
    let status = command.status().context("failed to start cargo")?;
    if !status.success() {
        bail!("the faults could not be seeded: the reason is above");
    }
    Ok(())
}

/// Lists the faults with cargo-mutants, and returns the file that has them.
fn list(root: &Path, arguments: &Arguments, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut command = launch::cargo();
    command.args(["mutants", "--list", "--json", "--package", PACKAGE]);
    if let Some(shard) = &arguments.shard {
        command.args(["--shard", shard]);
    }
    let listed = command.current_dir(root).stderr(Stdio::inherit()).output();
    let listed = listed.context("failed to start cargo")?;
    if !listed.status.success() {
        bail!("cargo mutants failed: install it by `cargo install cargo-mutants`");
    }
    let mut found: Vec<Value> =
        serde_json::from_slice(&listed.stdout).context("cargo mutants lists no faults")?;
    // cargo-mutants would add files to those of `.cargo/mutants.toml`, and it lists fields that are left out
    // whichever names are asked for.
    let files = patterns(&arguments.file)?;
    if !files.is_empty() {
        found.retain(|fault| {
            let file = fault["file"].as_str().unwrap_or_default();
            files.iter().any(|pattern| pattern.matches(file))
        });
        if found.is_empty() {
            bail!("cargo-mutants finds no fault in such a file");
        }
    }
    let faults = folder.join("faults.json");
    fs::write(&faults, Value::from(found).to_string())
        .with_context(|| format!("failed to write {}", faults.display()))?;
    Ok(faults)
}

/// Returns the patterns of paths that are one of the globs, or end with one after a slash.
fn patterns(globs: &[String]) -> anyhow::Result<Vec<Pattern>> {
    let whole_and_end = globs
        .iter()
        .flat_map(|glob| [glob.clone(), format!("*/{glob}")]);
    whole_and_end
        .map(|glob| Pattern::new(&glob).with_context(|| format!("`{glob}` is no pattern")))
        .collect()
}

/// Reads one of the lists that cargo-mutants writes. Each fault is named without its line and column,
/// which change with what is above it.
fn results(root: &Path, name: &str) -> anyhow::Result<Vec<String>> {
    let path = root.join(OUTPUT).join(format!("mutants.out/{name}.txt"));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read {}", path.display()));
        }
    };
    Ok(text.lines().map(named).collect())
}

fn named(line: &str) -> String {
    match line.split_once(": ") {
        Some((place, fault)) => {
            let file = place.split(':').next().unwrap_or(place);
            format!("{file}: {fault}")
        }
        None => line.to_owned(),
    }
}

/// Returns the faults of the list, with their reasons.
fn read_list(text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let mut listed = BTreeMap::new();
    let mut reason = String::new();
    for line in text.lines().skip_while(|line| !line.is_empty()) {
        if line.starts_with('#') {
            reason.push_str(line);
            reason.push('\n');
        } else if line.is_empty() {
            reason.clear();
        } else if reason.is_empty() {
            bail!("{LIST} has no reason above: {line}");
        } else {
            listed.insert(line.to_owned(), std::mem::take(&mut reason));
        }
    }
    Ok(listed)
}

/// Returns the text of a list, with the head of the text before.
fn written<'l>(before: &str, faults: impl Iterator<Item = (&'l String, &'l String)>) -> String {
    let head = before.lines().take_while(|line| !line.is_empty());
    let mut text: String = head.flat_map(|line| [line, "\n"]).collect();
    for (fault, reason) in faults {
        text.push('\n');
        text.push_str(reason);
        text.push_str(fault);
        text.push('\n');
    }
    text
}
