//! The configuration file: settings, and a table of them for each profile. It has no secrets.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::failure::Failure;

/// The maximum number of bytes that the file may have.
const MOST_BYTES: u64 = 1 << 20;

/// The configuration file.
#[derive(Clone)]
pub(super) struct Config {
    /// The path, if there is a folder for it. The file need not exist.
    path: Option<PathBuf>,
    /// The tables, the most specific first.
    tables: Vec<Table>,
}

/// What the file may have.
pub(super) struct Known {
    /// The names of settings.
    pub(super) settings: Vec<String>,
    /// The names of credentials, which have no place in it.
    pub(super) secrets: Vec<String>,
}

impl Config {
    /// Reads the file `named`, or else that of the program `program` if it exists, with the table of
    /// a profile.
    ///
    /// # Errors
    ///
    /// If a named file or profile is not there, or the file has anything but settings.
    pub(super) fn read(
        program: &str,
        named: Option<String>,
        profile: Option<&str>,
        known: &Known,
    ) -> Result<Self, Failure> {
        let is_named = named.is_some();
        let path = named.map(PathBuf::from).or_else(|| usual(program));
        let Some(file) = path.as_ref().filter(|path| is_named || path.exists()) else {
            return match profile {
                Some(name) => Err(Failure::usage(format!(
                    "there is no profile `{name}`, since there is no configuration file"
                ))),
                None => Ok(Self {
                    path,
                    tables: Vec::new(),
                }),
            };
        };
        let wrong = |problem: String| Failure::usage(format!("{}: {problem}", file.display()));
        let tables = read(file).and_then(|whole| tables(whole, profile));
        let tables = tables.map_err(wrong)?;
        for table in &tables {
            check(table, known).map_err(wrong)?;
        }
        Ok(Self { path, tables })
    }

    /// Returns the path of the file, which need not exist.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns a setting.
    pub(super) fn value(&self, key: &str) -> Option<String> {
        let found = self.tables.iter().find_map(|table| table.get(key))?;
        Some(match found {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}

/// Returns the path of the file of a program.
fn usual(program: &str) -> Option<PathBuf> {
    folder(program).map(|folder| folder.join("config.toml"))
}

/// Returns the folder with the files of a program.
pub(super) fn folder(program: &str) -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|path| !path.is_empty());
    let own = set("XDG_CONFIG_HOME").or_else(|| set("APPDATA"));
    let own = own.map(PathBuf::from);
    let own = own.or_else(|| env::home_dir().map(|home| home.join(".config")))?;
    Some(own.join(program))
}

fn read(path: &Path) -> Result<Table, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?;
    if size.len() > MOST_BYTES {
        return Err(format!("it has more than {MOST_BYTES} bytes"));
    }
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    // Printed whole, the error would quote the line, which may have a secret by mistake.
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| 1 + before.matches('\n').count());
        format!("line {line} is not TOML: write NAME = \"VALUE\"")
    })
}

/// Returns the table of a profile, and that of the whole file.
fn tables(mut whole: Table, profile: Option<&str>) -> Result<Vec<Table>, String> {
    let mut profiles = match whole.remove("profile") {
        Some(Value::Table(profiles)) => profiles,
        None => Table::new(),
        Some(_) => return Err("write a profile as a table, `[profile.NAME]`".to_owned()),
    };
    let mut tables = Vec::new();
    if let Some(name) = profile {
        let Some(Value::Table(table)) = profiles.remove(name) else {
            let known: Vec<&str> = profiles.keys().map(String::as_str).collect();
            let known = known.join(", ");
            return Err(format!("there is no profile `{name}`, but: {known}"));
        };
        tables.push(table);
    }
    tables.push(whole);
    Ok(tables)
}

/// Checks that a table has only settings.
fn check(table: &Table, known: &Known) -> Result<(), String> {
    for key in table.keys() {
        if known.secrets.contains(key) {
            return Err(format!(
                "no secret belongs into this file: write it into a file of its own, and the path of that as `{key}-file`"
            ));
        }
        if !known.settings.contains(key) {
            let known = known.settings.join(", ");
            return Err(format!("`{key}` is no setting; the settings are: {known}"));
        }
    }
    Ok(())
}
