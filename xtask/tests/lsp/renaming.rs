//! Renaming over files, and why some names cannot be renamed.

use std::fs;

use serde_json::{Value, json};

use crate::client::{Client, offset, slice};
use crate::{PETS, editing};

/// Asks for new names and returns the files afterwards, with the texts that were replaced.
fn renamed(
    client: &mut Client,
    part: &str,
    new: &str,
) -> Result<(Vec<String>, Vec<String>), String> {
    let at = client.find("api.yaml", part) + 1;
    let mut asked = client.at("api.yaml", at);
    asked["newName"] = json!(new);
    let edit = client.request("textDocument/rename", &asked);
    let edit = edit.map_err(|error| error["message"].as_str().expect("words").to_owned())?;
    let (mut files, mut replaced) = (Vec::new(), Vec::new());
    let changes = edit["changes"].as_object().expect("changes");
    let mut uris: Vec<_> = changes.iter().collect();
    uris.sort_by_key(|(uri, _)| uri.as_str());
    for (uri, edits) in uris {
        let name = uri.rsplit('/').next().expect("a name");
        let mut text = match client.texts.get(name) {
            Some((_, text)) => text.clone(),
            None => fs::read_to_string(client.folder.join(name)).expect("the file exists"),
        };
        let before = text.clone();
        let mut edits: Vec<&Value> = edits.as_array().expect("edits").iter().collect();
        edits.sort_by_key(|edit| offset(&before, &edit["range"]["start"], client.unit));
        for edit in edits.into_iter().rev() {
            let range = &edit["range"];
            replaced.push(slice(&before, range, client.unit).to_owned());
            let start = offset(&before, &range["start"], client.unit);
            let end = offset(&before, &range["end"], client.unit);
            text.replace_range(start..end, edit["newText"].as_str().expect("a text"));
        }
        files.push(text);
    }
    Ok((files, replaced))
}

#[test]
fn a_component_is_renamed_with_its_references_and_nothing_else() {
    let (_folder, mut client) = editing(PETS);
    let (files, replaced) = renamed(&mut client, "Pet:\n", "Animal").expect("it can be renamed");
    assert_eq!(replaced, ["Pet", "Pet", "Pet"]);
    let expected = PETS
        .replace("schemas/Pet'", "schemas/Animal'")
        .replace("    Pet:\n", "    Animal:\n");
    assert_eq!(files, [expected]);
    // From a reference the same is renamed.
    let from_reference = renamed(&mut client, "schemas/Pet'", "Animal");
    assert_eq!(from_reference.expect("it can be renamed").0, files);
}

#[test]
fn operations_tags_and_security_schemes_are_renamed() {
    let (_folder, mut client) = editing(PETS);
    let (files, _) = renamed(&mut client, "pet_view", "pet_show").expect("it can be renamed");
    assert_eq!(files, [PETS.replace("pet_view", "pet_show")]);
    let (files, _) = renamed(&mut client, "token: []", "key").expect("it can be renamed");
    assert_eq!(files, [PETS.replace("token:", "key:")]);
    let (files, _) = renamed(&mut client, "pet\n    desc", "a: b").expect("it can be renamed");
    let expected = PETS
        .replace("name: pet\n", "name: \"a: b\"\n")
        .replace("tags: [pet]", "tags: [\"a: b\"]");
    assert_eq!(files, [expected]);
}

#[test]
fn references_of_other_files_are_renamed_too() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let parts = "\
Owner:
  type: object
  properties:
    pet: {$ref: \"api.yaml#/components/schemas/Pet\"}
    first: {$ref: 'api.yaml#/components/schemas/Pet/properties/name'}
";
    fs::write(folder.path().join("parts.yaml"), parts).expect("the document can be written");
    let text = PETS.replace(
        "    Kind:\n",
        "    Owner: {$ref: 'parts.yaml#/Owner'}\n    Kind:\n",
    );
    fs::write(folder.path().join("api.yaml"), &text).expect("the document can be written");
    let mut client = Client::start(folder.path());
    client.open("api.yaml", &text);
    let (files, _) = renamed(&mut client, "Pet:\n", "Animal").expect("it can be renamed");
    assert_eq!(files[1], parts.replace("schemas/Pet", "schemas/Animal"));
    let (files, _) = renamed(&mut client, "parts.yaml#/Owner", "Human").expect("it can be renamed");
    assert_eq!(files[0], text.replace("yaml#/Owner", "yaml#/Human"));
    assert_eq!(files[1], parts.replace("Owner:", "Human:"));
}

