//! The programs that upgrade a cluster. They run as the user of its servers, since they run what its owner
//! has put into the database.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;

use super::super::files::{failed, replace};
use super::super::folder::Database;
use super::super::member::{DATA, SOCKET};
use super::super::{Inner, replication, server};
use super::{UPGRADED, WORK};
use crate::provision::{ProvisionError, line};

/// How much of the output of a program is kept, in bytes: its end, which says what is wrong.
const KEPT: usize = 8 << 10;
/// The settings of the servers that `pg_upgrade` starts, beside its own: the rules by which the service
/// connects, and no standby that a commit would wait for. A path of a server is relative to where it is
/// started.
const OPTIONS: &str = "-c hba_file=../../pg_hba.conf -c synchronous_standby_names=";
/// The exit code of the script below if the user cannot get a name.
const NAMELESS: i32 = 77;
/// Runs a program as a user that has a name in the mounts of the program alone. `pg_upgrade` looks it up,
/// and the user of a database has none. The folder of the sockets is a descriptor, since the path of a
/// socket has 107 bytes at most, and PostgreSQL has no other name for it that both servers understand.
const AS_USER: &str = "exec 2>&1 9<.; passwd=$1 user=$2; shift 2
    exec unshare --mount sh -euc 'mount --bind \"$1\" /etc/passwd || exit 77; user=$2; shift 2
        exec setpriv --reuid \"$user\" --regid \"$user\" --clear-groups --no-new-privs -- \"$@\"' \
        sh \"$passwd\" \"$user\" \"$@\"";
/// Runs a program as the user of this process.
const AS_ITSELF: &str = "exec 2>&1 9<.; exec \"$@\"";
/// Keeps what the owner has set by `ALTER SYSTEM`, if the new version knows all of it.
const KEEP_SETTINGS: &str = "cp ../data/postgresql.auto.conf ../upgraded/postgresql.auto.conf
    \"$1\" -D ../upgraded -C port && exit; : > ../upgraded/postgresql.auto.conf; exit 3";
/// Writes what `pg_upgrade` has found that cannot be upgraded.
const FINDINGS: &str = "cat ../upgraded/pg_upgrade_output.d/*/*.txt";

/// Runs `pg_upgrade` for a database whose new cluster is made.
///
/// # Errors
///
/// If it fails, with what it says.
pub(super) async fn pg_upgrade(
    inner: &Inner,
    database: &Database,
    to: &str,
    more: &[&str],
) -> Result<(), ProvisionError> {
    let (member, from) = (database.record.primary, &database.record.shape.version);
    let program = inner.program(to, "pg_upgrade")?;
    let folders = (inner.folder_of(from)?, inner.folder_of(to)?);
    let mut command = named(database)?;
    command
        .arg(program)
        .arg("--old-bindir")
        .arg(folders.0)
        .arg("--new-bindir")
        .arg(folders.1)
        .arg("--old-datadir")
        .arg(member.path(&database.locked, DATA))
        .arg("--new-datadir")
        .arg(member.path(&database.locked, UPGRADED))
        .args(["--username", "postgres", "--socketdir", "/proc/self/fd/9"])
        .args(["--old-options", OPTIONS, "--new-options", OPTIONS])
        .args(more);
    let (code, said) = run(inner, database, command, "pg_upgrade").await?;
    if code == Some(0) {
        return Ok(());
    }
    if code == Some(NAMELESS) || said.starts_with("unshare: ") {
        let wrong = "pg_upgrade needs a user with a name, which the user of a database has only in a mount namespace: run the \
                     service as root with `unshare`, `mount` and `setpriv` of util-linux, and the right CAP_SYS_ADMIN";
        return Err(ProvisionError::Failed(wrong.to_owned()));
    }
    let findings = async {
        let mut cat = server::tool("sh");
        cat.args(["-c", FINDINGS]);
        server::as_user(&mut cat, database.user());
        run(inner, database, cat, "sh").await
    };
    let findings = findings.await.map(|(_, said)| said).unwrap_or_default();
    let (reason, findings) = (cut(&reason(&said), 300), cut(findings.trim(), 150));
    let text = format!("pg_upgrade cannot upgrade it: {reason} {findings}");
    Err(ProvisionError::Failed(line(text.trim())))
}

/// Gives the new cluster what the owner has set by `ALTER SYSTEM`, if the new version knows all of it.
pub(super) async fn keep_settings(
    inner: &Inner,
    database: &Database,
    to: &str,
) -> Result<(), ProvisionError> {
    let mut sh = server::tool("sh");
    sh.args(["-euc", KEEP_SETTINGS, "sh"])
        .arg(inner.program(to, "postgres")?);
    server::as_user(&mut sh, database.user());
    match run(inner, database, sh, "sh").await? {
        (Some(0), _) => Ok(()),
        (Some(3), said) => {
            tracing::warn!(
                database = database.locked.id(),
                "what its owner has set by ALTER SYSTEM is not kept, since version {to} refuses it: {}",
                line(&said)
            );
            Ok(())
        }
        (_, said) => Err(ProvisionError::Failed(format!(
            "the settings cannot be copied: {}",
            line(&said)
        ))),
    }
}

