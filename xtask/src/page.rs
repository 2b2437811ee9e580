//! `cargo xtask page`: clicks through the reference page of the service in a headless Chromium.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use launch::{Build, PROJECT, Service};

use crate::Exit;
use crate::running::Running;
use crate::workspace;

/// The version of the library that controls the browser.
const PUPPETEER: &str = "puppeteer-core@24.43.1";
/// The script that clicks.
const SCRIPT: &str = include_str!("page.mjs");
/// The names under which distributions install Chromium.
const PROGRAMS: [&str; 4] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
];

/// Click through the reference page of stratusd in a headless Chromium
///
/// Needs Chromium, Node.js 18 or later and npm. Installs puppeteer-core from the registry of npm under
/// target/.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write a picture of the page to this file
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let Some(program) = chromium() else {
        bail!("found no Chromium: apt-get install chromium-headless-shell");
    };
    let root = workspace::root()?;
    let folder = root.join("target/page");
    install(&folder)?;
    let script = folder.join("page.mjs");
    fs::write(&script, SCRIPT).with_context(|| format!("failed to write {}", script.display()))?;
    let home = folder.join("service");
    // A database of an earlier run would change the pictures.
    let _ = fs::remove_dir_all(&home);
    let service = Service::prepare(&root, home, Build::WithWorkspace)?;
    let running = Running::start(&service)?;
    let picture = match &arguments.picture {
        Some(file) => env::current_dir()?.join(file),
        None => PathBuf::new(),
    };
    out.flush()?;
    let status = Command::new("node")
        .arg(&script)
        .args([&running.base, &service.token, PROJECT])
        .arg(picture)
        .arg(program)
        .current_dir(&folder)
        .status()
        .context("failed to start node: install Node.js 18 or later")?;
    Ok(if status.success() {
        Exit::Fresh
    } else {
        Exit::Failed
    })
}

/// Returns the path of Chromium, or `None` if it is not installed.
pub(crate) fn chromium() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let files = PROGRAMS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    files.into_iter().find(|file| file.is_file())
}

/// Installs the library unless this version is installed.
fn install(folder: &Path) -> anyhow::Result<()> {
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == PUPPETEER) {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let status = Command::new("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .arg(PUPPETEER)
        .status()
        .context("failed to start npm: install Node.js 18 or later with npm")?;
    if !status.success() {
        bail!("npm could not install {PUPPETEER}");
    }
    fs::write(&mark, PUPPETEER).with_context(|| format!("failed to write {}", mark.display()))
}
