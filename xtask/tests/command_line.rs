//! Runs the commands as a terminal or CI does, and checks their output, the files that they write
//! and their exit codes.

#[path = "command_line/figures.rs"]
mod figures;
#[path = "support/git.rs"]
mod git;
#[path = "support/program.rs"]
mod program;
#[path = "command_line/runs.rs"]
mod runs;

use std::fs;
use std::path::{Path, PathBuf};

use program::documents;

/// Runs a command in a folder; returns its exit code and all that it has printed, with times and
/// folders left out.
fn xtask(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let (code, printed) = program::xtask(folder, arguments);
    let printed: Vec<&str> = printed
        .lines()
        .map(|line| {
            line.rsplit_once(", ")
                .filter(|(_, t)| t.ends_with(" s"))
                .map_or(line, |l| l.0)
        })
        .collect();
    (code, printed.join("\n"))
}

fn generate(folder: &Path, more: &[&str]) -> (i32, String) {
    fs::copy(documents().join("pets.yaml"), folder.join("pets.yaml"))
        .expect("the document can be copied");
    let arguments = [
        "codegen",
        "--contract",
        "pets.yaml",
        "--out",
        "out",
        "--name",
        "pets",
    ];
    xtask(folder, &[&arguments, more].concat())
}

#[test]
fn help_says_what_there_is() {
    let (code, printed) = xtask(&documents(), &["--help"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!("help", printed);
    let (code, printed) = xtask(&documents(), &["codegen", "--help"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!("help_codegen", printed);
    let (code, printed) = xtask(&documents(), &["lint", "--help"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!("help_lint", printed);
}

#[test]
fn a_set_of_lints_runs_on_request() {
    let (code, printed) = xtask(&documents(), &["lint", "unbounded.yaml"]);
    assert_eq!(code, 0, "{printed}");
    assert!(!printed.contains("unbounded"), "{printed}");
    let (code, printed) = xtask(&documents(), &["lint", "--set", "style", "unbounded.yaml"]);
    assert_eq!(code, 0, "{printed}");
    insta::assert_snapshot!("unbounded_yaml", printed);
}

#[test]
fn every_diagnostic_of_a_wrong_document_is_printed() {
    for (document, codes) in [("wrong.yaml", 1), ("syntax.yaml", 1), ("swagger.yaml", 1)] {
        let (code, printed) = xtask(&documents(), &["lint", document]);
        assert_eq!(code, codes, "{printed}");
        insta::assert_snapshot!(document.replace('.', "_"), printed);
    }
}

#[test]
fn a_wrong_document_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let document = documents().join("wrong.yaml").display().to_string();
    let (code, printed) = xtask(
        folder.path(),
        &["codegen", "--contract", &document, "--out", "out"],
    );
    assert_eq!(code, 1, "{printed}");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (code, printed) = xtask(folder.path(), &["lint", "missing.yaml"]);
    assert_eq!(code, 1);
    assert!(
        printed.contains("missing.yaml") && printed.contains("cannot be read"),
        "{printed}"
    );
    let (code, printed) = xtask(folder.path(), &["codegen", "--out", "out"]);
    assert_eq!(code, 1);
    assert!(printed.contains("workspace"), "{printed}");
}

#[test]
fn wrong_arguments_end_with_two() {
    for arguments in [
        &["codegen", "--chek"][..],
        &["codegen", "--name", "../api"],
        &["codegen", "--name", "Api"],
        &["build"],
        &[],
    ] {
        let (code, printed) = xtask(&documents(), arguments);
        assert_eq!(code, 2, "{arguments:?}: {printed}");
    }
}

#[test]
fn crates_are_written_once_and_then_fresh() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (code, printed) = generate(folder.path(), &[]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.starts_with("wrote "), "{printed}");
    for file in ["Cargo.toml", "README.md", "src/lib.rs"] {
        assert!(
            folder.path().join("out/pets-client").join(file).is_file(),
            "{file}"
        );
    }
    let (code, printed) = generate(folder.path(), &[]);
    assert_eq!(code, 0);
    assert!(printed.starts_with("wrote 0 of "), "{printed}");
    let (code, printed) = generate(folder.path(), &["--check"]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.starts_with("compared "), "{printed}");
}

#[test]
fn check_names_what_is_stale_missing_and_orphaned_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    assert_eq!(generate(folder.path(), &[]).0, 0);
    let source = folder.path().join("out/pets-types/src");
    let types =
        fs::read_to_string(source.join("pet.rs")).expect("the first run has written pet.rs");
    let changed = types.replace("min_length = 1", "min_length = 2");
    assert_ne!(changed, types);
    fs::write(source.join("pet.rs"), &changed).expect("pet.rs is writable");
    fs::remove_file(folder.path().join("out/pets-server/README.md"))
        .expect("the first run has written the README");
    fs::write(source.join("cat.rs"), "// Left over.\n").expect("the folder is writable");

    let (code, printed) = generate(folder.path(), &["--check"]);
    assert_eq!(code, 4, "{printed}");
    insta::assert_snapshot!("check", printed);
    assert_eq!(
        fs::read_to_string(source.join("pet.rs")).expect("the second run has written pet.rs"),
        changed
    );
    assert!(source.join("cat.rs").exists());

    // The printed command updates the crates.
    let command = printed
        .lines()
        .map(str::trim)
        .find_map(|line| line.strip_prefix("cargo xtask "));
    let arguments: Vec<&str> = command.expect("a command is printed").split(' ').collect();
    let (code, printed) = xtask(folder.path(), &arguments);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("removed out/pets-types/src/cat.rs"),
        "{printed}"
    );
    assert_eq!(generate(folder.path(), &["--check"]).0, 0);
}

#[test]
fn what_was_not_generated_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::create_dir_all(folder.path().join("out/pets-types/src")).expect("a folder can be made");
    fs::write(
        folder.path().join("out/pets-types/Cargo.toml"),
        "[package]\nname = \"mine\"\n",
    )
    .expect("a file");
    fs::write(
        folder.path().join("out/pets-types/src/lib.rs"),
        "// Mine.\n",
    )
    .expect("a file");
    let (code, printed) = generate(folder.path(), &[]);
    assert_eq!(code, 1);
    assert!(printed.contains("was not generated"), "{printed}");
    let kept = fs::read_to_string(folder.path().join("out/pets-types/src/lib.rs"))
        .expect("the run has written lib.rs");
    assert_eq!(kept, "// Mine.\n");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("out"), "a file").expect("a file");
    let (code, printed) = generate(folder.path(), &[]);
    assert_eq!(code, 1);
    assert!(printed.contains("out"), "{printed}");
}

