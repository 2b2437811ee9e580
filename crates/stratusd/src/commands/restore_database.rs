//! `stratusd restore-database`: makes a data folder of PostgreSQL out of the backups of a database,
//! without the service.

use std::path::PathBuf;

use anyhow::{Context, Result};
use jiff::Timestamp;
use stratusd::provision::local::restore_files;
use stratusd::world::World;

use super::output::print;

/// Make a data folder of PostgreSQL out of the backups of a database, also if the database is lost
///
/// Works without the service and its store, and needs `tar` and `gzip`. It starts no server: start one with
/// the command that is printed, as the user that owns the folder.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The folder with the backups of the database: its id, in the folder of all backups.
    #[arg(value_name = "BACKUPS")]
    backups: PathBuf,
    /// The folder to create. It must not exist.
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
    /// The time to restore to, such as `2026-03-02T17:30:00Z`. By default, the end of the log.
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let into = std::path::absolute(&arguments.into).context("failed to name the folder")?;
    let until = arguments.until.map(Timestamp::as_microsecond);
    let now = World::real().now() / 1000;
    let version = restore_files(&arguments.backups, &into, until, now)?;
    let folder = into.display();
    print(format_args!(
        "made a data folder of PostgreSQL {version}; start its server, which reads the log, and connect to it:\n\n  \
         postgres -D '{folder}/data' -c unix_socket_directories='{folder}' -c listen_addresses=''\n  \
         psql -h '{folder}' -U postgres"
    ))
}
