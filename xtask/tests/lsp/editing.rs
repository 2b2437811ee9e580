//! Diagnostics while documents are typed, mended, opened and closed.

use std::fs;

use serde_json::{Value, json};

use crate::client::{Client, Unit, slice};
use crate::{PETS, editing};

/// Returns the rules and the underlined texts of diagnostics.
fn found(client: &Client, name: &str, diagnostics: &[Value]) -> Vec<(String, String)> {
    let text = client.text(name);
    let one = |diagnostic: &Value| {
        let code = diagnostic["code"].as_str().expect("a rule").to_owned();
        let part = slice(text, &diagnostic["range"], client.unit).to_owned();
        (code, part)
    };
    diagnostics.iter().map(one).collect()
}

fn pair(code: &str, part: &str) -> (String, String) {
    (code.to_owned(), part.to_owned())
}

#[test]
fn a_document_is_checked_after_every_pause() {
    let (_folder, mut client) = editing(PETS);
    assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());
    let end = client.text("api.yaml").len();
    client.type_at("api.yaml", end, "    Owner:\n      typ: object\n");
    let seen = client.settled("api.yaml");
    let expected = pair("misspelt-keyword", "typ");
    assert!(
        found(&client, "api.yaml", &seen).contains(&expected),
        "{seen:#?}"
    );
    let words = seen.iter().filter_map(|one| one["message"].as_str());
    let help = "\nhelp: did you mean `type`?";
    assert_eq!(
        words.filter(|words| words.ends_with(help)).count(),
        1,
        "{seen:#?}"
    );
    let at = client.find("api.yaml", "typ: object") + 3;
    client.type_at("api.yaml", at, "e");
    let seen = client.settled("api.yaml");
    assert!(
        !found(&client, "api.yaml", &seen)
            .iter()
            .any(|(code, _)| code == "misspelt-keyword")
    );
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_text_that_is_no_yaml_is_reported_and_mended() {
    let (_folder, mut client) = editing(PETS);
    let at = client.find("api.yaml", "{title");
    client.edit("api.yaml", at, at + 1, "{{");
    let seen = client.settled("api.yaml");
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|one| one["severity"] == 1), "{seen:#?}");
    client.edit("api.yaml", at, at + 2, "{");
    assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());
}

#[test]
fn positions_count_units_of_the_agreed_encoding_and_every_end_of_a_line() {
    for unit in [Unit::Utf8, Unit::Utf16] {
        for end in ["\n", "\r\n"] {
            let folder = tempfile::tempdir().expect("a folder can be made");
            let mut client = Client::start_with(folder.path(), unit, &[]);
            let text = PETS
                .replace("title: Pets", "title: 'Pets 🐈 für 你'")
                .replace('\n', end);
            client.open("api.yaml", &text);
            assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());
            // On the line with the characters outside ASCII, and on one below.
            let at = client.find("api.yaml", ", version");
            client.type_at("api.yaml", at, ", 🐕: 'é', sumary: x");
            let at = client.find("api.yaml", "maxLength: 100");
            client.edit("api.yaml", at, at + 14, "maxLenght: 100");
            let seen = client.settled("api.yaml");
            let seen = found(&client, "api.yaml", &seen);
            for (code, part) in [
                ("unknown-keyword", "🐕"),
                ("misspelt-keyword", "sumary"),
                ("misspelt-keyword", "maxLenght"),
            ] {
                assert!(seen.contains(&pair(code, part)), "{unit:?} {seen:?}");
            }
            assert_eq!(client.end(), Some(0));
        }
    }
}

const PARTS: &str = "\
Owner:
  type: object
  properties:
    name: {type: string, maxLength: 100}
";

fn with_parts() -> String {
    PETS.replace(
        "    Kind:\n",
        "    Owned:\n      $ref: 'parts.yaml#/Owner'\n    Kind:\n",
    )
    .replace(
        "kind: {$ref",
        "owner: {$ref: '#/components/schemas/Owned'}\n        kind: {$ref",
    )
}