#[test]
fn json_and_yaml_and_another_folder_give_the_same_bytes() {
    let (one, other) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    assert_eq!(generate(one.path(), &[]).0, 0);
    let text =
        fs::read(documents().join("pets.yaml")).expect("the folder of documents has pets.yaml");
    let model = contract::load_text("pets.yaml", &text)
        .contract
        .expect("the document has no errors");
    fs::write(other.path().join("pets.json"), model.document.to_string()).expect("a file");
    let arguments = [
        "codegen",
        "--contract",
        "pets.json",
        "--out",
        "deep/er",
        "--name",
        "pets",
    ];
    assert_eq!(xtask(other.path(), &arguments).0, 0);
    let (one, other) = (
        files(&one.path().join("out")),
        files(&other.path().join("deep/er")),
    );
    assert_eq!(one.len(), other.len());
    for ((path, text), (other_path, other_text)) in one.iter().zip(&other) {
        assert_eq!(path, other_path);
        if path.ends_with("src/openapi.yaml") {
            // The author's own text is served if it is YAML; otherwise a new text is written.
            assert_eq!(
                Some(text),
                fs::read_to_string(documents().join("pets.yaml"))
                    .ok()
                    .as_ref()
            );
            continue;
        }
        assert_eq!(text, other_text, "{}", path.display());
    }
}

