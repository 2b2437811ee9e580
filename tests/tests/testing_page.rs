//! The dependencies that docs/testing.md names are enough for the code that follows them, in the
//! crate of somebody who calls the API.

use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../docs/testing.md");

/// What the crate of a caller has before it is tested.
const CALLER: &str = r#"
[package]
name = "testing-page"
edition = "2024"

[workspace]

[dependencies]
api-client = { path = "../api-client" }
tokio = { version = "1", features = ["macros", "rt"] }

"#;

/// proptest with the features that this workspace has, so that nothing is downloaded.
const PROPTEST: &str =
    r#"proptest = { version = "1", default-features = false, features = ["bit-set", "std"] }"#;

/// Returns each block of dependencies of the page, with the block of Rust after it.
fn pairs() -> Vec<(&'static str, &'static str)> {
    let mut blocks = PAGE.split("```").skip(1).step_by(2);
    let mut pairs = Vec::new();
    while let Some(block) = blocks.next() {
        if let Some(dependencies) = block.strip_prefix("toml\n") {
            let code = blocks.next().and_then(|next| next.strip_prefix("rust\n"));
            pairs.push((dependencies, code.expect("code follows the dependencies")));
        }
    }
    pairs
}

/// Returns a program of the code of a page, as rustdoc makes one of it.
fn program(code: &str) -> String {
    let shown: String = code
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line)))
        .collect();
    if shown.contains("fn main()") {
        shown
    } else {
        format!("fn main() {{\n{shown}}}\n")
    }
}

#[test]
#[ignore = "compiles crates for minutes; `cargo test -- --ignored` of the nightly run runs it"]
fn the_dependencies_of_the_page_are_enough_for_its_code() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let target = target.expect("the scratch folder is in the target folder");
    let pairs = pairs();
    assert_eq!(pairs.len(), 2);
    for (dependencies, code) in pairs {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let write = |path: &str, text: &str| {
            fs::write(folder.path().join(path), text).expect("the file can be written");
        };
        let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/");
        let manifest = format!("{CALLER}{dependencies}")
            .replace("\"../", &format!("\"{crates}"))
            .replace("proptest = \"1\"", PROPTEST);
        write("Cargo.toml", &manifest);
        // The versions of this workspace, so that nothing is downloaded.
        write("Cargo.lock", include_str!("../../Cargo.lock"));
        for folder_of in ["src", "examples"] {
            fs::create_dir(folder.path().join(folder_of)).expect("the folder is writable");
        }
        write("src/lib.rs", "");
        write("examples/page.rs", &program(code));
        let output = tests::standalone::cargo()
            .args(["run", "--quiet", "--offline", "--example", "page"])
            .current_dir(folder.path())
            .env("CARGO_TARGET_DIR", target)
            .output()
            .expect("cargo can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{dependencies}\n{code}\n{said}");
    }
}
