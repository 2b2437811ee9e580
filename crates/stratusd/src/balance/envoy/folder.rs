//! The folder that Envoy reads: a file for each list of resources, which Envoy takes up when another
//! one is moved to its place. The files are written in the background.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::background::Background;

/// How long to wait after a failure before the files are written again.
const PAUSE: Duration = Duration::from_secs(1);
/// The maximum length of the path of a Unix socket, in bytes.
const MAX_SOCKET: usize = 107;

const BOOTSTRAP: &str = "bootstrap.json";
const SOCKET: &str = "admin.sock";
const LOCK: &str = "lock";

/// A file of resources. Files are written in this order: what a list names is there before the list is,
/// and clusters are there before the listeners that forward to them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Resource {
    /// The virtual machines of a load balancer (EDS).
    Endpoints(String),
    /// The certificate of a load balancer (SDS).
    Secret(String),
    /// All load balancers with their health checks (CDS).
    Clusters,
    /// All addresses (LDS).
    Listeners,
}

/// The folders of the files that there is one of for each load balancer.
const ENDPOINTS: &str = "endpoints";
const SECRETS: &str = "secrets";

impl Resource {
    fn file(&self) -> PathBuf {
        match self {
            Self::Endpoints(name) => Path::new(ENDPOINTS).join(format!("{name}.json")),
            Self::Secret(name) => Path::new(SECRETS).join(format!("{name}.json")),
            Self::Clusters => "cds.json".into(),
            Self::Listeners => "lds.json".into(),
        }
    }
}

/// The folder, with the thread that writes it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The digests of the files as they are, or are about to be; `None` for those of an earlier process.
    known: HashMap<Resource, Option<[u8; 32]>>,
    queue: Arc<Mutex<Queue>>,
    writing: Background,
    /// Locked, so that no other process writes here.
    _lock: File,
}

/// What is to be written: `None` for a file that is to be removed.
#[derive(Debug, Default)]
struct Queue {
    next: BTreeMap<Resource, Option<Vec<u8>>>,
    /// Why it could not be written the last time.
    failure: Option<String>,
}

impl Folder {
    /// Makes the folder if there is none, and starts the thread that writes it. Lists of resources of an
    /// earlier process stay as they are, and empty ones are made if there are none, since Envoy does not
    /// start without.
    ///
    /// # Errors
    ///
    /// If the folder cannot be made or written, others may write there, another process does, or its
    /// path is too long for a socket.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)?;
        let shown = path.display().to_string();
        if path.to_str().is_none() {
            bail!(
                "the path {shown} is not UTF-8, as Envoy's configuration is: set balance_envoy_folder to another one"
            );
        }
        if path.join(SOCKET).as_os_str().as_bytes().len() > MAX_SOCKET {
            bail!(
                "the path {shown} is too long for the socket in it, whose path may have {MAX_SOCKET} bytes: set \
                 balance_envoy_folder to a shorter one"
            );
        }
        let lock = prepare(&path).with_context(|| {
            format!("failed to use the folder {shown}, which is set by `balance_envoy_folder`")
        })?;
        let queue = Arc::<Mutex<Queue>>::default();
        let writer = Writer {
            folder: path.clone(),
            queue: Arc::clone(&queue),
        };
        let writing = Background::start("envoy-files", PAUSE, move || writer.write_next())
            .context("failed to start the thread that writes the files of Envoy")?;
        let known = known(&path)?;
        Ok(Self {
            path,
            known,
            queue,
            writing,
            _lock: lock,
        })
    }

    /// Returns the absolute path of a file.
    pub(super) fn file(&self, resource: &Resource) -> PathBuf {
        self.path.join(resource.file())
    }

    /// Returns the path of the socket of Envoy's admin interface.
    pub(super) fn socket(&self) -> PathBuf {
        self.path.join(SOCKET)
    }

    /// Returns the path of the configuration that Envoy starts with.
    pub(super) fn bootstrap(&self) -> PathBuf {
        self.path.join(BOOTSTRAP)
    }

    /// Writes the configuration that Envoy starts with, and waits for it.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn write_bootstrap(&self, bootstrap: &Value) -> Result<()> {
        let file = self.bootstrap();
        let text = serde_json::to_vec_pretty(bootstrap)?;
        write(&file, &text).with_context(|| format!("failed to write {}", file.display()))
    }

    /// Has a file written, unless it is so already.
    pub(super) fn write(&mut self, resource: Resource, content: &Value) {
        // A value that was made here can be written.
        let text = serde_json::to_vec(content).unwrap_or_default();
        let digest = Sha256::digest(&text).into();
        let before = self.known.insert(resource.clone(), Some(digest));
        if before != Some(Some(digest)) {
            self.tell(resource, Some(text));
        }
    }

    /// Forgets what a file has, so that it is written the next time in any case.
    pub(super) fn forget(&mut self, resource: &Resource) {
        self.known.insert(resource.clone(), None);
    }

    /// Has a file removed.
    pub(super) fn remove(&mut self, resource: Resource) {
        if self.known.remove(&resource).is_some() {
            self.tell(resource, None);
        }
    }

    /// Has all files of load balancers removed but some.
    pub(super) fn keep(&mut self, kept: &HashSet<Resource>) {
        let is_gone = |it: &&Resource| {
            let is_list = matches!(it, Resource::Clusters | Resource::Listeners);
            !is_list && !kept.contains(*it)
        };
        let gone: Vec<_> = self.known.keys().filter(is_gone).cloned().collect();
        for resource in gone {
            self.remove(resource);
        }
    }

    /// Returns why files cannot be written, if they cannot.
    pub(super) fn failure(&self) -> Option<String> {
        locked(&self.queue).failure.clone()
    }

    /// Waits until the files are written, for a time.
    pub(super) async fn close(self) {
        self.writing.close().await;
    }

    fn tell(&self, resource: Resource, text: Option<Vec<u8>>) {
        locked(&self.queue).next.insert(resource, text);
        self.writing.tell();
    }
}

