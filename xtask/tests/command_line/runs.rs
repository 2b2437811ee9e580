//! `cargo xtask test` with a shell script as its cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs `xtask test` in a folder, as on a machine without any tool but this program as its cargo.
fn test_run(folder: &Path, cargo: &Path, arguments: &[&str], is_ci: bool) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command
        .arg("test")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        // Without a `PATH`, the programs of the system would still be found.
        .env("PATH", folder)
        .env("CARGO", cargo);
    if is_ci {
        command.env("CI", "true");
    }
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program runs");
    let printed = String::from_utf8([stderr, stdout].concat()).expect("the script prints text");
    (
        status.code().expect("the script ends without a signal"),
        printed,
    )
}

/// Creates a workspace without members, and a shell script to use as its cargo.
#[cfg(unix)]
fn workspace_with_cargo(script: &str) -> (tempfile::TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder can be made");
    let cargo = folder.path().join("cargo");
    fs::create_dir(folder.path().join("crates")).expect("the folder is writable");
    fs::write(folder.path().join("Cargo.toml"), "[workspace]\n").expect("the folder is writable");
    fs::write(&cargo, format!("#!/bin/sh\n{script}\n")).expect("the folder is writable");
    fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755))
        .expect("the file can be made executable");
    (folder, cargo)
}

#[cfg(unix)]
#[test]
fn a_step_that_fails_stops_no_other_and_is_named_at_the_end() {
    let (folder, cargo) = workspace_with_cargo(
        "echo \"$@\" >> calls; case \"$1 $2\" in 'test --workspace') exit 101;; esac",
    );
    let (code, printed) = test_run(folder.path(), &cargo, &[], false);
    assert_eq!(code, 1, "{printed}");
    let calls = fs::read_to_string(folder.path().join("calls")).expect("cargo was called");
    assert!(
        calls.lines().any(|call| call.starts_with("nextest run")),
        "{calls}"
    );
    let (_, failed) = printed
        .split_once("To run alone what failed:\n")
        .expect("the output lists the failed steps");
    let failed: Vec<&str> = failed
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect();
    let doctests = "cargo test --workspace --doc";
    // `codegen --check` and `lint` fail because the folder contains no contract.
    let lint = "cargo xtask lint --deny warnings";
    assert_eq!(failed, ["cargo xtask codegen --check", lint, doctests]);
    assert!(
        printed.ends_with("steps: 3 passed, 3 failed, 2 skipped\n"),
        "{printed}"
    );
}

#[cfg(unix)]
#[test]
fn lints_and_external_tests_are_runs_of_their_own() {
    let (folder, cargo) = workspace_with_cargo("true");
    let planned = |arguments: &[&str]| {
        let arguments = [arguments, &["--plan"]].concat();
        let (code, printed) = test_run(folder.path(), &cargo, &arguments, false);
        assert_eq!(code, 0, "{printed}");
        let steps = printed.lines().filter_map(|line| {
            let step = line.strip_prefix("run  ").or(line.strip_prefix("skip "))?;
            step.split(' ')
                .find(|word| {
                    [
                        "fmt",
                        "codegen",
                        "postgres",
                        "proxies",
                        "test",
                        "conformance",
                        "page",
                        "editors",
                        "examples",
                        "nextest",
                        "clippy",
                        "doc",
                        "check",
                        "package",
                        "publish",
                    ]
                    .contains(word)
                })
                .map(str::to_owned)
        });
        (steps.collect::<Vec<_>>(), printed.contains("--lints` runs"))
    };
    let tests = [
        "fmt", "codegen", "postgres", "proxies", "test", "test", "nextest",
    ];
    let lints = ["clippy", "doc", "check", "clippy", "package"];
    assert_eq!(planned(&[]), (tests.map(str::to_owned).to_vec(), true));
    assert_eq!(
        planned(&["--lints"]),
        (lints.map(str::to_owned).to_vec(), false)
    );
    let external = [
        "conformance",
        "page",
        "editors",
        "editors",
        "examples",
        "publish",
        "nextest",
    ];
    // The trial of publishing packages them too.
    let both = lints[..4].iter().chain(&external);
    let both = both.map(ToString::to_string);
    assert_eq!(
        planned(&["--lints", "--external"]),
        (both.collect::<Vec<_>>(), false)
    );
}