/// Returns a contract with two tags; with `more`, one of them has an additional operation and an
/// additional component.
fn zoo(more: bool) -> String {
    let operation = |tag: &str, name: &str, schema: &str| {
        format!(
            "  /{tag}/{name}:\n    get:\n      tags: [{tag}]\n      operationId: {tag}_{name}\n      responses:\n        \
             '200':\n          description: It.\n          content: {{application/json: {{schema: {schema}}}}}\n"
        )
    };
    let component = |name: &str| {
        format!("    {name}: {{type: object, properties: {{name: {{type: string}}}}}}\n")
    };
    let mut text = String::from(
        "openapi: 3.1.0\ninfo: {title: Zoo, version: 1.0.0}\ntags: [{name: cat}, {name: dog}]\npaths:\n",
    );
    text.push_str(&operation(
        "dog",
        "view",
        "{$ref: '#/components/schemas/Dog'}",
    ));
    if more {
        text.push_str(&operation(
            "dog",
            "walk",
            "{type: array, items: {$ref: '#/components/schemas/Walk'}}",
        ));
    }
    text.push_str(&operation(
        "cat",
        "view",
        "{$ref: '#/components/schemas/Cat'}",
    ));
    text.push_str("components:\n  schemas:\n");
    let names = if more {
        &["Dog", "Walk", "Cat"][..]
    } else {
        &["Dog", "Cat"]
    };
    text.extend(names.iter().map(|name| component(name)));
    text
}

#[test]
fn another_operation_changes_the_files_of_its_tag_and_the_lists_that_name_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let generated = |more: bool| {
        fs::write(folder.path().join("zoo.yaml"), zoo(more)).expect("a file can be written");
        let (code, printed) = xtask(
            folder.path(),
            &[
                "codegen",
                "--contract",
                "zoo.yaml",
                "--out",
                "out",
                "--name",
                "zoo",
            ],
        );
        assert_eq!(code, 0, "{printed}");
        files(&folder.path().join("out"))
    };
    let (before, after) = (generated(false), generated(true));
    assert_eq!(before.len(), after.len());
    let changed = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after);
    let changed: Vec<String> = changed
        .map(|(_, (path, _))| path.display().to_string())
        .collect();
    let expected = [
        // The number of operations of the tag.
        "zoo-client/README.md",
        "zoo-client/src/dog.rs",
        "zoo-server/README.md",
        "zoo-server/src/dog.rs",
        // The document, and every component in it.
        "zoo-server/src/openapi.json",
        "zoo-server/src/openapi.yaml",
        // Every operation.
        "zoo-server/src/router.rs",
        "zoo-server/src/words.json",
        "zoo-types/README.md",
        "zoo-types/src/dog.rs",
        // Every schema.
        "zoo-types/src/schemas.json",
        "zoo-types/src/schemas.rs",
    ];
    assert_eq!(changed, expected);
}

/// Returns every file below a folder, sorted.
fn files(root: &Path) -> Vec<(PathBuf, String)> {
    let (mut found, mut pending) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("generated files are text");
                found.push((
                    path.strip_prefix(root)
                        .expect("the file is below the root")
                        .to_owned(),
                    text,
                ));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn files_have_names_that_every_system_can_hold() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    // Windows takes these for devices, with any extension and in any letters.
    let devices = ["aux", "con", "nul", "prn", "com1", "LPT9"];
    let paths = devices.map(|tag| {
        format!("  /{tag}: {{get: {{tags: [{tag}], responses: {{'200': {{description: T., content: {{application/json: {{schema: {{type: object, properties: {{a: {{type: string}}}}}}}}}}}}}}}}}}\n")
    });
    let document = format!(
        "openapi: 3.1.0\ninfo: {{title: T, version: '1'}}\npaths:\n{}",
        paths.concat()
    );
    fs::write(folder.join("devices.yaml"), document).expect("the folder is writable");
    let arguments = ["codegen", "--contract", "devices.yaml", "--out", "out"];
    let (code, printed) = xtask(folder, &arguments);
    assert_eq!(code, 0, "{printed}");
    for (path, _) in files(folder) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let stem = stem.split('.').next().unwrap_or_default();
        let is_device = devices.iter().any(|name| stem.eq_ignore_ascii_case(name));
        assert!(!is_device, "{}", path.display());
    }
}

