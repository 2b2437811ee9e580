//! `cargo xtask lint` with a policy, its forms, and what it mends.

#[path = "policy/mending.rs"]
mod mending;
#[path = "support/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};

use program::{documents, xtask};
use serde_json::Value;
use tempfile::TempDir;

const PETS: &str = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
tags: [{ name: pet }, { name: toy }]
paths:
  /pets:
    post:
      tags: [pet]
      operationId: pet_create
      requestBody: { content: { application/json: { schema: { type: string } } } }
      responses: { "204": { description: Done. } }
  /toys/{id}:
    put:
      tags: [toy]
      operationId: toyReplace
      parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
      requestBody: { content: { application/json: { schema: { type: string, colour: red } } } }
      responses: { "204": { description: Done. } }
"#;

/// Returns a folder with a document, and a policy if it is not empty.
fn folder(document: &str, policy: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("api.yaml"), document).expect("the folder is writable");
    if !policy.is_empty() {
        fs::write(folder.path().join("contract.toml"), policy).expect("the folder is writable");
    }
    folder
}

/// Lints `api.yaml` on a fixed day; returns the exit code, and each finding as rule, severity and
/// line, or what was printed if that is no JSON.
fn lint(folder: &Path, more: &[&str]) -> (i32, Vec<String>) {
    let arguments = [
        "lint",
        "api.yaml",
        "--format",
        "json",
        "--today",
        "2026-06-15",
    ];
    let (code, printed) = xtask(folder, &[&arguments, more].concat());
    let Ok(report) = serde_json::from_str::<Value>(&printed) else {
        return (code, vec![printed]);
    };
    let findings = report["findings"].as_array().expect("findings are a list");
    let findings = findings.iter().map(|found| {
        let word = |key: &str| found[key].as_str().unwrap_or_default();
        format!("{} {} {}", word("rule"), word("severity"), found["line"])
    });
    (code, findings.collect())
}

fn root() -> PathBuf {
    let documents = documents();
    let root = documents.ancestors().nth(3);
    root.expect("xtask is in the workspace").to_owned()
}

