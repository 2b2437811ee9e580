//! One command of a test run.

use std::env;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::machine::{Machine, Tool};

/// A command of a run. Its `Display` is what a person types to run it alone.
pub(super) struct Step {
    program: Program,
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
    is_skipped: bool,
}

enum Program {
    Cargo,
    Xtask,
}

impl Step {
    /// Creates a step of cargo with arguments that are separated by spaces.
    pub(super) fn cargo(arguments: &str) -> Self {
        Self {
            program: Program::Cargo,
            arguments: Vec::new(),
            variables: Vec::new(),
            is_skipped: false,
        }
        .arguments(arguments)
    }

    /// Creates a step that is a command of xtask itself.
    pub(super) fn xtask(arguments: &str) -> Self {
        Self {
            program: Program::Xtask,
            ..Self::cargo(arguments)
        }
    }

    /// Adds arguments that are separated by spaces.
    pub(super) fn arguments(mut self, arguments: &str) -> Self {
        // No argument of a step contains a space.
        self.arguments
            .extend(arguments.split(' ').map(str::to_owned));
        self
    }

    /// Marks the step as skipped if the machine lacks a tool.
    pub(super) fn needs(mut self, machine: &Machine, tool: Tool) -> Self {
        self.is_skipped |= !machine.has(tool);
        self
    }

    pub(super) fn packages(mut self, packages: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        for package in packages {
            self.arguments
                .extend(["--package".to_owned(), package.as_ref().to_owned()]);
        }
        self
    }

    pub(super) fn workspace(mut self) -> Self {
        self.arguments.push("--workspace".to_owned());
        self
    }

    /// Restricts the step to some test files of the workspace, whose names are separated by spaces.
    pub(super) fn targets(mut self, names: &str) -> Self {
        // A choice of all kinds of targets would take the others in again.
        let kinds = ["--lib", "--bins", "--tests", "--examples"];
        self.arguments
            .retain(|argument| !kinds.contains(&argument.as_str()));
        // A choice of a package would select other features of dependencies.
        self = self.workspace();
        for name in names.split(' ') {
            self.arguments
                .extend(["--test".to_owned(), name.to_owned()]);
        }
        self
    }

    pub(super) fn env(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    pub(super) fn is_skipped(&self) -> bool {
        self.is_skipped
    }

    /// Runs the command in a folder, and returns whether it succeeded.
    pub(super) fn run(&self, folder: &Path) -> anyhow::Result<bool> {
        let mut command = match self.program {
            Program::Cargo => launch::cargo(),
            // The running program itself, which cargo might compile again.
            Program::Xtask => {
                let path = env::current_exe();
                Command::new(path.context("failed to find the path of this program")?)
            }
        };
        command
            .args(&self.arguments)
            .current_dir(folder)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        Ok(command.status()?.success())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}='{value}' ")?;
        }
        f.write_str(match self.program {
            Program::Cargo => "cargo",
            Program::Xtask => "cargo xtask",
        })?;
        self.arguments.iter().try_for_each(|argument| {
            // No argument of a step contains a quote.
            if argument.contains(['(', '|', '&', '$']) {
                write!(f, " '{argument}'")
            } else {
                write!(f, " {argument}")
            }
        })
    }
}
