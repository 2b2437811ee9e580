//! The readings of null, which YAML has after a key without a value.

use serde_json::json;

use super::{SCHEMA, foreign, repaired, with_path, with_schema};

const OK: &str = r#"responses: { "204": { description: Done. } }"#;

#[test]
fn null_is_nothing_where_it_means_nothing() {
    let text = with_schema("3.1.0", "{ properties: { a: null }, required: null }");
    let loaded = foreign(&text);
    let repairs: Vec<_> = loaded
        .repairs
        .iter()
        .map(|repair| (repair.rule, repair.pointer.clone()))
        .collect();
    let places = ["/properties/a", "/required"].map(|at| ("wrong-type", format!("{SCHEMA}{at}")));
    assert_eq!(repairs, places);
    let contract = loaded.contract.expect("a document of others is a contract");
    let schema = contract.document.pointer(SCHEMA);
    assert_eq!(schema, Some(&json!({"properties": {"a": {}}})));
    // A text that is null is a repair too, unless it is needed.
    let text = with_schema("3.1.0", "{ title: null, type: string }");
    let of_schema = repaired(&text, "wrong-type", &format!("{SCHEMA}/title"), SCHEMA);
    assert_eq!(of_schema, json!({"type": "string"}));
    for needed in [
        "{ type: http, scheme: null }",
        "{ type: apiKey, name: null, in: query }",
        "{ type: apiKey, name: a, in: null }",
    ] {
        let scheme = format!("components: {{ securitySchemes: {{ key: {needed} }} }}\n");
        let refused = foreign(&(with_path("/a", "{}") + &scheme));
        assert!(refused.contract.is_none(), "{needed}");
    }
    // A scheme without scopes still asks for its credential.
    let item = "{ get: { security: [{ key: null }], responses: { '200': { description: Ok. } } } }";
    let scheme = "components: { securitySchemes: { key: { type: http, scheme: bearer } } }\n";
    let text = with_path("/a", item) + scheme;
    assert_eq!(
        repaired(
            &text,
            "wrong-type",
            "/paths/~1a/get/security/0/key",
            "/paths/~1a/get/security"
        ),
        json!([{"key": []}])
    );
}

#[test]
fn a_null_text_is_nothing_wherever_it_is() {
    // Names of authors that are keywords elsewhere.
    for name in ["content", "properties", "security", "items"] {
        let schema =
            format!("{{ properties: {{ {name}: {{ type: string, description: null }} }} }}");
        let at = format!("{SCHEMA}/properties/{name}");
        let text = with_schema("3.1.0", &schema);
        let left = repaired(&text, "wrong-type", &format!("{at}/description"), &at);
        assert_eq!(left, json!({"type": "string"}));
    }
    // A scope without a description exists.
    let flow = "{ clientCredentials: { tokenUrl: /t, scopes: { read: null } } }";
    let scheme =
        format!("components: {{ securitySchemes: {{ o: {{ type: oauth2, flows: {flow} }} }} }}\n");
    let item = format!("{{ get: {{ security: [{{ o: [read] }}], {OK} }} }}");
    let text = with_path("/a", &item) + &scheme;
    let place = "/components/securitySchemes/o/flows/clientCredentials/scopes";
    let scopes = repaired(&text, "wrong-type", &format!("{place}/read"), place);
    assert_eq!(scopes, json!({"read": ""}));
    let own = contract::load_text("own.yaml", text.as_bytes());
    let own = own.contract.expect("a warning refuses nothing");
    assert_eq!(own.document.pointer(place), Some(&scopes));
    // A text that is needed is missing, and a reference leads to nothing.
    let text = with_path("/a", "{}").replace("Others", "null");
    let missing = foreign(&text);
    assert!(missing.repairs.is_empty());
    assert!(
        missing
            .diagnostics
            .iter()
            .any(|found| found.code == "missing-keyword")
    );
    let refused = foreign(&with_schema("3.1.0", "{ $ref: null }"));
    assert!(refused.contract.is_none());
}
