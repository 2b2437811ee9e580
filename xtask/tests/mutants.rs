//! `cargo xtask mutants` with a shell script as its cargo, which writes what the program of `tests/faults`
//! would.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const LIST: &str = "crates/stratusd/mutants.txt";
const HEAD: &str = "# The list.\n";
const SLEEP: &str = "crates/stratusd/src/a.rs: replace sleep with ()";
const FITS: &str = "crates/stratusd/src/b.rs: replace fits -> bool with true";

/// The files that have faults.
const FILES: [&str; 4] = [
    "src/seal.rs",
    "src/unseal.rs",
    "src/inventory/apply/vms.rs",
    "src/serve.rs",
];

/// Runs the command in a folder, where the tests notice these faults or not, and the run of them ends with
/// this code.
fn mutants(
    folder: &Path,
    (missed, caught): (&str, &str),
    code: i32,
    more: &[&str],
) -> (i32, String) {
    let cargo = folder.join("cargo");
    let faults = FILES.map(|file| format!(r#"{{"file":"crates/stratusd/{file}"}}"#));
    let faults = format!("[{}]", faults.join(","));
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> calls\n[ \"$1\" = run ] || {{ echo '{faults}'; exit 0; }}\n\
         printf '{missed}' > target/mutants/mutants.out/missed.txt\n\
         printf '{caught}' > target/mutants/mutants.out/caught.txt\n\
         echo 'service a_test' > target/mutants/mutants.out/failing.txt\nexit {code}\n"
    );
    fs::create_dir_all(folder.join("target/mutants/mutants.out")).expect("the folder is writable");
    fs::write(&cargo, script).expect("the folder is writable");
    fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755))
        .expect("the file can be made executable");
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("mutants")
        .args(more)
        .current_dir(folder)
        .env("CARGO", &cargo)
        .output()
        .expect("the program runs");
    let printed = [output.stdout, output.stderr].concat();
    let code = output.status.code().expect("it ends without a signal");
    (code, String::from_utf8(printed).expect("it prints text"))
}

fn workspace(list: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join(LIST);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is writable");
    fs::write(path, list).expect("the folder is writable");
    fs::write(folder.path().join("Cargo.toml"), "[workspace]\n").expect("the folder is writable");
    folder
}

fn list(faults: &[&str]) -> String {
    let entries = faults
        .iter()
        .map(|fault| format!("\n# It cannot be seen.\n{fault}\n"));
    format!("{HEAD}{}", entries.collect::<String>())
}

const SLEEP_MISSED: &str = "crates/stratusd/src/a.rs:7:5: replace sleep with ()\\n";
const FITS_MISSED: &str = "crates/stratusd/src/b.rs:9:5: replace fits -> bool with true\\n";

#[test]
fn a_fault_that_no_test_notices_is_in_the_list_or_an_error() {
    let folder = workspace(&list(&[SLEEP]));
    let path = folder.path();
    let (code, printed) = mutants(path, (SLEEP_MISSED, FITS_MISSED), 0, &["--shard", "1/8"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("2 faults were seeded, and no test notices 1 of them"),
        "{printed}"
    );
    assert!(printed.contains("judge none: 1\n"), "{printed}");
    let calls = fs::read_to_string(path.join("calls")).expect("cargo was called");
    assert!(calls.contains(" --shard 1/8\n"), "{calls}");
    let listed = fs::read_to_string(path.join("target/mutants/faults.json"));
    let listed = listed.expect("the faults are listed");
    assert!(FILES.iter().all(|file| listed.contains(file)), "{listed}");
    let both = [SLEEP_MISSED, FITS_MISSED].concat();
    let (code, printed) = mutants(path, (&both, ""), 0, &[]);
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains(&format!("no test notices: {FITS}\n")),
        "{printed}"
    );
    // It is not put into the list, for which it needs a reason.
    let (code, _) = mutants(path, (&both, ""), 0, &["--update"]);
    assert_eq!(code, 1);
    assert_eq!(
        fs::read_to_string(path.join(LIST)).expect("it is there"),
        list(&[SLEEP])
    );
}

