//! A response that is saved in a file, which only its owner can read, since it may have secrets.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use super::failure::Failure;
use super::output;
use crate::client::ByteStream;

/// A file that is ready for a response before the request is sent: a secret in it may be shown only once.
pub(super) struct Saved {
    /// Where the response will be.
    path: PathBuf,
    file: File,
    /// The file that is written beside it, and takes its place when it is whole. `None` if the path is that
    /// of a device or a pipe, which is written itself.
    draft: Option<Draft>,
}

/// A file that is removed if it does not get its name.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        // It has its name, or an error is reported already.
        let _ = fs::remove_file(&self.0);
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
            Ok(known) if known.is_file() => Self::beside(path.canonicalize()?),
            Ok(_) => Ok(Self {
                path: path.to_owned(),
                file: OpenOptions::new().write(true).open(path)?,
                draft: None,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::beside(path.to_owned()),
            Err(error) => Err(error),
        }
    }

    /// Creates a draft beside the path of a file.
    fn beside(path: PathBuf) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", process::id()));
        let draft = path.with_file_name(hidden);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&draft)?;
        let draft = Some(Draft(draft));
        Ok(Self { path, file, draft })
    }

    /// Writes a response into the file.
    pub(super) async fn write(mut self, body: ByteStream) -> Result<(), Failure> {
        output::copy(body, &mut self.file).await?;
        let Some(draft) = &self.draft else {
            return Ok(());
        };
        let named = self.file.sync_all();
        let named = named.and_then(|()| fs::rename(&draft.0, &self.path));
        named.map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::other(format!("failed to write {}: {error}", path.display()))
}
