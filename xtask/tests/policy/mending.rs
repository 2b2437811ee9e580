//! `cargo xtask lint --fix`: what is written, and what is left as it is.

use std::fs;

use super::program::xtask;
use super::{PETS, folder};

#[test]
fn only_the_bytes_that_are_wrong_are_mended() {
    let before = "\u{feff}# The pets.\r\nopenapi: 3.1.0 # the version\r\ninfo: { title: 'No', version: \"1\", x-country: no }\r\npaths:\r\n  /pets:\r\n    get:\r\n      'operationID': pet_list   # two spaces more\r\n      responses:\r\n        2xx:\r\n          description: All  pets.\r\n          content:\r\n            application/json:\r\n              schema: { type: string, \"minLenght\": \"3\", format: datetime, maxLength: \"30\" } # odd\r\n";
    let after = before
        .replace("x-country: no", "x-country: \"no\"")
        .replace("'operationID'", "'operationId'")
        .replace("2xx", "2XX")
        .replace("minLenght", "minLength")
        .replace("format: datetime", "format: date-time")
        .replace("maxLength: \"30\"", "maxLength: 30");
    // A misspelt keyword's value is only judged once its name is right.
    let whole = after.replace("\"3\"", "3");
    let folder = folder(before, "");
    let file = folder.path().join("api.yaml");
    let (_, printed) = xtask(folder.path(), &["lint", "api.yaml", "--fix"]);
    assert_eq!(
        fs::read_to_string(&file).expect("the file is there"),
        after,
        "{printed}"
    );
    assert!(
        printed.contains("api.yaml:7:7: `'operationID'` → `'operationId'`"),
        "{printed}"
    );
    let (code, printed) = xtask(folder.path(), &["lint", "api.yaml", "--fix"]);
    assert_eq!(
        fs::read_to_string(&file).expect("the file is there"),
        whole,
        "{printed}"
    );
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = xtask(
        folder.path(),
        &["lint", "api.yaml", "--fix", "--deny", "warnings"],
    );
    assert_eq!(
        (code, printed.as_str()),
        (0, "nothing to say about 1 operation\n")
    );
    assert_eq!(fs::read_to_string(&file).expect("the file is there"), whole);
}

#[test]
fn mending_leaves_a_document_that_can_be_read() {
    // What cannot be mended in one certain way stays as it is.
    for schema in [
        "{ type: array, items: {}, uniqueItems: &u \"true\", x-same: *u }",
        "{ type: number, maximum: \"1e999\" }",
        "{ type: number, minimum: \"inf\" }",
        "{ description: b, discription: a }",
        "{ discription: a, description: b }",
        "{ type: string, format: base32 }",
        "{ type: string, format: cuid }",
        "{ type: string, format: uuidv7 }",
        "{ type: string, format: long }",
        "{ type: string, format: guid }",
    ] {
        let document = PETS.replace("{ type: string, colour: red }", schema);
        assert_eq!(fixed(&document), document);
    }
    for (schema, mended) in [
        (
            "{ discription: a, descripton: b }",
            "{ description: a, descripton: b }",
        ),
        (
            "{ type: number, minimum: \"-1.5e3\" }",
            "{ type: number, minimum: -1.5e3 }",
        ),
        ("{ format: date_time }", "{ format: date-time }"),
    ] {
        let document = |schema| PETS.replace("{ type: string, colour: red }", schema);
        assert_eq!(fixed(&document(schema)), document(mended));
    }
    let statuses = |keys: &str| PETS.replacen("\"204\": { description: Done. }", keys, 1);
    let both = statuses("2xx: { description: a }, 2XX: { description: b }");
    assert_eq!(fixed(&both), both);
    for scheme in ["oauth2", "digest2", "baerer"] {
        let document = format!(
            "{PETS}components:\n  securitySchemes:\n    key: {{ type: http, scheme: {scheme} }}\n"
        );
        assert_eq!(fixed(&document), document);
    }
}

/// Returns a document after `lint --fix`.
fn fixed(document: &str) -> String {
    let folder = folder(document, "");
    xtask(folder.path(), &["lint", "api.yaml", "--fix"]);
    fs::read_to_string(folder.path().join("api.yaml")).expect("the file is there")
}

#[test]
fn what_is_ignored_is_not_mended() {
    let policy = "[lint.rules]\nmisspelt-format = \"off\"\n";
    let document = PETS.replace(
        "type: string, colour: red",
        "type: string, format: datetime",
    );
    let folder = folder(&document, policy);
    let (code, _) = xtask(folder.path(), &["lint", "api.yaml", "--fix"]);
    assert_eq!(code, 0);
    let file = folder.path().join("api.yaml");
    assert_eq!(
        fs::read_to_string(file).expect("the file is there"),
        document
    );
}

#[test]
#[cfg(unix)]
fn a_mended_file_is_replaced_as_a_whole_where_a_link_leads() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let document = PETS.replace(
        "{ type: string, colour: red }",
        "{ $ref: \"parts.yaml#/Toy\" }",
    );
    let folder = folder(
        &document.replace("operationId: pet", "operationid: pet"),
        "",
    );
    let parts = "Toy: { type: string, minLenght: 3, maxLength: \"30\" }\n";
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("shared")).expect("the folder is writable");
    fs::write(at("shared/parts.yaml"), parts).expect("the folder is writable");
    fs::set_permissions(at("shared/parts.yaml"), fs::Permissions::from_mode(0o640))
        .expect("it can be set");
    symlink("shared/parts.yaml", at("parts.yaml")).expect("a link can be made");
    // A reader that opened the file before sees all of the old text.
    fs::hard_link(at("shared/parts.yaml"), at("before.yaml")).expect("a link can be made");
    let (_, printed) = xtask(folder.path(), &["lint", "api.yaml", "--fix"]);
    let read = |name: &str| fs::read_to_string(at(name)).expect("the file is there");
    assert!(read("api.yaml").contains("operationId: pet"), "{printed}");
    assert_eq!(
        read("shared/parts.yaml"),
        "Toy: { type: string, minLength: 3, maxLength: 30 }\n"
    );
    assert_eq!(read("before.yaml"), parts);
    let link = fs::symlink_metadata(at("parts.yaml")).expect("it is there");
    assert!(link.is_symlink());
    let mode = fs::metadata(at("shared/parts.yaml")).expect("it is there");
    assert_eq!(mode.permissions().mode() & 0o777, 0o640);
    // What was changed is printed by file and position.
    let changes = printed.lines().filter_map(|line| line.split_once(": `"));
    let changes: Vec<&str> = changes.map(|(place, _)| place).collect();
    assert_eq!(
        changes,
        ["api.yaml:8:7", "parts.yaml:1:22", "parts.yaml:1:47"],
        "{printed}"
    );
}
