//! Generated crates in a workspace of their own, as other teams have them.

use std::fs;
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns a command that starts cargo with the profile that dependencies have in this workspace: with
/// another one, every dependency would be compiled anew.
#[must_use]
pub fn cargo() -> Command {
    let mut command = launch::cargo();
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    for package in ["miniz_oxide", "rustls-pki-types"] {
        let optimised = format!("profile.dev.package.{package}.opt-level=3");
        command.args(["--config", &optimised]);
    }
    command
}

/// A workspace with the crates of a contract, and a copy of the run time.
pub struct Standalone {
    root: PathBuf,
    target: PathBuf,
    prefix: String,
}

impl Standalone {
    /// Generates the crates of a contract into the folder `name` below `scratch`, which is the
    /// caller's `env!("CARGO_TARGET_TMPDIR")`. An older folder of that name is removed.
    ///
    /// The name must begin with the prefix of the crates, as those of all their programs must.
    /// Workspaces share a target folder, in which cargo tells their packages apart only by name, so
    /// tests that use the same names would overwrite each other's crates.
    ///
    /// # Panics
    ///
    /// If the contract is wrong, the name is, or the folder cannot be written.
    #[must_use]
    pub fn generate(scratch: &str, name: &str, file: &str, contract: &[u8], prefix: &str) -> Self {
        Self::generate_from(scratch, name, contract::load_text(file, contract), prefix)
    }

    /// Does what [`Self::generate`] does, for a contract that has been loaded.
    ///
    /// # Panics
    ///
    /// If the contract is wrong or the folder cannot be written.
    #[must_use]
    pub fn generate_from(
        scratch: &str,
        name: &str,
        loaded: contract::Loaded,
        prefix: &str,
    ) -> Self {
        Self::generate_with(scratch, name, loaded, &codegen::Options::new(prefix))
    }

    /// Does what [`Self::generate_from`] does, with other options than a prefix.
    ///
    /// # Panics
    ///
    /// If the contract is wrong or the folder cannot be written.
    #[must_use]
    pub fn generate_with(
        scratch: &str,
        name: &str,
        loaded: contract::Loaded,
        options: &codegen::Options,
    ) -> Self {
        let prefix = options.prefix.as_str();
        assert!(name.starts_with(prefix), "{name} begins with {prefix}");
        let diagnostics = contract::diagnostic::render(&loaded.sources, &loaded.diagnostics);
        let contract = loaded.contract.unwrap_or_else(|| panic!("{diagnostics}"));
        let files = codegen::generate(&contract, options).expect("a contract is generated");
        // Dependencies that were compiled for this workspace are used again from its target folder,
        // which takes a third of the time of a folder apart.
        let target = Path::new(scratch)
            .parent()
            .expect("the scratch folder is in the target folder");
        let target = target.to_owned();
        let root = Path::new(scratch).join("standalone").join(name);
        if root.exists() {
            fs::remove_dir_all(&root).expect("the folder can be removed");
        }
        codegen::emit::write(&root, &files).expect("the folder can be written");
        let made = Self {
            root,
            target,
            prefix: prefix.to_owned(),
        };
        // The versions of this workspace, so that nothing is downloaded.
        fs::copy("../Cargo.lock", made.root.join("Cargo.lock"))
            .expect("the lock file can be copied");
        made
    }

