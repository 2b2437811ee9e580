//! `cargo xtask conformance`: schemathesis tests the service against the contract.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use launch::{Build, PROJECT, Service};

use crate::Exit;
use crate::running::Running;
use crate::workspace;

/// The version of schemathesis. Another one may report other failures.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

/// Test stratusd with schemathesis against the contract that it serves
///
/// Installs schemathesis from the Python package index into a virtual environment under target/.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Cases per operation and phase
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    cases: u32,
    /// Seed of the random cases
    #[arg(long, value_name = "NUMBER", default_value_t = 20_261_121)]
    seed: u64,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let folder = root.join("target/schemathesis");
    let program = install(&folder)?;
    let home = folder.join("service");
    // Resources of an earlier run would change this one.
    let _ = fs::remove_dir_all(&home);
    let service = Service::prepare(&root, home, Build::WithTests)?;
    for (what, parameters) in PARAMETERS {
        writeln!(out, "\nschemathesis, {what}")?;
        out.flush()?;
        let running = Running::start(&service)?;
        let config = folder.join("schemathesis.toml");
        fs::write(&config, settings(parameters))
            .with_context(|| format!("failed to write {}", config.display()))?;
        let mut judge = Command::new(&program);
        judge
            .arg("--config-file")
            .arg(&config)
            .args([
                "run",
                &format!("{}/openapi.json", running.base),
                "--phases",
                "examples,coverage,fuzzing,stateful",
            ])
            .args([
                "--header",
                &format!("Authorization: Bearer {}", service.token),
            ])
            .args([
                "--max-examples",
                &arguments.cases.to_string(),
                "--seed",
                &arguments.seed.to_string(),
            ])
            .current_dir(&folder);
        let status = judge.status().context("failed to start schemathesis")?;
        if !status.success() {
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Fresh)
}

/// The values of path parameters for each run. References that exist reach the handlers; random
/// ones mostly get 404.
const PARAMETERS: [(&str, &[(&str, &str)]); 2] = [
    (
        "with references that exist",
        &[
            ("location", "eu-central-h1"),
            ("load_balancer_reference", "web"),
            ("firewall_reference", "web-only"),
        ],
    ),
    ("with any reference", &[]),
];

/// Returns the settings file of schemathesis.
fn settings(parameters: &[(&str, &str)]) -> String {
    let mut settings = format!("[parameters]\nproject_id = \"{PROJECT}\"\n");
    for (name, value) in parameters {
        settings.push_str(&format!("{name} = \"{value}\"\n"));
    }
    // A request that fits the contract can still be rejected for its values: 400 `InvalidRequest`.
    settings.push_str(
        "\n[checks.positive_data_acceptance]\n\
         expected-statuses = [\"2xx\", \"400\", \"401\", \"403\", \"404\", \"409\", \"412\", \"429\"]\n",
    );
    settings
}

/// Installs schemathesis unless this version is installed, and returns the path of its program.
fn install(folder: &Path) -> anyhow::Result<PathBuf> {
    let environment = folder.join("environment");
    let (program, mark) = (
        environment.join("bin/schemathesis"),
        environment.join("installed"),
    );
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == SCHEMATHESIS) {
        return Ok(program);
    }
    let run = |command: &mut Command| -> anyhow::Result<()> {
        let status = command
            .status()
            .with_context(|| format!("failed to start {}", command.get_program().display()))?;
        if status.success() {
            Ok(())
        } else {
            bail!("{} failed", command.get_program().display())
        }
    };
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&environment))
    .context("failed to make a virtual environment: install Python 3 with its venv module")?;
    let mut install = Command::new(environment.join("bin/python"));
    run(install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        SCHEMATHESIS,
    ]))?;
    fs::write(&mark, SCHEMATHESIS)
        .with_context(|| format!("failed to write {}", mark.display()))?;
    Ok(program)
}
