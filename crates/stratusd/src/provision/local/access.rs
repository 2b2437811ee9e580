//! Who may connect to a database: the file `pg_hba.conf` of its server.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::files::User;
use super::folder::Database;
use super::member::DATA;
use super::{applied, server, session};
use crate::provision::ProvisionError;

/// The name of the file.
const FILE: &str = "pg_hba.conf";

/// The rules by which the service and the standbys connect.
const LOCAL: &str = "local all postgres trust\nlocal replication postgres trust\n";

/// Lets exactly these networks connect, over TLS and with a password, and ends the sessions of
/// others.
pub(super) async fn restrict(
    database: &Database,
    networks: &[String],
) -> Result<(), ProvisionError> {
    applied::apply(database, FILE, &rules(networks))?;
    // A server that is down has no sessions, and reads the rules when it starts. It must not fail this
    // step, since a restart or a resize, which come after it, may start it.
    let primary = database.record.primary;
    if server::pid(&primary.path(&database.locked, DATA))?.is_none() {
        return Ok(());
    }
    // At each look, because a session may have begun by the rules before.
    let session = session::connect(database, primary).await?;
    session.end_others(networks).await
}

/// Writes the rules by which exactly these networks connect, for a server that is not started yet. `folder`
/// is that of its database.
pub(super) fn prepare(
    folder: &Path,
    reader: User,
    networks: &[String],
) -> Result<(), ProvisionError> {
    let file = rules(networks);
    if fs::read_to_string(folder.join(FILE)).is_ok_and(|there| there == file) {
        return Ok(());
    }
    applied::write(folder, reader, FILE, &file)
}

/// Writes rules that let nobody but the service connect, for a server that starts for the first
/// time.
pub(super) fn close(database: &Database) -> Result<(), ProvisionError> {
    applied::write(&database.locked.path(""), database.user(), FILE, LOCAL)
}

fn rules(networks: &[String]) -> String {
    let mut file = LOCAL.to_owned();
    for network in networks {
        let _ = writeln!(file, "hostssl all all {network} scram-sha-256");
    }
    file
}
