//! `codegen --base` raises the versions of a contract and of its crates as far as a change asks.

use std::fs;
use std::path::Path;
use std::process::Command;

use toml::Table;

use crate::git;
use crate::program::xtask;

/// A contract with one operation.
const DOCUMENT: &str = "openapi: 3.1.0
info:
  title: Zoo
  version: \"0.4.2\" # as published
paths:
  /animals:
    get:
      operationId: animal_list
      parameters:
        - {name: kind, in: query, schema: {type: string, maxLength: 9}}
      responses:
        '204': {description: Done.}
";

/// A second operation, which every implementer has to write.
const MORE: &str = "  /cages:
    get:
      operationId: cage_list
      responses:
        '204': {description: Done.}
";

const LISTED: &str = "# Ours.
[[contract]]
document = \"zoo.yaml\" # the animals
name = \"zoo\"
runtime = \"version\"
";

/// Makes a repository whose first commit has the document, and `contract.toml` if there is a text.
fn repository(listed: Option<&str>) -> Option<tempfile::TempDir> {
    if !git::is_installed() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let name = if listed.is_some() {
        "zoo.yaml"
    } else {
        "openapi.yaml"
    };
    write(folder.path(), name, DOCUMENT);
    if let Some(listed) = listed {
        write(folder.path(), "contract.toml", listed);
    }
    run_git(folder.path(), &["init", "--quiet"]);
    commit(folder.path());
    Some(folder)
}

fn commit(folder: &Path) {
    run_git(folder, &["add", "."]);
    run_git(folder, &["commit", "--quiet", "--message", "Change"]);
}

