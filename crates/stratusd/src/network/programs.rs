//! Runs `ip` and `nft`, each with a time limit and a bound on what is read of it, in a namespace of the
//! network.
//!
//! These programs and not netlink: an operator can type the same commands to see what is there, `nft` loads
//! a ruleset as a whole or not at all, and nothing here is on the path of a packet. Of the crates, rtnetlink
//! would bring five others and leave rules of nftables to do, and nftables runs the same program.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::names::Place;
use crate::settings::Prefix;

/// Where `ip netns` keeps the namespaces that have names.
pub(super) const NAMESPACES: &str = "/run/netns";
/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to look whether a program has ended that has closed its output.
const POLL: Duration = Duration::from_millis(1);
/// How long to wait until the programs of a process that was killed have ended.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// The maximum number of bytes that a program may print: a link takes about 2 KiB.
const MOST_OUTPUT: u64 = 64 << 20;
/// The maximum number of characters of an error that are shown.
const MOST_WORDS: usize = 300;
/// Where programs are found beside the `PATH`, which may lack what is for administrators.
const FOLDERS: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The programs, and the lock of the prefix.
#[derive(Debug)]
pub(super) struct Programs {
    prefix: Prefix,
    ip: PathBuf,
    nft: PathBuf,
    path: PathBuf,
    /// The file that is the standard input of each program, and whose lock each has while it runs: after
    /// this process was killed, the next one waits until its programs have ended.
    input: File,
}

/// A program that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Ip,
    Nft,
}

impl Programs {
    /// Finds the programs, and takes the lock.
    ///
    /// # Errors
    ///
    /// If one of them is missing, or another process has the lock.
    pub(super) fn open(prefix: &Prefix) -> Result<Self> {
        let find = |name: &str, package: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut folders = std::env::split_paths(&path).chain(std::env::split_paths(FOLDERS));
            let found = folders.find_map(|folder| {
                Some(folder.join(name)).filter(|it| it.is_absolute() && it.is_file())
            });
            found.with_context(|| {
                format!("the program `{name}` is missing: apt-get install {package}")
            })
        };
        let (ip, nft) = (find("ip", "iproute2")?, find("nft", "nftables")?);
        let path = PathBuf::from(format!("/run/stratusd-network-{prefix}.lock"));
        let input = lock(&path).with_context(|| {
            format!(
                "another `stratusd network` with network_prefix = {prefix} runs on this machine: stop it, or set \
                 another prefix"
            )
        })?;
        Ok(Self {
            prefix: prefix.clone(),
            ip,
            nft,
            path,
            input,
        })
    }

    /// Deletes the file of the lock, and gives the lock back.
    pub(super) fn close(self) -> Result<()> {
        fs::remove_file(&self.path)
            .with_context(|| format!("failed to delete {}", self.path.display()))
    }

    pub(super) fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    /// Runs a program in a place, and returns what it prints.
    ///
    /// # Errors
    ///
    /// If it fails, with its first words, or takes too long.
    pub(super) fn run(
        &self,
        place: &Place,
        program: Program,
        arguments: &[&str],
        input: &str,
    ) -> Result<Vec<u8>> {
        let (path, name) = match program {
            Program::Ip => (&self.ip, "ip"),
            Program::Nft => (&self.nft, "nft"),
        };
        let mut file = &self.input;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        // As a file and not through a pipe: if this process is killed while it writes, no program reads
        // a part.
        file.write_all(input.as_bytes())?;
        file.seek(SeekFrom::Start(0))?;
        let mut command = Command::new(path);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", FOLDERS)
            .env("LC_ALL", "C")
            .stdin(self.input.try_clone()?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = self.inside(place, move || command.spawn())?;
        let ended = Ended::of(child.with_context(|| format!("failed to start {name}"))?)
            .with_context(|| format!("failed to run {name}"))?;
        if !ended.status.success() {
            let words = String::from_utf8_lossy(&ended.errors);
            let words: String = words
                .trim()
                .replace('\n', ", ")
                .chars()
                .take(MOST_WORDS)
                .collect();
            bail!("{name} failed: {words}");
        }
        Ok(ended.output)
    }

    /// Runs a function on a thread in a place, and returns what that returns. What the function opens or
    /// starts is in the place for good.
    ///
    /// # Errors
    ///
    /// If there is no such place.
    pub(super) fn inside<T: Send>(
        &self,
        place: &Place,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T> {
        let Some(name) = place.name(&self.prefix) else {
            return Ok(work());
        };
        let path = Path::new(NAMESPACES).join(&name);
        let file = File::open(&path).with_context(|| format!("there is no namespace {name}"))?;
        // A thread enters a namespace alone, and this one must not, since the machine's is to return to.
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let network = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), network)
                    .with_context(|| format!("failed to enter the namespace {name}"))?;
                Ok(work())
            });
            match worker.join() {
                Ok(result) => result,
                Err(_) => bail!("a thread in the namespace {name} has panicked"),
            }
        })
    }

    /// Writes settings of the kernel in a place.
    pub(super) fn set(&self, place: &Place, settings: &[(&str, &str)]) -> Result<()> {
        // By the thread that writes, and not by the process, the kernel decides which namespace is meant.
        self.inside(place, || {
            for (name, value) in settings {
                let path = Path::new("/proc/sys/net").join(name);
                // Not written if it is so already: /proc may be read-only.
                let is_so = fs::read_to_string(&path).is_ok_and(|now| now.trim() == *value);
                if !is_so {
                    fs::write(&path, value)
                        .with_context(|| format!("failed to set {}", path.display()))?;
                }
            }
            Ok(())
        })?
    }
}