/// Makes the folder and what Envoy needs to start, and returns the locked file.
fn prepare(path: &Path) -> Result<File> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path)?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o022 != 0 {
        bail!("other users may write there, and so direct connections: run `chmod go-w` on it");
    }
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path.join(LOCK))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            bail!("another process writes there: give each `stratusd balance` a folder of its own");
        }
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    for folder in [ENDPOINTS, SECRETS] {
        builder.create(path.join(folder))?;
    }
    for list in [Resource::Clusters, Resource::Listeners] {
        let file = path.join(list.file());
        if !file.try_exists()? {
            write(&file, b"{\"resources\":[]}")?;
        }
    }
    Ok(lock)
}

/// Returns the files that an earlier process has left.
fn known(path: &Path) -> Result<HashMap<Resource, Option<[u8; 32]>>> {
    let mut known = HashMap::new();
    let kinds: [(&str, fn(String) -> Resource); 2] = [
        (ENDPOINTS, Resource::Endpoints),
        (SECRETS, Resource::Secret),
    ];
    for (folder, resource) in kinds {
        for entry in fs::read_dir(path.join(folder))? {
            let name = entry?.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(".json"));
            known.extend(name.map(|name| (resource(name.to_owned()), None)));
        }
    }
    Ok(known)
}

/// The thread that writes the files.
struct Writer {
    folder: PathBuf,
    queue: Arc<Mutex<Queue>>,
}

impl Writer {
    /// Writes what is to be written, and then removes what is to be removed. A failure is logged once for
    /// each reason.
    fn write_next(&self) -> Result<(), ()> {
        let mut left = std::mem::take(&mut locked(&self.queue).next);
        let failure = self.work_off(&mut left).err();
        let mut queue = locked(&self.queue);
        for (resource, text) in left {
            // Unless there is something newer by now.
            queue.next.entry(resource).or_insert(text);
        }
        let failure = failure.map(|error| error.to_string());
        if failure != queue.failure {
            if let Some(failure) = &failure {
                tracing::error!(
                    failure,
                    folder = %self.folder.display(),
                    "the files of Envoy cannot be written, so it goes on with what it has: the data plane tries again"
                );
            } else {
                tracing::info!("the files of Envoy can be written again");
            }
        }
        queue.failure.clone_from(&failure);
        failure.map_or(Ok(()), |_| Err(()))
    }

    /// Removes from a map what is done.
    fn work_off(&self, left: &mut BTreeMap<Resource, Option<Vec<u8>>>) -> io::Result<()> {
        let written = left.iter().filter(|(_, text)| text.is_some());
        let removed = left.iter().filter(|(_, text)| text.is_none());
        let order: Vec<Resource> = written.chain(removed).map(|(it, _)| it.clone()).collect();
        for resource in order {
            let file = self.folder.join(resource.file());
            match left.get(&resource) {
                Some(Some(text)) => write(&file, text)?,
                Some(None) => match fs::remove_file(&file) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                },
                None => {}
            }
            left.remove(&resource);
        }
        Ok(())
    }
}

/// Moves a new file to the place of another one, which Envoy notices, for this user alone to read. It
/// is not synced: all files are written again when the process starts.
fn write(file: &Path, text: &[u8]) -> io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&beside)?.write_all(text)?;
    fs::rename(&beside, file)
}

fn locked(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
