//! `cargo xtask editors`: starts the editors of docs/editor.md, set up as the page says, on a document
//! with a known fault, and reads what they show.

#[cfg(target_os = "linux")]
mod helix;
pub(crate) mod install;
mod neovim;
mod vscode;

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};

use crate::Exit;
use crate::page;
use crate::workspace;

/// The program that the page tells an editor to start.
const SERVER: &str = "/path/to/stratus/target/release/xtask";
/// The document that the editors open. Its line 18 has `requried`, which no schema has, and its line 12
/// a reference to the schema in line 15.
const DOCUMENT: &str = include_str!("editors/openapi.yaml");

/// Start Helix, Neovim and VS Code as docs/editor.md sets them up, and read what they show
///
/// Takes Neovim 0.11 or later and Helix from the PATH, or on Debian installs those of its testing suite
/// under target/editors. Installs a server of VS Code from the registry of npm there too, which needs
/// Node.js 20 or later, npm and Chromium. An editor that cannot be had is named and skipped; where
/// the environment has `CI`, that is an error.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Start only these editors
    #[arg(long, value_name = "EDITOR")]
    only: Vec<Editor>,
}

/// An editor that the page sets up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Editor {
    Helix,
    Neovim,
    VsCode,
}

impl Editor {
    fn name(self) -> &'static str {
        match self {
            Self::Helix => "Helix",
            Self::Neovim => "Neovim",
            Self::VsCode => "VS Code",
        }
    }
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let folder = root.join("target/editors");
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let mut exit = Exit::Fresh;
    for editor in [Editor::Helix, Editor::Neovim, Editor::VsCode] {
        if !arguments.only.is_empty() && !arguments.only.contains(&editor) {
            continue;
        }
        let begun = Instant::now();
        let scene = Scene::new(&root)?;
        let outcome = match editor {
            Editor::Helix => in_helix(&folder, &scene)?,
            Editor::Neovim => match install::neovim(&folder)? {
                Some(program) => neovim::check(&program, &scene)?,
                None => Outcome::Skipped("Neovim 0.11 or later is not installed"),
            },
            Editor::VsCode => match page::chromium() {
                Some(chromium) => vscode::check(&root, &folder, &chromium, &scene)?,
                None => Outcome::Skipped("Chromium is not installed"),
            },
        };
        let name = editor.name();
        let seconds = begun.elapsed().as_secs_f64();
        match outcome {
            Outcome::Passed(what) => writeln!(out, "{name}: {what} ({seconds:.1} s)")?,
            Outcome::Failed(why) => {
                writeln!(out, "{name}: {why}")?;
                exit = Exit::Failed;
            }
            Outcome::Skipped(why) => {
                writeln!(out, "skipped: {name}: {why}")?;
                if env::var_os("CI").is_some() {
                    writeln!(out, "error: CI must skip nothing")?;
                    exit = Exit::Failed;
                }
            }
        }
        out.flush()?;
    }
    Ok(exit)
}

#[cfg(target_os = "linux")]
fn in_helix(folder: &Path, scene: &Scene) -> anyhow::Result<Outcome> {
    match install::helix(folder)? {
        Some(program) => helix::check(&program, scene),
        None => Ok(Outcome::Skipped("Helix is not installed")),
    }
}

#[cfg(not(target_os = "linux"))]
fn in_helix(_: &Path, _: &Scene) -> anyhow::Result<Outcome> {
    Ok(Outcome::Skipped("its terminal needs Linux"))
}

/// What came of an editor.
enum Outcome {
    /// It has shown all that it should: what that is.
    Passed(String),
    /// What it has shown instead.
    Failed(String),
    /// The reason why it was not started.
    Skipped(&'static str),
}

/// A new home of an editor, with the document, and with the language server where the page has it.
struct Scene {
    folder: tempfile::TempDir,
    page: String,
}

impl Scene {
    fn new(root: &Path) -> anyhow::Result<Self> {
        let page = root.join("docs/editor.md");
        let page = fs::read_to_string(&page)
            .with_context(|| format!("failed to read {}", page.display()))?;
        let folder = tempfile::tempdir().context("failed to make a folder")?;
        let scene = Self { folder, page };
        scene.write("contract/openapi.yaml", DOCUMENT)?;
        let server = scene.server();
        let parent = server.parent().context("the path has a parent")?;
        fs::create_dir_all(parent).context("failed to make a folder")?;
        // This program is the server too.
        #[cfg(unix)]
        std::os::unix::fs::symlink(env::current_exe()?, &server)
            .context("failed to link the language server")?;
        Ok(scene)
    }

    /// Returns a path in the home.
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Returns the document.
    fn document(&self) -> PathBuf {
        self.path("contract/openapi.yaml")
    }

    /// Returns the path of the language server.
    fn server(&self) -> PathBuf {
        self.path("stratus/target/release/xtask")
    }

    /// Writes a file of the home.
    fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.path(path);
        let parent = path.parent().context("the path has a parent")?;
        fs::create_dir_all(parent).context("failed to make a folder")?;
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))
    }

    /// Returns the first block of a section of the page in a language, with the path of the server.
    fn block(&self, section: &str, language: &str) -> anyhow::Result<String> {
        let block = block(&self.page, section, language)?;
        if !block.contains(SERVER) {
            bail!("the block of {section} in docs/editor.md does not name {SERVER}");
        }
        let server = self.server();
        let server = server.to_str().context("the path is no text")?;
        // It stands within quotes of Lua, TOML and JSON.
        if server.contains(['"', '\\']) {
            bail!("the folder of temporary files has quotes in its name: {server}");
        }
        Ok(block.replace(SERVER, server))
    }
}

/// Returns the first block of a section of a page in a language.
fn block<'a>(page: &'a str, section: &str, language: &str) -> anyhow::Result<&'a str> {
    let text = page
        .split("\n### ")
        .find_map(|text| text.strip_prefix(section)?.strip_prefix('\n'));
    let text = text.and_then(|text| text.split_once(&format!("```{language}\n")));
    let block = text.and_then(|(_, rest)| rest.split_once("```"));
    let (block, _) =
        block.with_context(|| format!("docs/editor.md has no {language} for {section}"))?;
    Ok(block)
}
