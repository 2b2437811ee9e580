//! The file `pg_control` of a cluster, in the format of PostgreSQL 16 to 18.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::files::open_regular;

/// The bytes of the file that are read: its structure begins with the number of the system (8 bytes),
/// the versions of the file and of the catalogue (4 each), the state (4, and 4 that align what
/// follows), a time (8) and the position of the last checkpoint (8).
const READ: usize = 40;
/// The versions of the file whose structure is known.
const VERSIONS: [u32; 3] = [1300, 1700, 1800];
/// The state of a cluster whose server has ended in order.
const SHUT_DOWN: u32 = 1;

/// Returns the position of the last entry of the log of a server that has ended in order, which is a
/// checkpoint, or `None` if it has not.
///
/// # Errors
///
/// If the file cannot be read, or is of another version.
pub(super) fn end(data: &Path) -> io::Result<Option<i64>> {
    let mut file: File = open_regular(&data.join("global/pg_control"))?;
    let mut bytes = [0; READ];
    file.read_exact(&mut bytes)?;
    // PostgreSQL writes its structures as they are in memory, so in the byte order of the machine.
    let number = |at: usize| {
        bytes[at..]
            .first_chunk()
            .map(|four| u32::from_ne_bytes(*four))
    };
    if number(8).is_none_or(|version| !VERSIONS.contains(&version)) {
        return Err(io::Error::other("it is of an unknown version"));
    }
    if number(16) != Some(SHUT_DOWN) {
        return Ok(None);
    }
    let position = bytes[32..]
        .first_chunk()
        .map(|eight| u64::from_ne_bytes(*eight));
    Ok(position.and_then(|position| i64::try_from(position).ok()))
}
