//! Where settings come from: flags, or else variables, or else the configuration file.

use std::env;
use std::time::Duration;

use clap::ArgMatches;
use reqwest::Url;

use super::Program;
use super::config::{Config, Known};
use super::credentials::scheme_name;
use super::description::Description;
use super::failure::Failure;

/// The maximum number of seconds of a setting: ten years.
const MOST_SECONDS: f64 = 315_360_000.0;
/// The settings that the configuration file may have for every API.
const KEYS: [&str; 5] = ["url", "output", "timeout", "connect-timeout", "retries"];

/// The flags, variables and lines of the configuration file of a command.
#[derive(Clone)]
pub(super) struct Sources<'m> {
    pub(super) program: Program,
    pub(super) description: &'static Description,
    pub(super) matches: &'m ArgMatches,
    /// The profile, if one is chosen.
    pub(super) profile: Option<String>,
    config: Config,
}

impl<'m> Sources<'m> {
    /// Reads the configuration file. Flags and variables are read when they are asked for.
    pub(super) fn read(
        program: &Program,
        description: &'static Description,
        matches: &'m ArgMatches,
    ) -> Result<Self, Failure> {
        // No variable has the file: a service and the program that calls it may have one name.
        let named = matches.get_one::<String>("config").cloned();
        let profile = match matches.get_one::<String>("profile") {
            Some(name) => Some(name.clone()),
            None => variable(&variable_name(program, "profile"))?,
        };
        let config = Config::read(program.name, named, profile.as_deref(), &known(description))?;
        Ok(Self {
            program: *program,
            description,
            matches,
            profile,
            config,
        })
    }

    /// Returns the name of the variable of a setting: `STRATUS_PROJECT_ID` for `project-id`.
    pub(super) fn variable_name(&self, key: &str) -> String {
        variable_name(&self.program, key)
    }

    /// Returns the variable of a setting.
    pub(super) fn variable(&self, key: &str) -> Result<Option<String>, Failure> {
        variable(&self.variable_name(key))
    }

    /// Returns a setting.
    pub(super) fn value(&self, key: &str) -> Result<Option<String>, Failure> {
        match self.flag(key) {
            Some(given) => Ok(Some(given.clone())),
            None => self.lasting_value(key),
        }
    }

    /// Returns a setting of all calls: without flags.
    pub(super) fn lasting_value(&self, key: &str) -> Result<Option<String>, Failure> {
        let set = self.variable(key)?;
        Ok(set.or_else(|| self.config.value(key)))
    }

    /// Returns the value of a flag. Not every command has each flag.
    pub(super) fn flag(&self, flag: &str) -> Option<&String> {
        self.matches.try_get_one::<String>(flag).ok().flatten()
    }

    /// Returns whether a flag without a value is given.
    pub(super) fn has(&self, flag: &str) -> bool {
        matches!(self.matches.try_get_one::<bool>(flag), Ok(Some(true)))
    }

    /// Returns the seconds of a setting.
    pub(super) fn seconds(&self, key: &str, usual: f64) -> Result<Duration, Failure> {
        let Some(text) = self.value(key)? else {
            return Ok(Duration::from_secs_f64(usual));
        };
        let seconds = text.parse::<f64>().ok();
        let seconds = seconds.filter(|seconds| (0.001..=MOST_SECONDS).contains(seconds));
        seconds.map(Duration::from_secs_f64).ok_or_else(|| {
            Failure::usage(format!(
                "`{key}` must be a number of seconds above 0, such as 30 or 0.5"
            ))
        })
    }

    /// Returns the ways to give a setting, as a part of a message.
    pub(super) fn words(&self, key: &str) -> String {
        let file = self.config.path().map(|file| file.display());
        let file = file.map_or_else(String::new, |file| {
            format!(", or write `{key}` into {file}")
        });
        format!("give --{key}, set {}{file}", self.variable_name(key))
    }

    /// Returns the base URL.
    pub(super) fn url(&self) -> Result<String, Failure> {
        if let Some(url) = self.value("url")? {
            return Ok(url);
        }
        let mut servers = self.description.servers.iter();
        let absolute = servers.find(|url| url.contains("://"));
        absolute.cloned().ok_or_else(|| {
            let sources = self.words("url");
            Failure::usage(format!("the contract names no host to call: {sources}"))
        })
    }

    /// Returns the scheme, host and port of the base URL, which have no secret. `None` if it is no
    /// URL.
    pub(super) fn origin(&self) -> Result<Option<String>, Failure> {
        let url = Url::parse(&self.url()?).ok();
        Ok(url.map(|url| url.origin().ascii_serialization()))
    }
}

/// Returns what the configuration file of an API may have.
fn known(description: &Description) -> Known {
    let schemes = 0..description.schemes.len();
    let secrets: Vec<String> = schemes.map(|at| scheme_name(description, at)).collect();
    let files = secrets.iter().map(|name| format!("{name}-file"));
    let operations = description.operations.iter();
    let inputs = operations.flat_map(|operation| &operation.parameters);
    let context = inputs
        .filter(|input| input.context)
        .map(|input| input.flag.clone());
    let mut settings: Vec<String> = KEYS.map(str::to_owned).into();
    settings.extend(files.chain(context));
    settings.sort_unstable();
    settings.dedup();
    Known { settings, secrets }
}

/// Returns the variable of a setting: `STRATUS_PROJECT_ID` for `project-id`.
fn variable_name(program: &Program, key: &str) -> String {
    let name = format!("{}_{key}", program.name);
    name.to_uppercase().replace('-', "_")
}

/// Returns a variable of the environment. An empty one is as good as none.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(Failure::usage(format!(
            "the variable {name} is not text in UTF-8"
        ))),
    }
}
