//! The tools that a test run finds on this machine, and how to install those that are missing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Arguments;
use crate::editors;
use crate::page;

/// Something that a part of the tests needs and that not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Rustfmt,
    Clippy,
    Nextest,
    Postgres,
    Git,
    Strace,
    Namespaces,
    Nginx,
    Pip,
    Python,
    Editors,
    Chromium,
    Npm,
    SemverChecks,
    Corpus,
    JsonSchemaSuite,
}

use Tool::{
    Chromium, Clippy, Corpus, Editors, Git, JsonSchemaSuite, Namespaces, Nextest, Nginx, Npm, Pip,
    Postgres, Python, Rustfmt, SemverChecks, Strace,
};

const ALL: [Tool; 16] = [
    Rustfmt,
    Clippy,
    Nextest,
    Postgres,
    Git,
    Strace,
    Namespaces,
    Nginx,
    Pip,
    Python,
    Editors,
    Chromium,
    Npm,
    SemverChecks,
    Corpus,
    JsonSchemaSuite,
];

impl Tool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Rustfmt => "rustfmt",
            Clippy => "clippy",
            Nextest => "cargo-nextest",
            Postgres => "PostgreSQL",
            Git => "git",
            Strace => "strace",
            Namespaces => "network namespaces with nftables",
            Nginx => "nginx",
            Pip => "pip",
            Editors => "Neovim 0.11 with Helix",
            Python => "Python",
            Chromium => "Chromium with Node.js",
            Npm => "npm",
            SemverChecks => "cargo-semver-checks",
            Corpus => "STRATUS_CORPUS",
            JsonSchemaSuite => "STRATUS_JSON_SCHEMA_SUITE",
        }
    }

    /// Returns the command that installs the tool, or that sets its environment variable, for
    /// messages.
    pub(super) fn install(self) -> &'static str {
        match self {
            Rustfmt => "rustup component add rustfmt",
            Clippy => "rustup component add clippy",
            Nextest => "cargo install --locked cargo-nextest",
            Postgres => "apt-get install postgresql (or brew install postgresql)",
            Git => "apt-get install git (or brew install git)",
            Strace => "apt-get install strace, on Linux",
            Namespaces => "apt-get install iproute2 nftables, and run as root, on Linux",
            Nginx => "apt-get install nginx (or brew install nginx)",
            Pip => "apt-get install python3-pip (or brew install python)",
            Python => "apt-get install python3 python3-venv (or brew install python)",
            Editors => "apt-get install neovim hx (or brew install neovim helix)",
            Chromium => "apt-get install chromium-headless-shell nodejs npm",
            Npm => "apt-get install nodejs npm (or brew install node)",
            SemverChecks => "cargo install --locked cargo-semver-checks --version 0.51.0",
            Corpus => "export STRATUS_CORPUS=FOLDER, a folder of OpenAPI documents",
            JsonSchemaSuite => {
                "export STRATUS_JSON_SCHEMA_SUITE=FOLDER, \
                 the folder tests/draft2020-12 of the JSON Schema Test Suite"
            }
        }
    }

    /// Returns words for the tests that are skipped without the tool, or `None` if none are.
    fn skipped(self) -> Option<&'static str> {
        match self {
            Rustfmt => Some("the check of the format"),
            Clippy => Some("the lints of clippy"),
            // Without it the tests run under cargo's own runner.
            Nextest => None,
            Postgres => Some("the service's tests on PostgreSQL; those on SQLite run"),
            Git => Some("comparing with the document of another git revision"),
            Strace => Some("power cuts and failing disks"),
            Namespaces => Some("networks of virtual machines, and their firewalls"),
            Nginx => Some("the configuration of nginx in the documentation"),
            Pip => Some("the configurations of Envoy and Traefik in the documentation"),
            Editors => Some("the settings of Neovim and Helix in the documentation"),
            Python => Some("conformance: schemathesis calls the service"),
            Chromium => Some("the reference page and VS Code in a browser"),
            Npm => Some(
                "callers in other languages; databases on this machine, unless it has PostgreSQL 17",
            ),
            SemverChecks => Some("whether additions to a contract are additions in Rust"),
            Corpus => Some("the tests on public documents"),
            JsonSchemaSuite => Some("the public test suite of JSON Schema"),
        }
    }

    /// Returns why the machine lacks the tool, or `None` if it has it.
    fn reason_missing(self) -> Option<String> {
        let is_here = match self {
            Rustfmt => succeeds(launch::cargo().args(["fmt", "--version"])),
            Clippy => succeeds(launch::cargo().args(["clippy", "--version"])),
            Nextest => succeeds(launch::cargo().args(["nextest", "--version"])),
            SemverChecks => succeeds(launch::cargo().args(["semver-checks", "--version"])),
            Postgres => env::var_os("STRATUS_TEST_POSTGRES_URL").is_some() || has_postgres(),
            Git => succeeds(Command::new("git").arg("--version")),
            // It may be installed where it may not trace a process.
            Strace => {
                succeeds(Command::new("strace").args(["-D", "-f", "-o", "/dev/null", "true"]))
            }
            Namespaces => has_namespaces(),
            // Debian has it where not every path leads.
            Nginx => ["nginx", "/usr/sbin/nginx"]
                .into_iter()
                .any(|program| succeeds(Command::new(program).arg("-v"))),
            Pip => succeeds(Command::new("python3").args(["-m", "pip", "--version"])),
            Editors => editors::install::is_possible(),
            // A distribution's Python may come without what makes a virtual environment.
            Python => succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"])),
            Chromium => {
                let has_npm = || succeeds(Command::new("npm").arg("--version"));
                page::chromium().is_some() && has_npm()
            }
            Npm => succeeds(Command::new("npm").arg("--version")),
            Corpus | JsonSchemaSuite => return lacks_folder(self.name()),
        };
        (!is_here).then(|| format!("{} is not installed", self.name()))
    }
}