#[cfg(unix)]
#[test]
fn what_is_missing_is_skipped_and_named_with_what_installs_it() {
    let (folder, cargo) = workspace_with_cargo(
        "case \"$1\" in semver-checks | nextest) exit 101;; esac; echo \"$STRATUS_TEST_NO_POSTGRES $@\" >> calls",
    );
    fs::write(folder.path().join("openapi.yaml"), "").expect("the folder is writable");
    let (_, external) = test_run(folder.path(), &cargo, &["--external"], false);
    let missing = "missing: Python is not installed\n  skipped: conformance";
    assert!(external.contains(missing), "{external}");
    assert!(
        external.contains("\nskipped            cargo xtask conformance\n"),
        "{external}"
    );
    let (_, printed) = test_run(folder.path(), &cargo, &[], false);
    assert!(printed.contains("which `cargo xtask test --external` runs"));
    let install = |start: &str| {
        let mut lines = printed.lines().skip_while(|line| !line.starts_with(start));
        lines.nth(2).unwrap_or_default().trim().to_owned()
    };
    for (missing, command) in [
        (
            "missing: cargo-nextest",
            "cargo install --locked cargo-nextest",
        ),
        (
            "missing: cargo-semver-checks",
            "cargo install --locked cargo-semver-checks",
        ),
        ("missing: git", "apt-get install git"),
        ("missing: strace", "apt-get install strace"),
        ("missing: STRATUS_CORPUS", "export STRATUS_CORPUS="),
        (
            "missing: STRATUS_JSON_SCHEMA_SUITE",
            "export STRATUS_JSON_SCHEMA_SUITE=",
        ),
    ] {
        assert!(install(missing).contains(command), "{missing}\n{printed}");
    }
    let calls = fs::read_to_string(folder.path().join("calls")).expect("cargo was called");
    let tests = calls.lines().last().expect("the tests come last");
    assert!(tests.contains(" test --no-fail-fast "), "{tests}");
}

#[cfg(unix)]
#[test]
fn ci_skips_nothing() {
    let (folder, cargo) = workspace_with_cargo("echo \"$@\" >> calls");
    let (code, printed) = test_run(folder.path(), &cargo, &[], true);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("error: CI must skip nothing"), "{printed}");
    let calls = fs::read_to_string(folder.path().join("calls")).expect("cargo was called");
    assert!(
        calls.lines().all(|call| call.ends_with("--version")),
        "{calls}"
    );
}

#[cfg(unix)]
#[test]
fn every_test_file_that_needs_something_from_outside_is_external() {
    let (folder, cargo) = workspace_with_cargo("true");
    let (code, printed) = test_run(folder.path(), &cargo, &["--external", "--plan"], false);
    assert_eq!(code, 0, "{printed}");
    let plan = printed.lines().last().expect("the plan has a step");
    let files = plan.split(" --test ").skip(1);
    let mut listed: Vec<&str> = files.filter_map(|file| file.split(' ').next()).collect();
    // The files with the longest tests, of which the first part runs the others.
    let long = listed.split_off(listed.len() - 6);
    let all_long = [
        "service",
        "closed_loop",
        "features",
        "mock_crates",
        "simulation",
        "types_agree_with_json_schema",
    ];
    assert_eq!(long, all_long);
    let (_, first) = test_run(folder.path(), &cargo, &["--plan"], false);
    let left_out = first.split("--filterset 'not(").nth(1);
    let left_out = left_out.and_then(|rest| rest.trim_end().strip_suffix(")'"));
    let left_out = left_out.expect("the first part leaves the longest tests out");
    assert!(plan.contains(left_out), "{plan}\n{left_out}");
    let marks = [
        "outside::folder(",
        "\"semver-checks\"",
        "test --external` runs it",
    ];
    assert_eq!(listed, test_files_with(&marks));
}

#[cfg(unix)]
#[test]
fn every_test_that_is_left_to_the_nightly_run_is_part_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let nightly = fs::read_to_string(root.join(".github/workflows/nightly.yml"));
    let nightly = nightly.expect("the workflow can be read");
    let left = test_files_with(&["the nightly run runs it"]);
    assert!(!left.is_empty());
    for file in left {
        let has_it = |line: &str| {
            line.contains(&format!("--test {file} ")) && line.ends_with("-- --ignored")
        };
        assert!(nightly.lines().any(has_it), "{file}");
    }
}

/// Returns the names of the files of tests, with their modules, that have one of the marks.
fn test_files_with(marks: &[&str]) -> Vec<String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests");
    let mut found = Vec::new();
    for entry in fs::read_dir(tests).expect("the folder can be read") {
        let file = entry.expect("the entry can be read").path();
        // The modules of a test file are in the folder of its name.
        let modules = fs::read_dir(&file).into_iter().flatten();
        let modules = modules.map(|entry| entry.expect("the entry can be read").path());
        let texts = modules.chain([file.clone()]).filter(|path| path.is_file());
        let texts = texts.map(|path| fs::read_to_string(path).unwrap_or_default());
        let text: String = texts.collect();
        if marks.iter().any(|mark| text.contains(mark)) {
            let name = file.file_stem().expect("a file has a name");
            found.push(name.to_string_lossy().into_owned());
        }
    }
    found.sort();
    found.dedup();
    found
}
