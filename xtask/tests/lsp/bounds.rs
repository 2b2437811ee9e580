//! What grows with a document or with an editor's wishes is bounded.

use serde_json::{Value, json};

use crate::{PETS, editing};

#[test]
fn at_most_a_thousand_diagnostics_of_a_file_are_shown() {
    let wrong: String = (0..1_500).map(|at| format!("  wrong{at}: 1\n")).collect();
    let (_folder, mut client) = editing(&PETS.replace(
        "info: {title: Pets, version: 1.0.0}\n",
        &format!("info:\n  title: Pets\n  version: 1.0.0\n{wrong}"),
    ));
    assert_eq!(client.settled("api.yaml").len(), 1_000);
}

#[test]
fn at_most_500_names_are_offered_and_the_editor_asks_again() {
    let many: String = (0..700)
        .map(|at| format!("    Pet{at}: {{type: string}}\n"))
        .collect();
    let (_folder, mut client) = editing(&format!("{PETS}{many}"));
    let at = client.find("api.yaml", "#/components/schemas/Pet'");
    let end = at + "#/components/schemas/Pet".len();
    client.edit("api.yaml", at, end, "#");
    let asked = client.at("api.yaml", at + 1);
    let result = client.request("textDocument/completion", &asked);
    let result = result.expect("an answer");
    assert_eq!(result["items"].as_array().map(Vec::len), Some(500));
    assert_eq!(result["isIncomplete"], true);
    client.edit("api.yaml", at, at + 1, "#/components/schemas/Pet69");
    let asked = client.at("api.yaml", at + "#/components/schemas/Pet69".len());
    let result = client.request("textDocument/completion", &asked);
    assert_eq!(result.expect("an answer")["isIncomplete"], false);
}

#[test]
fn every_request_is_answered_however_many_there_are() {
    let (_folder, mut client) = editing(PETS);
    let mut asked = client.at("api.yaml", client.find("api.yaml", "Pet:\n"));
    asked["context"] = json!({"includeDeclaration": true});
    let ids: Vec<i64> = (0..2_000)
        .map(|_| client.ask("textDocument/references", &asked))
        .collect();
    let last = ids[ids.len() - 1];
    client.notify("$/cancelRequest", &json!({"id": last}));
    let mut refused = 0;
    for id in ids {
        if let Err(error) = client.answer(id) {
            let code = error["code"].as_i64();
            // Too many are waiting, or the editor has cancelled it.
            assert!(matches!(code, Some(-32802 | -32800)), "{error}");
            refused += 1;
        }
    }
    println!("{refused} of 2000 were refused");
    assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());
    assert_eq!(client.end(), Some(0));
}
