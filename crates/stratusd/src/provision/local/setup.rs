//! The creation and the deletion of a database.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;
use tokio::task::spawn_blocking;

use super::folder::{Database, Locked, Record, failed};
use super::{Inner, access, address, owner, server};
use crate::provision::{ProvisionError, Wanted};

/// How the names of folders begin in which a cluster is made.
const NEW: &str = "new-";

impl Inner {
    /// Creates the cluster of a database, which is not started.
    pub(super) async fn make(
        &self,
        locked: Locked,
        wanted: &Wanted,
    ) -> Result<Database, ProvisionError> {
        let address = self
            .config
            .addresses
            .take(&self.folder.addresses(), &wanted.id)?;
        let record = Record {
            shape: wanted.shape.clone(),
            address,
            created_at: self.world.now(),
            is_created: false,
            restarts: 0,
            is_full: false,
            certificate_year: 0,
        };
        let mut database = Database { locked, record };
        let position = self.config.addresses.position(address);
        let user = self.config.owner.server(position);
        let io = |error| failed("the folder of a database", &error);
        self.initialize(&database.locked, &wanted.shape.version, user)
            .await?;
        let socket = database.locked.path("socket");
        private(&socket)
            .and_then(|()| owner::give(&socket, user))
            .map_err(io)?;
        fs::write(database.locked.path("limits.conf"), "").map_err(io)?;
        access::close(&database)?;
        // Its file is written before the record, which is what makes the database exist.
        self.ensure_certificate(&mut database)?;
        Ok(database)
    }

    /// Makes the data folder of a database with `initdb`, unless an earlier step has.
    async fn initialize(
        &self,
        locked: &Locked,
        version: &str,
        user: Option<(u32, u32)>,
    ) -> Result<(), ProvisionError> {
        let io = |error| failed("the folder of a database", &error);
        let data = locked.path("data");
        if data.exists() {
            return Ok(());
        }
        remove_unfinished(locked).map_err(io)?;
        let new = locked.path(&format!(
            "{NEW}{:016x}",
            u64::from_be_bytes(self.world.random())
        ));
        private(&new).map_err(io)?;
        let creator = self.config.owner.creator();
        owner::give(&new, creator).map_err(io)?;
        let mut initdb = Command::new(self.program(version, "initdb")?);
        initdb
            .arg("-D")
            .arg(&new)
            .args(["--username=postgres", "--auth=reject", "--data-checksums"])
            .args(["--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions"])
            .env_clear()
            .env("LC_ALL", "C.UTF-8")
            .current_dir("/")
            // Holds the lock for as long as it runs, also if this process is killed.
            .stdin(locked.inherited()?)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        server::as_user(&mut initdb, creator);
        let output = initdb
            .output()
            .await
            .map_err(|error| failed("initdb", &error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(ProvisionError(format!("initdb failed: {}", said.trim())));
        }
        let limits = locked.path("limits.conf");
        let finish = move || -> io::Result<()> {
            let mut settings = File::options()
                .append(true)
                .open(new.join("postgresql.conf"))?;
            writeln!(settings, "include_if_exists = '{}'", limits.display())?;
            settings.sync_all()?;
            owner::give(&new, user)?;
            fs::rename(&new, &data)
        };
        let finished = spawn_blocking(finish).await;
        finished.expect("it does not panic").map_err(io)
    }

    /// Removes everything of a database.
    pub(super) async fn remove(&self, locked: Locked) -> Result<(), ProvisionError> {
        server::halt(&locked.path("data")).await?;
        address::free(&self.folder.addresses(), locked.id())?;
        let removed = spawn_blocking(move || locked.remove()).await;
        let removed = removed.expect("it does not panic");
        removed.map_err(|error| failed("the folder of a database", &error))
    }
}

/// Removes what earlier steps have not finished.
fn remove_unfinished(locked: &Locked) -> io::Result<()> {
    for entry in fs::read_dir(locked.path(""))? {
        let entry = entry?;
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(NEW.as_bytes())
        {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Creates a folder that only its owner can enter, if it is not there.
fn private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