#[test]
fn open_texts_take_the_place_of_files_and_every_file_has_its_own_diagnostics() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("parts.yaml"), PARTS).expect("the document can be written");
    let mut client = Client::start(folder.path());
    client.open("api.yaml", &with_parts());
    assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());

    // What is typed in the other file counts before it is saved.
    client.open("parts.yaml", PARTS);
    assert_eq!(client.settled("parts.yaml"), Vec::<Value>::new());
    let at = client.find("parts.yaml", "type: object");
    client.edit("parts.yaml", at, at + 4, "typ");
    let seen = client.settled("parts.yaml");
    assert!(found(&client, "parts.yaml", &seen).contains(&pair("misspelt-keyword", "typ")));

    // A name that is gone is reported where it is referred to.
    client.edit("parts.yaml", at, at + 3, "type");
    client.edit("parts.yaml", 0, 5, "Ownr");
    let seen = client.until("api.yaml", |found| !found.is_empty());
    let expected = pair("dangling-ref", "'parts.yaml#/Owner'");
    assert!(
        found(&client, "api.yaml", &seen).contains(&expected),
        "{seen:#?}"
    );

    // Closing it without saving brings back the file.
    client.close("parts.yaml");
    client.until("api.yaml", <[Value]>::is_empty);
    client.until("parts.yaml", <[Value]>::is_empty);

    // A file that is no longer referred to has nothing more to say.
    client.open("parts.yaml", "Owner: [");
    client.until("parts.yaml", |found| !found.is_empty());
    let at = client.find("api.yaml", "$ref: 'parts");
    let end = at + "$ref: 'parts.yaml#/Owner'".len();
    client.edit("api.yaml", at, end, "type: object");
    client.until("parts.yaml", <[Value]>::is_empty);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn related_places_are_told() {
    let (_folder, mut client) = editing(PETS);
    let at = client.find("api.yaml", "        kind: {$ref");
    client.type_at("api.yaml", at, "        name: {}\n");
    let seen = client.settled("api.yaml");
    let related = &seen[0]["relatedInformation"][0]["location"];
    assert_eq!(related["uri"], client.uri("api.yaml").as_str());
    let text = client.text("api.yaml");
    assert_eq!(slice(text, &related["range"], client.unit), "name");
}

#[test]
fn a_diagnostic_with_one_certain_mend_has_an_action() {
    let (_folder, mut client) = editing(&PETS.replace("      type: object", "      typ: object"));
    let seen = client.settled("api.yaml");
    let range = seen[0]["range"].clone();
    let asked = |range: &Value| {
        json!({
            "textDocument": {"uri": client.uri("api.yaml")},
            "range": range,
            "context": {"diagnostics": []},
        })
    };
    let (here, elsewhere) = (
        asked(&range),
        asked(&json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}})),
    );
    let actions = client.request("textDocument/codeAction", &here);
    let actions = actions.expect("an answer");
    assert_eq!(actions[0]["title"], "write `type`");
    assert_eq!(actions[0]["diagnostics"][0]["code"], "misspelt-keyword");
    let edit = &actions[0]["edit"]["changes"][client.uri("api.yaml")][0];
    assert_eq!(edit["newText"], "type");
    let text = client.text("api.yaml");
    assert_eq!(slice(text, &edit["range"], client.unit), "typ");
    let actions = client.request("textDocument/codeAction", &elsewhere);
    assert_eq!(actions, Ok(json!([])));
}

#[test]
fn the_policy_of_the_folder_is_applied_and_reported_when_it_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let policy = folder.path().join("contract.toml");
    fs::write(&policy, "[lint]\nsets = [\"style\"]\n").expect("the policy can be written");
    let mut client = Client::start(folder.path());
    let text = PETS.replace("{type: string, maxLength: 100}", "{type: string}");
    client.open("api.yaml", &text);
    let seen = client.settled("api.yaml");
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|one| one["severity"] == 2), "{seen:#?}");
    fs::write(&policy, "[lint]\nsets = [\"stile\"]\n").expect("the policy can be written");
    client.notify("workspace/didChangeWatchedFiles", &json!({"changes": []}));
    let seen = client.until("contract.toml", |found| !found.is_empty());
    assert_eq!(seen[0]["severity"], 1, "{seen:#?}");
    client.until("api.yaml", <[Value]>::is_empty);
}