/// Returns whether the tests of networks will find what they need: the programs, and the right to use
/// them, which listing the rules of firewalls takes too.
fn has_namespaces() -> bool {
    let list = ["list", "tables"];
    succeeds(Command::new("ip").arg("-V"))
        && succeeds(Command::new("nsenter").arg("--version"))
        && ["nft", "/usr/sbin/nft"]
            .into_iter()
            .any(|program| succeeds(Command::new(program).args(list)))
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns whether the tests of the service will find `initdb`: on the path, where `pg_config`
/// says, or where Debian's packages put it.
fn has_postgres() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    if let Ok(versions) = Path::new("/usr/lib/postgresql").read_dir() {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    folders.iter().any(|folder| folder.join("initdb").is_file())
}

fn lacks_folder(variable: &str) -> Option<String> {
    match env::var_os(variable) {
        None => Some(format!("{variable} is not set")),
        Some(folder) if !Path::new(&folder).is_dir() => {
            Some(format!("{variable} names no folder: {}", folder.display()))
        }
        Some(_) => None,
    }
}

/// A tool that the machine lacks, or that an option leaves out.
pub(super) struct Missing {
    pub(super) tool: Tool,
    /// The reason why the tool counts as missing.
    pub(super) reason: String,
}

impl Missing {
    /// Returns words for what the run does without the tool.
    pub(super) fn consequence(&self) -> String {
        match self.tool.skipped() {
            Some(tests) => format!("skipped: {tests}"),
            None => "the tests run under `cargo test`, which takes longer".to_owned(),
        }
    }
}

/// The tools that this machine lacks.
pub(super) struct Machine {
    missing: Vec<Missing>,
    /// What an option leaves out, also where the environment has `CI`.
    left_out: Vec<Tool>,
}

impl Machine {
    /// Looks for every tool that a run with these arguments uses. `--no-postgres` makes PostgreSQL
    /// count as missing.
    pub(super) fn inspect(arguments: &Arguments) -> Self {
        let used = ALL
            .into_iter()
            .filter(|tool| *tool != Clippy || arguments.lints)
            .filter(|tool| !matches!(tool, Python | Editors | Chromium) || arguments.external)
            .filter(|tool| *tool != Npm || arguments.external || !arguments.lints);
        let missing = used.filter_map(|tool| {
            let reason = if tool == Postgres && arguments.no_postgres {
                "PostgreSQL is left out by --no-postgres".to_owned()
            } else if tool == Chromium && arguments.no_browser {
                "Chromium is left out by --no-browser".to_owned()
            } else if tool == Editors && arguments.no_editors {
                "Neovim and Helix are left out by --no-editors".to_owned()
            } else {
                tool.reason_missing()?
            };
            Some(Missing { tool, reason })
        });
        let options = [
            (Chromium, arguments.no_browser),
            (Editors, arguments.no_editors),
        ];
        let left_out = options.into_iter().filter(|(_, is_left_out)| *is_left_out);
        Self {
            missing: missing.collect(),
            left_out: left_out.map(|(tool, _)| tool).collect(),
        }
    }

    pub(super) fn has(&self, tool: Tool) -> bool {
        self.missing.iter().all(|missing| missing.tool != tool)
    }

    pub(super) fn missing(&self) -> impl Iterator<Item = &Missing> {
        self.missing.iter()
    }

    /// Returns whether a tool is missing without which tests are skipped.
    pub(super) fn lacks_required(&self) -> bool {
        self.missing
            .iter()
            .filter(|missing| !self.left_out.contains(&missing.tool))
            .any(|missing| missing.tool.skipped().is_some())
    }
}
