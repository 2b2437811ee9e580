//! Sends statements to a server, as its superuser over its Unix socket, which no other user can
//! reach.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use postgres_protocol::password::scram_sha_256;
use rustix::process::geteuid;
use thiserror::Error;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row};
use tokio_util::task::AbortOnDropHandle;

use super::address::PORT;
use super::bounded::Bounded;
use super::files::failed;
use super::folder::Database;
use super::member::{Member, SOCKET};
use crate::provision::{Password, ProvisionError};

/// How long a statement or a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a checkpoint or a promotion may take.
const LONG_PATIENCE: Duration = Duration::from_mins(1);

/// The number of bytes that the service reads in a session at most. The owner of a database can put
/// another program in place of its server.
const LONGEST_SESSION: u64 = 1 << 20;

/// A session of the service.
pub(super) struct Session {
    client: Client,
    /// Ends the connection with the session: a server that does not respond would keep it for ever.
    _connection: AbortOnDropHandle<Result<(), tokio_postgres::Error>>,
}

/// Returns whether a server accepts connections. One that refuses this one for another reason, such
/// as that it has too many, does.
pub(super) async fn is_ready(database: &Database, member: Member) -> bool {
    match open(database, member).await {
        Ok(_) => true,
        Err(ConnectError::Server(error)) => error
            .code()
            .is_some_and(|code| *code != SqlState::CANNOT_CONNECT_NOW),
        Err(ConnectError::Socket(_)) => false,
    }
}

/// Begins a session with a server of a database.
pub(super) async fn connect(
    database: &Database,
    member: Member,
) -> Result<Session, ProvisionError> {
    match open(database, member).await {
        Ok(session) => Ok(session),
        Err(ConnectError::Server(error)) => Err(refused(&error)),
        Err(ConnectError::Socket(error)) => Err(failed("the socket of the server", &error)),
    }
}

impl Session {
    /// Sets the password of the user `postgres`. The server gets only what it stores of a password,
    /// so that no log of it has more.
    pub(super) async fn set_password(&self, password: &Password) -> Result<(), ProvisionError> {
        let stored = scram_sha_256(password.expose().as_bytes());
        // Letters, digits and `$ : - + / =`.
        debug_assert!(!stored.contains(['\'', '\\']), "it needs no escapes");
        let statement = format!("ALTER ROLE postgres PASSWORD '{stored}'");
        self.query(PATIENCE, &statement, &[]).await.map(drop)
    }

    /// Ends the sessions of clients whose address is in none of the networks.
    pub(super) async fn end_others(&self, networks: &[String]) -> Result<(), ProvisionError> {
        let statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                         WHERE client_addr IS NOT NULL \
                         AND NOT client_addr <<= ANY ($1::text[]::inet[])";
        self.query(PATIENCE, statement, &[&networks])
            .await
            .map(drop)
    }

    /// Makes a replication slot, unless there is one of this name.
    pub(super) async fn make_slot(&self, name: &str) -> Result<(), ProvisionError> {
        // `true`: the log is kept from now on, and not only once the standby connects.
        let statement = "SELECT pg_create_physical_replication_slot($1, true) \
                         WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1)";
        self.query(PATIENCE, statement, &[&name]).await.map(drop)
    }

