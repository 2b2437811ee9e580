//! Settings of where Postgres databases run.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What creates and changes Postgres databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvisionerChoice {
    /// The local provisioner where this machine can run it, and the simulator elsewhere.
    Auto,
    /// The local provisioner, which runs PostgreSQL servers on this machine.
    Local,
    /// The simulator, which runs nothing.
    Simulated,
    /// A provisioner in another process, which is called over HTTP.
    Http,
}

impl FromStr for ProvisionerChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "local" => Ok(Self::Local),
            "simulated" => Ok(Self::Simulated),
            "http" => Ok(Self::Http),
            _ => Err("must be `auto`, `local`, `simulated` or `http`"),
        }
    }
}

impl fmt::Display for ProvisionerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Local => "local",
            Self::Simulated => "simulated",
            Self::Http => "http",
        })
    }
}

/// Paths of folders, separated by colons as in `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders(String);

impl Folders {
    /// Returns the paths.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        env::split_paths(&self.0).collect()
    }
}

impl FromStr for Folders {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if env::split_paths(text).all(|path| path.is_absolute()) {
            Ok(Self(text.to_owned()))
        } else {
            Err("must be absolute paths, separated by colons")
        }
    }
}

impl fmt::Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
