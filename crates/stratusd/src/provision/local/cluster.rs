//! Copies of the files of a cluster. The programs that make them run as the user of its servers: in a folder
//! that the owner of the database can change, a copy by the service could be led elsewhere by links.
//! What the service itself writes there are new files in a folder that it has opened without following one.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::fchown;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use tokio::process::Command;

use super::files::{User, open_folder};
use super::server;

/// The file that says where the log of a copy begins.
const LABEL: &str = "backup_label";
/// The file that makes a server a standby.
pub(super) const STANDBY: &str = "standby.signal";
/// The file that makes a server read an archive.
pub(super) const RECOVERY: &str = "recovery.signal";
/// What a copied cluster must not bring along.
const REPLACED: [&str; 3] = [LABEL, STANDBY, RECOVERY];

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
    let folder = open_folder(CWD, folder)?;
    for name in REPLACED {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::{FileType, mknodat};

    use super::*;

    #[test]
    fn links_and_pipes_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let (data, other) = (folder.path().join("data"), folder.path().join("other"));
        fs::create_dir(&data).expect("it can be made");
        fs::write(&other, "kept").expect("it can be made");
        symlink(&other, data.join(LABEL)).expect("it can be made");
        mknodat(CWD, data.join(STANDBY), FileType::Fifo, Mode::RWXU, 0).expect("it can be made");
        finish(&data, None, RECOVERY, "label").expect("it can be finished");
        let read = |path: &Path| fs::read_to_string(path).ok();
        assert_eq!(read(&data.join(LABEL)).as_deref(), Some("label"));
        assert_eq!(read(&data.join(RECOVERY)).as_deref(), Some(""));
        assert!(!data.join(STANDBY).exists());
        assert_eq!(read(&other).as_deref(), Some("kept"));
        // Not through a link in the place of the folder.
        let link = folder.path().join("link");
        symlink(&data, &link).expect("it can be made");
        finish(&link, None, STANDBY, "label").expect_err("it is a link");
        assert!(!data.join(STANDBY).exists());
    }
}
