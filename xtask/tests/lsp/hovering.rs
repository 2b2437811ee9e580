//! Schemas and operations in Markdown, with the Rust that they become.

use serde_json::Value;

use crate::client::Client;
use crate::{PETS, editing};

fn hover(client: &mut Client, part: &str) -> String {
    let at = client.find("api.yaml", part) + 1;
    let asked = client.at("api.yaml", at);
    let result = client
        .request("textDocument/hover", &asked)
        .expect("an answer");
    result["contents"]["value"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_schema_is_shown_with_its_rust() {
    let (_folder, mut client) = editing(PETS);
    for part in ["Pet:\n", "'#/components/schemas/Pet'"] {
        let shown = hover(&mut client, part);
        assert!(shown.contains("**Pet** · object"), "{shown}");
        assert!(shown.contains("An animal."), "{shown}");
        assert!(
            shown.contains("| `name` | string, maxLength `100` | required |"),
            "{shown}"
        );
        assert!(shown.contains("pub struct Pet {"), "{shown}");
        assert!(shown.contains("pub kind: Option<Kind>"), "{shown}");
        assert!(!shown.contains("pub enum Kind"), "{shown}");
    }
    let shown = hover(&mut client, "Kind:\n");
    assert!(shown.contains("pub enum Kind {"), "{shown}");
}

#[test]
fn an_operation_is_shown_with_its_rust() {
    let (_folder, mut client) = editing(PETS);
    for part in [
        "get:",
        "pet_view\n      summary",
        "pet_view\n              parameters",
    ] {
        let shown = hover(&mut client, part);
        assert!(shown.contains("**GET /pets/{id}** · `pet_view`"), "{shown}");
        assert!(shown.contains("fn pet_view("), "{shown}");
        assert!(shown.contains("pub struct PetViewRequest {"), "{shown}");
        assert!(!shown.contains("fn pet_put("), "{shown}");
    }
    let shown = hover(&mut client, "pet]");
    assert!(shown.contains("Animals that live with people."), "{shown}");
}

#[test]
fn of_a_broken_document_the_last_good_rust_is_shown() {
    let (_folder, mut client) = editing(PETS);
    client.settled("api.yaml");
    let at = client.find("api.yaml", "info:");
    client.type_at("api.yaml", at, "{ broken: [\n");
    let shown = hover(&mut client, "Pet:\n");
    assert!(shown.contains("The document has errors."), "{shown}");
    assert!(shown.contains("pub struct Pet {"), "{shown}");
}

#[test]
fn of_a_document_that_was_never_good_there_is_no_rust() {
    let (_folder, mut client) = editing(&PETS.replace("type: string\n", "type: sting\n"));
    let shown = hover(&mut client, "Pet:\n");
    assert!(shown.contains("An animal."), "{shown}");
    assert!(shown.contains("once the document has no errors"), "{shown}");
}

#[test]
fn the_rust_follows_the_text() {
    let (_folder, mut client) = editing(PETS);
    assert!(hover(&mut client, "Pet:\n").contains("pub name:"));
    let at = client.find("api.yaml", "        name: {type");
    client.type_at(
        "api.yaml",
        at,
        "        age: {type: integer, format: int32}\n",
    );
    let shown = hover(&mut client, "Pet:\n");
    assert!(shown.contains("pub age: Option<i32>"), "{shown}");
    assert_eq!(client.request("shutdown", &Value::Null), Ok(Value::Null));
}

/// How often a request may come so late on a busy machine that the text has been read.
const ATTEMPTS: usize = 20;

#[test]
fn a_large_text_is_shown_as_it_was_when_it_last_rested() {
    let padding = "# A line of a comment that makes the text large.\n".repeat(24_000);
    let (_folder, mut client) = editing(&format!("{PETS}{padding}"));
    client.settled("api.yaml");
    let note = "The text is being read again. Before, this became:";
    let shown = hover(&mut client, "Pet:\n");
    assert!(shown.contains("pub struct Pet {"), "{shown}");
    assert!(!shown.contains(note), "{shown}");
    let mut words = ["An animal.", "A creature."];
    let is_seen = (0..ATTEMPTS).any(|_| {
        let [before, after] = words;
        let at = client.find("api.yaml", before);
        client.edit("api.yaml", at, at + before.len(), after);
        let shown = hover(&mut client, "Pet:\n");
        let is_old = shown.contains(note);
        let doc = if is_old { before } else { after };
        assert!(shown.contains(&format!("/// {doc}")), "{shown}");
        client.settled("api.yaml");
        words = [after, before];
        is_old
    });
    assert!(is_seen, "each text was read before it was asked about");
    let shown = hover(&mut client, "Pet:\n");
    assert!(!shown.contains(note), "{shown}");
    assert!(shown.contains(&format!("/// {}", words[0])), "{shown}");
}
