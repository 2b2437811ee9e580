//! The programs that copy the files of a cluster. They run as the user of its servers: in a folder that
//! the owner of the database can change, a copy by the service could be led elsewhere by links.

use std::path::Path;
use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::files::{User, failed};
use super::server;
use crate::provision::ProvisionError;

/// What a copy of a cluster must not have: it belongs to the running server, or the log of the
/// primary has it.
const LEFT_OUT: [&str; 12] = [
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

/// Runs a script in the folder of a copied cluster. It gets the content of the file `backup_label`.
pub(super) async fn finish(
    folder: &Path,
    user: User,
    script: &str,
    label: &str,
) -> Result<(), ProvisionError> {
    let io = |error| failed("sh", &error);
    let mut sh = server::tool("sh");
    sh.args(["-euc", script])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    server::as_user(&mut sh, user);
    let mut sh = sh.spawn().map_err(io)?;
    if let Some(mut input) = sh.stdin.take() {
        input.write_all(label.as_bytes()).await.map_err(io)?;
    }
    if !sh.wait().await.map_err(io)?.success() {
        return Err(ProvisionError::Failed(
            "a copy cannot be finished".to_owned(),
        ));
    }
    Ok(())
}
