//! A `stratusd` built from this workspace, with a database of its own that holds the demo
//! inventory.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::cargo::{AS_FOR_TESTS, cargo, program};

/// The id of the project in the demo inventory.
pub const PROJECT: &str = "pjj99grz61ddttq24cf6gc6atm";

/// A service that is ready to start.
#[derive(Debug)]
pub struct Service {
    program: PathBuf,
    folder: PathBuf,
    /// A token with full access to [`PROJECT`].
    pub token: String,
}

impl Service {
    /// Builds the program and prepares a folder for it: keys, a database, the demo inventory, and a
    /// new token.
    ///
    /// # Errors
    ///
    /// Returns an error if the program does not build, or the folder cannot be prepared.
    pub fn prepare(root: &Path, folder: PathBuf, build: Build) -> anyhow::Result<Self> {
        Self::with_program(build.run(root)?, root, folder)
    }

    /// Prepares a folder for a program that is built already, as [`prepare`](Self::prepare) does.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be prepared.
    pub fn with_program(program: PathBuf, root: &Path, folder: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to make {}", folder.display()))?;
        let mut service = Self {
            program,
            folder,
            token: String::new(),
        };
        let keys = service.folder.join("keys");
        // A database of an earlier run can be opened only with the keys that it was sealed with.
        if !keys.exists() {
            let key = service.output(&["key", "generate"])?;
            write_private(&keys, &key)
                .with_context(|| format!("failed to write {}", keys.display()))?;
        }
        let inventory = root.join("crates/stratusd/demo.yaml");
        let inventory = inventory
            .to_str()
            .context("the workspace's path is no text")?;
        service.output(&["apply", inventory])?;
        let token = service.output(&[
            "token",
            "issue",
            "--project",
            PROJECT,
            "--description",
            "cargo xtask",
        ])?;
        token.trim().clone_into(&mut service.token);
        Ok(service)
    }

    /// Returns how often the folder was prepared: the number of listed tokens, of which each
    /// preparation issues one.
    pub(crate) fn starts(&self) -> anyhow::Result<usize> {
        Ok(self
            .output(&["token", "list", "--project", PROJECT])?
            .lines()
            .count())
    }

    /// Returns a command that runs `stratusd` with these arguments and the folder's database and
    /// keys. It simulates Postgres databases. Other settings come from the environment.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env(
                "STRATUS_DATABASE_URL",
                format!("sqlite://{}", self.folder.join("stratus.db").display()),
            )
            .env("STRATUS_ENCRYPTION_KEYS_FILE", self.folder.join("keys"))
            .env("STRATUS_PROVISIONER", "simulated")
            .env_remove("STRATUS_ENCRYPTION_KEYS");
        command
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the path of the program.
    pub(crate) fn program(&self) -> String {
        self.program.display().to_string()
    }

    /// Returns the flags of the database, for a command that is pasted.
    pub(crate) fn settings(&self) -> String {
        format!(
            "--database-url sqlite://{}",
            self.folder.join("stratus.db").display()
        )
    }

    /// Runs `stratusd` with these arguments and returns its standard output, or an error if it
    /// fails.
    fn output(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.output_with(arguments, &[])
    }

    /// Runs `stratusd` with these arguments and settings, and returns its standard output, or an
    /// error if it fails.
    pub(crate) fn output_with(
        &self,
        arguments: &[&str],
        settings: &[(&str, OsString)],
    ) -> anyhow::Result<String> {
        let output = self
            .command(arguments)
            .envs(settings.iter().map(|(name, value)| (name, value)))
            .output()
            .context("failed to start stratusd")?;
        if !output.status.success() {
            bail!(
                "stratusd {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// How to build `stratusd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// The package alone and without its features, which compiles the fewest dependencies.
    Alone,
    /// With the features that the tests of the workspace select, so that a caller who builds these
    /// too compiles each dependency once.
    WithTests,
}

impl Build {
    /// Builds `stratusd` and returns the path of the program.
    fn run(self, root: &Path) -> anyhow::Result<PathBuf> {
        let mut build = cargo();
        build.args(["build", "--bin", "stratusd"]).current_dir(root);
        match self {
            Self::Alone => {
                build.args(["--package", "stratusd", "--no-default-features"]);
                // Nobody debugs the demo, and the lines in backtraces are a sixth of what is left to compile.
                build.env("CARGO_PROFILE_DEV_DEBUG", "0");
            }
            Self::WithTests => {
                build.args(AS_FOR_TESTS);
            }
        }
        program(build, "stratusd")
    }
}

/// Writes a new file that only its owner can read.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
