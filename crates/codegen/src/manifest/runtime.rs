//! The copy of `api-runtime` and `api-macros` for generated crates outside this workspace.

use super::{embedded, inherit, licence};
use crate::emit::MARK;
use crate::file::File;

/// The crates that generated code depends on, each with its name, manifest and sources.
pub(super) const CRATES: [(&str, &str, &[(&str, &str)]); 2] = [
    (
        "api-macros",
        include_str!("../../../api-macros/Cargo.toml"),
        embedded::MACROS,
    ),
    (
        "api-runtime",
        include_str!("../../../api-runtime/Cargo.toml"),
        embedded::RUNTIME,
    ),
];

/// Returns every file of the copies of `api-runtime` and `api-macros`, each manifest and source
/// with a first line that marks it as generated.
pub(super) fn files() -> Vec<File> {
    let mark = format!("{MARK}: a copy of the run time of generated crates.");
    let mut files = Vec::new();
    for (name, manifest, sources) in CRATES {
        let mut put = |path: &str, text: String| {
            files.push(File {
                path: format!("{name}/{path}"),
                text,
            });
        };
        put(
            "Cargo.toml",
            format!("# {mark}\n\n{}", inherit::spelled_out(manifest)),
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
