//! Finds Neovim and Helix, or installs those of Debian's testing suite beside what the machine has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// The suite of which the packages are. That of the machine may be too old.
const SUITE: &str = "testing";
const PACKAGES: [&str; 2] = ["neovim", "hx"];
/// Where the packages `debian-archive-keyring` put the keys that sign the suites.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Starts a program of the packages by the loader and the libraries beside it, which are newer than
/// those of the machine.
const NEOVIM: &str = r#"#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
loader=$(ls "$root"/usr/lib/*-linux-*/ld-linux-*.so.* | head -n 1)
libraries=$(dirname "$loader")
export VIMRUNTIME="$root/usr/share/nvim/runtime"
export LUA_PATH="$root/usr/share/lua/5.1/?.lua;;" LUA_CPATH="$libraries/lua/5.1/?.so;;"
exec "$loader" --argv0 nvim --library-path "$libraries" "$root/usr/bin/nvim" \
    --cmd "let &runtimepath = '$root/usr/lib/nvim,' .. &runtimepath" "$@"
"#;
const HELIX: &str = r#"#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
loader=$(ls "$root"/usr/lib/*-linux-*/ld-linux-*.so.* | head -n 1)
libraries=$(dirname "$loader")
export HELIX_RUNTIME="$root/usr/lib/hx/runtime"
exec "$loader" --argv0 hx --library-path "$libraries" "$root/usr/bin/hx" "$@"
"#;

/// Returns the program of Neovim, or `None` if the machine has none that is new enough and cannot
/// install one.
pub(super) fn neovim(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    match neovim_of_machine() {
        Some(program) => Ok(Some(program)),
        None => installed(folder, "nvim"),
    }
}

/// Returns the program of Helix, or `None` if the machine has none and cannot install one.
pub(super) fn helix(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    match helix_of_machine() {
        Some(program) => Ok(Some(program)),
        None => installed(folder, "hx"),
    }
}

/// Returns whether the machine has both editors, or can install them.
pub(crate) fn is_possible() -> bool {
    mirror().is_some() || (neovim_of_machine().is_some() && helix_of_machine().is_some())
}

/// Returns Neovim on the path if it has what the page uses, `vim.lsp.config` of version 0.11.
fn neovim_of_machine() -> Option<PathBuf> {
    let ask = [
        "--headless",
        "--clean",
        "+lua vim.cmd(vim.lsp.config and 'qa!' or 'cq')",
    ];
    let asked = Command::new("nvim").args(ask).stdin(Stdio::null()).output();
    asked
        .is_ok_and(|output| output.status.success())
        .then(|| PathBuf::from("nvim"))
}

/// Returns Helix on the path, which some systems call `helix`.
fn helix_of_machine() -> Option<PathBuf> {
    let is_here = |program: &&str| {
        let asked = Command::new(program).arg("--version").output();
        asked.is_ok_and(|output| output.stdout.starts_with(b"helix "))
    };
    ["hx", "helix"].into_iter().find(is_here).map(PathBuf::from)
}

/// Returns the URL of the packages of Debian that this machine uses, or `None` if it is no Debian.
fn mirror() -> Option<String> {
    let asked = Command::new("apt-get")
        .args(["indextargets", "--format", "$(ORIGIN) $(REPO_URI)"])
        .arg("Created-By: Packages")
        .output();
    let printed = asked.ok().filter(|output| output.status.success())?;
    let printed = String::from_utf8(printed.stdout).ok()?;
    let mut urls = printed
        .lines()
        .filter_map(|line| line.strip_prefix("Debian "))
        .filter(|url| !url.trim_end_matches('/').ends_with("-security"));
    let url = urls.next()?;
    // It goes into a list of apt, in which spaces and lines have a meaning.
    let is_plain = !url.contains(|c: char| c.is_whitespace() || c == '[' || c == '#');
    (is_plain && Path::new(KEYS).is_file()).then(|| url.to_owned())
}

/// Returns a program below `folder` that Debian's packages contain, after installing these.
fn installed(folder: &Path, program: &str) -> anyhow::Result<Option<PathBuf>> {
    let path = folder.join(program);
    if path.is_file() {
        return Ok(Some(path));
    }
    let Some(mirror) = mirror() else {
        return Ok(None);
    };
    let (apt, root) = (folder.join("apt"), folder.join("root"));
    for path in [&apt, &root] {
        // An attempt that was interrupted leaves half of it.
        let _ = fs::remove_dir_all(path);
    }
    for name in ["lists/partial", "cache/archives/partial"] {
        make(&apt.join(name))?;
    }
    make(&root)?;
    let list = apt.join("sources.list");
    write(
        &list,
        &format!("deb [signed-by={KEYS}] {mirror} {SUITE} main\n"),
    )?;
    // Nothing is installed there, so all libraries are packages to download.
    write(&apt.join("status"), "")?;
    run(Command::new("apt-get")
        .args(options(&apt))
        .args(["update", "--quiet=2"]))?;
    run(Command::new("apt-get")
        .args(options(&apt))
        .args(["install", "--quiet=2", "--yes", "--download-only"])
        .arg("--no-install-recommends")
        .args(PACKAGES))?;
    let archives = apt.join("cache/archives");
    let archives = fs::read_dir(&archives)
        .with_context(|| format!("failed to read {}", archives.display()))?;
    for entry in archives {
        let archive = entry
            .context("failed to read the folder of packages")?
            .path();
        if archive.extension().is_some_and(|kind| kind == "deb") {
            run(Command::new("dpkg-deb")
                .arg("--extract")
                .arg(archive)
                .arg(&root))?;
        }
    }
    let _ = fs::remove_dir_all(&apt);
    // Last, because they are the sign that all is there.
    for (name, script) in [("nvim", NEOVIM), ("hx", HELIX)] {
        write(&folder.join(name), script)?;
        run(Command::new("chmod").arg("+x").arg(folder.join(name)))?;
    }
    Ok(Some(path))
}

/// Returns the options by which apt reads and writes nothing of the machine's own.
fn options(apt: &Path) -> Vec<String> {
    let at = |name: &str, path: &str| format!("--option={name}={}", apt.join(path).display());
    vec![
        at("Dir::Etc::SourceList", "sources.list"),
        "--option=Dir::Etc::SourceParts=/dev/null".to_owned(),
        at("Dir::State::Lists", "lists"),
        at("Dir::State::Status", "status"),
        at("Dir::Cache", "cache"),
        // The user of apt may not enter the folder.
        "--option=APT::Sandbox::User=root".to_owned(),
        "--option=Debug::NoLocking=true".to_owned(),
        // Translations and descriptions for shops of software are half of what would be fetched.
        "--option=Acquire::Languages=none".to_owned(),
        "--option=Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
    ]
}

fn make(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

/// Runs a command, which prints only errors.
pub(super) fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().display().to_string();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("failed to start {name}"))?;
    if !output.status.success() {
        bail!(
            "{name} failed: {}{}",
            String::from_utf8_lossy(&output.stderr),
            String::from_utf8_lossy(&output.stdout)
        );
    }
    Ok(())
}
