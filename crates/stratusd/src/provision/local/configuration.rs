//! The settings of a database that change while its servers run. Each server includes the file.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use super::applied;
use super::folder::Database;
use crate::provision::ProvisionError;

/// The name of the file.
const FILE: &str = "service.conf";

/// Makes the settings of a new cluster include the file, and leaves out those that each server gets
/// on its command line: a server complains at every reload if the file has another value.
pub(super) fn include(path: &Path) -> io::Result<()> {
    let settings = fs::read_to_string(path)?;
    let is_kept =
        |line: &&str| !line.starts_with("max_connections") && !line.starts_with("shared_buffers");
    let mut kept: Vec<&str> = settings.lines().filter(is_kept).collect();
    kept.push("include_if_exists = '../../service.conf'\n");
    let mut file = File::options().write(true).truncate(true).open(path)?;
    file.write_all(kept.join("\n").as_bytes())?;
    file.sync_all()
}

/// Makes the servers of a database have the settings that its record asks for.
pub(super) fn apply(database: &Database) -> Result<(), ProvisionError> {
    applied::apply(database, FILE, &file(database))
}

fn file(database: &Database) -> String {
    let (record, mut file) = (&database.record, String::new());
    if record.is_full {
        file.push_str("default_transaction_read_only = on\n");
    }
    if record.shape.ha_type == "sync" && !record.standbys.is_empty() {
        let names: Vec<&str> = record.standbys.iter().map(|member| member.name()).collect();
        let names = names.join(", ");
        file += &format!("synchronous_standby_names = 'ANY 1 ({names})'\n");
    }
    file
}
