//! `stratusd token`: issues, lists and revokes access tokens.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use jiff::Timestamp;
use stratusd::domain::id::Kind;
use stratusd::domain::token::Presented;
use stratusd::issue::{Issue, Issued, Revoke, find_project, tokens};
use stratusd::settings::{Lifetime, SettingsFile, StoreArguments};
use stratusd::storage::Aborted;
use stratusd::storage::token::Token;
use stratusd::world::World;

use super::output::print;
use super::store::{block_on, open};

/// Issue, list and revoke access tokens
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Issue(IssueArguments),
    List(ListArguments),
    Revoke(RevokeArguments),
}

/// Issue a token for a project and print it; it cannot be shown again
#[derive(Debug, clap::Args)]
pub struct IssueArguments {
    /// The name or id of the project.
    #[arg(long)]
    project: String,
    /// Allow only operations that read.
    #[arg(long)]
    read_only: bool,
    /// How long the token is valid, such as `12h` or `90d`. It does not expire if not set.
    #[arg(long, value_name = "DURATION", conflicts_with = "expires_at")]
    expires_in: Option<Lifetime>,
    /// The time when the token expires, in RFC 3339 format.
    #[arg(long, value_name = "TIME")]
    expires_at: Option<Timestamp>,
    /// A note for `stratusd token list`, such as what the token is for.
    #[arg(long, default_value = "", value_parser = parse_description)]
    description: String,
    #[command(flatten)]
    store: StoreArguments,
}

/// List the tokens of a project, without their secrets
#[derive(Debug, clap::Args)]
pub struct ListArguments {
    /// The name or id of the project.
    #[arg(long)]
    project: String,
    #[command(flatten)]
    store: StoreArguments,
}

/// Revoke a token; a running service may accept it for another second
#[derive(Debug, clap::Args)]
pub struct RevokeArguments {
    /// The id of the token, as `stratusd token list` prints it, or the token itself.
    #[arg(value_name = "ID")]
    token: String,
    #[command(flatten)]
    store: StoreArguments,
}

/// Parses a description, which must fit in a line of `stratusd token list`.
fn parse_description(text: &str) -> Result<String, &'static str> {
    if text.chars().any(char::is_control) {
        Err("must not contain control characters")
    } else {
        Ok(text.to_owned())
    }
}

pub fn run(command: &Command, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    match command {
        Command::Issue(arguments) => issue(arguments, matches, file),
        Command::List(arguments) => list(arguments, matches, file),
        Command::Revoke(arguments) => revoke(arguments, matches, file),
    }
}

fn issue(arguments: &IssueArguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.resolve(matches, file)?;
    let world = World::real();
    let expires_at = match (arguments.expires_in, arguments.expires_at) {
        (Some(lifetime), _) => Some(world.now().saturating_add(lifetime.as_millis())),
        (None, Some(time)) => Some(time.as_millisecond()),
        (None, None) => None,
    };
    if expires_at.is_some_and(|time| time <= world.now()) {
        bail!("the token would already have expired: give a time in the future");
    }
    let (project_id, Issued { token, id }) = block_on(async {
        let store = open(&settings).await?;
        let project = find_project(&store, &arguments.project).await?;
        let project_id = project.id.clone();
        let issue = Issue {
            project,
            read_only: arguments.read_only,
            expires_at,
            description: arguments.description.clone(),
            world,
        };
        let issued = store
            .change(issue)
            .await
            .map_err(Aborted::failure)
            .context("failed to issue a token");
        store.close().await;
        issued.map(|issued| (project_id, issued))
    })?;
    let printed = print(token);
    // Printed even if standard output is closed: the token exists, and its id is needed to revoke
    // it. Callers need the id of the project, of which the operator may know only the name.
    let _ = writeln!(
        io::stderr(),
        "Store the token now: it cannot be shown again. Its id is {id}, and that of its project is {project_id}."
    );
    printed
}

fn list(arguments: &ListArguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.resolve(matches, file)?;
    let tokens = block_on(async {
        let store = open(&settings).await?;
        let project = find_project(&store, &arguments.project).await?;
        let tokens = tokens(&store, &project)
            .await
            .context("failed to list the tokens");
        store.close().await;
        tokens
    })?;
    let now = World::real().now();
    tokens.iter().try_for_each(|token| print(line(token, now)))
}

/// Returns a token as a line of the list.
fn line(token: &Token, now: i64) -> String {
    let access = if token.read_only { "read-only" } else { "full" };
    let status = match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {}", format_time(at)),
        (None, Some(at)) if at <= now => format!("expired {}", format_time(at)),
        (None, Some(at)) => format!("expires {}", format_time(at)),
        (None, None) => "does not expire".to_owned(),
    };
    let line = format!(
        "{}  {access}  issued {}  {status}  {}",
        token.id,
        format_time(token.created_at),
        token.description
    );
    line.trim_end().to_owned()
}

fn revoke(arguments: &RevokeArguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.resolve(matches, file)?;
    let token = &arguments.token;
    // A token contains its id, so an operator who finds a leaked token need not look the id up.
    let id = Presented::parse(token).map_or(token.as_str(), |presented| presented.id());
    if !Kind::Token.is_id(id) {
        // The argument is not repeated: it may be part of a token.
        bail!(
            "the argument is not a token or the id of a token: run `stratusd token list` for the ids"
        );
    }
    let revoke = Revoke {
        id: id.to_owned(),
        world: World::real(),
    };
    let was_valid = block_on(async {
        let store = open(&settings).await?;
        let was_valid = store
            .change(revoke)
            .await
            .map_err(Aborted::failure)
            .context("failed to revoke the token");
        store.close().await;
        was_valid
    })?;
    if !was_valid {
        bail!("no token has the id {id}, or it is revoked already");
    }
    print(format_args!("revoked {id}"))
}

/// Formats a time in milliseconds since 1970, to the second.
fn format_time(millis: i64) -> String {
    Timestamp::from_second(millis / 1000)
        .map_or_else(|_| "at an invalid time".to_owned(), |time| time.to_string())
}
