//! The document that the generated Rust derives again is the contract.

use serde_json::{Value, json};
use tests::closed_loop::{differences, normalise};

fn contract() -> Value {
    let text = std::fs::read("../openapi.yaml").expect("the contract is beside the crates");
    let loaded = contract::load_text("openapi.yaml", &text);
    loaded.contract.expect("the contract is right").document
}

#[test]
fn the_document_of_the_generated_rust_is_the_contract() {
    let found = differences(&normalise(&contract()), &normalise(&api_server::openapi::json()));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_utoipa_writes_is_the_contract() {
    let document = api_server::openapi::openapi().expect("utoipa holds the document");
    let document = serde_json::to_value(document).expect("utoipa writes JSON");
    let found = differences(&normalise(&contract()), &normalise(&document));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_schemars_writes_is_the_contract() {
    let contract = normalise(&contract());
    for (name, json_schema) in api_types::schemas::JSON_SCHEMAS {
        let mut derived = json_schema().to_value();
        let own = derived.as_object_mut().expect("a schema that describes something is an object");
        let mentioned = own.remove("$defs").unwrap_or_else(|| json!({}));
        own.remove("$schema");
        // schemars titles a schema that has no title by its type's name.
        own.remove("title").filter(|title| title != name).map(|title| own.insert("title".to_owned(), title));
        let mut found = differences(&contract["components"]["schemas"][name], &normalise(&in_components(derived)));
        for (other, derived) in mentioned.as_object().expect("definitions are an object") {
            let derived = normalise(&in_components(derived.clone()));
            found.extend(differences(&contract["components"]["schemas"][other], &derived));
        }
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    }
}

/// The schema with its references pointing to where OpenAPI has them.
fn in_components(schema: Value) -> Value {
    let text = schema.to_string().replace("\"#/$defs/", "\"#/components/schemas/");
    serde_json::from_str(&text).expect("a reference for a reference is JSON still")
}
