//! A response that is saved in a file, which only its owner can read, since it may have secrets.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use super::failure::Failure;
use super::output;
use crate::client::ByteStream;

/// The maximum number of drafts that are passed over.
const MOST_LEFT: u32 = 100;

/// A file that is ready for a response before the request is sent: a secret in it may be shown only once.
pub(super) struct Saved {
    /// Where the response will be.
    path: PathBuf,
    file: File,
    /// The file that is written beside it, and takes its place when it is whole. `None` if the path is that
    /// of a device or a pipe, or the folder takes no files, so that it is written itself.
    draft: Option<Draft>,
    is_file: bool,
}

/// A file that is removed if it does not get its name.
struct Draft {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_kept {
            // An error is reported already.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Saved {
    /// Makes the file ready. What is there stays until the response is whole.
    pub(super) fn open(path: &str) -> Result<Self, Failure> {
        let path = Path::new(path);
        Self::at(path).map_err(|error| failed(path, &error))
    }

    fn at(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(known) if known.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(known) if known.is_file() => {
                let path = path.canonicalize()?;
                // In a folder where no file can be made.
                Self::beside(&path).or_else(|_| Self::in_place(&path, true))
            }
            Ok(_) => Self::in_place(path, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::beside(path),
            Err(error) => Err(error),
        }
    }

    /// Opens what is there. A file becomes one of its owner, and loses what it had when it is written.
    fn in_place(path: &Path, is_file: bool) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(path)?;
        #[cfg(unix)]
        if is_file {
            let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            file.set_permissions(private)?;
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            draft: None,
            is_file,
        })
    }

    /// Creates a draft beside the path of a file.
    fn beside(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut number = 0;
        loop {
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{number}.part", process::id()));
            let draft = path.with_file_name(hidden);
            match options.open(&draft) {
                // One that a program with the same number has left.
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_LEFT =>
                {
                    number += 1;
                }
                opened => {
                    return Ok(Self {
                        path: path.to_owned(),
                        file: opened?,
                        draft: Some(Draft {
                            path: draft,
                            is_kept: false,
                        }),
                        is_file: true,
                    });
                }
            }
        }
    }

    /// Writes a response into the file.
    pub(super) async fn write(mut self, body: ByteStream) -> Result<(), Failure> {
        let Some(draft) = &mut self.draft else {
            if self.is_file {
                let emptied = self.file.set_len(0);
                emptied.map_err(|error| failed(&self.path, &error))?;
            }
            return output::copy(body, &mut self.file).await;
        };
        output::copy(body, &mut self.file).await?;
        let named = self.file.sync_all();
        let named = named.and_then(|()| fs::rename(&draft.path, &self.path));
        // The response may be the only place of a secret.
        draft.is_kept = true;
        named.map_err(|error| {
            let (path, draft) = (self.path.display(), draft.path.display());
            Failure::other(format!(
                "failed to write {path}: {error}; the response is in {draft}"
            ))
        })
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::other(format!("failed to write {}: {error}", path.display()))
}
