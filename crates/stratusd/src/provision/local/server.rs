//! The server of a database: a process that outlives this one.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::folder::{Database, failed};
use super::{Inner, address, session, size};
use crate::provision::ProvisionError;

/// How long a step waits for a server that starts. One that recovers after a crash may take longer,
/// and the next step waits on.
const START: Duration = Duration::from_secs(60);
/// How long a server has to end its sessions in order, before it is stopped as if it had crashed.
const FAST_STOP: Duration = Duration::from_secs(30);
/// How often a server that starts or stops is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The size of the log, in bytes, at which it begins anew.
const LONGEST_LOG: u64 = 16 << 20;

impl Inner {
    /// Starts the server of a database unless it runs, and waits until it accepts connections.
    pub(super) async fn start(&self, database: &Database) -> Result<(), ProvisionError> {
        let begun = Instant::now();
        let mut child = match pid(&database.locked.path("data")) {
            Some(_) => None,
            None => Some(
                self.command(database)?
                    .spawn()
                    .map_err(|error| failed("postgres", &error))?,
            ),
        };
        while !session::is_ready(database).await {
            let ended = child
                .as_mut()
                .map(tokio::process::Child::try_wait)
                .transpose();
            if let Some(status) = ended.map_err(|error| failed("postgres", &error))?.flatten() {
                let said = last_line(&database.locked.path("log"));
                return Err(ProvisionError(format!(
                    "postgres ended with {status}: {said}"
                )));
            }
            if begun.elapsed() > START {
                return Err(ProvisionError(
                    "the server does not start in time".to_owned(),
                ));
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Returns the command that starts the server of a database. Options on the command line cannot
    /// be overridden by what its superuser sets.
    fn command(&self, database: &Database) -> Result<Command, ProvisionError> {
        let (record, locked) = (&database.record, &database.locked);
        let program = self.program(&record.shape.version, "postgres")?;
        let log = log(&locked.path("log")).map_err(|error| failed("the log", &error))?;
        let resources = size::resources(&record.shape.vm_size);
        let path = |name| locked.path(name).display().to_string();
        let mut settings = vec![
            ("listen_addresses", record.address.to_string()),
            ("port", address::PORT.to_string()),
            ("unix_socket_directories", path("socket")),
            ("hba_file", path("pg_hba.conf")),
            ("ssl", "on".to_owned()),
            ("ssl_cert_file", path("server.pem")),
            ("ssl_key_file", path("server.pem")),
            ("password_encryption", "scram-sha-256".to_owned()),
            ("shared_buffers", format!("{}MB", resources.shared_buffers)),
            ("max_connections", resources.connections.to_string()),
            // To the file that is opened here, and nowhere else.
            ("log_destination", "stderr".to_owned()),
            ("logging_collector", "off".to_owned()),
        ];
        if record.shape.version == "18" {
            // Its workers would take memory also of an idle server.
            settings.push(("io_method", "sync".to_owned()));
        }
        let mut command = Command::new(program);
        command.arg("-D").arg(locked.path("data"));
        for (name, value) in settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        command
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(|error| failed("the log", &error))?)
            .stderr(log)
            // Out of the terminal's group, whose Ctrl-C ends the service only.
            .process_group(0);
        let position = self.config.addresses.position(record.address);
        as_user(&mut command, self.config.owner.server(position));
        Ok(command)
    }

    /// Returns the path of a program of a version.
    ///
    /// # Errors
    ///
    /// If the version is not installed.
    pub(super) fn program(
        &self,
        version: &str,
        name: &str,
    ) -> Result<std::path::PathBuf, ProvisionError> {
        let program = self.config.binaries.program(version, name);
        program.ok_or_else(|| ProvisionError(format!("PostgreSQL {version} is not installed")))
    }
}

/// Makes a command run as a user, if that is another one.
pub(super) fn as_user(command: &mut Command, user: Option<(u32, u32)>) {
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
}

/// Stops the server of a database, if it runs. Its sessions end.
pub(super) async fn stop(database: &Database) -> Result<(), ProvisionError> {
    let data = database.locked.path("data");
    if ends(&data, Signal::INT, FAST_STOP).await? {
        return Ok(());
    }
    halt(&data).await
}

/// Stops the server of a data folder, if it runs, as if it had crashed.
pub(super) async fn halt(data: &Path) -> Result<(), ProvisionError> {
    if ends(data, Signal::QUIT, Duration::from_secs(10)).await? {
        return Ok(());
    }
    // Its children end with it.
    if ends(data, Signal::KILL, Duration::from_secs(5)).await? {
        return Ok(());
    }
    Err(ProvisionError("the server does not stop".to_owned()))
}

/// Sends a signal to a server, and returns whether it ends in time.
async fn ends(data: &Path, signal: Signal, time: Duration) -> Result<bool, ProvisionError> {
    let begun = Instant::now();
    let Some(pid) = pid(data) else {
        return Ok(true);
    };
    send(pid, signal)?;
    while self::pid(data).is_some() {
        if begun.elapsed() > time {
            return Ok(false);
        }
        sleep(LOOK).await;
    }
    Ok(true)
}

/// Makes the server of a database read its files again, if it runs.
pub(super) fn reload(database: &Database) -> Result<(), ProvisionError> {
    match pid(&database.locked.path("data")) {
        Some(pid) => send(pid, Signal::HUP),
        None => Ok(()),
    }
}

fn send(pid: Pid, signal: Signal) -> Result<(), ProvisionError> {
    match kill_process(pid, signal) {
        // It has ended meanwhile.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(failed("a signal", &error.into())),
    }
}

/// Returns the process of the server of a data folder, or `None` if none runs.
pub(super) fn pid(data: &Path) -> Option<Pid> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let pid = Pid::from_raw(text.lines().next()?.parse().ok()?)?;
    // The file outlives a server that was killed, and its number may be that of any process since.
    // A server works in its data folder; where that cannot be read, its number has to do.
    let is_server = match fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero())) {
        Ok(folder) => folder == data,
        Err(_) if Path::new("/proc/self").exists() => false,
        Err(_) => rustix::process::test_kill_process(pid).is_ok(),
    };
    is_server.then_some(pid)
}

/// Opens the log for appending, so that it may be cut while a server writes to it.
fn log(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Begins the log of a database anew once it is longer than [`LONGEST_LOG`].
pub(super) fn bound_log(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|log| log.len() > LONGEST_LOG) {
        File::options().write(true).open(path)?.set_len(0)?;
    }
    Ok(())
}

/// Returns the last line of a log, for an error.
fn last_line(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().next_back().unwrap_or("no reason").to_owned()
}
