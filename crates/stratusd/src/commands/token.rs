//! `stratusd token`: who may call the API.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use jiff::Timestamp;
use stratusd::domain::id::Kind;
use stratusd::domain::token::Presented;
use stratusd::issue::{Issue, Issued, Revoke, find_project, tokens};
use stratusd::settings::{Lifetime, SettingsFile, StoreGiven};
use stratusd::storage::Aborted;
use stratusd::world::World;

/// Issue, list and revoke access tokens
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Issue(IssueArguments),
    List(ListArguments),
    Revoke(RevokeArguments),
}

/// Issue a token and show it, this once
#[derive(Debug, clap::Args)]
pub struct IssueArguments {
    /// The project, by name or id.
    #[arg(long)]
    project: String,
    /// Refuse changes to whoever has the token.
    #[arg(long)]
    read_only: bool,
    /// The time until it expires, such as `12h` or `90d`; never unless given.
    #[arg(long, value_name = "DURATION", conflicts_with = "expires_at")]
    expires_in: Option<Lifetime>,
    /// The moment when it expires, as RFC 3339 writes it.
    #[arg(long, value_name = "TIME")]
    expires_at: Option<Timestamp>,
    /// What it is for.
    #[arg(long, default_value = "", value_parser = description)]
    description: String,
    #[command(flatten)]
    store: StoreGiven,
}

/// List the tokens of a project; what is secret of them is not known any more
#[derive(Debug, clap::Args)]
pub struct ListArguments {
    /// The project, by name or id.
    #[arg(long)]
    project: String,
    #[command(flatten)]
    store: StoreGiven,
}

/// Stop a token; it may still pass for a second
#[derive(Debug, clap::Args)]
pub struct RevokeArguments {
    /// The token's id, as `stratusd token list` shows it, or the whole token.
    #[arg(value_name = "ID")]
    token: String,
    #[command(flatten)]
    store: StoreGiven,
}

/// A text for one line of a list.
fn description(text: &str) -> Result<String, &'static str> {
    if text.chars().any(char::is_control) {
        Err("it must have no control characters")
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
    let settings = arguments.store.settle(matches, file)?;
    let world = World::real();
    let expires_at = match (arguments.expires_in, arguments.expires_at) {
        (Some(time), _) => Some(world.now().saturating_add(time.as_millis())),
        (None, Some(moment)) => Some(moment.as_millisecond()),
        (None, None) => None,
    };
    if expires_at.is_some_and(|end| end <= world.now()) {
        bail!("the token would have expired already");
    }
    let Issued { token, id } = super::block_on(async {
        let store = super::open(&settings).await?;
        let project = find_project(&store, &arguments.project).await?;
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
        issued
    })?;
    let said = super::say(token);
    // The id is for whoever has the token, and for whoever must revoke one that nobody has read.
    let _ = writeln!(
        io::stderr(),
        "This is the only time that the token is shown. Its id is {id}."
    );
    said
}

fn list(arguments: &ListArguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.settle(matches, file)?;
    let tokens = super::block_on(async {
        let store = super::open(&settings).await?;
        let project = find_project(&store, &arguments.project).await?;
        let tokens = tokens(&store, &project)
            .await
            .context("failed to read the tokens");
        store.close().await;
        tokens
    })?;
    let now = World::real().now();
    for token in tokens {
        let access = if token.read_only { "read-only" } else { "full" };
        let status = match (token.revoked_at, token.expires_at) {
            (Some(at), _) => format!("revoked {}", moment(at)),
            (None, Some(at)) if at <= now => format!("expired {}", moment(at)),
            (None, Some(at)) => format!("expires {}", moment(at)),
            (None, None) => "good".to_owned(),
        };
        let line = format!(
            "{}  {access}  issued {}  {status}  {}",
            token.id,
            moment(token.created_at),
            token.description
        );
        super::say(line.trim_end())?;
    }
    Ok(())
}

fn revoke(arguments: &RevokeArguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.settle(matches, file)?;
    let token = &arguments.token;
    // Whoever has found a token need not look for its id. What is neither may hold a secret, so it is not repeated.
    let id = Presented::parse(token).map_or(token.as_str(), |presented| presented.id());
    if !Kind::Token.is_id(id) {
        bail!("this is neither the id of a token, as `stratusd token list` shows it, nor a token");
    }
    let revoke = Revoke {
        id: id.to_owned(),
        world: World::real(),
    };
    let was_good = super::block_on(async {
        let store = super::open(&settings).await?;
        let was_good = store
            .change(revoke)
            .await
            .map_err(Aborted::failure)
            .context("failed to revoke the token");
        store.close().await;
        was_good
    })?;
    if !was_good {
        bail!("there is no token with the id {id} that is not revoked already");
    }
    super::say(format_args!("revoked {id}"))
}

/// Milliseconds since 1970, to the second.
fn moment(millis: i64) -> String {
    Timestamp::from_second(millis / 1000)
        .map_or_else(|_| "at no time".to_owned(), |moment| moment.to_string())
}
