//! `cargo xtask examples`: compiles and runs the callers in other languages and on the command line,
//! the workflows and the collections, against the service.

use std::env;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use launch::{Build, PROJECT, Service};
use serde_json::Value;

use crate::Exit;
use crate::running::Running;
use crate::workspace;

/// Run the callers in TypeScript, Python and the shell, the workflows and the collections, against stratusd
///
/// Needs Node.js 20 or later, npm, and Python 3.11 or later with its venv module. Installs their libraries from the
/// registries of npm and Python under examples/.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

/// What an example prints if it works.
enum Printed {
    /// The machines, the states of a new database, and an error.
    Steps,
    /// A line that says that as many workflows have passed.
    Workflows(usize),
    /// A line that says that every command of a script has worked.
    Commands(&'static str),
    /// A line for each of these programs, with the number of its lists that were answered.
    Collections(&'static [&'static str]),
}

/// A caller in another language or on the command line, workflows, or collections of requests.
struct Example {
    folder: &'static str,
    /// The commands that install what it needs, generate the client and check the program.
    prepare: &'static [&'static [&'static str]],
    run: &'static [&'static str],
    printed: Printed,
}

const EXAMPLES: [Example; 6] = [
    Example {
        folder: "examples/typescript",
        prepare: &[
            &["npm", "ci", "--silent", "--no-audit", "--no-fund"],
            &["npm", "run", "--silent", "build"],
        ],
        run: &["npm", "run", "--silent", "start"],
        printed: Printed::Steps,
    },
    Example {
        folder: "examples/python",
        prepare: &[
            &["python3", "-m", "venv", "environment"],
            &[
                "environment/bin/pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--requirement",
                "requirements.txt",
            ],
            &[
                "environment/bin/openapi-python-client",
                "generate",
                "--path",
                "../../openapi.yaml",
                "--config",
                "settings.yaml",
                "--output-path",
                "stratus",
                "--overwrite",
            ],
            // What the generator writes is not checked: it breaks a rule of `--strict` itself.
            &[
                "environment/bin/mypy",
                "--strict",
                "--follow-imports=silent",
                "main.py",
            ],
        ],
        run: &["environment/bin/python", "main.py"],
        printed: Printed::Steps,
    },
    Example {
        folder: "examples/shell",
        prepare: &[&[
            "cargo",
            "install",
            "--debug",
            "--quiet",
            "--locked",
            "--path",
            "../../crates/api-cli",
            "--root",
            "program",
        ]],
        run: &["sh", "main.sh"],
        printed: Printed::Steps,
    },
    Example {
        folder: "examples/shell",
        prepare: &[],
        run: &["sh", "every.sh"],
        printed: Printed::Commands("every.sh"),
    },
    Example {
        folder: "examples/workflows",
        prepare: &[&["npm", "ci", "--silent", "--no-audit", "--no-fund"]],
        run: &["npm", "run", "--silent", "start"],
        printed: Printed::Workflows(2),
    },
    Example {
        folder: "examples/collections",
        prepare: &[
            &["npm", "ci", "--silent", "--no-audit", "--no-fund"],
            &["npm", "run", "--silent", "bruno"],
            &["npm", "run", "--silent", "postman"],
        ],
        run: &["npm", "run", "--silent", "start"],
        printed: Printed::Collections(&["Bruno", "Postman"]),
    },
];

pub(crate) fn run(_: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let home = root.join("target/examples");
    // Databases of an earlier run would count towards the quota.
    let _ = fs::remove_dir_all(&home);
    let service = Service::prepare(&root, home, Build::WithTests)?;
    let running = Running::start(&service)?;
    let mut machines: Option<Vec<String>> = None;
    for example in &EXAMPLES {
        let folder = root.join(example.folder);
        for command in example.prepare {
            writeln!(out, "{}: {}", example.folder, command.join(" "))?;
            out.flush()?;
            output(&folder, command, &service, &running)?;
        }
        let printed = output(&folder, example.run, &service, &running)?;
        writeln!(out, "{printed}")?;
        let failed = || format!("{} failed", example.folder);
        let listed = match example.printed {
            Printed::Steps => judge(&printed).with_context(failed)?,
            Printed::Workflows(count) => {
                let all = format!("{count} passed, {count} total");
                ensure!(printed.contains(&all), failed());
                continue;
            }
            Printed::Commands(script) => {
                ensure!(printed.contains("every command has worked"), failed());
                let script = fs::read_to_string(folder.join(script))?;
                has_every_command(&root, &script)?;
                continue;
            }
            Printed::Collections(programs) => {
                let has = |program: &&str| printed.contains(&format!("{program}: every operation"));
                ensure!(programs.iter().all(has), failed());
                continue;
            }
        };
        // Each language says the same of what the other one has read too.
        if let Some(machines) = &machines {
            ensure!(
                *machines == listed,
                "{} lists other machines than the examples before it",
                example.folder
            );
        }
        machines = Some(listed);
    }
    Ok(Exit::Fresh)
}