#[test]
fn files_are_chosen_by_their_paths() {
    let folder = workspace(&list(&[]));
    let path = folder.path();
    let files = ["--file", "src/seal.rs", "--file", "inventory/*"];
    let (code, printed) = mutants(path, ("", ""), 0, &files);
    assert_eq!(code, 0, "{printed}");
    let listed = fs::read_to_string(path.join("target/mutants/faults.json"));
    let listed = listed.expect("the faults are listed");
    let chosen: Vec<bool> = FILES
        .iter()
        .map(|file| listed.contains(&format!("{file}\"")))
        .collect();
    assert_eq!(chosen, [true, false, true, false], "{listed}");
    let (code, printed) = mutants(path, ("", ""), 0, &["--file", "a[b"]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("`a[b` is no pattern"), "{printed}");
    let (code, printed) = mutants(path, ("", ""), 0, &["--file", "seals.rs"]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("no fault in such a file"), "{printed}");
}

#[test]
fn tests_are_chosen_by_their_names() {
    let folder = workspace(&list(&[]));
    let path = folder.path();
    let tests = ["--test", "schedule", "--test", "pipelining::"];
    let (_, printed) = mutants(path, (SLEEP_MISSED, ""), 0, &tests);
    let said = format!("none of the chosen tests notices: {SLEEP}\n");
    assert!(printed.contains(&said), "{printed}");
    let calls = fs::read_to_string(path.join("calls")).expect("cargo was called");
    assert!(
        calls.ends_with("/target/mutants schedule pipelining::\n"),
        "{calls}"
    );
    // It is the same tests that go on.
    let (_, printed) = mutants(path, (SLEEP_MISSED, ""), 0, &["--resume"]);
    assert!(printed.contains(&said), "{printed}");
    let (_, printed) = mutants(path, (SLEEP_MISSED, ""), 0, &[]);
    assert!(
        printed.contains(&format!("no test notices: {SLEEP}\n")),
        "{printed}"
    );
}

#[test]
fn a_run_that_was_interrupted_goes_on_without_another_list() {
    let folder = workspace(&list(&[SLEEP]));
    let path = folder.path();
    let (code, printed) = mutants(path, (SLEEP_MISSED, FITS_MISSED), 0, &["--resume"]);
    assert_eq!(code, 0, "{printed}");
    let calls = fs::read_to_string(path.join("calls")).expect("cargo was called");
    assert!(!calls.contains("--list"), "{calls}");
    assert!(calls.contains(" -- --resume /"), "{calls}");
    assert!(calls.ends_with("/target/mutants\n"), "{calls}");
    let (code, printed) = mutants(path, ("", ""), 0, &["--resume", "--shard", "0/2"]);
    assert_eq!(code, 2, "{printed}");
}

#[test]
fn the_list_of_faults_only_shrinks() {
    let folder = workspace(&list(&[SLEEP, FITS]));
    let path = folder.path();
    // What another shard seeds stays in the list.
    let (code, printed) = mutants(path, ("", ""), 0, &[]);
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = mutants(path, ("", SLEEP_MISSED), 0, &[]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("noticed now"), "{printed}");
    let (code, printed) = mutants(path, ("", SLEEP_MISSED), 0, &["--update"]);
    assert_eq!(code, 0, "{printed}");
    assert_eq!(
        fs::read_to_string(path.join(LIST)).expect("it is there"),
        list(&[FITS])
    );
}

#[test]
fn a_list_without_reasons_and_tests_that_fail_are_errors() {
    let folder = workspace(&format!("{HEAD}\n{SLEEP}\n"));
    let (code, printed) = mutants(folder.path(), ("", ""), 0, &[]);
    assert_eq!(code, 1);
    assert!(printed.contains("has no reason above"), "{printed}");
    let folder = workspace(&list(&[]));
    let (code, printed) = mutants(folder.path(), ("", ""), 1, &[]);
    assert_eq!(code, 1);
    assert!(printed.contains("could not be seeded"), "{printed}");
}
