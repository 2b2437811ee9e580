//! The settings file of `stratusd`, in TOML.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// The content of the settings file: a TOML table with one key per setting.
#[derive(Default)]
pub struct SettingsFile {
    path: PathBuf,
    table: toml::Table,
}

impl fmt::Debug for SettingsFile {
    /// Omits the values, some of which are secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl SettingsFile {
    /// Reads the settings file at a path. Without a path, returns settings without any value.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not TOML, or has a key that is not a setting.
    pub fn read(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text = fs::read_to_string(path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            // Not the error as toml prints it: that quotes the line, which may hold a secret.
            let line = error
                .span()
                .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            anyhow::anyhow!("{}:{line}: {}", path.display(), error.message())
        })?;
        let known = super::keys();
        if let Some(unknown) = table.keys().find(|key| !known.contains(&key.as_str())) {
            bail!(
                "{}: unknown setting `{unknown}`; the settings are {}",
                path.display(),
                known.join(", ")
            );
        }
        Ok(Self {
            path: path.to_owned(),
            table,
        })
    }

    /// Parses the value of a setting. Returns `None` if the file does not contain the setting.
    ///
    /// # Errors
    ///
    /// If the value is not a string or an integer, or cannot be parsed as a `T`.
    pub(super) fn value<T>(&self, name: &str) -> Result<Option<T>>
    where
        T: FromStr,
        T::Err: fmt::Display,
    {
        let Some(value) = self.table.get(name) else {
            return Ok(None);
        };
        let text = match value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            other => bail!(
                "{}: {name} must be a string or an integer, not {}",
                self.path.display(),
                other.type_str()
            ),
        };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(error) => bail!("{}: invalid value for {name}: {error}", self.path.display()),
        }
    }
}