#[test]
fn a_rule_is_explained_and_a_misspelt_one_suggested() {
    let folder = folder(PETS, "");
    let (code, printed) = xtask(folder.path(), &["lint", "--explain", "impossible-bounds"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!("explain", printed);
    let (code, printed) = xtask(folder.path(), &["lint", "--explain", "imposible-bounds"]);
    assert_eq!(code, 2);
    assert!(
        printed.contains("did you mean `impossible-bounds`?"),
        "{printed}"
    );
}

#[test]
fn the_pages_are_those_of_the_table() {
    for (option, page) in [
        ("--rules", "docs/rules.md"),
        ("--policy-schema", "docs/contract-toml.schema.json"),
    ] {
        let (code, printed) = xtask(&root(), &["lint", option]);
        assert_eq!(code, 0);
        let written = fs::read_to_string(root().join(page)).unwrap_or_default();
        assert!(
            written == printed,
            "{page} is stale: run `cargo xtask lint {option} > {page}`"
        );
    }
}

#[test]
fn warnings_can_be_denied() {
    let folder = folder(PETS, "");
    let one = ["unknown-keyword warning 16".to_owned()];
    assert_eq!(lint(folder.path(), &[]), (0, one.to_vec()));
    assert_eq!(
        lint(folder.path(), &["--deny", "warnings"]),
        (5, one.to_vec())
    );
    fs::write(
        folder.path().join("contract.toml"),
        "[lint]\ndeny = [\"warnings\"]\n",
    )
    .expect("the folder is writable");
    assert_eq!(lint(folder.path(), &[]), (5, one.to_vec()));
    let clean = PETS.replace(", colour: red", "");
    fs::write(folder.path().join("api.yaml"), clean).expect("the folder is writable");
    assert_eq!(lint(folder.path(), &[]), (0, vec![]));
}

#[test]
fn a_report_has_forms_for_programs() {
    let folder = folder(&PETS.replace("post:", "psot:"), "");
    for form in ["json", "github", "sarif"] {
        let (code, printed) = xtask(folder.path(), &["lint", "api.yaml", "--format", form]);
        assert_eq!(code, 1, "{printed}");
        insta::assert_snapshot!(format!("lint_{form}"), printed);
    }
}

#[test]
fn a_policy_sets_levels() {
    for (policy, code, findings) in [
        (
            "[lint]\nsets = [\"style\"]",
            0,
            &[
                "unbounded-text warning 9",
                "unbounded-text warning 16",
                "unknown-keyword warning 16",
            ][..],
        ),
        // A level makes a rule of another set run.
        (
            "[lint.rules]\nunbounded-text = \"error\"\nunknown-keyword = \"off\"",
            1,
            &["unbounded-text error 9", "unbounded-text error 16"],
        ),
        (
            "[lint]\nsets = [\"style\"]\n[[lint.in]]\ntag = \"toy\"\nrules = { unbounded-text = \"off\" }",
            0,
            &["unbounded-text warning 9", "unknown-keyword warning 16"],
        ),
        (
            "[lint]\nsets = [\"style\"]\n[[lint.in]]\npath = \"/pe*\"\nrules = { unbounded-text = \"error\" }",
            1,
            &[
                "unbounded-text error 9",
                "unbounded-text warning 16",
                "unknown-keyword warning 16",
            ],
        ),
        (
            "[[lint.in]]\npointer = \"/paths/~1toys~1{id}\"\nrules = { unknown-keyword = \"off\" }",
            0,
            &[],
        ),
        (
            "[[lint.in]]\npath = \"/toys\"\nrules = { unknown-keyword = \"off\" }",
            1,
            &["unknown-keyword warning 16"],
        ),
    ] {
        let folder = folder(PETS, policy);
        let (found_code, mut found) = lint(folder.path(), &[]);
        // The set `style` has more rules than the levels here are about.
        found.retain(|one| {
            ["unbounded-text", "unknown-keyword"].contains(&one.split(' ').next().unwrap_or(one))
        });
        found.sort_by_key(|one| {
            one.rsplit(' ')
                .next()
                .and_then(|line| line.parse::<u32>().ok())
        });
        assert_eq!(
            (found_code, found),
            (code, findings.iter().map(|one| (*one).to_owned()).collect()),
            "{policy}"
        );
    }
    // Arguments take the place of what the file says.
    let folder = folder(PETS, "[lint]\nsets = [\"style\"]\n");
    let (_, found) = lint(folder.path(), &["--set", "correct"]);
    assert_eq!(found, ["unknown-keyword warning 16"]);
}

#[test]
fn what_is_an_error_by_itself_stays_one() {
    let wrong = PETS.replace("type: string }", "type: strnig }");
    let policy = "[lint.rules]\nunknown-type = \"off\"\n";
    let (code, found) = lint(folder(&wrong, policy).path(), &[]);
    assert_eq!(code, 1);
    assert!(
        found.contains(&"unknown-type error 9".to_owned()),
        "{found:?}"
    );
}

#[test]
fn a_finding_is_ignored_until_a_date_and_an_idle_entry_is_an_error() {
    let ignore = |pointer: &str, until: &str| {
        format!(
            "[[lint.ignore]]\nrule = \"unknown-keyword\"\npointer = \"{pointer}\"\nreason = \"the old client reads it\"\nuntil = {until}\n"
        )
    };
    let toys = "/paths/~1toys~1{id}/put";
    assert_eq!(
        lint(folder(PETS, &ignore(toys, "2026-06-15")).path(), &[]),
        (0, vec![])
    );
    // So is one that only the policy has made an error.
    let raised = format!(
        "[lint.rules]\nunknown-keyword = \"error\"\n{}",
        ignore(toys, "2026-06-15")
    );
    assert_eq!(lint(folder(PETS, &raised).path(), &[]), (0, vec![]));
    let (code, found) = lint(folder(PETS, &ignore(toys, "2026-06-14")).path(), &[]);
    assert_eq!(code, 1);
    assert_eq!(
        found,
        ["unknown-keyword warning 16", "policy-ended error 5"]
    );
    let (code, found) = lint(
        folder(PETS, &ignore("/paths/~1pets", "2026-06-15")).path(),
        &[],
    );
    assert_eq!(code, 1);
    assert_eq!(found, ["unknown-keyword warning 16", "policy-idle error 3"]);
}

#[test]
fn a_part_that_is_nowhere_is_an_error() {
    for (place, words) in [
        ("tag = \"cow\"", "no operation has the tag `cow`"),
        ("path = \"/cows/**\"", "no path matches"),
        (
            "pointer = \"/paths/~1cows\"",
            "there is nothing at `/paths/~1cows`",
        ),
    ] {
        let policy = format!("[[lint.in]]\n{place}\nrules = {{ unknown-keyword = \"error\" }}\n");
        let wrong = folder(PETS, &policy);
        let (code, printed) = xtask(wrong.path(), &["lint", "api.yaml"]);
        assert_eq!(code, 1, "{printed}");
        for words in ["policy-idle", "contract.toml:2:", words] {
            assert!(printed.contains(words), "{words}\n{printed}");
        }
    }
}

#[test]
fn a_part_may_be_of_another_contract_that_the_file_lists() {
    let listed =
        |name: &str| format!("[[contract]]\nname = \"{name}\"\ndocument = \"{name}.yaml\"\n");
    let policy = "[[lint.in]]\ntag = \"cow\"\nrules = { unknown-keyword = \"error\" }\n[[lint.ignore]]\nrule = \"unknown-keyword\"\npointer = \"/paths/~1cows\"\nreason = \"a\"\nuntil = 2026-06-15\n";
    for (contracts, expected) in [(listed("api"), 1), (listed("api") + &listed("cows"), 0)] {
        let folder = folder(PETS, &(contracts + policy));
        let (code, found) = lint(folder.path(), &[]);
        assert_eq!(code, expected, "{found:?}");
    }
}

#[test]
fn a_path_item_that_is_elsewhere_belongs_to_its_path() {
    let elsewhere = PETS.split("  /toys/{id}:\n").nth(1).expect("it is there");
    let elsewhere = elsewhere
        .replace("\n    ", "\n")
        .replace("    put:", "put:");
    let document = |reference: &str| {
        let before = PETS.split("  /toys/{id}:\n").next().expect("it is there");
        format!("{before}  /toys/{{id}}: {{ $ref: {reference} }}\n")
    };
    let in_part =
        |place: &str| format!("[[lint.in]]\n{place}\nrules = {{ unknown-keyword = \"off\" }}\n");
    for place in [
        "tag = \"toy\"",
        "path = \"/toys/*\"",
        "pointer = \"/paths/~1toys~1{id}\"",
        "pointer = \"/paths/~1toys~1{id}/put/requestBody\"",
    ] {
        let folder = folder(&document("toys.yaml"), &in_part(place));
        fs::write(folder.path().join("toys.yaml"), &elsewhere).expect("the folder is writable");
        assert_eq!(lint(folder.path(), &[]), (0, vec![]), "{place}");
        let component = elsewhere.replace('\n', "\n      ");
        let component = format!("components:\n  pathItems:\n    Toy:\n      {component}");
        let document = document("\"#/components/pathItems/Toy\"") + &component;
        let folder = self::folder(&document, &in_part(place));
        assert_eq!(lint(folder.path(), &[]), (0, vec![]), "{place}\n{document}");
    }
    for (file, reference) in [
        ("my toys.yaml", "my%20toys.yaml"),
        ("töys.yaml", "t%C3%B6ys.yaml"),
    ] {
        let folder = folder(&document(reference), &in_part("path = \"/toys/*\""));
        fs::write(folder.path().join(file), &elsewhere).expect("the folder is writable");
        assert_eq!(lint(folder.path(), &[]), (0, vec![]), "{reference}");
    }
    let component = elsewhere.replace('\n', "\n      ");
    let component = format!("components:\n  pathItems:\n    MyToy:\n      {component}");
    let text = document("\"#/components/pathItems/My%54oy\"") + &component;
    let encoded = folder(&text, &in_part("path = \"/toys/*\""));
    assert_eq!(lint(encoded.path(), &[]), (0, vec![]), "{text}");
    let ignore = "[[lint.ignore]]\nrule = \"unknown-keyword\"\npointer = \"/paths/~1toys~1{id}/put\"\nreason = \"a\"\nuntil = 2026-06-15\n";
    let folder = folder(&document("toys.yaml"), ignore);
    fs::write(folder.path().join("toys.yaml"), &elsewhere).expect("the folder is writable");
    assert_eq!(lint(folder.path(), &[]), (0, vec![]));
}

#[test]
fn what_an_overlay_adds_can_be_ignored() {
    let overlay = "overlay: 1.0.0\ninfo: { title: More, version: \"1\" }\nactions:\n  - target: $.paths[\"/pets\"].post\n    update: { colour: red }\n";
    let ignore = |pointer: &str| {
        format!(
            "[lint.rules]\nunused-tag = \"off\"\n[[lint.ignore]]\nrule = \"unknown-keyword\"\npointer = \"{pointer}\"\nreason = \"a\"\nuntil = 2026-06-15\n"
        )
    };
    let document = PETS.replace(", colour: red", "");
    for (pointer, expected) in [("/actions/0/update", 0), ("/actions/1", 1)] {
        let folder = folder(&document, &ignore(pointer));
        fs::write(folder.path().join("more.yaml"), overlay).expect("the folder is writable");
        let (code, found) = lint(folder.path(), &["--overlay", "more.yaml"]);
        assert_eq!(code, expected, "{found:?}");
        let is_there = found.iter().any(|one| one.starts_with("unknown-keyword"));
        assert_eq!(is_there, expected == 1, "{found:?}");
    }
}

#[test]
fn what_is_wrong_with_a_policy_is_said_at_its_place() {
    for (policy, words) in [
        (
            "[lint]\nset = [\"style\"]",
            &["policy-syntax", "contract.toml:2:1", "did you mean `sets`?"][..],
        ),
        (
            "[lint.rules]\nunknown-keywrod = \"off\"",
            &[
                "policy-value",
                "contract.toml:2:1",
                "did you mean `unknown-keyword`?",
            ],
        ),
        (
            "[lint.rules]\nunknown-keyword = \"wraning\"",
            &[
                "policy-syntax",
                "contract.toml:2:19",
                "did you mean `warning`?",
            ],
        ),
        ("[lint", &["policy-syntax", "contract.toml:1:"]),
        (
            "[[lint.ignore]]\nrule = \"bad-enum\"\npointer = \"\"\nreason = \"x\"",
            &["policy-syntax", "until"],
        ),
        (
            "[[lint.ignore]]\nrule = \"bad-enum\"\npointer = \"paths\"\nreason = \" \"\nuntil = 2026-12-31",
            &[
                "3:11",
                "not a JSON Pointer",
                "4:10",
                "say it in a few words",
            ],
        ),
        (
            "[[lint.in]]\ntag = \"a\"\npath = \"/a\"\nrules = {}",
            &["contract.toml:2:7", "one of `tag`, `path` and `pointer`"],
        ),
        (
            "[[lint.own]]\nrule = \"a-b\"\nselect = \"paths\"\nexists = false",
            &["contract.toml:3:10", "starts with `$`"],
        ),
        (
            "[[lint.own]]\nrule = \"bad-enum\"\nselect = \"$\"",
            &["there is a rule `bad-enum` already", "asserts nothing"],
        ),
        (
            "[[lint.own]]\nrule = \"a-b\"\nselect = \"$\"\npattern = \"(\"",
            &["contract.toml:4:11", "regular expression"],
        ),
    ] {
        let folder = folder(PETS, policy);
        let (code, printed) = xtask(folder.path(), &["lint", "api.yaml"]);
        assert_eq!(code, 1, "{policy}\n{printed}");
        for word in words {
            assert!(printed.contains(word), "{policy}\n{word}\n{printed}");
        }
    }
}

#[test]
fn own_rules_select_and_assert() {
    for (rule, findings) in [
        (
            "select = \"$.paths.*.*.operationId\"\ncasing = \"snake\"",
            &["a-b warning 14"][..],
        ),
        (
            "select = \"$.paths.*.*\"\nfield = \"operationId\"\npattern = \"^pet_\"\nlevel = \"error\"",
            &["a-b error 14"],
        ),
        (
            "select = \"$.paths.*.*\"\nfield = \"summary\"\nexists = true",
            &["a-b warning 6", "a-b warning 12"],
        ),
        (
            "select = \"$.paths.*.put\"\nexists = false",
            &["a-b warning 12"],
        ),
        (
            "select = \"$.tags[*].name\"\none-of = [\"pet\"]",
            &["a-b warning 3"],
        ),
        (
            "select = \"$.paths.*\"\nof = \"key\"\nmax-length = 5",
            &["a-b warning 11"],
        ),
        ("select = \"$.tags\"\nmin-length = 3", &["a-b warning 3"]),
        (
            "select = \"$..[?@.type == 'integer']\"\nexists = false",
            &["a-b warning 15"],
        ),
    ] {
        let policy = format!(
            "[lint.rules]\nunknown-keyword = \"off\"\n[[lint.own]]\nrule = \"a-b\"\n{rule}\n"
        );
        let (_, found) = lint(folder(PETS, &policy).path(), &[]);
        assert_eq!(found, findings, "{rule}");
    }
}

#[test]
fn a_policy_is_found_up_to_the_root_of_the_repository() {
    let outer = folder("", "[lint.rules]\nunknown-keyword = \"off\"\n");
    let inner = outer.path().join("repository/api");
    fs::create_dir_all(&inner).expect("a folder can be made");
    fs::write(inner.join("api.yaml"), PETS).expect("the folder is writable");
    let found = ["unknown-keyword warning 16".to_owned()];
    assert_eq!(lint(&inner, &[]).1, found, "there is no repository");
    fs::create_dir(outer.path().join("repository/.git")).expect("a folder can be made");
    assert_eq!(lint(&inner, &[]).1, found, "it is beyond the root");
    fs::rename(
        outer.path().join("contract.toml"),
        outer.path().join("repository/contract.toml"),
    )
    .expect("the file can be moved");
    assert_eq!(lint(&inner, &[]).1, [""; 0]);
    fs::write(inner.join("none.toml"), "").expect("the folder is writable");
    assert_eq!(lint(&inner, &["--policy", "none.toml"]).1, found);
}

#[test]
fn a_finding_about_a_value_names_the_keyword_and_why_no_branch_fits() {
    let schema = "{ example: 5, oneOf: [{ type: string }, { type: integer, maximum: 4 }] }";
    let bounded = "{ type: string, maxLength: 2, example: abc }";
    let document = PETS
        .replacen("{ type: string }", schema, 1)
        .replace("{ type: string, colour: red }", bounded);
    let (_, printed) = xtask(folder(&document, "").path(), &["lint", "api.yaml"]);
    assert!(
        printed.contains(
            "1) the value is not of type \"string\"; 2) the value is greater than the maximum of 4"
        ),
        "{printed}"
    );
    assert!(printed.contains("rejected by this `oneOf`"), "{printed}");
    assert!(
        printed.contains("rejected by this `maxLength`"),
        "{printed}"
    );
}

#[test]
fn our_contract_has_no_finding_and_a_seeded_fault_is_refused() {
    let ours = fs::read_to_string(root().join("openapi.yaml")).expect("the contract is there");
    let policy = fs::read_to_string(root().join("contract.toml")).expect("the policy is there");
    let found = |document: &str| {
        let folder = folder(document, &policy);
        lint(folder.path(), &["--deny", "warnings"])
    };
    assert_eq!(found(&ours), (0, vec![]));
    for (from, to) in [
        ("operationId: vm_list", "operationId: vmList"),
        (
            "\n    Port:\n",
            "\n    port_number: { type: string }\n    Port:\n",
        ),
        ("      maxItems: 1000", "      x-most: 1000"),
    ] {
        assert!(ours.contains(from), "{from}");
        let (code, found) = found(&ours.replacen(from, to, 1));
        assert!(code == 5 && !found.is_empty(), "{from}: {code} {found:?}");
    }
}
