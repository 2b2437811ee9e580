//! Where generated crates find the run time, and the copies of it beside them.

use super::text::quoted;
use super::{embedded, inherit, licence};
use crate::emit::MARK;
use crate::file::File;
use crate::options::Runtime;

/// The package that generated crates depend on, where it is not copied.
const PACKAGE: &str = "stratus-runtime";

/// The crates that generated code depends on, each with its folder in this workspace, its manifest
/// and its sources.
pub(super) const CRATES: [(&str, &str, &[(&str, &str)]); 2] = [
    (
        "api-macros",
        include_str!("../../embedded/api-macros/manifest.toml"),
        embedded::MACROS,
    ),
    (
        "api-runtime",
        include_str!("../../embedded/api-runtime/manifest.toml"),
        embedded::RUNTIME,
    ),
];

/// Returns the keys of a dependency that say which package the run time is and where it is found.
/// The generated code calls it `api_runtime` in any case.
pub(super) fn source(runtime: &Runtime, prefix: &str) -> String {
    let own = inherit::package("version");
    let (package, place, version) = match runtime {
        Runtime::Version(version) => (PACKAGE.to_owned(), String::new(), version.to_string()),
        Runtime::Git { url, revision } => {
            let place = format!("git = {}, rev = {}, ", quoted(url), quoted(revision));
            (PACKAGE.to_owned(), place, own.to_owned())
        }
        Runtime::Path(path) => {
            let place = format!("path = {}, ", quoted(path));
            (PACKAGE.to_owned(), place, own.to_owned())
        }
        Runtime::Copy | Runtime::SharedCopy(_) => {
            let package = inherit::copied_name(PACKAGE, runtime.copied(prefix).unwrap_or(prefix));
            let place = format!("path = {}, ", quoted(&format!("../{package}")));
            (package, place, own.to_owned())
        }
    };
    format!(
        "package = {}, {place}version = {}",
        quoted(&package),
        quoted(&version)
    )
}

/// Returns every file of the copies of the run time's crates, whose names begin with `prefix`. Each
/// manifest and source has a first line that marks it as generated.
pub(super) fn files(prefix: &str) -> Vec<File> {
    let mark = format!("{MARK}: a copy of the run time of generated crates.");
    let mut files = Vec::new();
    for (krate, manifest, sources) in CRATES {
        let folder = inherit::copied_name(krate, prefix);
        let mut put = |path: &str, text: String| {
            files.push(File {
                path: format!("{folder}/{path}"),
                text,
            });
        };
        put(
            "Cargo.toml",
            format!("# {mark}\n\n{}", inherit::spelled_out(manifest, prefix)),
        );
        for (path, text) in sources {
            put(
                path,
                if path.ends_with(".rs") {
                    format!("// {mark}\n{text}")
                } else {
                    (*text).to_owned()
                },
            );
        }
        for (path, text) in licence::own_texts() {
            put(path, text);
        }
    }
    files
}
