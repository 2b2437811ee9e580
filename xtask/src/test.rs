//! `cargo xtask test`: the tests, the lints, and what needs documents from outside.
//!
//! The lints are a group of their own, for two reasons: they compile every dependency a second
//! time, because Cargo shares nothing between `check` and `build`, and a newer clippy may find
//! something in a clone that nobody has changed.
//!
//! A step that fails does not stop the others. What this machine lacks is skipped, and named at the
//! start with the command that installs it; only where `CI` is set must nothing be skipped.

mod machine;
mod packages;
mod step;

use std::env;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::Exit;
use crate::workspace;
use machine::{Machine, Tool};
use packages::Packages;
use step::Step;

/// Run the tests, or another part of what CI runs, and report at the end what failed
///
/// What this machine lacks is skipped, and named at the start with the command that installs it.
/// Where the environment has `CI`, a missing tool is an error.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Skip the tests that need PostgreSQL
    #[arg(long)]
    no_postgres: bool,
    /// Skip the tests of the reference page and VS Code in a browser, also where the environment has
    /// `CI`
    #[arg(long)]
    no_browser: bool,
    /// Skip the tests of Neovim and Helix, also where the environment has `CI`
    #[arg(long)]
    no_editors: bool,
    /// Run the lints in place of the tests: clippy, rustdoc, crates without their features, packages
    #[arg(long)]
    lints: bool,
    /// Run only the tests that need documents or tools from outside the repository or take longest, such as
    /// those of real databases, networks, kills and power cuts,
    /// conformance, the reference page in a browser, editors, callers in other languages, and a trial
    /// of publishing
    #[arg(long)]
    external: bool,
    /// Print what would run and what would be skipped, and run nothing
    #[arg(long)]
    plan: bool,
}

/// The test files of the package `tests` that need something from outside the repository, the
/// corpus, the JSON Schema suite or cargo-semver-checks, or that compile crates for more than a
/// minute, and are ignored elsewhere.
const EXTERNAL: &str = "additions any_document containment corpus_crates json_schema_suite lenient mocked_values rust_verdicts standalone";

/// The tests that take longest, as an expression of nextest. A newcomer need not wait for them. They are
/// those of the service with real databases, networks, several replicas, kills, power cuts, and a
/// PostgreSQL or a log that stalls; its simulation; those that compile crates for long; and those of
/// random documents, schemas and values. Without nextest, which alone can choose them,
/// they run with all others.
const LONG: &str = "(binary(service)&test(/^(concurrency|crash|differential|local|networks|postgres_server|power_cuts|provisioners::local|running::stalled_log|soak)::/))\
    |(binary(closed_loop)&test(/^a_/))\
    |binary(/^(any_document|containment|features|mock_crates|simulation|types_agree_with_json_schema)$/)";

/// The test files that have [`LONG`] tests and are not [`EXTERNAL`].
const WITH_LONG: &str =
    "service closed_loop features mock_crates simulation types_agree_with_json_schema";

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let machine = Machine::inspect(arguments);
    report_missing(&machine, out)?;
    // A skipped test would look like one that has passed.
    if env::var_os("CI").is_some() && machine.lacks_required() {
        writeln!(
            out,
            "\nerror: CI must skip nothing: install what is missing"
        )?;
        return Ok(Exit::Failed);
    }
    let packages = Packages::find(&root)?;
    let mut steps = Vec::new();
    if arguments.lints {
        steps.extend(lint_steps(&packages, &machine));
        // The trial of publishing makes the packages too.
        if !arguments.external {
            // `--allow-dirty`, so that a change can be tested before it is committed.
            let package = Step::cargo("package --no-verify --allow-dirty");
            steps.push(package.packages(&packages.published));
        }
    }
    if arguments.external {
        steps.push(Step::xtask("conformance").needs(&machine, Tool::Python));
        steps.push(Step::xtask("page").needs(&machine, Tool::Chromium));
        let editors = "editors --only neovim --only helix";
        steps.push(Step::xtask(editors).needs(&machine, Tool::Editors));
        steps.push(Step::xtask("editors --only vs-code").needs(&machine, Tool::Chromium));
        steps.push(
            Step::xtask("examples")
                .needs(&machine, Tool::Npm)
                .needs(&machine, Tool::Python),
        );
        // The nightly run compiles the packages too, which takes ten minutes.
        let publish = "publish --dry-run --no-verify --allow-dirty";
        steps.push(Step::cargo(publish).packages(&packages.published));
        steps.push(if machine.has(Tool::Nextest) {
            let step = tests(&machine).targets(&format!("{EXTERNAL} {WITH_LONG}"));
            let step = step.arguments("--run-ignored all --filterset");
            // What the first part runs of the others is not run again.
            step.arguments(&format!("not(binary(/^(closed_loop|service)$/))|{LONG}"))
        } else {
            let step = tests(&machine).targets(EXTERNAL);
            step.arguments("-- --include-ignored")
        });
    }
    if steps.is_empty() {
        writeln!(
            out,
            "not part of this run: the lints, which `cargo xtask test --lints` runs, and \
             conformance, the reference page in a browser, editors, callers in other languages, a trial of publishing and the longest tests, which `cargo xtask test --external` runs"
        )?;
        out.flush()?;
        steps = test_steps(&packages, &machine);
    }
    if arguments.plan {
        for step in &steps {
            writeln!(
                out,
                "{} {step}",
                if step.is_skipped() { "skip" } else { "run " }
            )?;
        }
        return Ok(Exit::Fresh);
    }
    let mut results = Vec::new();
    for step in steps {
        if step.is_skipped() {
            results.push((step, Outcome::Skipped));
            continue;
        }
        writeln!(out, "\n$ {step}")?;
        out.flush()?;
        let start = Instant::now();
        let passed = step
            .run(&root)
            .with_context(|| format!("failed to start `{step}`"))?;
        let time = start.elapsed();
        results.push((
            step,
            if passed {
                Outcome::Passed(time)
            } else {
                Outcome::Failed(time)
            },
        ));
    }
    summarize(&results, &machine, out)
}

