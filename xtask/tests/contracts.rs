//! Runs `codegen`, `lint` and `diff` in repositories of others: with several contracts, with a
//! workspace of their own, and with `contract.toml`.

#[path = "support/git.rs"]
mod git;
#[path = "support/program.rs"]
mod program;
#[path = "contracts/versions.rs"]
mod versions;

use std::fs;
use std::path::Path;
use std::process::Command;

use program::{documents, xtask};

/// A workspace that somebody has written by hand.
const WORKSPACE: &str = r#"# Ours.
[workspace]
resolver = "3"
members = [
    "app", # the program
    # Commands.
    "xtask",
]

[workspace.dependencies]
serde = "1" # wire formats
"#;

const TWO: &str = r#"
[[contract]]
document = "specs/pets.yaml"
name = "pets"

[[contract]]
document = "specs/others.yaml"
name = "others"
foreign = true
"#;

/// Returns a folder with documents in `specs`.
fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::create_dir(folder.path().join("specs")).expect("a folder can be made");
    for document in ["pets.yaml", "others.yaml"] {
        fs::copy(
            documents().join(document),
            folder.path().join("specs").join(document),
        )
        .expect("the document can be copied");
    }
    for (path, text) in files {
        fs::write(folder.path().join(path), text).expect("a file can be written");
    }
    folder
}

