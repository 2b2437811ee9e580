//! The time that a comparison of two contracts takes: on the wire, and for Rust programs.
//!
//! Our contract is compared with itself and with a copy of which one shared schema is narrower, and
//! so is GitHub's, if `STRATUS_GITHUB` names its document.

#[path = "support/mod.rs"]
mod support;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Instant;

use codegen::surface::{Surface, surface};
use compatibility::{compare, compare_rust};
use contract::{Contract, Options};
use support::{Table, median};

/// That of the commands.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 9;
/// What is narrower in the copy: the first of these that the document has.
const NARROWER: [(&str, &str); 2] = [
    ("maxLength: 63", "maxLength: 62"),
    ("\"maximum\": 100", "\"maximum\": 99"),
];

fn main() {
    let mut table = Table::new(&["document", "operations", "change", "wire", "Rust"]);
    for path in documents() {
        let text = std::fs::read_to_string(&path).expect("the document can be read");
        let edit = NARROWER.iter().find(|(from, _)| text.contains(from));
        let (from, to) = edit.copied().unwrap_or_default();
        let base = read(&path, &text);
        for (change, text) in [
            ("none", text.clone()),
            ("one schema", text.replacen(from, to, 1)),
        ] {
            let revision = read(&path, &text);
            let wire = || {
                let start = Instant::now();
                let report = compare(&base, &revision);
                assert_eq!(report.findings.is_empty(), change == "none");
                start.elapsed().as_secs_f64() * 1000.0
            };
            let rust = || {
                let start = Instant::now();
                let _ = compare_rust(&exposed(&base), &exposed(&revision));
                start.elapsed().as_secs_f64() * 1000.0
            };
            table.row([
                path.file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                base.operations.len().to_string(),
                change.to_owned(),
                format!("{:.1} ms", median((0..RUNS).map(|_| wire()))),
                format!("{:.1} ms", median((0..RUNS).map(|_| rust()))),
            ]);
        }
    }
    table.print("Comparing two contracts");
}

/// Our contract, and GitHub's if it is there.
fn documents() -> Vec<PathBuf> {
    let github = env::var_os("STRATUS_GITHUB").map(PathBuf::from);
    if github.is_none() {
        println!("skipped: STRATUS_GITHUB names no document");
    }
    let ours = PathBuf::from("../openapi.yaml");
    std::iter::once(ours).chain(github).collect()
}

fn read(path: &Path, text: &str) -> Contract {
    let name = path.to_string_lossy();
    let options = Options {
        foreign: !name.ends_with("openapi.yaml"),
        ..Options::default()
    };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let copy = folder.path().join(path.file_name().unwrap_or_default());
    std::fs::write(&copy, text).expect("the copy can be written");
    let loaded = contract::load_with(&copy, &options);
    loaded.contract.expect("the document can be read")
}

fn exposed(contract: &Contract) -> Surface {
    let reversed = contract::reversed(contract);
    let (api, events) = codegen::lower_both(contract, reversed.as_ref(), "api");
    surface(&api, events.as_ref())
}