fn run_git(folder: &Path, arguments: &[&str]) {
    let set = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let mut git = Command::new("git");
    git.args(set).args(arguments).current_dir(folder);
    assert!(
        git.output().expect("git runs").status.success(),
        "{arguments:?}"
    );
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("a file can be written");
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the versions in the manifests of the types, the client and the server, and the version of
/// the types that the server asks for.
fn crates(folder: &Path, prefix: &str) -> [String; 4] {
    let manifest = |part: &str| {
        let text = read(folder, &format!("crates/{prefix}-{part}/Cargo.toml"));
        text.parse::<Table>().expect("a manifest is TOML")
    };
    let version = |part: &str| {
        manifest(part)["package"]["version"]
            .as_str()
            .map(str::to_owned)
    };
    let asked = manifest("server")["dependencies"][&format!("{prefix}-types")]["version"].clone();
    [
        version("types"),
        version("client"),
        version("server"),
        asked.as_str().map(str::to_owned),
    ]
    .map(|version| version.expect("a version is a text"))
}

#[test]
fn versions_that_no_crates_are_written_with_do_not_rise() {
    let Some(folder) = repository(Some(LISTED)) else {
        return;
    };
    let folder = folder.path();
    let (exit, printed) = xtask(folder, &["codegen"]);
    assert_eq!(exit, 0, "{printed}");
    commit(folder);
    let grown = format!("{DOCUMENT}{MORE}");
    write(folder, "zoo.yaml", &grown);
    // A file where the crates should be.
    fs::remove_dir_all(folder.join("crates")).expect("they are there");
    write(folder, "crates", "");
    let (exit, printed) = xtask(folder, &["codegen", "--base", "HEAD"]);
    assert_eq!(exit, 1, "{printed}");
    assert!(
        printed.contains("zoo.yaml has the versions of before again"),
        "{printed}"
    );
    assert_eq!(read(folder, "zoo.yaml"), grown);
    assert_eq!(read(folder, "contract.toml"), LISTED);
    fs::remove_file(folder.join("crates")).expect("it is there");
    let (exit, printed) = xtask(folder, &["codegen", "--base", "HEAD"]);
    assert_eq!(exit, 0, "{printed}");
    assert_eq!(crates(folder, "zoo"), ["0.4.3", "0.4.3", "0.5.0", "0.4.3"]);
}

#[test]
fn versions_rise_as_far_as_a_change_asks_and_no_further() {
    let Some(folder) = repository(Some(LISTED)) else {
        return;
    };
    let folder = folder.path();
    let raise = ["codegen", "--base", "HEAD"];
    let check = ["codegen", "--base", "HEAD", "--check"];
    // What has not changed keeps its versions.
    let (exit, printed) = xtask(folder, &raise);
    assert_eq!(exit, 0, "{printed}");
    assert_eq!(read(folder, "zoo.yaml"), DOCUMENT);
    assert_eq!(read(folder, "contract.toml"), LISTED);
    assert_eq!(crates(folder, "zoo"), ["0.4.2"; 4]);
    commit(folder);

    // A new operation breaks nobody on the wire, and those who implement the server.
    let grown = format!("{DOCUMENT}{MORE}");
    write(folder, "zoo.yaml", &grown);
    let (exit, printed) = xtask(folder, &check);
    assert_eq!(exit, 4, "{printed}");
    for line in [
        "zoo.yaml: `info.version` is 0.4.2, and the change since `HEAD` asks for 0.4.3\n",
        "contract.toml: the version of `zoo-server` is 0.4.2, and the change since `HEAD` asks for 0.5.0\n",
        " codegen --base HEAD\n",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    assert_eq!(read(folder, "zoo.yaml"), grown, "--check has written");
    assert_eq!(read(folder, "contract.toml"), LISTED, "--check has written");
    let (_, report) = xtask(folder, &["diff", "--base", "HEAD"]);
    let low = "too low: zoo-types 0.4.2, zoo-client 0.4.2, zoo-server 0.4.2; `codegen --base HEAD` raises them\n";
    assert!(report.contains(low), "{report}");

    let (exit, printed) = xtask(folder, &raise);
    assert_eq!(exit, 0, "{printed}");
    let raised = grown.replace("\"0.4.2\" #", "\"0.4.3\" #");
    assert_eq!(read(folder, "zoo.yaml"), raised);
    let listed = format!("{LISTED}versions = {{ server = \"0.5.0\" }}\n");
    assert_eq!(read(folder, "contract.toml"), listed);
    assert_eq!(crates(folder, "zoo"), ["0.4.3", "0.4.3", "0.5.0", "0.4.3"]);
    for arguments in [check.as_slice(), &raise, &["codegen", "--check"]] {
        let (exit, printed) = xtask(folder, arguments);
        assert_eq!(exit, 0, "{arguments:?}: {printed}");
    }
    let (_, report) = xtask(folder, &["diff", "--base", "HEAD"]);
    assert!(!report.contains("too low"), "{report}");
    assert!(report.contains("next versions: info.version 0.4.3; zoo-types 0.4.3, zoo-client 0.4.3, zoo-server 0.5.0\n"), "{report}");
    commit(folder);

    // The next change counts from there: a refused request needs no new line of Rust.
    write(
        folder,
        "zoo.yaml",
        &raised.replace("maxLength: 9", "maxLength: 8"),
    );
    let (exit, printed) = xtask(folder, &raise);
    assert_eq!(exit, 0, "{printed}");
    assert!(read(folder, "zoo.yaml").contains("version: \"0.5.0\" # as published"));
    assert_eq!(crates(folder, "zoo"), ["0.5.0", "0.5.0", "0.5.1", "0.5.0"]);
    assert_eq!(
        read(folder, "contract.toml"),
        listed.replace("0.5.0", "0.5.1")
    );
}

#[test]
fn without_a_list_the_version_of_the_document_is_that_of_all_crates() {
    let Some(folder) = repository(None) else {
        return;
    };
    let folder = folder.path();
    write(folder, "openapi.yaml", &format!("{DOCUMENT}{MORE}"));
    let (exit, printed) = xtask(
        folder,
        &["codegen", "--base", "HEAD", "--runtime", "version"],
    );
    assert_eq!(exit, 0, "{printed}");
    assert!(
        read(folder, "openapi.yaml").contains("version: \"0.5.0\" #"),
        "{printed}"
    );
    assert_eq!(crates(folder, "api"), ["0.5.0"; 4]);
}

#[test]
fn a_version_that_cannot_be_raised_is_named_and_nothing_is_written() {
    let Some(folder) = repository(Some(LISTED)) else {
        return;
    };
    let folder = folder.path();
    let anchored = DOCUMENT.replace("version: \"", "version: &own \"");
    write(folder, "zoo.yaml", &format!("{anchored}{MORE}"));
    let (exit, printed) = xtask(folder, &["codegen", "--base", "HEAD"]);
    assert_eq!(exit, 1, "{printed}");
    assert!(printed.contains("write 0.4.3 into zoo.yaml"), "{printed}");
    assert_eq!(read(folder, "contract.toml"), LISTED);
    assert!(!folder.join("crates").exists());

    write(
        folder,
        "contract.toml",
        &format!("{LISTED}versions = {{ server = \"next\" }}\n"),
    );
    let (exit, printed) = xtask(folder, &["codegen"]);
    assert_eq!(exit, 1, "{printed}");
    assert!(printed.contains("contract.toml:6:23"), "{printed}");
    assert!(printed.contains("no semantic version"), "{printed}");
}