/// Opens a file and takes its lock, and waits for a time if another process has it.
fn lock(path: &Path) -> Result<File> {
    let begun = Instant::now();
    loop {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        options.mode(0o600);
        let opened = options.open(path);
        let file = opened.with_context(|| format!("failed to open {}", path.display()))?;
        match file.try_lock() {
            // Unless it was deleted meanwhile, and another process has another file.
            Ok(()) if is_in_place(&file, path) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
        }
        if begun.elapsed() >= LOCK_WAIT {
            bail!("its lock is taken");
        }
        thread::sleep(POLL * 10);
    }
}

fn is_in_place(file: &File, path: &Path) -> bool {
    let numbers = |it: fs::Metadata| (it.dev(), it.ino());
    let same = file
        .metadata()
        .map(numbers)
        .ok()
        .zip(fs::metadata(path).map(numbers).ok());
    same.is_some_and(|(open, there)| open == there)
}

/// A program that has ended.
struct Ended {
    status: ExitStatus,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Ended {
    /// Waits until a program has ended, and kills it if it takes too long.
    fn of(mut child: Child) -> Result<Self> {
        let until = Instant::now() + PATIENCE;
        let waited = Self::wait(&mut child, until);
        if waited.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        waited
    }

    fn wait(child: &mut Child, until: Instant) -> Result<Self> {
        let (output, errors) = (read(child.stdout.take()), read(child.stderr.take()));
        let receive = |from: mpsc::Receiver<io::Result<Vec<u8>>>| {
            let left = until.saturating_duration_since(Instant::now());
            let read = from.recv_timeout(left).context("it takes too long")?;
            Ok::<_, anyhow::Error>(read?)
        };
        let (output, errors) = (receive(output)?, receive(errors)?);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Self {
                    status,
                    output,
                    errors,
                });
            }
            if Instant::now() >= until {
                bail!("it takes too long");
            }
            thread::sleep(POLL);
        }
    }
}

/// Reads all that a program prints, on a thread of its own.
fn read(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (done, result) = mpsc::channel();
    let failed = done.clone();
    let reading = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = from.map_or(Ok(0), |from| {
            from.take(MOST_OUTPUT + 1).read_to_end(&mut bytes)
        });
        let read = read.and_then(|count| {
            if u64::try_from(count).is_ok_and(|count| count > MOST_OUTPUT) {
                return Err(io::Error::other("it prints too much"));
            }
            Ok(bytes)
        });
        let _ = done.send(read);
    });
    if let Err(error) = reading {
        let _ = failed.send(Err(error));
    }
    result
}