/// The result of a step, and the time that it took.
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    Skipped,
}

/// Returns the steps of a run without options. The tests come last, so that their count stands near
/// the end of the output.
fn test_steps(packages: &Packages, machine: &Machine) -> Vec<Step> {
    vec![
        // Generated crates have the layout that the generator gives them.
        Step::cargo("fmt --check")
            .packages(&packages.by_hand)
            .needs(machine, Tool::Rustfmt),
        Step::xtask("codegen --check"),
        Step::xtask("lint --deny warnings"),
        // For databases on this machine; few systems have the versions of the contract.
        Step::xtask("postgres").needs(machine, Tool::Npm),
        // For the configurations of proxies in the documentation; few systems have their packages.
        Step::xtask("proxies").needs(machine, Tool::Pip),
        // All at once: the doctests alone would compile the crates one after the other.
        Step::cargo("test --no-run --workspace"),
        Step::cargo("test --workspace --doc"),
        if machine.has(Tool::Nextest) {
            let step = tests(machine).workspace().arguments("--filterset");
            step.arguments(&format!("not({LONG})"))
        } else {
            tests(machine).workspace()
        },
    ]
}

/// Returns the steps of `--lints`.
fn lint_steps(packages: &Packages, machine: &Machine) -> Vec<Step> {
    vec![
        Step::cargo("clippy --workspace --all-targets --keep-going -- -D warnings")
            .needs(machine, Tool::Clippy),
        Step::cargo("doc --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo("check --no-default-features").packages(&packages.generated),
        // As `cargo xtask serve` builds it.
        Step::cargo("clippy --package stratusd --no-default-features -- -D warnings")
            .needs(machine, Tool::Clippy),
    ]
}

/// Returns the step that runs tests, without a choice of packages.
fn tests(machine: &Machine) -> Step {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let step = if machine.has(Tool::Nextest) {
        // Each test takes as many of these places as the profile says.
        let places = cores * 5;
        Step::cargo(&format!(
            "nextest run --profile packed --test-threads {places}"
        ))
    } else {
        // Five tests on two cores, since a test of the service waits more than it computes.
        let threads = (cores * 5).div_ceil(2);
        // `--all-targets` would run the benchmarks too.
        Step::cargo("test --no-fail-fast --lib --bins --tests --examples")
            .env("RUST_TEST_THREADS", &threads.to_string())
    };
    if machine.has(Tool::Postgres) {
        step
    } else {
        step.env("STRATUS_TEST_NO_POSTGRES", "1")
    }
}

fn report_missing(machine: &Machine, out: &mut dyn Write) -> anyhow::Result<()> {
    for missing in machine.missing() {
        writeln!(
            out,
            "missing: {}\n  {}",
            missing.reason,
            missing.consequence()
        )?;
        writeln!(out, "  to install it: {}", missing.tool.install())?;
    }
    out.flush().context("failed to print")
}

fn summarize(
    results: &[(Step, Outcome)],
    machine: &Machine,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    writeln!(out)?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (step, outcome) in results {
        match outcome {
            Outcome::Passed(time) => {
                passed += 1;
                writeln!(out, "passed   {:>6.1} s  {step}", time.as_secs_f64())?;
            }
            Outcome::Failed(time) => {
                failed += 1;
                writeln!(out, "failed   {:>6.1} s  {step}", time.as_secs_f64())?;
            }
            Outcome::Skipped => {
                skipped += 1;
                writeln!(out, "skipped            {step}")?;
            }
        }
    }
    if machine.missing().next().is_some() {
        let names: Vec<&str> = machine
            .missing()
            .map(|missing| missing.tool.name())
            .collect();
        writeln!(
            out,
            "\nnot everything ran; missing here: {}",
            names.join(", ")
        )?;
    }
    if failed > 0 {
        writeln!(out, "\nTo run alone what failed:")?;
        for (step, _) in results
            .iter()
            .filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_)))
        {
            writeln!(out, "    {step}")?;
        }
    }
    writeln!(
        out,
        "\nsteps: {passed} passed, {failed} failed, {skipped} skipped"
    )?;
    Ok(if failed == 0 {
        Exit::Fresh
    } else {
        Exit::Failed
    })
}
