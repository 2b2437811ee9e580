//! The URIs of files, and their paths.

use std::path::{Path, PathBuf};

use gen_lsp_types::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters of a path that are percent-encoded in its URI.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns the path of a URI. That of a document without a file, such as an untitled one, is its
/// URI, which is the path of no file.
pub(crate) fn path(uri: &Uri) -> PathBuf {
    let Some(rest) = uri.0.strip_prefix("file://") else {
        return PathBuf::from(&uri.0);
    };
    // Between the slashes is a host, which is this machine.
    let path = rest.find('/').map_or("", |slash| &rest[slash..]);
    let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[1].is_ascii_alphabetic() && bytes[2] == b':';
    // The slash before the drive of Windows is no part of the path.
    PathBuf::from(if has_drive { &path[1..] } else { &path })
}

/// Returns the URI of a file.
pub(crate) fn of_path(path: &Path) -> Uri {
    let text = path.to_string_lossy().replace('\\', "/");
    let slash = if text.starts_with('/') { "" } else { "/" };
    Uri(format!(
        "file://{slash}{}",
        utf8_percent_encode(&text, PATH)
    ))
}
