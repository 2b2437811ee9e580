//! Who may connect to a database: the file `pg_hba.conf` of its server.

use std::fmt::Write as _;
use std::fs;

use super::folder::{Database, failed, replace};
use super::{server, session};
use crate::provision::ProvisionError;

/// What the service itself and the standbys need.
const LOCAL: &str = "local all postgres trust\nlocal replication postgres trust\n";

/// Lets exactly these networks connect, over TLS and with a password, and ends the sessions of
/// others.
pub(super) async fn restrict(
    database: &Database,
    networks: &[String],
) -> Result<(), ProvisionError> {
    let file = rules(networks);
    // Written last, so that a service which is killed before the server has read the rules does all
    // of this again.
    let done = database.locked.path("pg_hba.done");
    if fs::read_to_string(&done).is_ok_and(|done| done == file) {
        return Ok(());
    }
    let path = database.locked.path("pg_hba.conf");
    replace(&path, file.as_bytes())?;
    server::reload(database)?;
    let session = session::connect(database, database.record.primary).await?;
    session.end_others(networks).await?;
    fs::write(done, file).map_err(|error| failed("pg_hba.done", &error))
}

/// Writes rules that let nobody but the service connect, for a server that starts for the first
/// time.
pub(super) fn close(database: &Database) -> Result<(), ProvisionError> {
    replace(&database.locked.path("pg_hba.conf"), LOCAL.as_bytes())
}

fn rules(networks: &[String]) -> String {
    let mut file = LOCAL.to_owned();
    for network in networks {
        let _ = writeln!(file, "hostssl all all {network} scram-sha-256");
    }
    file
}
