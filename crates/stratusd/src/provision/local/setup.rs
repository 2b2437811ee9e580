//! The creation and the deletion of a database.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::files::{User, failed, names, open_to_servers, private};
use super::folder::{Database, Locked, Record};
use super::member::{DATA, Member, SOCKET};
use super::places::Place;
use super::{Inner, LOCK_WAIT, access, address, configuration, owner, server, upgrade};
use crate::provision::{ProvisionError, Shape, Wanted};

/// How the names of folders begin in which a cluster is made.
const NEW: &str = "new-";
/// How often a copy that is to end is looked at.
const LOOK: Duration = Duration::from_millis(20);

impl Inner {
    /// Creates the cluster of a database, which is not started. A restoration has a place, which it keeps until
    /// its backup and its log are copied, also if it is cancelled meanwhile.
    pub(super) async fn make(
        &self,
        locked: Locked,
        wanted: &Wanted,
        place: Option<Arc<Place>>,
    ) -> Result<Database, ProvisionError> {
        let address = self.address(&locked, wanted).await?;
        let record = Record {
            project: Some(wanted.project_id.clone()),
            // Without standbys, which are made once the database runs: the reconciler sees that its
            // shape is not what it should be.
            shape: Shape {
                ha_type: "none".to_owned(),
                ..wanted.shape.clone()
            },
            address,
            user: self.config.owner.server(|| self.folder.next_user())?,
            created_at: self.world.now(),
            primary: Member::A,
            standbys: Vec::new(),
            promoted: None,
            timeline: 1,
            commits_wait: false,
            is_created: false,
            restarts: 0,
            promotions: 0,
            switching: None,
            restored_until: wanted.restored.as_ref().map(|restored| restored.until),
            is_recovering: false,
            upgrade: None,
            failed_upgrade: None,
            is_unanalyzed: false,
            is_full: false,
            certificate_year: 0,
        };
        let mut database = Database { locked, record };
        let user = database.user();
        let io = |error| failed("the folder of a database", &error);
        self.initialize(&database.locked, wanted, user, place)
            .await?;
        let socket = Member::A.path(&database.locked, SOCKET);
        private(&socket)
            .and_then(|()| owner::give(&socket, user))
            .map_err(io)?;
        access::close(&database)?;
        // This writes the record too, last: with it the database exists.
        self.ensure_certificate(&mut database)?;
        Ok(database)
    }

    /// Returns the address of a database, or gives it one.
    async fn address(&self, locked: &Locked, wanted: &Wanted) -> Result<Ipv4Addr, ProvisionError> {
        let (addresses, folder) = (self.config.addresses.clone(), self.folder.addresses());
        let (id, location) = (wanted.id.clone(), wanted.location.clone());
        // It goes on if this step is cancelled, and a deletion, which frees the address, waits for the lock.
        let lock = locked.inherited()?;
        let take = move || {
            let taken = addresses.take(&folder, &id, &location);
            drop(lock);
            taken
        };
        // It may have to try all addresses of a network.
        spawn_blocking(take).await.expect("it does not panic")
    }

    /// Makes the data folder of a database, unless an earlier step has: with `initdb`, or by the
    /// backups of another database.
    async fn initialize(
        &self,
        locked: &Locked,
        wanted: &Wanted,
        user: User,
        place: Option<Arc<Place>>,
    ) -> Result<(), ProvisionError> {
        let io = |error| failed("the folder of a database", &error);
        let data = Member::A.path(locked, DATA);
        if data.exists() {
            return Ok(());
        }
        remove_unfinished(locked).await?;
        let new = locked.path(&format!(
            "{NEW}{:016x}",
            u64::from_be_bytes(self.world.random())
        ));
        open_to_servers(&locked.path(Member::A.name())).map_err(io)?;
        private(&new).map_err(io)?;
        if let Some(restored) = &wanted.restored {
            owner::give(&new, user).map_err(io)?;
            self.unpack(locked, restored, &new, user, place).await?;
            return fs::rename(&new, &data).map_err(io);
        }
        self.initdb(locked, &wanted.shape.version, &new).await?;
        let finish = move || -> io::Result<()> {
            configuration::include(&new.join("postgresql.conf"))?;
            owner::give(&new, user)?;
            fs::rename(&new, &data)
        };
        let finished = spawn_blocking(finish).await;
        finished.expect("it does not panic").map_err(io)
    }

    /// Runs `initdb` for a folder.
    pub(super) async fn initdb(
        &self,
        locked: &Locked,
        version: &str,
        new: &Path,
    ) -> Result<(), ProvisionError> {
        let creator = self.config.owner.creator();
        let given = owner::give(new, creator);
        given.map_err(|error| failed("the folder of a database", &error))?;
        let mut initdb = Command::new(self.program(version, "initdb")?);
        initdb
            .arg("-D")
            .arg(new)
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
            return Err(ProvisionError::Failed(format!(
                "initdb failed: {}",
                said.trim()
            )));
        }
        Ok(())
    }

    /// Removes everything of a database.
    pub(super) async fn remove(&self, locked: Locked) -> Result<(), ProvisionError> {
        let io = |error| failed("the folder of a database", &error);
        let user = locked.read()?.and_then(|record| record.user);
        let halted = halt(&locked).await;
        match user {
            // Also what the owner has put in the place of a server, which does not stop.
            Some(user) => server::end_user(user).await?,
            None => halted?,
        }
        // First, so that no supervisor starts what is left of it.
        locked.forget().map_err(io)?;
        let copies = await_copies(&locked).await?;
        let id = locked.id().to_owned();
        let remove = move || {
            let removed = locked.remove();
            drop(copies);
            removed
        };
        let removed = spawn_blocking(remove).await;
        removed.expect("it does not panic").map_err(io)?;
        self.forget(&id);
        self.remove_archive(&id).await?;
        // Last, so that no other database gets the address before.
        address::free(&self.folder.addresses(), &id)
    }

    /// Forgets what this process has seen of a database that is removed.
    fn forget(&self, id: &str) {
        let full = self.full_archives.lock();
        full.unwrap_or_else(PoisonError::into_inner).remove(id);
        let unread = self.unread_slots.lock();
        unread.unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// Stops all servers of a database, as if they had crashed.
async fn halt(locked: &Locked) -> Result<(), ProvisionError> {
    for member in Member::ALL {
        server::halt(&member.path(locked, DATA)).await?;
    }
    upgrade::halt(locked).await
}

/// Waits until no standby of a database is copied any more, for at most [`LOCK_WAIT`]: without a record
/// of the database, copies are given up. Returns the lock of copies.
async fn await_copies(locked: &Locked) -> Result<File, ProvisionError> {
    let begun = Instant::now();
    loop {
        if let Some(copies) = locked.lock_copies()? {
            return Ok(copies);
        }
        if begun.elapsed() > LOCK_WAIT {
            let reason = "a standby of this database is still being copied".to_owned();
            let wait = LOCK_WAIT;
            return Err(ProvisionError::Busy { reason, wait });
        }
        sleep(LOOK).await;
    }
}

/// Removes what earlier steps have not finished.
async fn remove_unfinished(locked: &Locked) -> Result<(), ProvisionError> {
    let all = names(&locked.path(""));
    let all = all.map_err(|error| failed("the folder of a database", &error))?;
    for name in all.iter().filter(|name| name.starts_with(NEW)) {
        locked.remove_tree(locked.path(name)).await?;
    }
    Ok(())
}