#[test]
fn repairs_of_a_document_of_others_are_a_list_that_only_grows_when_told() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let document = folder.path().join("others.yaml");
    let text = fs::read_to_string(documents().join("others.yaml")).expect("the document is there");
    fs::write(&document, &text).expect("the document can be written");
    let codegen = |more: &[&str]| {
        let arguments = ["codegen", "--contract", "others.yaml", "--out", "out"];
        xtask(folder.path(), &[&arguments, more].concat())
    };
    let (code, printed) = codegen(&[]);
    assert_eq!(code, 1, "{printed}");
    let (code, printed) = codegen(&["--foreign"]);
    assert_eq!(code, 0, "{printed}");
    insta::assert_snapshot!("foreign", printed);
    let list = folder.path().join("out/api-types/repairs.txt");
    let read = || fs::read_to_string(&list).expect("the list is written");
    let first =
        "bad-default /paths/~1things/get/parameters/0/schema/default\nwrong-type /info/version\n";
    assert_eq!(read(), first);
    assert_eq!(codegen(&["--foreign", "--check"]).0, 0);

    let more = text.replace("operationId: thing_list", "operationId: 1");
    fs::write(&document, &more).expect("the document can be written");
    let (code, printed) = codegen(&["--foreign", "--check"]);
    assert_eq!(code, 4, "{printed}");
    let new = "+wrong-type /paths/~1things/get/operationId";
    assert!(printed.contains(new), "{printed}");
    let (code, printed) = codegen(&["--foreign"]);
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("    wrong-type /paths/~1things/get/operationId\n"),
        "{printed}"
    );
    assert_eq!(read(), first);
    let (code, printed) = codegen(&["--foreign", "--accept"]);
    assert_eq!(code, 0, "{printed}");
    assert_ne!(read(), first);

    // The list shrinks by itself.
    let fewer = text.replace("default: many", "default: 1");
    fs::write(&document, &fewer).expect("the document can be written");
    assert_eq!(codegen(&["--foreign"]).0, 0);
    assert_eq!(read(), "wrong-type /info/version\n");
}

#[test]
fn results_for_documents_of_others_may_only_improve_unless_told() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    };
    let list = |others: &str, broken: &str| {
        format!(
            "# Documents of others.\n\
             github things/api 1a2b3c api/others.yaml | refused: bad-default, wrong-type | {others}\n\
             npm @things/api 1.0.0 api/broken.yaml | refused: dangling-ref | {broken}\n\
             npm @things/gone 1.0.0 gone.yaml | read | 7 operations, compiles\n"
        )
    };
    let read = || fs::read_to_string(folder.path().join("tests/foreign.txt")).expect("a list");
    write("Cargo.toml", "[workspace]\n");
    let text = fs::read_to_string(documents().join("others.yaml")).expect("the document is there");
    write("target/foreign/github/things/api/api/others.yaml", &text);
    let dangling = "openapi: 3.1.0\ninfo: {title: Broken, version: '1'}\n\
                    paths: {/a: {get: {responses: {'200': {$ref: '#/gone'}}}}}\n";
    write(
        "target/foreign/npm/@things/api/1.0.0/api/broken.yaml",
        dangling,
    );

    write(
        "tests/foreign.txt",
        &list("refused: bad-default", "refused: dangling-ref"),
    );
    let (code, printed) = xtask(folder.path(), &["corpus", "foreign"]);
    assert_eq!(code, 0, "{printed}");
    for line in [
        "refused: bad-default, wrong-type | 1 operations",
        "2 documents: 0 are read without --foreign, 1 generate with it, 1 operations",
        "skipped, since it is not there: npm @things/gone 1.0.0 gone.yaml",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    // What is better is stored on request, and what was skipped stays.
    assert_eq!(
        read(),
        list("refused: bad-default", "refused: dangling-ref")
    );
    let (code, printed) = xtask(folder.path(), &["corpus", "foreign", "--update"]);
    assert_eq!(code, 0, "{printed}");
    assert_eq!(read(), list("1 operations", "refused: dangling-ref"));

    // A result that is known and was not asked for again is kept.
    write(
        "tests/foreign.txt",
        &list(
            "1 operations, compiles | 3 examples, of which 1 do not fit",
            "2 operations",
        ),
    );
    let (code, printed) = xtask(folder.path(), &["corpus", "foreign", "--only", "others"]);
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = xtask(folder.path(), &["corpus", "foreign"]);
    assert_eq!(code, 1, "{printed}");
    let worse =
        "worse: npm @things/api 1.0.0 api/broken.yaml was `refused: dangling-ref | 2 operations`";
    assert!(printed.contains(worse), "{printed}");
    let (code, _) = xtask(folder.path(), &["corpus", "foreign", "--update"]);
    assert_eq!(code, 0);
    assert_eq!(
        read(),
        list(
            "1 operations, compiles | 3 examples, of which 1 do not fit",
            "refused: dangling-ref"
        )
    );

    write(
        "tests/foreign.txt",
        "npm a 1.0 a.yaml | read | 1 operations | most examples\n",
    );
    let (code, printed) = xtask(folder.path(), &["corpus", "foreign"]);
    assert_eq!(code, 1);
    assert!(
        printed.contains("there is no result `most examples`"),
        "{printed}"
    );

    write(
        "tests/foreign.txt",
        "pypi things 1.0 a.yaml | read | read\n",
    );
    let (code, printed) = xtask(folder.path(), &["corpus", "foreign"]);
    assert_eq!(code, 1);
    assert!(printed.contains("there is no source `pypi`"), "{printed}");
}