    /// Returns the folder of the workspace.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file into the workspace.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("the folder can be made");
        fs::write(path, text).expect("the file can be written");
    }

    /// Replaces a string in a file, which must contain it exactly once.
    ///
    /// # Panics
    ///
    /// If the file does not contain the string, or contains it more than once.
    pub fn replace(&self, path: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.root.join(path)).expect("the file can be read");
        assert_eq!(
            text.matches(old).count(),
            1,
            "{path} must contain this once: {old}"
        );
        self.write(path, &text.replace(old, new));
    }

    /// Returns the default features of a crate.
    ///
    /// # Panics
    ///
    /// If the crate is not there.
    #[must_use]
    pub fn features(&self, krate: &str) -> Vec<String> {
        let manifest = fs::read_to_string(self.root.join(krate).join("Cargo.toml"))
            .expect("the manifest can be read");
        let line = manifest
            .lines()
            .find_map(|line| line.strip_prefix("default = "))
            .expect("the manifest has default features");
        // Every other piece is inside of quotes.
        line.split('"')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    }

    /// Adds a package with a program to the workspace. `dependencies` are lines of its manifest,
    /// and `main` is its source.
    ///
    /// # Panics
    ///
    /// If the name does not begin with the prefix of the crates.
    pub fn add_program(&self, name: &str, dependencies: &str, main: &str) {
        assert!(
            name.starts_with(&self.prefix),
            "{name} begins with another prefix"
        );
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}"
        );
        self.write(&format!("{name}/Cargo.toml"), &manifest);
        self.write(&format!("{name}/src/main.rs"), main);
        self.replace(
            "Cargo.toml",
            "members = [",
            &format!("members = [\"{name}\", "),
        );
    }

    /// Returns the file with rustdoc's description of a crate, which cargo-semver-checks compares: by
    /// itself it would compile every dependency again for each crate. `features` are arguments of cargo,
    /// such as `--all-features`.
    ///
    /// # Panics
    ///
    /// If the crate does not compile.
    #[must_use]
    pub fn describe(&self, krate: &str, features: &[&str]) -> PathBuf {
        // Only rustdoc may do what is unstable: with the variable, cargo compiles dependencies anew.
        let script = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc -Z unstable-options --output-format json \"$@\"\n";
        self.write("rustdoc.sh", script);
        let rustdoc = self.root.join("rustdoc.sh");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&rustdoc, mode).expect("the script can be made a program");
        let config = format!("build.rustdoc={:?}", rustdoc.display().to_string());
        let rustdoc = ["rustdoc", "--quiet", "--lib", "--package", krate];
        let output = self.cargo(&[&rustdoc[..], &["--config", &config], features].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let file = format!("{}.json", krate.replace('-', "_"));
        let made = self.target.join("doc").join(&file);
        // The next version of the crate is described in the same place.
        let kept = self.root.join(&file);
        fs::rename(made, &kept).expect("rustdoc has written the description");
        kept
    }

    /// Runs cargo in the workspace, without network access.
    ///
    /// # Panics
    ///
    /// If cargo cannot be started.
    #[must_use]
    pub fn cargo(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .output()
            .expect("cargo can be started")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = cargo();
        command
            .args(arguments)
            .arg("--offline")
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// Runs cargo and returns what it has printed on standard output.
    ///
    /// # Panics
    ///
    /// If cargo fails or prints a warning.
    #[must_use]
    pub fn cargo_succeeds(&self, arguments: &[&str]) -> String {
        Self::printed(arguments, self.cargo(arguments))
    }

    /// Runs cargo with a string on standard input, and returns what it has printed on standard
    /// output.
    ///
    /// # Panics
    ///
    /// If cargo fails or prints a warning.
    #[must_use]
    pub fn cargo_with_input(&self, arguments: &[&str], input: &str) -> String {
        let mut file = tempfile::tempfile().expect("a file can be made");
        file.write_all(input.as_bytes())
            .expect("the file can be written");
        file.rewind().expect("the file can be rewound");
        Self::printed(
            arguments,
            self.command(arguments)
                .stdin(file)
                .output()
                .expect("cargo can be started"),
        )
    }

    fn printed(arguments: &[&str], output: Output) -> String {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "cargo {}:\n{errors}",
            arguments.join(" ")
        );
        assert!(
            !errors.contains("warning: "),
            "cargo {}:\n{errors}",
            arguments.join(" ")
        );
        String::from_utf8(output.stdout).expect("the output is text")
    }
}
