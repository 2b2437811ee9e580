//! The run time, written beside crates whose contract lives outside our workspace.

use super::{embedded, inherit, licence};
use crate::File;
use crate::emit::MARK;

/// The crates that generated code leans on: name, manifest, sources.
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

/// Every file of every such crate.
pub(super) fn files() -> Vec<File> {
    let mark =
        format!("{MARK}: the run time of generated crates, as the generator brings it along.");
    let mut files = Vec::new();
    for (name, manifest, sources) in CRATES {
        let mut put = |path: &str, text: String| {
            files.push(File {
                path: format!("{name}/{path}"),
                text,
            })
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