fn read(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Its line ends, its last line and a comment behind the name of a table are as its author has them.
#[test]
fn a_workspace_that_has_its_members_stays_as_it_is() {
    let complete = "[workspace] # ours\r\nresolver = \"3\"\r\nmembers = [\"crates/*\"]";
    let folder = repository(&[("Cargo.toml", complete)]);
    let sub = folder.path().join("sub");
    fs::create_dir(&sub).expect("a folder can be made");
    for arguments in [&["codegen"][..], &["codegen", "--check"]] {
        let arguments = [arguments, &["--contract", "../specs/pets.yaml"]].concat();
        let (code, printed) = xtask(&sub, &arguments);
        assert_eq!(code, 0, "{printed}");
        assert!(!printed.contains("edited the members"), "{printed}");
        assert_eq!(read(folder.path(), "Cargo.toml"), complete);
    }
    // The crates are where those of the workspace are.
    assert!(folder.path().join("crates/api-types").exists());
    let lacking = complete.replace("\"crates/*\"", "");
    fs::write(folder.path().join("Cargo.toml"), &lacking).expect("it can be written");
    let (code, printed) = xtask(&sub, &["codegen", "--contract", "../specs/pets.yaml"]);
    assert_eq!(code, 0, "{printed}");
    let edited = read(folder.path(), "Cargo.toml");
    assert!(edited.contains("crates/api-types"), "{edited}");
    assert_eq!(
        edited.replace("\r\n", "").matches('\n').count(),
        0,
        "{edited:?}"
    );
}

#[test]
fn a_mock_and_a_command_line_are_there_as_long_as_they_are_asked_for() {
    let listed = |more: &str| {
        format!("[[contract]]\ndocument = \"specs/pets.yaml\"\nname = \"pets\"\n{more}")
    };
    let both = listed("cli = \"pets\"\nmock = true\n");
    let folder = repository(&[("Cargo.toml", WORKSPACE), ("contract.toml", &both)]);
    let (code, printed) = xtask(folder.path(), &["codegen"]);
    assert_eq!(code, 0, "{printed}");
    assert_eq!(xtask(folder.path(), &["codegen", "--check"]).0, 0);
    let parts = ["pets-cli", "pets-mock"];
    let is_member = |part: &str| {
        let member = format!("\"crates/{part}\"");
        read(folder.path(), "Cargo.toml").contains(&member)
    };
    for part in parts {
        assert!(is_member(part), "{part}");
        assert!(folder.path().join("crates").join(part).exists(), "{part}");
    }

    // The flags mean the same.
    let flags = [
        "--contract",
        "specs/pets.yaml",
        "--name",
        "pets",
        "--cli",
        "pets",
        "--mock",
    ];
    let (code, printed) = xtask(
        folder.path(),
        &[&["codegen", "--check"][..], &flags].concat(),
    );
    assert_eq!(code, 0, "{printed}");

    fs::write(folder.path().join("contract.toml"), listed("")).expect("a file can be written");
    let (code, printed) = xtask(folder.path(), &["codegen", "--check"]);
    assert_eq!(code, 4, "{printed}");
    for part in parts {
        let orphan = format!("orphaned: {part}/Cargo.toml");
        assert!(printed.contains(&orphan), "{printed}");
    }
    let (code, printed) = xtask(
        folder.path(),
        &[&["codegen", "--check"][..], &flags].concat(),
    );
    assert_eq!(code, 0, "{printed}");
    assert_eq!(xtask(folder.path(), &["codegen"]).0, 0);
    let (code, printed) = xtask(
        folder.path(),
        &[&["codegen", "--check"][..], &flags].concat(),
    );
    assert_eq!(code, 4, "{printed}");
    let command = "cargo xtask codegen --contract specs/pets.yaml --name pets --cli pets --mock\n";
    assert!(printed.contains(command), "{printed}");
    for part in parts {
        assert!(!is_member(part), "{part}");
        assert!(!folder.path().join("crates").join(part).exists(), "{part}");
    }
}

#[test]
fn several_contracts_join_a_workspace_whose_manifest_is_edited() {
    let folder = repository(&[("Cargo.toml", WORKSPACE), ("contract.toml", TWO)]);
    let (code, printed) = xtask(folder.path(), &["codegen"]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("edited the members of "), "{printed}");
    insta::assert_snapshot!(read(folder.path(), "Cargo.toml"), @r#"
    # Ours.
    [workspace]
    resolver = "3"
    members = [
        "app", # the program
        # Commands.
        "xtask",
        "crates/pets-client",
        "crates/pets-macros",
        "crates/pets-runtime",
        "crates/pets-server",
        "crates/pets-types",
        "crates/others-client",
        "crates/others-macros",
        "crates/others-runtime",
        "crates/others-server",
        "crates/others-types",
    ]

    [workspace.dependencies]
    serde = "1" # wire formats
    "#);

    // Each is up to date beside the other, and one can be named.
    for arguments in [
        &["codegen", "--check"][..],
        &["codegen", "pets", "--check"],
        &["codegen", "others"],
    ] {
        let (code, printed) = xtask(folder.path(), arguments);
        assert_eq!(code, 0, "{arguments:?}: {printed}");
        assert!(!printed.contains("edited"), "{printed}");
    }

    // A member that is missing is stale, and the printed command mends it.
    fs::write(folder.path().join("Cargo.toml"), WORKSPACE).expect("a file can be written");
    let (code, printed) = xtask(folder.path(), &["codegen", "--check"]);
    assert_eq!(code, 4, "{printed}");
    assert!(printed.contains("stale: ../Cargo.toml\n"), "{printed}");
    assert!(
        printed.contains("    cargo xtask codegen pets\n"),
        "{printed}"
    );
    assert_eq!(xtask(folder.path(), &["codegen", "pets"]).0, 0);
    assert_eq!(xtask(folder.path(), &["codegen", "--check", "pets"]).0, 0);
    assert_eq!(xtask(folder.path(), &["codegen", "--check"]).0, 4);

    // From a folder below, the same contracts; with arguments for one, only that one.
    fs::create_dir(folder.path().join(".git")).expect("a folder can be made");
    let (code, printed) = xtask(&folder.path().join("specs"), &["codegen"]);
    assert_eq!(code, 0, "{printed}");
    assert_eq!(xtask(folder.path(), &["codegen", "--check"]).0, 0);
    let (code, printed) = xtask(folder.path(), &["codegen", "--contract", "specs/gone.yaml"]);
    assert_eq!(code, 1);
    assert!(!printed.contains("pets"), "{printed}");
}

#[test]
fn two_contracts_in_one_folder_get_one_workspace() {
    let folder = repository(&[]);
    for name in ["pets", "more-pets"] {
        let arguments = [
            "codegen",
            "--contract",
            "specs/pets.yaml",
            "--out",
            "out",
            "--name",
            name,
        ];
        let (code, printed) = xtask(folder.path(), &arguments);
        assert_eq!(code, 0, "{printed}");
    }
    let manifest = read(folder.path(), "out/Cargo.toml");
    for member in [
        "pets-runtime",
        "more-pets-runtime",
        "pets-macros",
        "more-pets-macros",
    ] {
        assert!(manifest.contains(&format!("\"{member}\"")), "{manifest}");
    }
    assert!(!folder.path().join("Cargo.toml").exists());
}

#[test]
fn what_a_contract_has_no_longer_leaves_the_workspace() {
    let folder = repository(&[("Cargo.toml", WORKSPACE)]);
    let codegen = |runtime: &str, more: &[&str]| {
        let arguments = [
            "codegen",
            "--contract",
            "specs/pets.yaml",
            "--out",
            "crates",
            "--name",
            "pets",
            "--runtime",
            runtime,
        ];
        xtask(folder.path(), &[&arguments, more].concat())
    };
    assert_eq!(codegen("copy", &[]).0, 0);
    let (code, printed) = codegen("version", &["--check"]);
    assert_eq!(code, 4, "{printed}");
    assert!(
        printed.contains("orphaned: pets-runtime/Cargo.toml"),
        "{printed}"
    );
    let (code, printed) = codegen("version", &[]);
    assert_eq!(code, 0, "{printed}");
    assert!(!folder.path().join("crates/pets-runtime").exists());
    assert!(!read(folder.path(), "Cargo.toml").contains("pets-runtime"));
    assert_eq!(codegen("version", &["--check"]).0, 0);

    // A crate by hand with such a name is left alone, and stays a member.
    let own = folder.path().join("crates/pets-runtime");
    fs::create_dir_all(&own).expect("a folder can be made");
    fs::write(own.join("Cargo.toml"), "[package]\n").expect("a file can be written");
    let manifest = read(folder.path(), "Cargo.toml")
        .replace("\"xtask\",", "\"xtask\", \"crates/pets-runtime\",");
    fs::write(folder.path().join("Cargo.toml"), &manifest).expect("a file can be written");
    assert_eq!(codegen("version", &[]).0, 0);
    assert_eq!(read(folder.path(), "Cargo.toml"), manifest);
    let (code, printed) = codegen("copy", &[]);
    assert_eq!(code, 1);
    assert!(printed.contains("was not generated"), "{printed}");
}

#[test]
fn the_run_time_comes_from_where_the_arguments_say() {
    let folder = repository(&[]);
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/api-runtime");
    let home = home.canonicalize().expect("the run time is there");
    let path = format!("path={}", home.display());
    let sources = [
        (
            "copy=shared",
            "package = \"shared-runtime\", path = \"../shared-runtime\"",
        ),
        (
            "version",
            "package = \"stratus-runtime\", version = \"0.1.0\"",
        ),
        (
            "git=https://example.com/s.git#1a2b3c",
            "git = \"https://example.com/s.git\", rev = \"1a2b3c\"",
        ),
        (path.as_str(), "/api-runtime\", version = \"0.1.0\""),
    ];
    for (at, (runtime, expected)) in sources.into_iter().enumerate() {
        let out = format!("out-{at}");
        let arguments = [
            "codegen",
            "--contract",
            "specs/pets.yaml",
            "--out",
            &out,
            "--runtime",
            runtime,
        ];
        let (code, printed) = xtask(folder.path(), &arguments);
        assert_eq!(code, 0, "{runtime}: {printed}");
        let manifest = read(folder.path(), &format!("{out}/api-client/Cargo.toml"));
        assert!(manifest.contains(expected), "{runtime}: {manifest}");
        let is_copied = folder
            .path()
            .join(&out)
            .join("shared-runtime/Cargo.toml")
            .is_file();
        assert_eq!(is_copied, runtime == "copy=shared");
    }
    for (runtime, why) in [
        ("version=0.0.1", "or a later version compatible with it"),
        ("git=https://example.com/s.git", "names no commit"),
        ("somewhere", "is no run time"),
    ] {
        let arguments = [
            "codegen",
            "--contract",
            "specs/pets.yaml",
            "--runtime",
            runtime,
        ];
        let (code, printed) = xtask(folder.path(), &arguments);
        assert_eq!(code, 2, "{printed}");
        assert!(printed.contains(why), "{printed}");
    }
}

#[test]
fn what_is_wrong_with_the_list_of_contracts_is_named() {
    let twice = format!(
        "{TWO}{}",
        TWO.replace("name = \"others\"", "name = \"more\"")
    );
    let cases = [
        (
            twice.as_str(),
            &[][..],
            "two contracts have the name `pets`",
        ),
        (
            "[[contract]]\ndocument = \"a.yaml\"\n",
            &[],
            "missing field `name`",
        ),
        (
            "[[contract]]\ndocument = \"a.yaml\"\nname = \"Pets\"\n",
            &[],
            "`Pets` cannot begin a crate's name",
        ),
        (
            "[[contract]]\ndocument = \"a.yaml\"\nname = \"a\"\nruntime = \"x\"\n",
            &[],
            "`x` is no run time",
        ),
        (
            "[[contract]]\ndocument = \"a.yaml\"\nname = \"a\"\nruntime = \"path=x\"\n",
            &[],
            "x is no crate",
        ),
        (TWO, &["pet"], "lists no `pet`: did you mean `pets`?"),
    ];
    for (text, names, expected) in cases {
        let folder = repository(&[("contract.toml", text)]);
        let (code, printed) = xtask(folder.path(), &[&["codegen"], names].concat());
        assert_eq!(code, 1, "{printed}");
        assert!(printed.contains(expected), "{expected}: {printed}");
        assert!(!folder.path().join("crates").exists());
    }
    let folder = repository(&[("contract.toml", TWO)]);
    let (code, _) = xtask(folder.path(), &["codegen", "pets", "--name", "api"]);
    assert_eq!(code, 2);
}

#[test]
fn lint_and_diff_without_a_document_read_those_of_the_list() {
    let folder = repository(&[("contract.toml", TWO), ("Cargo.toml", WORKSPACE)]);
    let (code, printed) = xtask(folder.path(), &["lint"]);
    // The second document has errors, unless it is read as its entry says.
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("specs/others.yaml"), "{printed}");
    assert!(
        printed.contains("nothing to say about 1 operation"),
        "{printed}"
    );
    let (code, printed) = xtask(folder.path(), &["lint", "--format", "sarif"]);
    assert_eq!(code, 1);
    assert!(printed.contains("lists 2: name one"), "{printed}");

    if !git::is_installed() {
        return;
    }
    let git = |arguments: &[&str]| {
        let set = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        let done = Command::new("git")
            .args(set)
            .args(arguments)
            .current_dir(folder.path())
            .output();
        assert!(done.expect("git runs").status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "Begin"]);
    let path = folder.path().join("specs/others.yaml");
    let text = fs::read_to_string(&path).expect("the document is there");
    let changed = text.replace("thing_list", "thing_search");
    assert_ne!(text, changed);
    fs::write(&path, changed).expect("the document can be written");
    let (_, printed) = xtask(folder.path(), &["diff", "--base", "HEAD"]);
    assert!(
        printed.contains("nothing has changed on the wire"),
        "{printed}"
    );
    assert!(printed.contains("`others_client::"), "{printed}");

    // A contract that is added is compared with nothing, but one whose document was renamed is not new.
    let list = |third: &str| {
        let listed =
            format!("{TWO}\n[[contract]]\ndocument = \"specs/third.yaml\"\nname = \"{third}\"\n");
        fs::write(folder.path().join("contract.toml"), listed).expect("the folder is writable");
    };
    fs::copy(
        folder.path().join("specs/pets.yaml"),
        folder.path().join("specs/third.yaml"),
    )
    .expect("the document can be copied");
    list("third");
    let (code, printed) = xtask(folder.path(), &["diff", "--base", "HEAD"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("`HEAD` has no contract `third`: it is new, and breaks nobody"),
        "{printed}"
    );
    let renamed = TWO.replace("specs/pets.yaml", "specs/third.yaml");
    fs::write(folder.path().join("contract.toml"), renamed).expect("the folder is writable");
    let (code, printed) = xtask(folder.path(), &["diff", "--base", "HEAD"]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("has no specs/third.yaml"), "{printed}");
    let (code, printed) = xtask(folder.path(), &["diff", "--base", "no-such-revision"]);
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("failed to find `no-such-revision` in git"),
        "{printed}"
    );
}

#[test]
fn the_entries_that_the_pages_show_are_some() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |page: &str| fs::read_to_string(root.join(page)).expect("the page is there");
    let pages = ["docs/repositories.md", "docs/versions.md", "README.md"].map(read);
    let blocks = pages
        .iter()
        .flat_map(|page| page.split("```toml\n").skip(1));
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let entries: Vec<&str> = blocks
        .filter(|block| block.contains("[[contract]]"))
        .collect();
    assert_eq!(entries.len(), 4);
    for entry in entries {
        let folder = repository(&[("contract.toml", entry)]);
        let (code, printed) = xtask(folder.path(), &["codegen"]);
        assert_eq!(code, 1);
        // Nothing is wrong but that there is no such document.
        assert!(printed.contains("museum.yaml"), "{printed}");
        assert!(!printed.contains("contract.toml"), "{printed}");
    }
}
