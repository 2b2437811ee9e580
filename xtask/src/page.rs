//! `cargo xtask page`: clicks through the reference page of the service and the preview of a document
//! in a headless Chromium.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use launch::{Build, PROJECT, Service};

use crate::Exit;
use crate::npm;
use crate::running::Running;
use crate::workspace;

/// The version of the library that controls the browser.
pub(crate) const PUPPETEER: &str = "puppeteer-core@24.43.1";
/// The script that clicks through the reference page.
const REFERENCE: &str = include_str!("page/reference.mjs");
/// The script that edits a document while the preview shows it.
const PREVIEW: &str = include_str!("page/preview.mjs");
/// The names under which distributions install Chromium.
const PROGRAMS: [&str; 4] = [
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
];

/// Click through the reference page of stratusd, and the preview of a document, in a headless Chromium
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
    npm::install(&folder, &[PUPPETEER])?;
    // The build below may replace this program, which then has no path.
    let this = env::current_exe()?;
    let home = folder.join("service");
    // A database of an earlier run would change the pictures.
    let _ = fs::remove_dir_all(&home);
    let service = Service::prepare(&root, home, Build::WithTests)?;
    let running = Running::start(&service)?;
    let picture = match &arguments.picture {
        Some(file) => env::current_dir()?.join(file),
        None => PathBuf::new(),
    };
    out.flush()?;
    let arguments = [&running.base, &service.token, PROJECT].map(OsStr::new);
    let clicked = click(
        &folder,
        "reference.mjs",
        REFERENCE,
        &[&arguments[..], &[picture.as_os_str(), program.as_os_str()]].concat(),
    )?;
    let is_shown = preview(&this, &root, &folder, &program)?;
    Ok(if clicked && is_shown {
        Exit::Fresh
    } else {
        Exit::Failed
    })
}

/// Runs a script with these arguments, and returns whether it has found nothing wrong.
pub(crate) fn click(
    folder: &Path,
    name: &str,
    script: &str,
    arguments: &[&OsStr],
) -> anyhow::Result<bool> {
    let path = folder.join(name);
    fs::write(&path, script).with_context(|| format!("failed to write {}", path.display()))?;
    let status = Command::new("node")
        .arg(&path)
        .args(arguments)
        .current_dir(folder)
        .status()
        .context("failed to start node: install Node.js 18 or later")?;
    Ok(status.success())
}

/// Shows a small document by `cargo xtask preview`, and has it edited.
fn preview(this: &Path, root: &Path, folder: &Path, program: &Path) -> anyhow::Result<bool> {
    let document = folder.join("pets.yaml");
    let pets = root.join("xtask/tests/documents/pets.yaml");
    fs::copy(&pets, &document).with_context(|| format!("failed to copy {}", pets.display()))?;
    let mut preview = Command::new(this)
        .arg("preview")
        .arg(&document)
        .args(["--port", "0", "--base", "HEAD"])
        .stdout(Stdio::piped())
        .spawn()
        .context("failed to start the preview")?;
    let stdout = preview.stdout.take().context("the preview has no output")?;
    let mut said = String::new();
    // Kept open until the end: the preview ends when it cannot write to it.
    let mut output = BufReader::new(stdout);
    let read = output.read_line(&mut said);
    let clicked = read.context("failed to read the preview").and_then(|_| {
        let (base, _) = said
            .split_once("/preview/")
            .context("the preview does not say where it is")?;
        let arguments = [OsStr::new(base), document.as_os_str(), program.as_os_str()];
        click(folder, "preview.mjs", PREVIEW, &arguments)
    });
    let _ = preview.kill();
    let _ = preview.wait();
    clicked
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