    /// Drops a replication slot, if there is one of this name. Waits until its standby, which has
    /// ended, does not use it any more.
    pub(super) async fn drop_slot(&self, name: &str) -> Result<(), ProvisionError> {
        let drop_unused = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots \
                           WHERE slot_name = $1 AND NOT active";
        let left = "SELECT FROM pg_replication_slots WHERE slot_name = $1";
        let begun = Instant::now();
        loop {
            self.query(PATIENCE, drop_unused, &[&name]).await?;
            if self.query(PATIENCE, left, &[&name]).await?.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(ProvisionError::Failed(
                    "a replication slot stays in use".to_owned(),
                ));
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the replication slots whose standbys need a part of the log that is gone.
    pub(super) async fn lost_slots(&self) -> Result<Vec<String>, ProvisionError> {
        let statement = "SELECT slot_name::text FROM pg_replication_slots \
                         WHERE wal_status = 'lost'";
        let rows = self.query(PATIENCE, statement, &[]).await?;
        rows.iter()
            .map(|row| first(std::slice::from_ref(row)))
            .collect()
    }

    /// Returns the replication slots that no standby reads now.
    pub(super) async fn unread_slots(&self) -> Result<Vec<String>, ProvisionError> {
        let statement = "SELECT slot_name::text FROM pg_replication_slots WHERE NOT active";
        let rows = self.query(PATIENCE, statement, &[]).await?;
        rows.iter()
            .map(|row| first(std::slice::from_ref(row)))
            .collect()
    }

    /// Returns whether the server waits with each commit for one of so many standbys.
    pub(super) async fn commits_wait(&self, standbys: usize) -> Result<bool, ProvisionError> {
        let statement = "SELECT count(*) FROM pg_stat_replication \
                         WHERE sync_state = 'quorum' AND state = 'streaming'";
        let count: i64 = first(&self.query(PATIENCE, statement, &[]).await?)?;
        Ok(usize::try_from(count).is_ok_and(|count| count >= standbys))
    }

    /// Returns whether the database has tablespaces, which are in folders elsewhere.
    pub(super) async fn has_tablespaces(&self) -> Result<bool, ProvisionError> {
        let statement = "SELECT count(*) > 2 FROM pg_tablespace";
        first(&self.query(PATIENCE, statement, &[]).await?)
    }

    /// Returns whether the session has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Begins a backup of the files, which ends with the session at the latest.
    pub(super) async fn begin_backup(&self) -> Result<(), ProvisionError> {
        // `true`: with a checkpoint at once, and not one that is spread over minutes.
        let statement = "SELECT pg_backup_start('stratus', true)::text";
        self.query(LONG_PATIENCE, statement, &[]).await.map(drop)
    }

    /// Ends a backup. Returns the content of the file `backup_label` that the copy needs.
    pub(super) async fn end_backup(&self) -> Result<String, ProvisionError> {
        // `false`: without waiting for the archive, since a standby reads the log from its primary.
        let statement = "SELECT labelfile FROM pg_backup_stop(false)";
        let rows = self.query(LONG_PATIENCE, statement, &[]).await?;
        first(&rows)
    }

    /// Ends a backup once all of the log that it needs is archived. Returns the content of the file
    /// `backup_label` that the copy needs, and the position in the log at which it ends.
    pub(super) async fn end_backup_archived(&self) -> Result<(String, i64), ProvisionError> {
        let statement = "SELECT labelfile, (lsn - '0/0')::bigint FROM pg_backup_stop(true)";
        let rows = self.query(LONG_PATIENCE, statement, &[]).await?;
        let ends = rows.first().and_then(|row| row.try_get(1).ok());
        Ok((first(&rows)?, ends.ok_or_else(unexpected)?))
    }

    /// Returns whether the server archives its log.
    pub(super) async fn archives(&self) -> Result<bool, ProvisionError> {
        let statement = "SELECT current_setting('archive_mode') <> 'off'";
        first(&self.query(PATIENCE, statement, &[]).await?)
    }

    /// Makes the server archive its log up to now. Returns the last part that has it.
    pub(super) async fn switch_log(&self) -> Result<String, ProvisionError> {
        // A transaction that has a number leaves its commit in the log. Recovery until a time ends at
        // the first later commit, and fails if there is none.
        self.query(PATIENCE, "SELECT pg_current_xact_id()::text", &[])
            .await?;
        let statement = "SELECT pg_walfile_name(pg_switch_wal())";
        first(&self.query(PATIENCE, statement, &[]).await?)
    }

    /// Returns the position up to which a standby has received the log.
    pub(super) async fn received(&self) -> Result<i64, ProvisionError> {
        // The first is null until it is connected to the primary: what it has is not known then. Then it is
        // the beginning of a part that it asks for again, of which it may have replayed more.
        let statement = "SELECT CASE WHEN pg_last_wal_receive_lsn() IS NOT NULL THEN \
                         (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0')::bigint END";
        first(&self.query(PATIENCE, statement, &[]).await?)
    }

    /// Returns whether a standby reads the log of a primary at the moment.
    pub(super) async fn is_receiving(&self) -> Result<bool, ProvisionError> {
        let statement = "SELECT count(*) > 0 FROM pg_stat_wal_receiver WHERE status = 'streaming'";
        first(&self.query(PATIENCE, statement, &[]).await?)
    }

    /// Makes a standby accept writes, unless it does already.
    pub(super) async fn promote(&self) -> Result<(), ProvisionError> {
        let statement = "SELECT CASE WHEN pg_is_in_recovery() THEN pg_promote(true, 30) \
                         ELSE true END";
        let rows = self.query(LONG_PATIENCE, statement, &[]).await?;
        if first(&rows)? {
            Ok(())
        } else {
            Err(ProvisionError::Failed(
                "the standby cannot be promoted".to_owned(),
            ))
        }
    }

    /// Returns the number of the timeline that a primary is on.
    pub(super) async fn timeline(&self) -> Result<u32, ProvisionError> {
        let statement = "SELECT pg_walfile_name(pg_current_wal_lsn())";
        let name: String = first(&self.query(PATIENCE, statement, &[]).await?)?;
        let digits = name.get(..8);
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number.ok_or_else(unexpected)
    }

    async fn query(
        &self,
        patience: Duration,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, ProvisionError> {
        let rows = async { self.client.query(statement, parameters).await };
        let rows = tokio::time::timeout(patience, rows).await;
        let late = |_| ProvisionError::Failed("the server does not answer in time".to_owned());
        rows.map_err(late)?.map_err(|error| refused(&error))
    }
}

/// Returns the first column of the first row.
fn first<'r, T: tokio_postgres::types::FromSql<'r>>(rows: &'r [Row]) -> Result<T, ProvisionError> {
    let value = rows.first().and_then(|row| row.try_get(0).ok());
    value.ok_or_else(unexpected)
}

fn unexpected() -> ProvisionError {
    ProvisionError::Failed("the server answers something else".to_owned())
}

/// Connects to a server, if the other side of its socket is a process of its user: the owner of a
/// database may put a link to the socket of another one there.
async fn open(database: &Database, member: Member) -> Result<Session, ConnectError> {
    let connected = async {
        let stream = stream(database, member).await?;
        let peer = stream.peer_cred()?.uid();
        let expected = database.record.user;
        if peer != expected.unwrap_or_else(|| geteuid().as_raw()) {
            return Err(io::Error::other("another process answers at its socket").into());
        }
        let (client, connection) = Config::new()
            .user("postgres")
            .dbname("postgres")
            // A database that is full is read-only for its owner, not for the service, no log has
            // what the service sends, names mean what PostgreSQL means by them, and no statement
            // waits for longer than the service does.
            .options(
                "-c default_transaction_read_only=off -c log_statement=none \
                 -c client_min_messages=warning -c search_path=pg_catalog \
                 -c statement_timeout=60s",
            )
            .connect_raw(Bounded::new(stream, LONGEST_SESSION), NoTls)
            .await?;
        Ok(Session {
            client,
            _connection: AbortOnDropHandle::new(tokio::spawn(connection)),
        })
    };
    match tokio::time::timeout(PATIENCE, connected).await {
        Ok(connected) => connected,
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
    }
}

async fn stream(database: &Database, member: Member) -> io::Result<UnixStream> {
    // Open while it is connected to: the path of a socket has 107 bytes at most, and that of the
    // folder may be longer, but this name of the folder is not.
    let folder = File::open(member.path(&database.locked, SOCKET))?;
    let descriptor = folder.as_raw_fd();
    UnixStream::connect(format!("/proc/self/fd/{descriptor}/.s.PGSQL.{PORT}")).await
}

/// Why there is no session with a server.
#[derive(Debug, Error)]
enum ConnectError {
    #[error(transparent)]
    Socket(#[from] io::Error),
    #[error(transparent)]
    Server(#[from] tokio_postgres::Error),
}

fn refused(error: &tokio_postgres::Error) -> ProvisionError {
    // The code alone where there is one: a message may repeat parts of a statement.
    let reason = match error.code() {
        Some(code) => format!("error {}", code.code()),
        None => "no connection".to_owned(),
    };
    ProvisionError::Failed(format!("the server refuses a statement: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixListener;
    use tokio::time::timeout;

    use super::super::files::private;
    use super::super::folder::{Folder, Record};
    use super::*;

    /// Returns a database whose server runs as the user of this process.
    fn database(folder: &Folder) -> Database {
        folder.make("pg1").expect("a folder can be created");
        let locked = folder.lock("pg1").expect("it can be locked");
        let record: Record = serde_json::from_value(json!({
            "version": "17", "vm_size": "hobby-1", "storage_size_gib": 16, "ha_type": "none",
            "address": "127.0.0.1", "user": null, "created_at": 0, "primary": "a", "standbys": [],
            "promoted": null, "timeline": 1, "commits_wait": false, "is_created": true,
            "restarts": 0, "is_full": false, "certificate_year": 2026,
        }))
        .expect("it is a record");
        let locked = locked.expect("nobody else locks it");
        Database { locked, record }
    }

    #[tokio::test]
    async fn a_connection_ends_with_its_session_even_if_no_response_comes() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let folder = Folder::open(folder.path()).expect("it can be used");
        let database = database(&folder);
        let socket = Member::A.path(&database.locked, SOCKET);
        private(&socket).expect("a folder can be created");
        let listener = UnixListener::bind(socket.join(format!(".s.PGSQL.{PORT}")));
        let listener = listener.expect("it can be listened on");
        let serve = async {
            let (mut stream, _) = listener.accept().await.expect("somebody connects");
            let mut buffer = [0; 1024];
            assert!(stream.read(&mut buffer).await.expect("it sends") > 0);
            // The user is known, and the session is ready.
            let greeting = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
            stream.write_all(greeting).await.expect("it reads");
            stream
        };
        let (session, mut stream) = tokio::join!(open(&database, Member::A), serve);
        let session = session.unwrap_or_else(|error| panic!("{error}"));
        let asked = timeout(Duration::from_millis(100), session.has_tablespaces()).await;
        assert!(asked.is_err(), "there is no response");
        drop(session);
        let mut received = Vec::new();
        let ended = timeout(PATIENCE, stream.read_to_end(&mut received)).await;
        ended.expect("the connection ends").expect("it is read");
    }
}
