//! `stratusd audit`: prints the audit trail.

use std::str::FromStr;

use anyhow::{Context, Result, bail};
use api_types::ProjectId;
use clap::{ArgMatches, ValueEnum};
use jiff::Timestamp;
use serde_json::json;
use stratusd::domain::audit::{OPERATOR, RECONCILER};
use stratusd::domain::id::Kind;
use stratusd::domain::token::Presented;
use stratusd::issue::find_project;
use stratusd::settings::{Lifetime, SettingsFile, StoreArguments};
use stratusd::storage::audit::{Entry, Filter, newest};
use stratusd::storage::{Store, clock};
use stratusd::world::World;

use super::output::print;
use super::store::{block_on, open};

/// Print the audit trail: who has changed what, when, and by which request
///
/// There is an entry for each change of what a project owns, for as long as `audit_retention` says.
/// The newest entry is printed last. All filters together select the entries.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only changes in this project: its name, or its id, even if the project has been removed.
    #[arg(long)]
    project: Option<String>,
    /// Only changes by this principal: the id of a token, `operator` or `reconciler`.
    #[arg(long)]
    principal: Option<String>,
    /// Only changes of the resource with this id.
    #[arg(long, value_name = "ID", value_parser = parse_resource)]
    resource: Option<String>,
    /// Only changes by this operation, such as `postgres_create`.
    #[arg(long)]
    operation: Option<String>,
    /// Only changes since a time in RFC 3339 format, or since a duration ago, such as `2h`.
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,
    /// Only changes before a time in RFC 3339 format, or before a duration ago.
    #[arg(long, value_name = "TIME")]
    until: Option<Moment>,
    /// The number of entries, at most 100000. The newest ones are printed.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// The format: a table, or one JSON object per line.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    store: StoreArguments,
}

/// How entries are printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// A time, or how long ago it was.
#[derive(Debug, Clone, Copy)]
enum Moment {
    At(Timestamp),
    Ago(Lifetime),
}

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(time) = text.parse() {
            return Ok(Self::At(time));
        }
        let ago = text.parse().map(Self::Ago);
        ago.map_err(
            |_| "must be a time such as 2026-01-31T09:00:00Z, or a duration such as 12h or 90d",
        )
    }
}

impl Moment {
    /// Returns the time in milliseconds since 1970.
    fn millis(self, now: i64) -> i64 {
        match self {
            Self::At(time) => time.as_millisecond(),
            Self::Ago(age) => now.saturating_sub(age.as_millis()),
        }
    }
}

/// Returns a principal as entries name it: the id of a token in place of the whole token.
///
/// Not a parser of clap, whose errors repeat the argument, which may be part of a token.
fn principal(text: &str) -> Result<String> {
    let id = Presented::parse(text).map_or(text, |presented| presented.id());
    if id != OPERATOR && id != RECONCILER && !Kind::Token.is_id(id) {
        bail!("--principal must be the id of a token, `operator` or `reconciler`");
    }
    Ok(id.to_owned())
}

fn parse_resource(text: &str) -> Result<String, &'static str> {
    match Kind::of_id(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("must be an id: the trail has no names"),
    }
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.store.resolve(matches, file)?;
    let principal = arguments.principal.as_deref().map(principal).transpose()?;
    let mut entries = block_on(async {
        let store = open(&settings).await?;
        let project = match &arguments.project {
            Some(reference) => Some(project(&store, reference).await?),
            None => None,
        };
        let now = now(&store)
            .await
            .context("failed to read the time of the database")?;
        let millis = |moment: Option<Moment>| moment.map(|moment| moment.millis(now));
        let filter = Filter {
            project,
            principal,
            operation: arguments.operation.clone(),
            resource: arguments.resource.clone(),
            since: millis(arguments.since).unwrap_or(i64::MIN),
            until: millis(arguments.until).unwrap_or(i64::MAX),
            limit: arguments.limit.into(),
        };
        let entries = read(&store, &filter)
            .await
            .context("failed to read the audit trail");
        store.close().await;
        entries
    })?;
    entries.reverse();
    match arguments.format {
        Format::Table => print_table(&entries),
        Format::Json => entries.iter().try_for_each(|entry| print(json(entry))),
    }
}

/// Returns the time of the database in milliseconds since 1970: entries have their time by its clock.
async fn now(store: &Store) -> Result<i64> {
    let mut reader = store.reader().await?;
    Ok(clock::now(&mut reader.connection(), &World::real()).await?)
}

async fn read(store: &Store, filter: &Filter) -> Result<Vec<Entry>> {
    let mut reader = store.reader().await?;
    Ok(newest(&mut reader.connection(), filter).await?)
}

/// Returns the id of a project. It is not looked up if it is given, since the project may have been
/// removed.
async fn project(store: &Store, reference: &str) -> Result<ProjectId> {
    match ProjectId::try_from(reference) {
        Ok(id) => Ok(id),
        Err(_) => Ok(find_project(store, reference).await?.id),
    }
}

/// Returns an entry as a line of JSON.
fn json(entry: &Entry) -> serde_json::Value {
    json!({
        "time": time(entry),
        "project": entry.project_id,
        "principal": entry.principal,
        "operation": entry.operation,
        "kind": kind(entry),
        "resource": entry.resource,
        "request_id": entry.request_id,
    })
}

/// Prints entries in columns, below their names.
fn print_table(entries: &[Entry]) -> Result<()> {
    let names = [
        "TIME",
        "PROJECT",
        "PRINCIPAL",
        "OPERATION",
        "KIND",
        "RESOURCE",
        "REQUEST",
    ];
    let rows = entries.iter().map(|entry| {
        [
            time(entry),
            entry.project_id.to_string(),
            entry.principal.clone(),
            entry.operation.clone(),
            kind(entry).to_owned(),
            entry.resource.clone(),
            entry.request_id.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    });
    let rows: Vec<_> = std::iter::once(names.map(str::to_owned))
        .chain(rows)
        .collect();
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].len())
            .max()
            .unwrap_or_default()
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    rows.iter().try_for_each(|row| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        print(cells.collect::<Vec<_>>().join("  ").trim_end())
    })
}

/// Returns the name of the kind of an entry's resource.
fn kind(entry: &Entry) -> &'static str {
    Kind::of_id(&entry.resource).map_or("-", Kind::name)
}

/// Formats the time of an entry in UTC.
fn time(entry: &Entry) -> String {
    Timestamp::from_millisecond(entry.at).map_or_else(
        |_| "an invalid time".to_owned(),
        |time| format!("{time:.3}"),
    )
}
