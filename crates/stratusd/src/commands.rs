//! The commands: arguments in, one call, words out.

mod apply;
mod config;
mod key;
mod serve;
mod token;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Args, CommandFactory, Parser, Subcommand};
use stratusd::seal::Sealer;
use stratusd::settings::{KeySettings, KeySource, SettingsFile, StoreSettings};
use stratusd::storage::{Store, StoreConfig};
use stratusd::world::World;

/// How long a statement of the operator's may take: an inventory may be large, and another one be applied at the moment.
const PATIENCE: Duration = Duration::from_hours(1);

/// Stratus: cloud resources of projects, served from one contract
///
/// Settings come from flags, then from environment variables, then from the file that --config names, then from
/// defaults.
#[derive(Debug, Parser)]
#[command(name = "stratusd", version, disable_help_subcommand = true)]
pub struct Arguments {
    /// A file with settings in TOML: the long flags with underscores for hyphens.
    #[arg(
        long,
        global = true,
        env = "STRATUS_CONFIG",
        hide_env_values = true,
        value_name = "FILE"
    )]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Apply(apply::Arguments),
    #[command(subcommand)]
    Token(token::Command),
    Config(config::Arguments),
    #[command(subcommand)]
    Key(key::Command),
    Schema(Schema),
}

/// Print the JSON Schema of inventories, for editors
#[derive(Debug, Args)]
struct Schema {}

/// Runs a command.
pub fn run(arguments: &Arguments, matches: &ArgMatches) -> Result<()> {
    let file = SettingsFile::read(arguments.config.as_deref())?;
    let (_, matches) = matches.subcommand().context("there is a command")?;
    match &arguments.command {
        Command::Serve(arguments) => serve::run(arguments, matches, &file),
        Command::Apply(arguments) => apply::run(arguments, matches, &file),
        Command::Token(command) => token::run(command, innermost(matches), &file),
        Command::Config(arguments) => config::run(arguments, matches, &file),
        Command::Key(command) => key::run(command, innermost(matches), &file),
        Command::Schema(_) => say(format_args!(
            "{:#}",
            stratusd::inventory::Inventory::schema()
        )),
    }
}

/// Names the environment variable in an error about its value: the parser of the command line names the flag, which
/// nobody gave.
pub fn name_variable(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let flag = named.split(' ').next().unwrap_or_default().to_owned();
    let is_flag = |given: OsString| given.to_string_lossy().split('=').next() == Some(&flag);
    let variable = flag
        .strip_prefix("--")
        .and_then(|long| variable_of(&Arguments::command(), long));
    if let Some(variable) = variable.filter(|_| !std::env::args_os().any(is_flag)) {
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    error
}

/// The variable that gives the same as a flag, in whichever command that is.
fn variable_of(command: &clap::Command, long: &str) -> Option<String> {
    let own = command
        .get_arguments()
        .find(|argument| argument.get_long() == Some(long));
    let own = own.and_then(|argument| Some(argument.get_env()?.to_str()?.to_owned()));
    own.or_else(|| {
        command
            .get_subcommands()
            .find_map(|inner| variable_of(inner, long))
    })
}

fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| inner)
}

/// Standard output has no reader any more.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads standard output any more")]
pub struct Unread;

/// Writes a line to standard output.
///
/// # Errors
///
/// [`Unread`] if it has no reader any more, which is the end and no failure; else why it cannot be written.
fn say(line: impl Display) -> Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Unread.into()),
        said => said.context("failed to write to standard output"),
    }
}

/// A run time for a command that only talks to the store.
fn block_on<T>(task: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime.context("failed to start")?.block_on(task)
}

async fn open(settings: &StoreSettings) -> Result<Store> {
    let database = settings.database_url.database()?;
    // A command asks one thing after the other.
    let config = StoreConfig {
        database,
        connections: 1,
        patience: PATIENCE,
        world: World::real(),
    };
    Store::open(&config)
        .await
        .context("failed to open the database")
}

/// The sealer that the settings give keys for.
fn sealer(settings: &KeySettings) -> Result<Sealer> {
    let text = match settings.source()? {
        Some(KeySource::Text(keys)) => keys.expose().to_owned().into(),
        Some(KeySource::File(path))
            if path
                .to_str()
                .is_some_and(|text| Sealer::parse(text).is_ok()) =>
        {
            anyhow::bail!(
                "encryption_keys_file is a key itself: it must name a file that holds keys"
            )
        }
        Some(KeySource::File(path)) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("failed to read {}", path.display()))?;
            zeroize::Zeroizing::new(text)
        }
        None => anyhow::bail!(
            "there are no keys to seal passwords with: make one with `stratusd key generate`, and name its file by \
             --encryption-keys-file"
        ),
    };
    Sealer::parse(&text).context("failed to read the keys that seal passwords")
}
