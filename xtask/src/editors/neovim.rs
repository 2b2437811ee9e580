//! Neovim without a terminal, asked in Lua what it knows.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::{Outcome, Scene};

/// Waits for the diagnostic, the definition and the hover.
const SCRIPT: &str = include_str!("neovim.lua");

pub(super) fn check(program: &Path, scene: &Scene) -> anyhow::Result<Outcome> {
    scene.write("config/nvim/init.lua", &scene.block("Neovim", "lua")?)?;
    scene.write("check.lua", SCRIPT)?;
    let output = Command::new(program)
        .arg("--headless")
        .arg(scene.document())
        .arg("-c")
        .arg("luafile ../check.lua")
        .current_dir(scene.path("contract"))
        .env("XDG_CONFIG_HOME", scene.path("config"))
        .env("XDG_DATA_HOME", scene.path("data"))
        .env("XDG_STATE_HOME", scene.path("state"))
        .env("XDG_CACHE_HOME", scene.path("cache"))
        .stdin(Stdio::null())
        .output()
        .context("failed to start Neovim")?;
    // Neovim prints messages to the standard error.
    let printed = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok(if output.status.success() {
        Outcome::Passed("the diagnostic, the definition and the hover".to_owned())
    } else {
        Outcome::Failed(printed)
    })
}
