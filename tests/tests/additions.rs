//! Additions to a contract break no caller: cargo-semver-checks compares the generated crates of
//! two versions.

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

fn compare(old: &Standalone, new: &Standalone, krate: &str) -> Output {
    let mut command = launch::cargo();
    command
        .args(["semver-checks", "--color", "never", "--manifest-path"])
        .arg(new.root().join(krate).join("Cargo.toml"));
    command.arg("--baseline-root").arg(old.root()).args([
        "--package",
        krate,
        "--release-type",
        "minor",
    ]);
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
    for krate in CALLED {
        let output = compare(&old, &new, krate);
        let printed =
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{printed}");
        assert!(printed.contains("no semver update required"), "{printed}");
    }
    // In the other direction the additions are removals, which cargo-semver-checks must report.
    let output = compare(&new, &old, CALLED[0]);
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!output.status.success(), "{printed}");
    assert!(printed.contains("requires new major version"), "{printed}");
}