/// Runs a command in a folder, and returns what it prints. Its errors go to standard error.
fn output(
    folder: &Path,
    command: &[&str],
    service: &Service,
    running: &Running,
) -> anyhow::Result<String> {
    let (program, arguments) = command.split_first().context("a command has a program")?;
    // A path with a folder is taken from where the command runs.
    let program = if program.contains('/') {
        folder.join(program).into_os_string()
    } else {
        program.into()
    };
    // Where the shell finds the program that it has installed.
    let mut path = folder.join("program/bin").into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let mut started = if program.as_os_str() == "cargo" {
        launch::cargo()
    } else {
        Command::new(&program)
    };
    let output = started
        .args(arguments)
        .env("PATH", path)
        .current_dir(folder)
        .env("STRATUS_URL", &running.base)
        .env("STRATUS_TOKEN", &service.token)
        .env("STRATUS_PROJECT", PROJECT)
        .env("STRATUS_PROJECT_ID", PROJECT)
        .env("PYTHONPATH", "stratus")
        .env("MYPYPATH", "stratus")
        .env("REDOCLY_TELEMETRY", "off")
        .env(
            "REDOCLY_CLI_RESPECT_SERVER",
            format!("stratus={}", running.base),
        )
        .env(
            "REDOCLY_CLI_RESPECT_INPUT",
            format!("token={},project={PROJECT},name=workflow", service.token),
        )
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start {}", program.display()))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("`{}` failed\n{printed}", command.join(" "));
    }
    Ok(printed)
}

/// Checks that a script has the command of each operation.
fn has_every_command(root: &Path, script: &str) -> anyhow::Result<()> {
    let description = fs::read(root.join("crates/api-cli/src/operations.json"))?;
    let description: Value = serde_json::from_slice(&description)?;
    let operations = description["operations"].as_array();
    for operation in operations.context("the command line has operations")? {
        let word = |key: &str| operation[key].as_str().unwrap_or_default();
        let command = format!(" {} {}", word("group"), word("name"));
        let mut lines = script.lines().map(|line| line.replace(['"', ')'], " "));
        let is_called = lines.any(|line| format!("{line} ").contains(&format!("{command} ")));
        ensure!(is_called, "no line of the script has the command{command}");
    }
    Ok(())
}

/// Checks the output of an example, and returns its lines about machines.
fn judge(printed: &str) -> anyhow::Result<Vec<String>> {
    let lines: Vec<&str> = printed.trim().lines().collect();
    let Some((machines, [created, became, refused])) = lines.split_last_chunk() else {
        bail!("it printed too little");
    };
    ensure!(!machines.is_empty(), "it lists no machines");
    for (line, state) in [(created, "creating"), (became, "running")] {
        let is_it = line.starts_with("orders-") && line.ends_with(&format!(" is {state}"));
        ensure!(is_it, "`{line}` is not about a database that is {state}");
    }
    let is_refused = refused.starts_with("400 InvalidRequest: ") && refused.contains("name");
    ensure!(is_refused, "`{refused}` does not refuse the name");
    Ok(machines.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::EXAMPLES;

    /// Returns whether a command has the words of a line, in their order and among others. A program
    /// of the line may be in a folder.
    fn has(command: &[&str], line: &str) -> bool {
        // Variables before a command are set otherwise here.
        let mut words = line.split(' ').skip_while(|word| word.contains('='));
        let (mut rest, program) = (command.iter(), words.next().unwrap_or_default());
        let first = rest.next().copied().unwrap_or_default();
        let is_program = first == program || first.ends_with(&format!("/{program}"));
        is_program && words.all(|word| rest.any(|other| *other == word))
    }

    /// Returns whether a line installs or runs what the example in TypeScript does.
    fn in_typescript(line: &str) -> bool {
        let package = include_str!("../../examples/typescript/package.json");
        let mut words = line.split(' ').filter(|word| *word != "--save-dev");
        match (words.next(), words.next()) {
            (Some("npm"), Some("install")) => words.all(|word| {
                let (name, version) = word.split_once('@').unwrap_or((word, ""));
                package.contains(&format!("\"{name}\": ")) && package.contains(version)
            }),
            (Some("npx"), Some(program)) => {
                let script = package.split('"').find(|text| text.starts_with(program));
                script.is_some_and(|script| {
                    let script: Vec<&str> = script.split(' ').collect();
                    words.all(|word| script.iter().any(|own| own.ends_with(word)))
                })
            }
            _ => false,
        }
    }

    #[test]
    fn the_commands_of_the_page_are_run() {
        let page = include_str!("../../docs/languages.md");
        let blocks = page.split("```sh\n").skip(1);
        let mut count = 0;
        for block in blocks.filter_map(|block| block.split("```").next()) {
            // The first block starts a service, and the one for a project of the reader's does what
            // the example's own scripts do.
            let Some(folder) = block.lines().find_map(|line| line.strip_prefix("cd ")) else {
                let is_own = block.lines().all(in_typescript);
                assert!(is_own || block.starts_with("cargo xtask serve "), "{block}");
                continue;
            };
            let examples = EXAMPLES.iter().filter(|example| example.folder == folder);
            let run = examples.flat_map(|example| example.prepare.iter().chain([&example.run]));
            let run: Vec<&&[&str]> = run.collect();
            let is_command = |line: &&str| !line.starts_with("cd ") && !line.starts_with("export ");
            for line in block.lines().filter(is_command) {
                let is_run = run.iter().any(|command| has(command, line));
                assert!(is_run, "{folder}: nothing runs `{line}`");
                count += 1;
            }
        }
        assert!(count > 10, "{count} commands were found");
    }

    #[test]
    fn a_command_that_is_not_run_is_noticed() {
        let command = [
            "environment/bin/pip",
            "install",
            "--quiet",
            "--requirement",
            "a.txt",
        ];
        assert!(has(&command, "A=b pip install --requirement a.txt"));
        assert!(!has(&command, "pip install --requirement b.txt"));
        assert!(!has(&command, "npm install"));
    }
}
