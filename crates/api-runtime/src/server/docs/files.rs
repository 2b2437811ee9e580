//! The files of Swagger UI, read from the archive of its release that is inside the program.
//!
//! `utoipa-swagger-ui` would unpack them in a build script, with an archiver and a compressor of its
//! own: fifteen crates for six files. A file in the archive is compressed as gzip compresses, so it
//! only needs gzip's frame around it to be sent.

use bytes::Bytes;
use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED as ARCHIVE;

/// The start of the entry of a file in the archive's directory.
const ENTRY: &[u8] = b"PK\x01\x02";
/// The start of the end of the archive's directory.
const END: &[u8] = b"PK\x05\x06";
/// The frame of gzip before the data (RFC 1952, section 2.3): deflate, no name, no time, system
/// unknown.
const GZIP: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum File {
    /// The bytes as they are.
    Plain(Bytes),
    /// The bytes in gzip.
    Gzip(Bytes),
}

/// Returns a file of the folder `dist`, or `None` if the archive has none of this name.
pub(super) fn lookup(name: &str) -> Option<File> {
    lookup_in(ARCHIVE, name)
}

/// Looks through the directory at the end of the archive (APPNOTE of PKWARE, section 4.3.12). Nothing
/// in the archive of a release needs the fields of 64 bits.
fn lookup_in(archive: &'static [u8], name: &str) -> Option<File> {
    let end = archive.windows(END.len()).rposition(|it| it == END)?;
    let mut at = long(archive, end + 16)?;
    while archive.get(at..)?.starts_with(ENTRY) {
        let names = at + 46;
        let after = names + short(archive, at + 28)?;
        let path = archive.get(names..after)?;
        // The first folder has the version in its name.
        let inner = path.splitn(2, |byte| *byte == b'/').nth(1);
        let file_name = inner.and_then(|inner| inner.strip_prefix(b"dist/"));
        // The folder itself has an entry, too.
        if file_name == Some(name.as_bytes()) && !name.is_empty() {
            return file(archive, at);
        }
        at = after + short(archive, at + 30)? + short(archive, at + 32)?;
    }
    None
}

/// Returns the file whose entry in the directory is at this offset.
fn file(archive: &'static [u8], entry: usize) -> Option<File> {
    let header = long(archive, entry + 42)?;
    // The header of a file repeats its name, and may have other extra fields than the directory.
    let data = header + 30 + short(archive, header + 26)? + short(archive, header + 28)?;
    let data = archive.get(data..data + long(archive, entry + 20)?)?;
    match short(archive, entry + 10)? {
        0 => Some(File::Plain(Bytes::from_static(data))),
        8 => {
            // The checksum and the length of the plain bytes end a member of gzip as well, in the
            // same order of bytes.
            let checksum = archive.get(entry + 16..entry + 20)?;
            let length = archive.get(entry + 24..entry + 28)?;
            Some(File::Gzip(
                [&GZIP[..], data, checksum, length].concat().into(),
            ))
        }
        _ => None,
    }
}

fn short(archive: &[u8], at: usize) -> Option<usize> {
    let bytes = archive.get(at..at + 2)?.try_into().ok()?;
    Some(usize::from(u16::from_le_bytes(bytes)))
}

fn long(archive: &[u8], at: usize) -> Option<usize> {
    let bytes = archive.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::super::FILES;
    use super::*;

    #[test]
    fn the_archive_has_every_file_of_the_page_whole() {
        for (name, _) in FILES {
            let file = lookup(name).unwrap_or_else(|| panic!("{name} is missing"));
            let bytes = match file {
                File::Plain(bytes) => bytes.to_vec(),
                File::Gzip(gzip) => {
                    let mut plain = Vec::new();
                    // The decoder compares the checksum and the length.
                    let read = GzDecoder::new(&gzip[..]).read_to_end(&mut plain);
                    read.unwrap_or_else(|error| panic!("{name}: {error}"));
                    plain
                }
            };
            assert!(!bytes.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_file_that_is_elsewhere_in_the_archive_is_not_found() {
        for name in ["LICENSE", "package.json", "", "../LICENSE", "swagger-ui"] {
            assert_eq!(lookup(name), None, "{name}");
        }
    }

    #[test]
    fn an_archive_that_ends_early_has_no_files() {
        let end = ARCHIVE.windows(END.len()).rposition(|it| it == END);
        let end = end.expect("the directory ends");
        for length in [0, 1, 4, 100, end / 2, end, end + 3, end + 4, end + 19] {
            assert_eq!(lookup_in(&ARCHIVE[..length], "index.css"), None, "{length}");
        }
        assert!(lookup_in(&ARCHIVE[..end + 22], "index.css").is_some());
    }
}
