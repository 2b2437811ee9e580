//! Webhooks and callbacks become a contract of their own, in which each operation has its own
//! route.

use contract::{Contract, load_text, reversed};

/// Returns the routes of the webhooks and callbacks, each with the id of its operation.
fn routes(text: &str) -> Vec<String> {
    let loaded = load_text("pets.yaml", text.as_bytes());
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
    let reversed: Contract = reversed(&loaded.contract.expect("the document is a contract"))
        .expect("the contract has webhooks or callbacks");
    let operations = reversed.operations.iter();
    operations
        .map(|operation| {
            format!(
                "{} {} {}",
                operation.method.key(),
                operation.path,
                operation.id
            )
        })
        .collect()
}

const CALLING: &str = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    post:
      operationId: subscribe
      parameters: [{ name: url, in: query, schema: {} }, { name: other, in: query, schema: {} }]
      responses: { "204": { description: Done. } }
      callbacks: @@
components:
  callbacks:
    Event:
      "{$request.query.url}":
        post: { responses: { "204": { description: Done. } } }
        put: { responses: { "204": { description: Done. } } }
"#;

#[test]
fn a_component_under_two_names_is_one_callback() {
    let one = CALLING.replace(
        "@@",
        r##"{ first: { $ref: "#/components/callbacks/Event" } }"##,
    );
    assert_eq!(
        routes(&one),
        [
            "post /subscribe/Event subscribe_Event_post",
            "put /subscribe/Event subscribe_Event_put"
        ]
    );
    let reference = r##"{ $ref: "#/components/callbacks/Event" }"##;
    assert_eq!(
        routes(&CALLING.replace(
            "@@",
            &format!("{{ first: {reference}, second: {reference} }}")
        )),
        routes(&one)
    );
}

#[test]
fn another_callback_at_the_same_path_is_moved_aside() {
    let own = r#"{ "{$request.query.other}": { post: { responses: { "204": { description: Done. } } } } }"#;
    let both = CALLING.replace(
        "@@",
        &format!(r##"{{ first: {{ $ref: "#/components/callbacks/Event" }}, Event: {own} }}"##),
    );
    let routes = routes(&both);
    assert_eq!(routes.len(), 3);
    assert!(
        routes[2].starts_with("post /subscribe/Event/2 "),
        "{routes:?}"
    );
}
