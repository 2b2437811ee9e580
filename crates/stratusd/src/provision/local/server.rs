//! Starts, stops and signals a server of a database, which is a process that outlives this one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::files::{User, failed, read_end};
use super::folder::Database;
use super::member::{DATA, Member, SOCKET};
use super::{Inner, address, backup, session, size};
use crate::provision::{ProvisionError, line};

/// How long a step waits for a server that starts. A server that recovers after a crash may take
/// longer; the next step then waits for it again.
const START: Duration = Duration::from_mins(1);
/// How long a server has to end its sessions in order, before it is stopped as if it had crashed.
const FAST_STOP: Duration = Duration::from_secs(30);
/// How often a server that starts or stops is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The size of the log, in bytes, at which it begins anew.
const LONGEST_LOG: u64 = 16 << 20;
/// How many bytes at the end of a log are searched for the reason why its server has ended.
const LONGEST_REASON: u64 = 64 << 10;
/// The size of the file in which a server says its number, in bytes, at most.
const LONGEST_PID_FILE: u64 = 4096;
/// The number of bytes of the path of a socket at most.
const LONGEST_SOCKET: usize = 107;
/// How much of the log a primary keeps for a standby that does not fetch it, in MiB.
const KEPT_WAL: u32 = 1024;

impl Inner {
    /// Starts a server of a database unless it runs, and waits until it accepts connections.
    pub(super) async fn start(
        &self,
        database: &Database,
        member: Member,
    ) -> Result<(), ProvisionError> {
        let begun = Instant::now();
        let data = member.path(&database.locked, DATA);
        let mut child = match pid(&data)? {
            Some(_) => None,
            None => Some(self.launch(database, member)?),
        };
        while !session::is_ready(database, member).await {
            if let Some(child) = &mut child {
                ensure_runs(child, database, member)?;
            }
            if begun.elapsed() > START {
                return Err(ProvisionError::Failed(
                    "the server does not start in time".to_owned(),
                ));
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Begins to start a server that does not run.
    pub(super) fn launch(
        &self,
        database: &Database,
        member: Member,
    ) -> Result<Child, ProvisionError> {
        // A server does not start beside the backends of one that was killed.
        end_backends(&member.path(&database.locked, DATA))?;
        let spawned = self.command(database, member)?.spawn();
        spawned.map_err(|error| failed("postgres", &error))
    }

    /// Returns the command that starts a server. Options on the command line cannot be overridden
    /// by what the superuser of the database sets.
    fn command(&self, database: &Database, member: Member) -> Result<Command, ProvisionError> {
        let record = &database.record;
        let program = self.program(&record.shape.version, "postgres")?;
        let log = log(&member.path(&database.locked, "log"));
        let log = log.map_err(|error| failed("the log", &error))?;
        let settings = self.settings(database, member)?;
        let archive = self.archive(database.locked.id())?;
        archive.make()?;
        let mut command = Command::new(program);
        command.arg("-D").arg(member.path(&database.locked, DATA));
        for (name, value) in settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let output = log.try_clone().map_err(|error| failed("the log", &error))?;
        command
            .env_clear()
            .env(backup::FOLDER, archive.log())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(log)
            // Out of the terminal's group, whose Ctrl-C ends the service only.
            .process_group(0);
        as_user(&mut command, database.user());
        Ok(command)
    }

    /// Returns the settings of a server. Paths are relative to its data folder, in which it works.
    fn settings(
        &self,
        database: &Database,
        member: Member,
    ) -> Result<Vec<(&'static str, String)>, ProvisionError> {
        let record = &database.record;
        let resources = size::resources(&record.shape.vm_size);
        let is_primary = database.is_primary(member);
        // Unlike the others, this one is relative to where a server is started.
        let hba = database.locked.path("pg_hba.conf");
        let mut settings = vec![
            ("port", address::PORT.to_string()),
            (
                "unix_socket_directories",
                sockets(&member.path(&database.locked, SOCKET)),
            ),
            ("hba_file", hba.display().to_string()),
            ("ssl", "on".to_owned()),
            ("ssl_cert_file", "../../server.pem".to_owned()),
            ("ssl_key_file", "../../server.pem".to_owned()),
            ("password_encryption", "scram-sha-256".to_owned()),
            ("shared_buffers", format!("{}MB", resources.shared_buffers)),
            ("wal_level", "replica".to_owned()),
            ("max_wal_size", format!("{}MB", self.log_size(database))),
            ("max_slot_wal_keep_size", format!("{KEPT_WAL}MB")),
            // To the file that is opened here, and nowhere else.
            ("log_destination", "stderr".to_owned()),
            ("logging_collector", "off".to_owned()),
        ];
        // A standby listens for the service only. It must allow as many connections as any primary
        // whose log it reads, also one of another size than now.
        // So does one that is restored, or whose upgrade may still be taken back.
        let is_open = is_primary && record.restored_until.is_none() && record.upgrade.is_none();
        let (listen, connections) = if is_open {
            (record.address.to_string(), resources.connections)
        } else {
            (String::new(), size::MOST_CONNECTIONS)
        };
        settings.push(("listen_addresses", listen));
        match record.restored_until {
            Some(until) => settings.extend(backup::recovery(until)?),
            None if record.upgrade.is_some() => {
                settings.push(("archive_mode", "off".to_owned()));
            }
            None => settings.extend(backup::archiving()),
        }
        settings.push(("max_connections", connections.to_string()));
        if !is_primary {
            let primary = record.primary.name();
            // libpq wants an absolute path. This one leads to the data folder of the standby.
            let source = format!(
                "host=/proc/self/cwd/../../{primary}/socket port={} user=postgres application_name={}",
                address::PORT,
                member.name()
            );
            settings.push(("primary_conninfo", source));
            settings.push(("primary_slot_name", member.name().to_owned()));
        }
        if record.shape.version == "18" {
            // Its workers would take memory also of an idle server.
            settings.push(("io_method", "sync".to_owned()));
        }
        Ok(settings)
    }

    /// Returns the size in MiB to which the log may grow between checkpoints: a tenth of the storage,
    /// from 64 to 1024 MiB.
    fn log_size(&self, database: &Database) -> u64 {
        let gib = u64::try_from(database.record.shape.storage_size_gib).unwrap_or_default();
        let bytes = gib.saturating_mul(self.config.bytes_per_gib);
        ((bytes / 10) >> 20).clamp(64, 1024)
    }

    /// Returns the folder of the programs of a version.
    ///
    /// # Errors
    ///
    /// If the version is not installed.
    pub(super) fn folder_of(&self, version: &str) -> Result<&Path, ProvisionError> {
        let folder = self.config.binaries.folder(version);
        folder
            .ok_or_else(|| ProvisionError::Failed(format!("PostgreSQL {version} is not installed")))
    }

    /// Returns the path of a program of a version.
    ///
    /// # Errors
    ///
    /// If the version is not installed.
    pub(super) fn program(&self, version: &str, name: &str) -> Result<PathBuf, ProvisionError> {
        Ok(self.folder_of(version)?.join(name))
    }
}

/// Returns the folder of a server's socket as the setting has it. The path of a socket has
/// [`LONGEST_SOCKET`] bytes at most, so that of a folder which is too long is relative to the data folder.
fn sockets(folder: &Path) -> String {
    let path = folder.to_str().filter(|path| {
        let name = format!("/.s.PGSQL.{}", address::PORT);
        // The setting is a list.
        path.len() + name.len() <= LONGEST_SOCKET && !path.contains([',', '"'])
    });
    path.unwrap_or("../socket").to_owned()
}

/// Returns whether the server of a data folder says the whole path of its socket, by which programs of
/// PostgreSQL find it.
pub(super) fn has_absolute_socket(data: &Path) -> Result<bool, ProvisionError> {
    let text = read_end(&data.join("postmaster.pid"), LONGEST_PID_FILE);
    let text = text.map_err(|error| failed("postmaster.pid", &error))?;
    Ok(text
        .lines()
        .nth(4)
        .is_some_and(|folder| folder.starts_with('/')))
}

/// Checks that a server that was launched has not ended.
///
/// # Errors
///
/// If it has, with the reason that its log says.
pub(super) fn ensure_runs(
    child: &mut Child,
    database: &Database,
    member: Member,
) -> Result<(), ProvisionError> {
    let ended = child.try_wait();
    let ended = ended.map_err(|error| failed("postgres", &error))?;
    let Some(status) = ended else { return Ok(()) };
    let said = reason(&member.path(&database.locked, "log"));
    Err(ProvisionError::Failed(format!(
        "postgres ended with {status}: {said}"
    )))
}

/// Returns the error of a server that has ended by itself, with the reason that its log says.
pub(super) fn ended(database: &Database, member: Member) -> ProvisionError {
    let said = reason(&member.path(&database.locked, "log"));
    ProvisionError::Failed(format!("postgres ended: {said}"))
}

/// Returns a command that has no variables of this process but the path of programs: the user that it
/// runs as can read its variables, and some of the service's are secret.
pub(super) fn tool(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// Makes a command run as a user, if that is another one.
pub(super) fn as_user(command: &mut Command, user: User) {
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
}

/// Stops a server of a database, if it runs. Its sessions end.
pub(super) async fn stop(database: &Database, member: Member) -> Result<(), ProvisionError> {
    let data = member.path(&database.locked, DATA);
    // SIGTERM would wait until clients end their sessions themselves.
    if ends(&data, Signal::INT, FAST_STOP).await? {
        return Ok(());
    }
    halt(&data).await
}

/// Stops the server of a data folder, if it runs, as if it had crashed.
pub(super) async fn halt(data: &Path) -> Result<(), ProvisionError> {
    // SIGQUIT first: it ends the backends too, which SIGKILL leaves behind.
    let is_ended = ends(data, Signal::QUIT, Duration::from_secs(10)).await?
        || ends(data, Signal::KILL, Duration::from_secs(5)).await?;
    end_backends(data)?;
    if is_ended {
        Ok(())
    } else {
        Err(ProvisionError::Failed(
            "the server does not stop".to_owned(),
        ))
    }
}

/// Sends a signal to a server, and returns whether it ends in time.
async fn ends(data: &Path, signal: Signal, time: Duration) -> Result<bool, ProvisionError> {
    let begun = Instant::now();
    let Some(pid) = pid(data)? else {
        return Ok(true);
    };
    send(pid, signal)?;
    while self::pid(data)?.is_some() {
        if begun.elapsed() > time {
            return Ok(false);
        }
        sleep(LOOK).await;
    }
    Ok(true)
}

/// Kills the backends of a server that was killed itself, which it leaves behind if they compute.
fn end_backends(data: &Path) -> Result<(), ProvisionError> {
    if pid(data)?.is_some() {
        return Ok(());
    }
    for process in processes().map_err(|error| failed("/proc", &error))? {
        if fs::read_link(format!("/proc/{process}/cwd")).is_ok_and(|folder| folder == data) {
            kill(process)?;
        }
    }
    Ok(())
}

/// Kills all processes of a user, until there are none. The owner of a database may have started
/// others than its server.
pub(super) async fn end_user(user: u32) -> Result<(), ProvisionError> {
    let begun = Instant::now();
    loop {
        // There may be very many.
        let killed = spawn_blocking(move || kill_user(user)).await;
        if !killed.expect("it does not panic")? {
            return Ok(());
        }
        if begun.elapsed() > FAST_STOP {
            return Err(ProvisionError::Failed("its programs do not end".to_owned()));
        }
        sleep(LOOK).await;
    }
}

/// Kills the processes that a user has now, and returns whether there were any.
fn kill_user(user: u32) -> Result<bool, ProvisionError> {
    let mut is_any = false;
    for process in processes().map_err(|error| failed("/proc", &error))? {
        let is_theirs =
            fs::metadata(format!("/proc/{process}")).is_ok_and(|metadata| metadata.uid() == user);
        if is_theirs && !is_zombie(process) {
            is_any = true;
            kill(process)?;
        }
    }
    Ok(is_any)
}

/// Returns the numbers of all processes.
fn processes() -> io::Result<Vec<i32>> {
    let entries = fs::read_dir("/proc")?;
    let names = entries.map(|entry| {
        Ok(entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok()))
    });
    names.filter_map(Result::transpose).collect()
}

/// Returns whether a process has ended and only waits for its parent to notice.
fn is_zombie(process: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // After the name, which is in parentheses and may contain any character.
    let state = state.rsplit(')').next().unwrap_or_default();
    state.trim_start().starts_with('Z')
}

fn kill(process: i32) -> Result<(), ProvisionError> {
    match Pid::from_raw(process) {
        Some(pid) => send(pid, Signal::KILL),
        None => Ok(()),
    }
}

/// Makes the servers of a database that run read their files again.
pub(super) fn reload(database: &Database) -> Result<(), ProvisionError> {
    for member in database.members() {
        if let Some(pid) = pid(&member.path(&database.locked, DATA))? {
            send(pid, Signal::HUP)?;
        }
    }
    Ok(())
}

fn send(pid: Pid, signal: Signal) -> Result<(), ProvisionError> {
    match kill_process(pid, signal) {
        // It has ended meanwhile.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(failed("a signal", &error.into())),
    }
}

/// Returns the process of the server of a data folder, or `None` if none runs.
///
/// # Errors
///
/// If it is not certain whether one runs.
pub(super) fn pid(data: &Path) -> Result<Option<Pid>, ProvisionError> {
    let path = data.join("postmaster.pid");
    let text = match read_end(&path, LONGEST_PID_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| failed("postmaster.pid", &error))?,
    };
    let number = text.lines().next().and_then(|line| line.parse().ok());
    let Some(pid) = number.and_then(Pid::from_raw) else {
        return Ok(None);
    };
    // The file outlives a server that was killed, and its number may be that of any process since.
    // A server works in its data folder.
    match fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero())) {
        Ok(folder) => Ok((folder == data).then_some(pid)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // The process has ended, and waits for its parent to notice.
        Err(_) if is_zombie(pid.as_raw_nonzero().get()) => Ok(None),
        Err(error) => Err(failed("the folder of a process", &error)),
    }
}

/// Opens the log for appending, so that it may be cut while a server writes to it. Only this service
/// can read it: a log may repeat what is in statements.
fn log(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).append(true).mode(0o600).open(path)
}

/// Begins the log of a server anew once it is longer than [`LONGEST_LOG`].
pub(super) fn bound_log(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|log| log.len() > LONGEST_LOG) {
        File::options().write(true).open(path)?.set_len(0)?;
    }
    Ok(())
}

/// Returns the last line of a log that says why a server has ended.
fn reason(path: &Path) -> String {
    let text = read_end(path, LONGEST_REASON).unwrap_or_default();
    let mut reasons = text.lines().filter(|line| line.contains("FATAL"));
    // The owner of the database may write lines of any length.
    line(reasons.next_back().unwrap_or("its log says no reason"))
}
