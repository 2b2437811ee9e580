//! The changelog of the contract of this workspace is what the command makes.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::diff;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns a document without its operations, of the version before the first.
fn without_operations(document: &str) -> String {
    let part = |key: &str| {
        let start = document.find(&format!("\n{key}:"));
        start.unwrap_or_else(|| panic!("the contract has {key}"))
    };
    let head = &document[..part("x-paging")];
    let version = head.lines().find(|line| line.starts_with("  version:"));
    let head = head.replace(
        version.expect("the contract has a version"),
        "  version: 0.0.0",
    );
    let rest = &document[part("components")..];
    format!("{head}\npaths: {{}}{rest}")
}

/// Returns the contract of a version: that of its tag in git, or `None` if the tag is not there.
fn released(version: &str, contract: &str) -> Option<String> {
    if version == "0.0.0" {
        return Some(without_operations(contract));
    }
    let output = Command::new("git")
        .args(["show", &format!("v{version}:openapi.yaml")])
        .current_dir(ROOT)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn our_changelog_is_what_the_command_makes() {
    let read =
        |file: &str| fs::read_to_string(Path::new(ROOT).join(file)).expect("the file can be read");
    let (contract, changelog) = (read("openapi.yaml"), read("CHANGELOG.md"));
    let since = changelog
        .lines()
        .find_map(|line| line.strip_prefix("Since "));
    let since = since
        .expect("the section says since when")
        .trim_end_matches('.');
    let Some(base) = released(since, &contract) else {
        println!("skipped: git has no tag v{since}");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |file: &str, text: &str| {
        fs::write(folder.path().join(file), text).expect("the file can be written");
    };
    write("base.yaml", &base);
    write("openapi.yaml", &contract);
    write("CHANGELOG.md", &changelog);
    let (code, _, wrong) = diff(
        folder.path(),
        &["base.yaml", "openapi.yaml", "--prepend", "CHANGELOG.md"],
    );
    assert_eq!(code, 0, "{wrong}");
    let made = fs::read_to_string(folder.path().join("CHANGELOG.md"));
    let made = made.expect("the changelog is there");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        fs::write(Path::new(ROOT).join("CHANGELOG.md"), &made).expect("the file can be written");
    }
    assert_eq!(
        changelog, made,
        "cargo xtask diff --prepend CHANGELOG.md mends it"
    );
}
