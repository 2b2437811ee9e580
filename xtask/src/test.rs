//! `cargo xtask test`: everything that CI runs, in order, until something fails.

mod packages;

use std::env;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitStatus};

use anyhow::Context as _;

use crate::exit::Exit;
use crate::workspace;
use packages::Packages;

/// Run everything that CI runs; stops at what fails first, with its exit code
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Leave out what needs PostgreSQL
    #[arg(long)]
    no_postgres: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let packages = Packages::find(&root)?;
    for step in steps(&packages, arguments.no_postgres) {
        writeln!(out, "\n$ {step}")?;
        out.flush()?;
        let status = step.run(&root)?;
        if !status.success() {
            // A signal has no code of its own.
            let code = status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1);
            writeln!(out, "\nfailed with exit code {code}: {step}")?;
            return Ok(Exit::Of(code));
        }
    }
    Ok(Exit::Fresh)
}

/// What CI runs. The tests come last, so that their count is the last line.
fn steps(packages: &Packages, no_postgres: bool) -> Vec<Step> {
    let mut steps = vec![
        // Generated crates have the layout that the generator gives them.
        Step::cargo("fmt --check").packages(&packages.by_hand),
        Step::this("codegen --check"),
        Step::cargo("clippy --workspace --all-targets -- -D warnings"),
        Step::cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"),
    ];
    let generated = packages.generated.iter();
    steps.extend(
        generated.map(|package| Step::cargo("check --no-default-features").packages([package])),
    );
    steps.push(Step::cargo("package --no-verify --allow-dirty").packages(&packages.published));
    steps.push(Step::cargo("test --workspace --doc"));
    steps.push(Step::this("conformance"));
    // Of all targets the benchmarks would be run too.
    let own = "test --workspace --lib --bins --tests --examples";
    let tests = if has_nextest() {
        "nextest run --workspace"
    } else {
        own
    };
    let tests = Step::cargo(tests);
    steps.push(if no_postgres {
        tests.env("STRATUS_TEST_NO_POSTGRES", "1")
    } else {
        tests
    });
    steps
}

fn has_nextest() -> bool {
    let version = Command::new(cargo())
        .args(["nextest", "--version"])
        .output();
    version.is_ok_and(|output| output.status.success())
}

/// The cargo that runs us, so that its toolchain stays the same throughout.
pub(crate) fn cargo() -> std::ffi::OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A command of a run.
struct Step {
    program: Program,
    arguments: Vec<String>,
    variables: Vec<(&'static str, &'static str)>,
}

enum Program {
    Cargo,
    This,
}

impl Step {
    fn cargo(arguments: &str) -> Self {
        Self {
            program: Program::Cargo,
            arguments: arguments.split(' ').map(str::to_owned).collect(),
            variables: Vec::new(),
        }
    }

    /// A command of xtask itself.
    fn this(arguments: &str) -> Self {
        Self {
            program: Program::This,
            ..Self::cargo(arguments)
        }
    }

    fn packages(mut self, packages: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        for package in packages {
            self.arguments
                .extend(["--package".to_owned(), package.as_ref().to_owned()]);
        }
        self
    }

    fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    fn run(&self, root: &Path) -> anyhow::Result<ExitStatus> {
        let program = match self.program {
            Program::Cargo => cargo(),
            Program::This => env::current_exe()
                .context("failed to find this program")?
                .into(),
        };
        let mut command = Command::new(program);
        command
            .args(&self.arguments)
            .current_dir(root)
            .envs(self.variables.iter().copied());
        command
            .status()
            .with_context(|| format!("failed to start `{self}`"))
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}='{value}' ")?;
        }
        f.write_str(match self.program {
            Program::Cargo => "cargo",
            Program::This => "cargo xtask",
        })?;
        self.arguments
            .iter()
            .try_for_each(|argument| write!(f, " {argument}"))
    }
}
