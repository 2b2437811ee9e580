//! The users of the operating system that servers run as.
//!
//! PostgreSQL refuses to run as root, and the superuser of a database can run programs as the user
//! of its server. So a service that runs as root gives each database a user that no other database
//! has or has had. Such a user needs no name, and cannot read what belongs to another database. A service
//! that does not run as root cannot do this: its databases run as the service itself, if its settings
//! say that they may.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

use crate::provision::ProvisionError;

/// Why no server can run on this machine.
#[derive(Debug, Error)]
pub enum OwnerError {
    /// All servers would run as the user of this process, which nobody has allowed.
    #[error(
        "this process does not run as root, so all databases would run as its user, and the owner of one could read \
         all others and the files of this process: let `stratusd provision` run them as root, or, for development, \
         set local_shared_user = \"on\""
    )]
    Shared,
    /// There is no user with this name.
    #[error("there is no user {0:?} to create databases as: PostgreSQL refuses to run as root")]
    NoUser(String),
    /// The users that servers run as cannot enter a folder.
    #[error(
        "{0:?} is closed to the users that databases run as: `chmod o+x`, or use another folder"
    )]
    Closed(PathBuf),
}

/// Whether all servers may run as the user of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// They may, if this process does not run as root.
    Allowed,
    /// Each must have a user of its own.
    Refused,
}

/// The users that servers run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The user of this process.
    Itself,
    /// For each server another user than root.
    Another {
        /// The user and the group that create clusters. `initdb` needs a user with a name.
        creator: (u32, u32),
        /// The number of the first user of a server; each database has the next one.
        first: u32,
    },
}

impl Owner {
    /// Returns the users that servers of this process can run as.
    ///
    /// # Errors
    ///
    /// If this process runs as root, and there is no user called `creator`; or if it does not, and
    /// `sharing` refuses that.
    pub fn find(creator: &str, first: u32, sharing: Sharing) -> Result<Self, OwnerError> {
        if !rustix::process::geteuid().is_root() {
            return match sharing {
                Sharing::Allowed => Ok(Self::Itself),
                Sharing::Refused => Err(OwnerError::Shared),
            };
        }
        let number = |option| {
            let mut id = Command::new("id");
            let output = id
                .args([option, "--", creator])
                .stderr(Stdio::null())
                .output();
            let output = output.ok().filter(|output| output.status.success())?;
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        };
        let creator = number("-u")
            .zip(number("-g"))
            .filter(|(user, _)| *user != 0)
            .ok_or_else(|| OwnerError::NoUser(creator.to_owned()))?;
        Ok(Self::Another { creator, first })
    }

    /// Checks that servers can reach a path, as far as its folders exist.
    ///
    /// # Errors
    ///
    /// If servers run as other users, and one of the folders lets only its own user in.
    pub fn ensure_reachable(&self, path: &Path) -> Result<(), OwnerError> {
        if *self == Self::Itself {
            return Ok(());
        }
        // What does not exist is created, and then lets them in.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let is_closed = |folder: &&Path| {
            fs::metadata(folder).is_ok_and(|folder| folder.permissions().mode() & 0o001 == 0)
        };
        match path.ancestors().find(is_closed) {
            Some(folder) => Err(OwnerError::Closed(folder.to_owned())),
            None => Ok(()),
        }
    }

    /// Returns the user and the group that create clusters, or `None` for those of this process.
    pub(super) fn creator(&self) -> Option<(u32, u32)> {
        match self {
            Self::Itself => None,
            Self::Another { creator, .. } => Some(*creator),
        }
    }

    /// Returns the user of the servers of a database, or `None` for that of this process. `number`
    /// says how many databases there were before.
    pub(super) fn server(
        &self,
        number: impl FnOnce() -> Result<u32, ProvisionError>,
    ) -> Result<Option<u32>, ProvisionError> {
        let Self::Another { first, .. } = self else {
            return Ok(None);
        };
        let user = first.checked_add(number()?);
        let user = user.ok_or_else(|| ProvisionError::Failed("all users are taken".to_owned()))?;
        Ok(Some(user))
    }
}

/// Gives a file or a folder with all that is in it to a user. Not for what a user has already, who
/// may replace parts of it by links.
pub(super) fn give(path: &Path, user: Option<(u32, u32)>) -> io::Result<()> {
    let Some((user, group)) = user else {
        return Ok(());
    };
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), Some((user, group)))?;
        }
    }
    lchown(path, Some(user), Some(group))
}
