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
    (ids, contract.document.to_json())
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

#[test]
fn a_further_tag_chooses_an_operation_too() {
    let text = SHOP.replace(
        "tags: [pet], operationId: pet_list",
        "tags: [pet, order], operationId: pet_list",
    );
    let contract = choose(&text, &["order"]).contract.expect("it is right");
    let ids: Vec<&str> = contract
        .operations
        .iter()
        .map(|operation| &*operation.id)
        .collect();
    assert_eq!(ids, ["pet_list", "order_list", "order_put"]);
}

/// The paging convention names parameters and properties of lists, of which none may be chosen.
#[test]
fn operations_that_are_no_lists_are_chosen_from_a_contract_with_lists() {
    let text = r"openapi: 3.1.0
info: { title: Pets, version: 1.0.0 }
x-paging: { start_after: after, page_size: limit, items: pets, key: name }
paths:
  /pets:
    get:
      operationId: pet_list
      parameters: [{ name: after, in: query, schema: { type: string } }, { name: limit, in: query, schema: { type: integer } }]
      responses: { '200': { description: Pets., content: { application/json: { schema: { $ref: '#/components/schemas/Pets' } } } } }
    post: { operationId: pet_create, responses: { '204': { description: Done. } } }
components:
  schemas:
    Pets: { type: object, required: [pets], properties: { pets: { type: array, items: { type: object, required: [name], properties: { name: { type: string } } } } } }
";
    for only in ["pet_list", "pet_create"] {
        let loaded = choose(text, &[only]);
        let printed = render(&loaded.sources, &loaded.diagnostics);
        assert!(
            loaded.contract.is_some() && printed.is_empty(),
            "{only}: {printed}"
        );
    }
}

#[test]
fn links_to_links_are_left_out_and_data_that_looks_like_links_is_kept() {
    let text = SHOP
        .replace("links: { Order: { operationId: order_list } }", "links: { Order: { $ref: '#/components/links/Next' }, Next: { operationId: order_list } }")
        .replace("schema: { $ref: \"#/components/schemas/New\" } } }", "schema: { $ref: \"#/components/schemas/New\" }, example: { links: { order: { operationId: order_list } } } } }");
    let loaded = choose(&text, &["pet"]);
    let printed = render(&loaded.sources, &loaded.diagnostics);
    let document = loaded
        .contract
        .unwrap_or_else(|| panic!("{printed}"))
        .document
        .to_json();
    let post = &document["paths"]["/pets"]["post"];
    assert_eq!(keys(&post["responses"]["204"]["links"]), ["list"]);
    let example = &post["requestBody"]["content"]["application/json"]["example"];
    assert_eq!(example["links"]["order"]["operationId"], "order_list");
}
