//! Definitions, references and outlines.

use std::fs;

use serde_json::{Value, json};

use crate::client::{Client, slice};
use crate::{PETS, editing};

/// Returns the file and the text of each place.
fn places(client: &Client, result: &Value) -> Vec<String> {
    let one = |place: &Value| {
        let uri = place["uri"].as_str().expect("a URI");
        let name = uri.rsplit('/').next().expect("a name");
        let text = match client.texts.get(name) {
            Some((_, text)) => text.clone(),
            None => fs::read_to_string(client.folder.join(name)).expect("the file exists"),
        };
        let line = place["range"]["start"]["line"].as_u64().expect("a line") + 1;
        format!(
            "{name}:{line} {}",
            slice(&text, &place["range"], client.unit)
        )
    };
    result.as_array().into_iter().flatten().map(one).collect()
}

/// Returns where what is at a part of the document is declared.
fn definition(client: &mut Client, part: &str) -> Vec<String> {
    let at = client.find("api.yaml", part) + 2;
    let asked = client.at("api.yaml", at);
    let result = client.request("textDocument/definition", &asked);
    places(client, &result.expect("an answer"))
}

fn references(client: &mut Client, part: &str, with_declaration: bool) -> Vec<String> {
    let at = client.find("api.yaml", part) + 1;
    let mut asked = client.at("api.yaml", at);
    asked["context"] = json!({"includeDeclaration": with_declaration});
    let result = client.request("textDocument/references", &asked);
    places(client, &result.expect("an answer"))
}

#[test]
fn names_lead_to_their_declarations() {
    let (_folder, mut client) = editing(PETS);
    assert_eq!(
        definition(&mut client, "'#/components/schemas/Pet'"),
        ["api.yaml:43 Pet"]
    );
    assert_eq!(definition(&mut client, "pet]"), ["api.yaml:7 pet"]);
    assert_eq!(definition(&mut client, "token: []"), ["api.yaml:41 token"]);
    assert_eq!(
        definition(&mut client, "pet_view\n              parameters"),
        ["api.yaml:14 pet_view"]
    );
    assert_eq!(definition(&mut client, "An animal"), Vec::<String>::new());
}

#[test]
fn declarations_lead_to_their_names() {
    let (_folder, mut client) = editing(PETS);
    let uses = references(&mut client, "Pet:\n", false);
    let reference = "'#/components/schemas/Pet'";
    assert_eq!(
        uses,
        [
            format!("api.yaml:23 {reference}"),
            format!("api.yaml:36 {reference}")
        ]
    );
    assert_eq!(references(&mut client, "Pet:\n", true).len(), 3);
    assert_eq!(
        references(&mut client, "pet\n    description", false).len(),
        2
    );
    assert_eq!(
        references(&mut client, "token: {", false),
        ["api.yaml:5 token"]
    );
}

#[test]
fn names_lead_through_files_and_discriminators() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let parts = "Cat: {type: object, required: [kind], properties: {kind: {type: string}}}\n";
    fs::write(folder.path().join("parts.yaml"), parts).expect("the document can be written");
    let text = PETS.replace(
        "    Kind:\n",
        "    Animal:
      oneOf: [{$ref: 'parts.yaml#/Cat'}, {$ref: '#/components/schemas/Pet'}]
      discriminator: {propertyName: kind, mapping: {cat: 'parts.yaml#/Cat', pet: Pet}}
    Kind:\n",
    );
    let mut client = Client::start(folder.path());
    client.open("api.yaml", &text);
    assert_eq!(
        definition(&mut client, "'parts.yaml#/Cat', pet"),
        ["parts.yaml:1 Cat"]
    );
    assert_eq!(definition(&mut client, "Pet}}"), ["api.yaml:43 Pet"]);
    client.open("parts.yaml", parts);
    let mut asked = client.at("parts.yaml", 1);
    asked["context"] = json!({"includeDeclaration": false});
    let result = client
        .request("textDocument/references", &asked)
        .expect("an answer");
    assert_eq!(
        places(&client, &result),
        [
            "api.yaml:51 'parts.yaml#/Cat'",
            "api.yaml:52 'parts.yaml#/Cat'"
        ]
    );
}

#[test]
fn names_lead_to_their_declarations_while_a_line_is_broken() {
    let (_folder, mut client) = editing(PETS);
    assert_eq!(definition(&mut client, "pet]"), ["api.yaml:7 pet"]);
    let at = client.find("api.yaml", "title: Pets");
    client.type_at("api.yaml", at, "{ 🐈 [\n");
    // Every line below has moved by one.
    assert_eq!(
        definition(&mut client, "'#/components/schemas/Pet'"),
        ["api.yaml:44 Pet"]
    );
    assert_eq!(references(&mut client, "Pet:\n", false).len(), 2);
}

#[test]
fn an_outline_lists_operations_and_components() {
    let (_folder, mut client) = editing(PETS);
    let asked = json!({"textDocument": {"uri": client.uri("api.yaml")}});
    let outline = client.request("textDocument/documentSymbol", &asked);
    let outline = outline.expect("an answer");
    let mut names = Vec::new();
    let mut pending: Vec<&Value> = outline.as_array().expect("a list").iter().collect();
    while let Some(symbol) = pending.pop() {
        names.push(symbol["name"].as_str().expect("a name").to_owned());
        pending.extend(symbol["children"].as_array().into_iter().flatten());
    }
    for name in [
        "paths",
        "/pets/{id}",
        "get",
        "put",
        "components",
        "schemas",
        "Kind",
        "token",
    ] {
        assert!(
            names.iter().any(|known| known == name),
            "{name} in {names:?}"
        );
    }
}
