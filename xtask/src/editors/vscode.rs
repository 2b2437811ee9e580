//! VS Code in a headless Chromium, with the extension of this repository, built and installed by the
//! commands of the page.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context as _, bail};

use super::install::run;
use super::{Outcome, Scene, block};
use crate::npm;
use crate::page;

/// The package of npm that contains VS Code as a server for browsers. Later versions need a later
/// Node.js.
const VS_CODE: &str = "code-server@4.100.3";
/// The program of VS Code in this package, without what the package puts before it: a password.
const PROGRAM: &str = "node_modules/code-server/lib/vscode";
/// The script that reads the editor.
const SCRIPT: &str = include_str!("vscode.mjs");
/// The settings of the machine on which VS Code runs.
const SETTINGS: &str = "vscode/data/Machine/settings.json";

pub(super) fn check(
    root: &Path,
    folder: &Path,
    chromium: &Path,
    scene: &Scene,
) -> anyhow::Result<Outcome> {
    let code = install(&folder.join("vscode"))?;
    let browser = root.join("target/page");
    npm::install(&browser, &[page::PUPPETEER])?;
    install_extension(root, folder, &code, scene)?;
    scene.write(SETTINGS, &scene.block("VS Code", "json")?)?;
    let server = Server::start(&code, scene)?;
    let contract = scene.path("contract");
    let settings = scene.path(SETTINGS);
    let arguments = [
        OsStr::new(&server.base),
        contract.as_os_str(),
        settings.as_os_str(),
        chromium.as_os_str(),
    ];
    let is_right = page::click(&browser, "vscode.mjs", SCRIPT, &arguments)?;
    Ok(if is_right {
        let what = "the diagnostic, trust, hovers, a correction, a restart and a missing server";
        Outcome::Passed(what.to_owned())
    } else {
        Outcome::Failed("the editor does not show what it should, see above".to_owned())
    })
}

/// Installs VS Code, and returns its folder.
fn install(folder: &Path) -> anyhow::Result<PathBuf> {
    let (code, mark) = (folder.join(PROGRAM), folder.join("installed"));
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == VS_CODE) {
        return Ok(code);
    }
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    // The scripts would compile what only its terminals and its password need.
    let options = [
        "install",
        "--silent",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
    ];
    run(Command::new("npm")
        .args(options)
        .arg(VS_CODE)
        .current_dir(folder)
        .arg("--prefix")
        .arg(folder))?;
    run(Command::new("npm")
        .args(options)
        .arg("--omit=dev")
        .current_dir(&code))?;
    fs::write(&mark, VS_CODE).with_context(|| format!("failed to write {}", mark.display()))?;
    Ok(code)
}

/// Runs the commands of the page in a copy of the extension's folder.
fn install_extension(root: &Path, folder: &Path, code: &Path, scene: &Scene) -> anyhow::Result<()> {
    let (source, copy) = (root.join("editors/vscode"), folder.join("editors/vscode"));
    fs::create_dir_all(&copy).with_context(|| format!("failed to make {}", copy.display()))?;
    let files =
        fs::read_dir(&source).with_context(|| format!("failed to read {}", source.display()))?;
    for file in files {
        let file = file.context("failed to read the extension")?.path();
        let name = file.file_name().context("a file has a name")?;
        if file.is_file() && file.extension() != Some(OsStr::new("vsix")) {
            fs::copy(&file, copy.join(name))
                .with_context(|| format!("failed to copy {}", file.display()))?;
        }
    }
    let mut count = 0;
    for line in block(&scene.page, "VS Code", "sh")?.lines() {
        let (line, _) = line.split_once(" #").unwrap_or((line, ""));
        let mut words = line.split_whitespace();
        match words.next() {
            Some("npm") => run(Command::new("npm").args(words).current_dir(folder))?,
            Some("code") => run(vs_code(code, scene).args(words).current_dir(folder))?,
            Some(_) => bail!("docs/editor.md has a command that nothing runs: {line}"),
            None => continue,
        }
        count += 1;
    }
    if count == 0 {
        bail!("docs/editor.md has no commands that install the extension");
    }
    Ok(())
}

/// Returns a command of VS Code, with a new profile.
fn vs_code(code: &Path, scene: &Scene) -> Command {
    let mut command = Command::new("node");
    command
        .arg(code.join("out/server-main.js"))
        .arg("--accept-server-license-terms")
        .arg("--server-data-dir")
        .arg(scene.path("vscode"))
        .env("HOME", scene.path("home"));
    command
}

/// VS Code as a server, killed on drop.
struct Server {
    child: Child,
    base: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(code: &Path, scene: &Scene) -> anyhow::Result<Self> {
        let mut child = vs_code(code, scene)
            .args(["--host", "127.0.0.1", "--port", "0"])
            .args(["--without-connection-token", "--telemetry-level", "off"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // It reports native modules that the test does without.
            .stderr(Stdio::null())
            .spawn()
            .context("failed to start node: install Node.js 20 or later")?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut server = Self {
            child,
            base: String::new(),
        };
        let mut lines = BufReader::new(stdout);
        let mut line = String::new();
        while lines.read_line(&mut line)? > 0 {
            if let Some(port) = line
                .trim()
                .strip_prefix("Extension host agent listening on ")
            {
                server.base = format!("http://127.0.0.1:{port}");
                // A full pipe would stop it.
                thread::spawn(move || lines.read_to_end(&mut Vec::new()));
                return Ok(server);
            }
            line.clear();
        }
        bail!("VS Code did not start")
    }
}
