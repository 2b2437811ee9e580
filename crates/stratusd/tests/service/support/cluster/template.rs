//! The data folder of a new server, which is made once and copied for each test.
//!
//! `initdb` computes for most of a second, and more than a hundred tests need a server of their
//! own. PostgreSQL's own tests copy a template too.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::Unprivileged;
use super::binaries::binary;

const ARGUMENTS: [&str; 5] = [
    "--no-sync",
    "--auth=trust",
    "--username=stratus",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
];

/// Copies the template to a folder that does not exist yet, and gives it to the user.
pub(super) fn copy_to(data: &Path, user: &Unprivileged) {
    copy(&template(user), data, user).expect("the template can be copied");
}

/// Returns the folder of the template, and makes it if it is not there.
fn template(user: &Unprivileged) -> PathBuf {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // With other arguments, it is another template.
    let arguments = ARGUMENTS
        .concat()
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let ready = scratch.join(format!("postgres-{}{arguments}", version()));
    if !ready.is_dir() {
        // `initdb` runs as a user who may not enter the target folder. It makes the template
        // elsewhere, and this process brings it.
        let folder = made(user);
        let part = tempfile::tempdir_in(scratch).expect("the target folder is writable");
        let whole = part.path().join("data");
        copy(&folder.path().join("data"), &whole, &Unprivileged(None)).expect("it can be copied");
        // Tests that start at the same time make one each, of which one remains.
        let renamed = fs::rename(&whole, &ready);
        assert!(renamed.is_ok() || ready.is_dir(), "{renamed:?}");
    }
    ready
}

/// Returns a temporary folder with a new data folder `data`.
fn made(user: &Unprivileged) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))
        .expect("the test owns the folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("the folder is writable");
    lchown(&data, user.0, user.0).expect("root may give folders away");
    let mut init = Command::new(binary("initdb"));
    let init = init.args(ARGUMENTS).arg("-D").arg(&data);
    let made = user.run(init).stdout(Stdio::null()).status();
    assert!(made.expect("initdb starts").success(), "initdb failed");
    folder
}

/// Returns the version of `initdb`, such as `15.14`.
fn version() -> String {
    let output = Command::new(binary("initdb")).arg("--version").output();
    let said = output.expect("initdb starts").stdout;
    let said = String::from_utf8(said).expect("initdb prints text");
    let version = said.split_whitespace().nth(2);
    version.expect("initdb prints its version").to_owned()
}

/// Copies a folder with all that is in it, and gives the copy to the user.
fn copy(from: &Path, to: &Path, user: &Unprivileged) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to, user)?;
        } else {
            // Permissions are copied too.
            fs::copy(entry.path(), &to)?;
            lchown(&to, user.0, user.0)?;
        }
    }
    fs::set_permissions(to, from.metadata()?.permissions())?;
    lchown(to, user.0, user.0)
}