/// Makes the statistics by which the server of a database plans its queries, which an upgrade leaves out
/// as a whole or in part.
pub(in super::super) async fn analyze(
    inner: &Inner,
    database: Database,
) -> Result<(), ProvisionError> {
    /// Functions of the owner may take any time.
    const PATIENCE: Duration = Duration::from_mins(15);
    let version = &database.record.shape.version;
    let stages: &[&[&str]] = if version == "18" {
        &[
            &["--analyze-in-stages", "--missing-stats-only"],
            &["--analyze-only"],
        ]
    } else {
        &[&["--analyze-in-stages"]]
    };
    let program = inner.program(version, "vacuumdb")?;
    let socket = database.record.primary.path(&database.locked, SOCKET);
    let user = database.user();
    // Without the lock: other steps need not wait for it.
    drop(database);
    for stage in stages {
        let mut vacuumdb = server::tool(&program.to_string_lossy());
        vacuumdb
            .args(["--all", "--quiet", "--username", "postgres"])
            .args(["--host", "/proc/self/cwd"])
            .args(*stage)
            .current_dir(&socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        server::as_user(&mut vacuumdb, user);
        let (code, said) = wait(vacuumdb, "vacuumdb", PATIENCE).await?;
        if code != Some(0) {
            return Err(ProvisionError::Failed(format!(
                "vacuumdb failed: {}",
                line(&said)
            )));
        }
    }
    Ok(())
}

/// Returns a command that runs the program that is added to it as the user of a database, which has a name.
fn named(database: &Database) -> Result<Command, ProvisionError> {
    let mut command = server::tool("sh");
    let Some((user, _)) = database.user() else {
        command.args(["-euc", AS_ITSELF, "sh"]);
        return Ok(command);
    };
    let passwd = database.locked.path("passwd");
    let names = format!(
        "root:x:0:0:root:/root:/bin/sh\nstratus-{user}:x:{user}:{user}::/nonexistent:/bin/false\n"
    );
    replace(&passwd, names.as_bytes(), database.user())?;
    command
        .args(["-euc", AS_USER, "sh"])
        .arg(&passwd)
        .arg(user.to_string());
    Ok(command)
}

/// Runs a command in the folder of an upgrade. It holds the lock for as long as it runs, also if this
/// process is killed. Returns its exit code and the end of its output.
async fn run(
    inner: &Inner,
    database: &Database,
    mut command: Command,
    name: &str,
) -> Result<(Option<i32>, String), ProvisionError> {
    let work = database.record.primary.path(&database.locked, WORK);
    command
        .env("LC_ALL", "C.UTF-8")
        .current_dir(work)
        .stdin(database.locked.inherited()?)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    // Its owner can stop the programs.
    let most = replication::copy_time(inner.storage(&database.record));
    wait(command, name, most).await
}

/// Runs a command for at most a time. Returns its exit code and the end of its output.
async fn wait(
    mut command: Command,
    name: &str,
    most: Duration,
) -> Result<(Option<i32>, String), ProvisionError> {
    let io = |error| failed(name, &error);
    let mut child = command.spawn().map_err(io)?;
    let output = child.stdout.take();
    let errors = child.stderr.take();
    let ended = async {
        let mut said = Vec::new();
        if let Some(output) = output {
            said = end(output).await?;
        }
        if let Some(errors) = errors {
            said = end(errors).await?;
        }
        Ok::<_, std::io::Error>((child.wait().await?.code(), said))
    };
    let late = |_| ProvisionError::Failed(format!("{name} does not end in time"));
    let (code, said) = timeout(most, ended).await.map_err(late)?.map_err(io)?;
    Ok((code, String::from_utf8_lossy(&said).into_owned()))
}

/// Reads a stream, and returns its last bytes, [`KEPT`] of them at most.
async fn end(mut stream: impl AsyncRead + Unpin) -> std::io::Result<Vec<u8>> {
    let (mut kept, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut bytes).await? {
            0 => return Ok(kept),
            read => kept.extend_from_slice(&bytes[..read]),
        }
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }
}

/// Returns what `pg_upgrade` says of why it has failed: what follows the check that has failed.
fn reason(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let is_failed = |line: &str| line.ends_with("fatal") || line.contains("*failure*");
    let from = lines.iter().rposition(|line| is_failed(line));
    let from = from.unwrap_or(lines.len().saturating_sub(10));
    // The file that it names is removed with the new cluster.
    let is_told =
        |line: &&&str| !line.contains("pg_upgrade_output.d") && **line != "Failure, exiting";
    let words = lines[from..].iter().filter(is_told);
    let words: Vec<&str> = words.flat_map(|line| line.split_whitespace()).collect();
    words.join(" ")
}

/// Returns the first characters of a text.
fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
