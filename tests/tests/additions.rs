//! Additions to a contract break no caller: cargo-semver-checks compares the generated crates of
//! two versions.

use std::path::Path;
use std::process::Output;

use tests::standalone::Standalone;

const OLD: &str = include_str!("additions/old.yaml");
const NEW: &str = include_str!("additions/new.yaml");

/// The crates that callers depend on.
const CALLED: [&str; 2] = ["additions-types", "additions-client"];

fn is_installed() -> bool {
    let found = launch::cargo()
        .args(["semver-checks", "--version"])
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        assert!(
            std::env::var_os("CI").is_none(),
            "CI needs cargo-semver-checks"
        );
        println!("skipped: cargo-semver-checks is not installed");
    }
    found
}

fn generate(name: &str, contract: &str) -> Standalone {
    Standalone::generate(
        env!("CARGO_TARGET_TMPDIR"),
        name,
        "pets.yaml",
        contract.as_bytes(),
        "additions",
    )
}

/// Compares two descriptions of a crate, as a minor release.
fn compare(old: &Path, new: &Path) -> Output {
    let mut command = launch::cargo();
    command.args(["semver-checks", "--color", "never"]);
    command.args(["--release-type", "minor", "--baseline-rustdoc"]);
    command.arg(old).arg("--current-rustdoc").arg(new);
    command.output().expect("cargo can be started")
}

#[test]
fn what_is_additive_in_the_contract_is_additive_in_rust() {
    if !is_installed() {
        return;
    }
    let (old, new) = (
        generate("additions-old", OLD),
        generate("additions-new", NEW),
    );
    let described =
        CALLED.map(|krate| [&old, &new].map(|crates| crates.describe(krate, &["--all-features"])));
    for [before, after] in &described {
        let output = compare(before, after);
        let printed =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{printed}");
        assert!(printed.contains("no semver update required"), "{printed}");
    }
    // In the other direction the additions are removals, which cargo-semver-checks must report.
    let [before, after] = &described[0];
    let output = compare(after, before);
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!output.status.success(), "{printed}");
    assert!(printed.contains("requires new major version"), "{printed}");
}
