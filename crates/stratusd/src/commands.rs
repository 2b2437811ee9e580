//! The commands of the program: each parses its arguments, makes one call, and prints the result.

mod apply;
mod config;
mod key;
mod serve;
mod token;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Args, CommandFactory, Parser, Subcommand};
use stratusd::seal::Sealer;
use stratusd::settings::{KeySettings, KeySource, SettingsFile, StoreSettings};
use stratusd::storage::{Store, StoreConfig};
use stratusd::world::World;
use zeroize::Zeroizing;

/// How long a statement of a command may take. Much longer than in the service: an inventory may be
/// large, and another `stratusd apply` may hold the lock.
const STATEMENT_TIMEOUT: Duration = Duration::from_hours(1);

/// Serve and operate the Stratus API
///
/// You can give each setting as a flag, as an environment variable, or in the file that --config
/// names. Flags take precedence over environment variables, and these over the file.
#[derive(Debug, Parser)]
#[command(name = "stratusd", version, disable_help_subcommand = true)]
pub struct Arguments {
    /// A TOML file with settings. Its keys are the names of the flags with underscores, such as
    /// `database_url`.
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

/// Print the JSON Schema of inventory files, for your editor
#[derive(Debug, Args)]
struct Schema {}

/// Runs the command that the arguments select.
pub fn run(arguments: &Arguments, matches: &ArgMatches) -> Result<()> {
    let file = SettingsFile::read(arguments.config.as_deref())?;
    let (_, matches) = matches.subcommand().context("there is a command")?;
    match &arguments.command {
        Command::Serve(arguments) => serve::run(arguments, matches, &file),
        Command::Apply(arguments) => apply::run(arguments, matches, &file),
        Command::Token(command) => token::run(command, innermost(matches), &file),
        Command::Config(arguments) => config::run(arguments, matches, &file),
        Command::Key(command) => key::run(command, innermost(matches), &file),
        Command::Schema(_) => print(format_args!(
            "{:#}",
            stratusd::inventory::Inventory::schema()
        )),
    }
}

/// Names the environment variable instead of the flag in an error about a value that came from the
/// variable.
///
/// clap always names the flag, which the operator has not used.
pub fn name_variable(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let flag = named.split(' ').next().unwrap_or_default().to_owned();
    let is_flag = |given: OsString| given.to_string_lossy().split('=').next() == Some(&flag);
    let variable = flag
        .strip_prefix("--")
        .and_then(|long| lookup_variable(&Arguments::command(), long));
    if let Some(variable) = variable.filter(|_| !std::env::args_os().any(is_flag)) {
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    error
}

/// Returns the environment variable of a flag of a command or of one of its subcommands.
fn lookup_variable(command: &clap::Command, long: &str) -> Option<String> {
    let own = command
        .get_arguments()
        .find(|argument| argument.get_long() == Some(long));
    let own = own.and_then(|argument| Some(argument.get_env()?.to_str()?.to_owned()));
    own.or_else(|| {
        command
            .get_subcommands()
            .find_map(|inner| lookup_variable(inner, long))
    })
}

fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| inner)
}

/// Standard output is closed, as in `stratusd config | head -1`. The program ends without an error.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub struct OutputClosed;

/// Writes a line to standard output.
///
/// # Errors
///
/// [`OutputClosed`] if standard output is closed; otherwise the reason why writing failed.
fn print(line: impl Display) -> Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        written => written.context("failed to write to standard output"),
    }
}

/// Runs a task of a command that only uses the database, on a runtime with one worker thread.
fn block_on<T>(task: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime
        .context("failed to start the runtime")?
        .block_on(task)
}

async fn open(settings: &StoreSettings) -> Result<Store> {
    let config = StoreConfig {
        database: settings.database_url.database()?,
        // Commands run one statement after the other.
        connections: 1,
        patience: STATEMENT_TIMEOUT,
        world: World::real(),
    };
    Store::open(&config)
        .await
        .context("failed to open the database")
}

/// Returns a sealer with the encryption keys that the settings name.
fn sealer(settings: &KeySettings) -> Result<Sealer> {
    let text = match settings.source()? {
        Some(KeySource::Text(keys)) => Zeroizing::new(keys.expose().to_owned()),
        Some(KeySource::File(path)) => read_keys(path)?,
        None => bail!(
            "no encryption keys are set: create a key with `stratusd key generate > FILE`, and pass \
             --encryption-keys-file FILE"
        ),
    };
    Sealer::parse(&text).context("failed to read the encryption keys")
}

fn read_keys(path: &Path) -> Result<Zeroizing<String>> {
    // The error about a missing file would print the path, which here is a key.
    if path
        .to_str()
        .is_some_and(|text| Sealer::parse(text).is_ok())
    {
        bail!("encryption_keys_file is a key: set it to the path of a file with keys");
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("failed to read {}", path.display()))?;
    Ok(Zeroizing::new(text))
}