#[test]
fn a_name_that_is_taken_or_wrong_is_refused_with_words() {
    let (_folder, mut client) = editing(PETS);
    for (part, new, words) in [
        ("Pet:\n", "Kind", "there is a component `Kind` already"),
        ("Pet:\n", "A Pet", "`A Pet` cannot name a component"),
        ("Pet:\n", "", "cannot name a component"),
        (
            "pet_view",
            "pet_put",
            "another operation is called `pet_put` already",
        ),
        ("pet_view", " ", "needs a name of one line"),
        ("kind: {$ref", "sort", "only components"),
    ] {
        let refused = renamed(&mut client, part, new).expect_err("it is refused");
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn a_name_that_is_sent_is_not_renamed() {
    let union = "    Any:
      oneOf: [{$ref: '#/components/schemas/Pet'}]
      discriminator: {propertyName: name}
    Kind:\n";
    let (_folder, mut client) = editing(&PETS.replace("    Kind:\n", union));
    let refused = renamed(&mut client, "Pet:\n", "Animal").expect_err("it is refused");
    assert!(refused.contains("mapping"), "{refused}");
}

#[test]
fn nothing_is_renamed_in_a_broken_document() {
    let (_folder, mut client) = editing(PETS);
    client.settled("api.yaml");
    client.edit("api.yaml", 0, 0, "{");
    let refused = renamed(&mut client, "Pet:\n", "Animal").expect_err("it is refused");
    assert!(
        refused.contains("mend it first") || refused.contains("nothing here"),
        "{refused}"
    );
}

#[test]
fn an_editor_learns_what_can_be_renamed() {
    let (_folder, mut client) = editing(PETS);
    let at = client.find("api.yaml", "schemas/Pet'");
    let asked = client.at("api.yaml", at);
    let result = client
        .request("textDocument/prepareRename", &asked)
        .expect("an answer");
    assert_eq!(result["placeholder"], "Pet");
    assert_eq!(slice(PETS, &result["range"], client.unit), "Pet");
}

#[test]
fn a_component_of_a_file_that_two_contracts_share_is_renamed_in_both() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let parts = "Owner:\n  type: object\n";
    fs::write(folder.path().join("parts.yaml"), parts).expect("the document can be written");
    let text = PETS.replace(
        "    Kind:\n",
        "    Owner: {$ref: 'parts.yaml#/Owner'}\n    Kind:\n",
    );
    let other = text.replace("title: Pets", "title: Others");
    for (name, text) in [("api.yaml", &text), ("other.yaml", &other)] {
        fs::write(folder.path().join(name), text).expect("the document can be written");
    }
    let mut client = Client::start(folder.path());
    client.open("api.yaml", &text);
    client.open("other.yaml", &other);
    let (files, _) = renamed(&mut client, "parts.yaml#/Owner", "Human").expect("it can be renamed");
    let in_file = |text: &str| text.replace("yaml#/Owner", "yaml#/Human");
    assert_eq!(
        files,
        [
            in_file(&text),
            in_file(&other),
            "Human:\n  type: object\n".to_owned()
        ]
    );
}

#[test]
fn a_component_beside_a_schema_with_an_id_is_not_renamed() {
    let text = PETS.replace(
        "    Kind:\n",
        "    Owner: {$id: 'https://example.com/owner', type: object}\n    Kind:\n",
    );
    let (_folder, mut client) = editing(&text);
    let refused = renamed(&mut client, "Pet:\n", "Animal").expect_err("it is refused");
    assert!(refused.contains("has a schema with `$id`"), "{refused}");
    renamed(&mut client, "pet_view", "pet_show").expect("operations can be renamed");
}
