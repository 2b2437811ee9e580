//! `auth`: keeps credentials for later calls, and shows where those of a call come from.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command};

use super::builtin;
use super::description::{Description, SchemeKind};
use super::failure::Failure;
use super::kept;
use super::secrets;
use super::sources::Sources;
use crate::client::Secret;

/// Returns the schemes that have a credential which can be typed.
fn schemes(description: &Description) -> impl Iterator<Item = usize> {
    let schemes = description.schemes.iter().enumerate();
    schemes
        .filter(|(_, scheme)| scheme.kind != SchemeKind::Certificate)
        .map(|(at, _)| at)
}

/// Returns the name of the command: the API may have an `auth` of its own.
pub(super) fn name(description: &Description) -> &'static str {
    builtin::free_name(description, "auth", "program-auth")
}

/// Returns the command, unless there is nothing to keep.
pub(super) fn command(description: &Description) -> Option<Command> {
    let names = schemes(description).map(|at| super::credentials::scheme_name(description, at));
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        return None;
    }
    let scheme = Arg::new("scheme")
        .value_name("SCHEME")
        .required(names.len() > 1)
        .value_parser(PossibleValuesParser::new(names))
        .help("What the credential is for, as the contract names it");
    let mut login = Command::new("login")
        .about("Keep a credential for later calls of this API")
        .long_about(
            "Keep a credential for later calls of this API.\n\nIt is asked for without showing what you type, or read from the file of its flag, in which `-` is the standard input. It is kept for the host of --url, and for the profile if one is chosen. The API is not called: whether it accepts the credential shows with the first call.",
        )
        .arg(scheme.clone());
    if kept::HAS_KEYRING {
        login = login.arg(
            Arg::new("in-file")
                .long("in-file")
                .action(ArgAction::SetTrue)
                .help("Keep it in a file that only you can read, not in the keyring of the system"),
        );
    }
    let status = Command::new("status")
        .about("Show where the credentials of calls come from, and not what they are");
    let logout = Command::new("logout")
        .about("Remove a credential that `login` has kept")
        .arg(scheme);
    let command = Command::new(name(description))
        .about("Keep credentials, and show where they come from")
        .subcommand_required(true)
        .arg_required_else_help(true);
    Some(command.subcommands([login, status, logout]))
}

/// Returns what keeps the credential of a scheme.
pub(super) fn login_command(sources: &Sources<'_>, at: usize) -> String {
    let program = sources.program.name;
    let auth = name(sources.description);
    if schemes(sources.description).count() == 1 {
        return format!("{program} {auth} login");
    }
    format!("{program} {auth} login {}", sources.scheme_name(at))
}

/// Runs a command of `auth`.
pub(super) fn run(command: &str, sources: &Sources<'_>) -> Result<(), Failure> {
    if sources.has("dry-run") {
        let problem = "--dry-run shows the request of a call, and this command makes none";
        return Err(Failure::usage(problem));
    }
    match command {
        "login" => login(sources),
        "status" => status(sources),
        _ => logout(sources),
    }
}

fn login(sources: &Sources<'_>) -> Result<(), Failure> {
    let at = chosen(sources)?;
    let name = sources.scheme_name(at);
    let account = account(sources, at)?;
    let secret = match sources.flag(&format!("{name}-file")) {
        Some(path) => secrets::from_file(path, &format!("the credential `{name}`"))?,
        None => ask(sources, at, &account.origin)?,
    };
    let place = kept::keep(&account, secret.expose(), sources.has("in-file"))?;
    let mut said = format!(
        "The credential for {} is kept in {place}.\n",
        account.origin
    );
    if let Some(found) = sources.set_for_all(at)? {
        let _ = writeln!(
            said,
            "Calls use another one as long as it is set: it is {found}."
        );
    }
    print(&said)
}

/// Shows where credentials come from. Fails if there is none.
fn status(sources: &Sources<'_>) -> Result<(), Failure> {
    // Without what else a URL may have, such as a password.
    let mut said = format!("{}\n", sources.origin()?.unwrap_or_default());
    let mut is_any = false;
    for at in schemes(sources.description) {
        let name = sources.scheme_name(at);
        let place = match sources.found(at)? {
            Some(found) => {
                is_any = true;
                found.to_string()
            }
            None => format!("none; run `{}`", login_command(sources, at)),
        };
        let _ = writeln!(said, "  {name}: {place}");
    }
    print(&said)?;
    if is_any {
        return Ok(());
    }
    Err(Failure::other("there is no credential"))
}

fn logout(sources: &Sources<'_>) -> Result<(), Failure> {
    let account = account(sources, chosen(sources)?)?;
    let origin = &account.origin;
    if kept::forget(&account)? {
        return print(&format!("The credential for {origin} is removed.\n"));
    }
    print(&format!("No credential is kept for {origin}.\n"))
}

/// Returns the scheme that is named, or else the only one.
fn chosen(sources: &Sources<'_>) -> Result<usize, Failure> {
    let named = sources.flag("scheme");
    schemes(sources.description)
        .find(|at| named.is_none_or(|name| *name == sources.scheme_name(*at)))
        .ok_or_else(|| Failure::usage("there is no such scheme"))
}

fn account(sources: &Sources<'_>, at: usize) -> Result<kept::Account, Failure> {
    let account = sources.account(at)?;
    account.ok_or_else(|| Failure::usage("--url must be a URL, such as https://api.example.com"))
}

/// Asks for a credential on the terminal.
fn ask(sources: &Sources<'_>, at: usize, origin: &str) -> Result<Secret, Failure> {
    let name = sources.scheme_name(at);
    let form = match sources.description.schemes[at].kind {
        SchemeKind::Basic => " as USER:PASSWORD",
        _ => "",
    };
    let asked = secrets::ask(&format!("{name} for {origin}{form}"))?;
    let asked = asked.ok_or_else(|| {
        Failure::usage(format!(
            "nobody can be asked for the credential: give --{name}-file FILE (`-` is the standard input)"
        ))
    })?;
    if asked.expose().is_empty() {
        return Err(Failure::usage("the credential is empty"));
    }
    Ok(asked)
}

fn print(text: &str) -> Result<(), Failure> {
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(|error| Failure::output(&error))
}
