//! Names the servers of a database: a primary, and the standbys that its kind of high availability
//! asks for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::folder::{Database, Locked};

/// A server of a database, which has a folder of this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Member {
    A,
    B,
    C,
}

/// The folders of a server within that of its database.
pub(super) const DATA: &str = "data";
pub(super) const SOCKET: &str = "socket";

impl Member {
    pub(super) const ALL: [Self; 3] = [Self::A, Self::B, Self::C];

    /// Returns the name of the server, for its folder, its replication slot and its connections.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
        }
    }

    /// Returns the path of something in the server's folder.
    pub(super) fn path(self, locked: &Locked, name: &str) -> PathBuf {
        locked.path(self.name()).join(name)
    }
}

/// Returns how many standbys a kind of high availability has, or `None` if there is no such kind.
pub(super) fn standbys(ha_type: &str) -> Option<usize> {
    match ha_type {
        "none" => Some(0),
        "async" => Some(1),
        // Two, so that a commit does not wait for one that is down.
        "sync" => Some(2),
        _ => None,
    }
}

impl Database {
    /// Returns the servers that the database has, the primary first.
    pub(super) fn members(&self) -> impl Iterator<Item = Member> + use<'_> {
        std::iter::once(self.record.primary).chain(self.record.standbys.iter().copied())
    }

    /// Returns whether a member is the primary.
    pub(super) fn is_primary(&self, member: Member) -> bool {
        self.record.primary == member
    }
}
