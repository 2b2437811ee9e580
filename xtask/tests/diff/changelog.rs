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

/// Returns what git prints, or `None` if it fails or prints nothing.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(ROOT)
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the contract of a version, as it was last: that of the tag of the version, or else that
/// before the commit which gave it the next version. Returns `None` if the history does not go back to
/// it.
fn released(version: &str, contract: &str) -> Option<String> {
    if version == "0.0.0" {
        return Some(without_operations(contract));
    }
    let of_tag = git(&["show", &format!("v{version}:openapi.yaml")]);
    of_tag.or_else(|| {
        let line = format!("-G^  version: {}$", version.replace('.', "\\."));
        let next = git(&["log", "-1", "--format=%H", &line, "--", "openapi.yaml"])?;
        git(&["show", &format!("{}~1:openapi.yaml", next.trim())])
    })
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
        let is_shallow = git(&["rev-parse", "--is-shallow-repository"]);
        let is_whole = is_shallow.is_some_and(|is| is.trim() == "false");
        assert!(!is_whole, "git has no contract of version {since}");
        println!("skipped: there is no history of git, or not all of it");
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
        "cargo xtask diff --contract openapi.yaml --prepend CHANGELOG.md mends it"
    );
}
