//! The programs that copy the files of a cluster. They run as the user of its servers: in a folder that
//! the owner of the database can change, a copy by the service could be led elsewhere by links.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::fchown;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use tokio::process::Command;

use super::files::User;
use super::server;

/// The file that says where the log of a copy begins.
const LABEL: &str = "backup_label";
/// The file that makes a server a standby.
pub(super) const STANDBY: &str = "standby.signal";
/// The file that makes a server read an archive.
pub(super) const RECOVERY: &str = "recovery.signal";
/// What a copied cluster gets anew.
const SIGNALS: [&str; 3] = [LABEL, STANDBY, RECOVERY];

/// What a copy of a cluster must not have: it belongs to the running server, or the log of the
/// primary has it.
const LEFT_OUT: [&str; 13] = [
    "./pg_wal/*",
    "./pg_replslot/*",
    "./pg_dynshmem/*",
    "./pg_notify/*",
    "./pg_serial/*",
    "./pg_snapshots/*",
    "./pg_stat_tmp/*",
    "./pg_subtrans/*",
    "./postmaster.pid",
    "./postmaster.opts",
    "./backup_label",
    "./standby.signal",
    "./recovery.signal",
];

/// Returns a command that writes the files of a cluster to its output, also while a server changes them. It
/// ends with 1 if a file has changed or was removed meanwhile, which the log of the server has.
pub(super) fn pack(from: &Path) -> Command {
    let mut tar = server::tool("tar");
    tar.args(["--create", "--sparse", "--anchored", "--file=-"]);
    for left_out in LEFT_OUT {
        tar.arg(format!("--exclude={left_out}"));
    }
    tar.arg(".").current_dir(from);
    tar
}

/// Returns a command that reads the files of a cluster from its input.
pub(super) fn unpack(to: &Path) -> Command {
    let mut tar = server::tool("tar");
    tar.args(["--extract", "--file=-"]).current_dir(to);
    tar
}

/// Makes a copied cluster recover when its server starts, by the file `backup_label` with this content and an
/// empty file that says how. Both are new files: the owner of the database may have put a link or a pipe in
/// their place.
pub(super) fn finish(folder: &Path, user: User, signal: &str, label: &str) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty())?;
    for name in SIGNALS {
        match unlinkat(&folder, name, AtFlags::empty()) {
            Err(Errno::NOENT) => {}
            removed => removed?,
        }
    }
    for (name, content) in [(LABEL, label), (signal, "")] {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(content.as_bytes())?;
        if let Some((user, group)) = user {
            fchown(&file, Some(user), Some(group))?;
        }
    }
    Ok(())
}