#[test]
fn a_clone_at_another_commit_is_skipped() {
    if !git::is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    };
    let (listed, other) = ("1".repeat(40), "2".repeat(40));
    write("Cargo.toml", "[workspace]\n");
    write(
        "tests/foreign.txt",
        &format!("github things/api {listed} pets.yaml | read | 1 operations\n"),
    );
    let text = fs::read_to_string(documents().join("pets.yaml")).expect("the document is there");
    let clone = "target/foreign/github/things/api";
    write(&format!("{clone}/pets.yaml"), &text);
    let run = || xtask(folder.path(), &["corpus", "foreign"]);
    let (code, printed) = run();
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("1 of them are in no clone"), "{printed}");

    // As much of a clone as git needs to say where it is.
    for part in ["objects/none", "refs/none"] {
        write(&format!("{clone}/.git/{part}"), "");
    }
    write(&format!("{clone}/.git/HEAD"), &format!("{other}\n"));
    let (_, printed) = run();
    let skipped = format!(
        "skipped, since the clone is at another commit: github things/api {listed} pets.yaml"
    );
    assert!(printed.contains(&skipped), "{printed}");
    write(&format!("{clone}/.git/HEAD"), &format!("{listed}\n"));
    let (_, printed) = run();
    assert!(printed.contains("1 documents: 1 are read"), "{printed}");
    assert!(!printed.contains("no clone"), "{printed}");
}

#[test]
fn the_commands_of_the_page_on_ci_find_nothing_wrong_here() {
    if !git::is_installed() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/ci.md")).expect("the page is there");
    let commands = page.lines().filter_map(|line| {
        let line = line.strip_prefix("      - run: ").unwrap_or(line);
        let (command, _) = line.split_once("  ").unwrap_or((line, ""));
        command.strip_prefix("cargo xtask ")
    });
    let mut count = 0;
    for command in commands {
        // It would write a changelog, and the base is that of a pull request.
        if command.contains("--prepend") {
            continue;
        }
        let base = |word: &str| match word {
            "origin/main" | "\"origin/$GITHUB_BASE_REF\"" => "HEAD".to_owned(),
            other => other.to_owned(),
        };
        let arguments: Vec<String> = command.split(' ').map(base).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, printed) = xtask(&root, &arguments);
        assert_eq!(code, 0, "{command}: {printed}");
        count += 1;
    }
    assert_eq!(count, 6);
}
