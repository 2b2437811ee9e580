//! The commands of the program: each parses its arguments, makes one call, and prints the result.

mod apply;
mod audit;
mod balance;
mod balancers;
#[cfg(feature = "provisioners")]
mod check_provisioner;
mod config;
mod databases;
mod key;
mod log;
mod network;
mod output;
#[cfg(feature = "provisioners")]
mod provision;
mod provisioner;
mod restore_database;
mod runtime;
mod sealer;
mod serve;
mod store;
mod token;
mod upgrade_database;
#[cfg(not(feature = "provisioners"))]
mod without_provisioners;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Args, CommandFactory, Parser, Subcommand};
use stratusd::settings::SettingsFile;

pub use output::OutputClosed;
use output::print;
#[cfg(not(feature = "provisioners"))]
use without_provisioners as provision;
#[cfg(not(feature = "provisioners"))]
use without_provisioners as check_provisioner;

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
#[expect(
    clippy::large_enum_variant,
    reason = "there is one, which is never moved"
)]
enum Command {
    Serve(serve::Arguments),
    Balance(balance::Arguments),
    Balancers(balancers::Arguments),
    Network(network::Arguments),
    Databases(databases::Arguments),
    Provisioner(provisioner::Arguments),
    Provision(provision::Arguments),
    CheckProvisioner(check_provisioner::Arguments),
    Apply(apply::Arguments),
    RestoreDatabase(restore_database::Arguments),
    UpgradeDatabase(upgrade_database::Arguments),
    #[command(subcommand)]
    Token(token::Command),
    Audit(audit::Arguments),
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
        Command::Balance(arguments) => balance::run(arguments, matches, &file),
        Command::Balancers(arguments) => balancers::run(arguments, matches, &file),
        Command::Databases(arguments) => databases::run(arguments, matches, &file),
        Command::Provisioner(arguments) => provisioner::run(arguments, matches, &file),
        Command::Provision(arguments) => provision::run(arguments, matches, &file),
        Command::CheckProvisioner(arguments) => check_provisioner::run(arguments, matches, &file),
        Command::Network(arguments) => network::run(arguments, matches, &file),
        Command::Apply(arguments) => apply::run(arguments, matches, &file),
        Command::RestoreDatabase(arguments) => restore_database::run(arguments),
        Command::UpgradeDatabase(arguments) => upgrade_database::run(arguments, matches, &file),
        Command::Token(command) => token::run(command, innermost(matches), &file),
        Command::Audit(arguments) => audit::run(arguments, matches, &file),
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
    // A flag takes precedence over the variable, so if it is given, its value is the wrong one.
    let is_flag = |given: OsString| given.to_string_lossy().split('=').next() == Some(&flag);
    let variable = flag
        .strip_prefix("--")
        .and_then(|long| lookup_variable(&Arguments::command(), long));
    if let Some(variable) = variable.filter(|_| !std::env::args_os().any(is_flag)) {
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    error
}

/// Returns the environment variable of the flag `--long` of a command or of one of its subcommands,
/// or `None` if there is none.
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
