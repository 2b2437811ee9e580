//! Contracts of chosen operations: what they keep, and what they leave out.

use contract::{Loaded, Options, load_text_with, render};
use serde_json::{Value, json};

const SHOP: &str = r##"openapi: 3.1.0
info: { title: Shop, version: "1" }
tags: [{ name: pet, description: Pets. }, { name: order }]
security: [{ key: [] }]
paths:
  /pets:
    parameters: [{ $ref: "#/components/parameters/Page" }]
    get: { tags: [pet], operationId: pet_list, responses: { "200": { $ref: "#/components/responses/Pets" } } }
    post:
      tags: [pet]
      operationId: pet_create
      requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/New" } } } }
      responses: { "204": { description: Done., links: { list: { operationId: pet_list }, order: { $ref: "#/components/links/Order" } } } }
  /orders: { $ref: "#/components/pathItems/Orders" }
webhooks:
  paid: { post: { tags: [order], operationId: order_paid, responses: { "204": { description: Done. } } } }
components:
  securitySchemes: { key: { type: apiKey, in: header, name: key }, other: { type: http, scheme: basic } }
  parameters: { Page: { name: page, in: query, schema: { type: integer } } }
  links: { Order: { operationId: order_list } }
  responses: { Pets: { description: Pets., content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } } }
  pathItems:
    Orders:
      get: { tags: [order], operationId: order_list, responses: { "200": { description: Orders. } } }
      put: { tags: [order], operationId: order_put, responses: { "200": { description: Orders. } } }
  schemas:
    Pet: { type: object, required: [kind], properties: { kind: { type: string } }, discriminator: { propertyName: kind } }
    Cat: { allOf: [{ $ref: "#/components/schemas/Pet" }, { $ref: "#/components/schemas/Claws" }] }
    Claws: { type: object }
    New: { type: object }
"##;

fn choose(text: &str, only: &[&str]) -> Loaded {
    let options = Options {
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        ..Options::default()
    };
    load_text_with("shop.yaml", text.as_bytes(), &options)
}

/// Returns the ids of the operations and webhooks, and the document.
#[track_caller]
fn chosen(only: &[&str]) -> (Vec<String>, Value) {
    let loaded = choose(SHOP, only);
    let printed = render(&loaded.sources, &loaded.diagnostics);
    let contract = loaded.contract.unwrap_or_else(|| panic!("{printed}"));
    assert_eq!(contract.yaml, None);
    let operations = contract.operations.iter().chain(&contract.webhooks);
    let ids = operations.map(|operation| operation.id.clone()).collect();
    (ids, contract.document)
}

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[test]
fn an_operation_brings_what_it_reaches_and_nothing_else() {
    let (ids, document) = chosen(&["pet_list"]);
    assert_eq!(ids, ["pet_list"]);
    assert_eq!(keys(&document["paths"]), ["/pets"]);
    assert_eq!(keys(&document["paths"]["/pets"]), ["parameters", "get"]);
    let components = &document["components"];
    assert_eq!(
        keys(components),
        ["securitySchemes", "parameters", "responses", "schemas"]
    );
    assert_eq!(keys(&components["securitySchemes"]), ["key"]);
    // A cat is a pet, so that the discriminator can name it.
    assert_eq!(keys(&components["schemas"]), ["Pet", "Cat", "Claws"]);
    assert_eq!(
        document["tags"],
        json!([{"name": "pet", "description": "Pets."}])
    );

    let (ids, document) = chosen(&["pet_create"]);
    assert_eq!(ids, ["pet_create"]);
    assert_eq!(keys(&document["components"]["schemas"]), ["New"]);
    let links = &document["paths"]["/pets"]["post"]["responses"]["204"]["links"];
    assert_eq!(*links, json!({}));
}

#[test]
fn tags_and_operations_are_chosen_together() {
    let (ids, _) = chosen(&["order", "pet_create"]);
    assert_eq!(ids, ["pet_create", "order_list", "order_put", "order_paid"]);
    let (ids, document) = chosen(&["order_list", "pet_create"]);
    assert_eq!(ids, ["pet_create", "order_list"]);
    // A part of a shared path item is written out.
    assert_eq!(keys(&document["paths"]["/orders"]), ["get"]);
    assert!(document["components"].get("pathItems").is_none());
    let links = &document["paths"]["/pets"]["post"]["responses"]["204"]["links"];
    assert_eq!(keys(links), ["order"]);
    let (_, document) = chosen(&["order"]);
    assert_eq!(keys(&document["paths"]["/orders"]), ["$ref"]);
}

#[test]
fn an_unknown_name_is_an_error_with_the_names_near_it() {
    let loaded = choose(SHOP, &["pet_list", "petCreate", "orders", "zebra"]);
    assert!(loaded.contract.is_none());
    let printed = render(&loaded.sources, &loaded.diagnostics);
    for line in [
        "no tag and no operation is called `petCreate`",
        "did you mean `pet_create`",
        "no tag and no operation is called `orders`",
        "did you mean `order`",
        "no tag and no operation is called `zebra`",
        "write a tag or an operation id as the document does",
    ] {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
}

#[test]
fn a_reference_into_another_operation_says_to_choose_that_too() {
    let text = "openapi: 3.1.0\ninfo: { title: Shop, version: '1' }\npaths:\n  /a: { get: { operationId: a, responses: { '200': { description: A., content: { application/json: { schema: { type: object } } } } } } }\n\
                \x20 /b: { get: { operationId: b, responses: { '200': { description: B., content: { application/json: { schema: { $ref: '#/paths/~1a/get/responses/200/content/application~1json/schema' } } } } } } }\n";
    assert!(choose(text, &["a"]).contract.is_some());
    assert!(choose(text, &["a", "b"]).contract.is_some());
    let loaded = choose(text, &["b"]);
    assert!(loaded.contract.is_none());
    let printed = render(&loaded.sources, &loaded.diagnostics);
    assert!(
        printed.contains("this leads into an operation that is not chosen"),
        "{printed}"
    );
    assert!(printed.contains("shop.yaml:5:"), "{printed}");
}
