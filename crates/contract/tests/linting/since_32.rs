//! What OpenAPI 3.2 adds: read in 3.2, and a diagnostic in earlier versions.

use contract::{Severity, load_text};

use crate::{diagnostics, error, help, place, warning};

const DOCUMENT: &str = r#"openapi: 3.2.0
info: { title: Pets, version: "1" }
@@
paths:
  /pets:
    get:
      responses:
        "200":
          description: All pets.
          content:
            application/jsonl:
              itemSchema: { type: string }
"#;

/// A document of 3.1 with the content of a request body.
fn media_31() -> String {
    MEDIA
        .replace("3.2.0", "3.1.0")
        .replace("{}", "{ description: Done. }")
}

const MEDIA: &str = r#"openapi: 3.2.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    post:
      requestBody: { required: true, content: { @@ } }
      responses: { "204": {} }
"#;

/// A document with every field that 3.2 adds and that has an effect.
const ALL: &str = r##"openapi: 3.2.0
$self: https://example.com/api/pets.yaml
info: { title: Pets, version: "1" }
servers: [{ url: https://example.com, name: main }]
tags:
  - { name: all, summary: Everything, kind: nav }
  - { name: pets, parent: all }
security: [{ "#/components/securitySchemes/Key": [] }, { "pets.yaml#/components/securitySchemes/Device": [] }]
paths:
  /pets:
    query:
      tags: [pets]
      requestBody: { required: true, content: { application/json: { $ref: "#/components/mediaTypes/Pet" } } }
      responses:
        "200":
          summary: The pets
          content:
            application/jsonl: { itemSchema: { $ref: "pets.yaml#/components/schemas/Pet" } }
    additionalOperations:
      COPY: { tags: [pets], responses: { "204": { summary: Copied } } }
components:
  schemas:
    Pet:
      type: object
      oneOf: [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Other" }]
      discriminator: { propertyName: kind, mapping: { cat: Cat }, defaultMapping: Other }
    Cat: { type: object, required: [kind], properties: { kind: { const: cat } } }
    Other: { type: object, properties: { kind: { not: { const: cat } } } }
  mediaTypes:
    Pet:
      schema: { $ref: "#/components/schemas/Pet" }
      examples:
        Cat: { dataValue: { kind: cat }, serializedValue: '{"kind":"cat"}' }
  securitySchemes:
    Key: { type: apiKey, name: key, in: header, deprecated: true }
    Device:
      type: oauth2
      oauth2MetadataUrl: https://example.com/.well-known/oauth-authorization-server
      flows:
        deviceAuthorization:
          deviceAuthorizationUrl: https://example.com/device
          tokenUrl: https://example.com/token
          scopes: {}
"##;

#[test]
fn every_field_of_3_2_is_read() {
    let loaded = load_text("pets.yaml", ALL.as_bytes());
    let found = contract::render(&loaded.sources, &loaded.diagnostics);
    assert_eq!(found, "");
    let contract = loaded.contract.expect("a correct document is loaded");
    let [query, copy] = contract.operations.as_slice() else {
        panic!("{:#?}", contract.operations);
    };
    assert_eq!((query.method.as_str(), &*query.id), ("QUERY", "query_pets"));
    assert_eq!((copy.method.as_str(), &*copy.id), ("COPY", "copy_pets"));
    assert_eq!(copy.pointer, "/paths/~1pets/additionalOperations/COPY");
    let body = query.request_body.as_ref().expect("the body is read");
    assert_eq!(body.content[0].pointer, "/components/mediaTypes/Pet");
    assert_eq!(body.content[0].examples["Cat"]["kind"], "cat");
    let item = query.responses[0].content[0].item_schema;
    let item = contract.resolve(item.expect("the items have a schema"));
    assert_eq!(contract.schema(item).component.as_deref(), Some("Pet"));
    let schemes: Vec<&str> = query
        .security
        .iter()
        .flat_map(|alternative| &alternative.schemes)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(schemes, ["Key", "Device"]);
}

#[test]
fn earlier_versions_have_none_of_it() {
    let found = diagnostics(&ALL.replace("openapi: 3.2.0", "openapi: 3.1.0"));
    let early = found
        .iter()
        .filter(|(code, severity, ..)| code == "wrong-dialect" && *severity == Severity::Warning);
    assert_eq!(early.count(), 12, "{found:#?}");
    // Without the media type, nothing says what the body is.
    error(
        "wrong-dialect",
        &media_31(),
        "application/json: { ⟦$ref: \"#/components/mediaTypes/Pet\" }",
        "application/json: { schema: { type: string } }",
    );
    let document = DOCUMENT.replace("3.2.0", "3.1.0").replace("@@\n", "");
    assert_eq!(
        help(&document),
        "remove it, or write `openapi: 3.2.0` at the top of the document"
    );
}

#[test]
fn later_versions_are_refused_in_words() {
    for version in ["3.3.0", "3.10.1", "4.0.0", "3.3"] {
        let text = DOCUMENT.replace("3.2.0", version).replace("@@\n", "");
        let loaded = load_text("pets.yaml", text.as_bytes());
        let rendered = contract::render(&loaded.sources, &loaded.diagnostics);
        assert!(
            rendered.contains("is newer than 3.2, and what it adds would be lost"),
            "{rendered}"
        );
        assert!(
            rendered.contains("write `3.2.0`, and only what that version knows"),
            "{rendered}"
        );
        assert!(loaded.contract.is_none());
    }
}

#[test]
fn tags_form_a_tree() {
    let tags = |first: &str| format!("tags: [{{ name: a{first} }}, {{ name: b, parent: a }}]");
    warning(
        "unknown-tag",
        DOCUMENT,
        "tags: [{ name: all, parent: ⟦al }]",
        &tags(""),
    );
    warning(
        "duplicate-tag",
        DOCUMENT,
        "tags: [{ name: a }, { name: ⟦a }]",
        &tags(""),
    );
    let circle = diagnostics(&DOCUMENT.replace("@@", &tags(", parent: b")));
    let codes: Vec<&str> = circle.iter().map(|(code, ..)| code.as_str()).collect();
    assert_eq!(codes, ["circular-tag", "circular-tag"]);
    // A tag below a cycle is not in it.
    let below = tags(", parent: b").replace(']', ", { name: c, parent: a }]");
    assert_eq!(diagnostics(&DOCUMENT.replace("@@", &below)).len(), 2);
}

#[test]
fn a_long_chain_of_tags_takes_linear_time() {
    let tag = |index: usize| format!("{{ name: t{index}, parent: t{} }}", index + 1);
    let chain: Vec<String> = (0..30_000).map(tag).collect();
    let tags = format!("tags: [{}, {{ name: t30000 }}]", chain.join(", "));
    let start = std::time::Instant::now();
    assert_eq!(diagnostics(&DOCUMENT.replace("@@", &tags)), vec![]);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn examples_of_a_shared_media_type_are_in_its_syntax() {
    let document = |name: &str| {
        let content = format!("{name}: {{ $ref: '#/components/mediaTypes/Pet' }}");
        let media = "schema: { type: object }, example: <pet/>";
        format!(
            "{}components: {{ mediaTypes: {{ Pet: {{ {media} }} }} }}\n",
            MEDIA.replace("@@", &content)
        )
    };
    let is_reported = |name: &str| {
        let found = diagnostics(&document(name));
        found.iter().any(|(code, ..)| code == "bad-example")
    };
    assert!(!is_reported("application/xml"));
    assert!(is_reported("application/json"));
}

#[test]
fn what_identifies_a_document_has_no_fragment() {
    error(
        "bad-self",
        DOCUMENT,
        "$self: ⟦https://example.com/pets.yaml#pets",
        "$self: https://example.com/pets.yaml",
    );
}

#[test]
fn additional_operations_have_methods_of_their_own() {
    let paths = r#"openapi: 3.2.0
info: { title: Pets, version: "1" }
paths:
  /pets: { additionalOperations: { @@: { responses: { "204": {} } } } }
"#;
    error("bad-method", paths, "POST", "COPY");
    error("bad-method", paths, "CO PY", "COPY");
    warning("bad-method", paths, "Post", "COPY");
}

#[test]
fn items_belong_to_sequences() {
    warning(
        "unapplied-schema",
        MEDIA,
        "application/json: { ⟦itemSchema: { type: string } }",
        "application/json-seq: { itemSchema: { type: string } }",
    );
    warning(
        "unapplied-schema",
        MEDIA,
        "image/png: { ⟦itemSchema: { type: string } }",
        "application/geo+json-seq: { itemSchema: { type: string } }",
    );
    warning(
        "unapplied-schema",
        MEDIA,
        "multipart/mixed: ⟦{ itemSchema: { type: string }, schema: { type: array } }",
        "multipart/mixed: { itemSchema: { type: string } }",
    );
    // Our extension has the same meaning, in every version.
    warning(
        "unapplied-schema",
        &media_31(),
        "application/json: { ⟦x-item-schema: { type: string } }",
        "text/event-stream: { x-item-schema: { type: string } }",
    );
}

#[test]
fn the_content_of_an_event_has_an_effect_in_every_version() {
    let event = |data: &str| {
        format!(
            "text/event-stream: {{ x-item-schema: {{ type: object, properties: {{ data: {{ type: string, {data} }} }} }} }}"
        )
    };
    let json = "contentMediaType: application/json, contentSchema: { type: object }";
    for version in ["3.0.3", "3.1.0", "3.2.0"] {
        let media = media_31().replace("3.1.0", version);
        for data in [json, "contentSchema: { type: object }"] {
            assert_eq!(
                diagnostics(&media.replace("@@", &event(data))),
                vec![],
                "{version}"
            );
        }
        // It is checked as any schema is.
        let wrong = event("contentSchema: { $ref: ⟦'#/none' }");
        error("dangling-ref", &media, &wrong, &event(json));
    }
    // Elsewhere it has none.
    let other = "application/json: { schema: { type: string, ⟦contentSchema: { type: object } } }";
    let right = "application/json: { schema: { type: string } }";
    warning("idle-keyword", MEDIA, other, right);
    let media = media_31().replace("3.1.0", "3.0.3");
    warning("wrong-dialect", &media, other, right);
}

#[test]
fn the_content_of_one_of_several_events_is_reported_where_it_is_no_plain_text() {
    let events = |data: &str| {
        format!(
            "text/event-stream: {{ x-item-schema: {{ type: object, required: [event], properties: {{ event: {{ type: string }} }}, oneOf: [{{ properties: {{ event: {{ enum: [a] }} }} }}, {{ properties: {{ event: {{ enum: [b] }}, data: {{ {data} }} }} }}] }} }}"
        )
    };
    let right = events("type: string, contentSchema: { type: object }");
    for version in ["3.0.3", "3.1.0", "3.2.0"] {
        let media = media_31().replace("3.1.0", version);
        assert_eq!(
            diagnostics(&media.replace("@@", &right)),
            vec![],
            "{version}"
        );
        // It is checked as any schema is.
        let wrong = events("type: string, contentSchema: { $ref: ⟦'#/none' }");
        error("dangling-ref", &media, &wrong, &right);
    }
    let media = media_31();
    for data in ["type: [string, 'null']", "type: string, x-secret: true"] {
        let wrong = events(&format!("{data}, ⟦contentSchema: {{ type: object }}"));
        warning("unapplied-schema", &media, &wrong, &right);
    }
}

#[test]
fn what_is_not_applied_to_parts_with_positions_is_reported() {
    let parts = "schema: { type: array, items: { type: string } }";
    let headers = "{ X-A: { schema: { type: integer } }, X-B: { schema: {} }, X-C: { content: { application/json: { schema: { type: array } } } } }";
    let right = format!(
        "multipart/mixed: {{ {parts}, itemEncoding: {{ contentType: text/plain, headers: {headers} }} }}"
    );
    let many = "{}, ".repeat(13);
    for wrong in [
        format!("{{ {parts}, itemEncoding: {{ style: form }} }}"),
        format!("{{ {parts}, itemEncoding: {{ itemEncoding: {{}} }} }}"),
        format!(
            "{{ {parts}, itemEncoding: {{ contentType: multipart/form-data, encoding: {{ a: {{}} }} }} }}"
        ),
        format!("{{ {parts}, prefixEncoding: [{many}] }}"),
        format!(
            "{{ {parts}, itemEncoding: {{ headers: {{ X-A: {{ schema: {{ type: array }} }} }} }} }}"
        ),
        format!(
            "{{ {parts}, itemEncoding: {{ headers: {{ X-A: {{ schema: {{ oneOf: [{{ type: object }}] }} }} }} }} }}"
        ),
        "{ schema: { type: object }, itemEncoding: {} }".to_owned(),
        "{ schema: { properties: { a: {} } }, encoding: { a: { itemEncoding: {} } } }".to_owned(),
    ] {
        let wrong = format!("multipart/mixed: ⟦{wrong}");
        warning("unapplied-encoding", MEDIA, &wrong, &right);
    }
    for wrong in [
        "{ schema: { type: array, uniqueItems: true }, itemEncoding: {} }",
        "{ schema: { type: array, contains: {} } }",
        "{ itemSchema: {}, prefixEncoding: [{ contentType: application/json }] }",
    ] {
        let wrong = format!("multipart/mixed: ⟦{wrong}");
        warning("unapplied-schema", MEDIA, &wrong, &right);
    }
    error(
        "contradicting-fields",
        MEDIA,
        &format!("multipart/mixed: {{ {parts}, ⟦encoding: {{}}, prefixEncoding: [{{}}] }}"),
        &format!("multipart/mixed: {{ {parts} }}"),
    );
}

#[test]
fn an_example_has_one_form_of_each_kind() {
    warning(
        "contradicting-fields",
        MEDIA,
        "application/json: { schema: { type: string }, examples: { A: { value: a, ⟦dataValue: a } } }",
        "application/json: { schema: { type: string }, examples: { A: { dataValue: a, serializedValue: '\"a\"' } } }",
    );
    warning(
        "bad-example",
        MEDIA,
        "application/json: { schema: { type: string }, examples: { A: { dataValue: ⟦5 } } }",
        "application/json: { schema: { type: string }, examples: { A: { dataValue: \"5\" } } }",
    );
}

#[test]
fn the_default_of_a_discriminator_exists() {
    error(
        "unknown-mapping",
        &ALL.replace("defaultMapping: Other", "defaultMapping: @@"),
        "Othr",
        "Other",
    );
}

#[test]
fn an_absent_discriminator_is_no_lack() {
    let declared = "Other: { type: object, properties: { kind: { not: { const: cat } } } }";
    assert!(ALL.contains(declared));
    let silent = ALL.replace(
        declared,
        "Other: { type: object, additionalProperties: false, properties: { legs: { type: integer } } }",
    );
    assert_eq!(diagnostics(&silent), []);
    // Another branch has to be chosen by something, though never by force.
    let wrong = ALL.replace(
        "Cat: { type: object, required: [kind], properties: { kind: { const: cat } } }",
        "Cat: { type: object, properties: { lives: { type: integer } } }",
    );
    let found = diagnostics(&wrong);
    assert!(
        found
            .iter()
            .any(|(code, ..)| code == "discriminator-property"),
        "{found:?}"
    );
    assert!(
        help(&wrong).split("; ").any(|help| help == "declare it"),
        "{}",
        help(&wrong)
    );
}

#[test]
fn the_flow_for_devices_has_two_addresses() {
    let token = ", tokenUrl: https://example.com/token";
    let flow = |mark: &str, more: &str| {
        format!(
            "{mark}deviceAuthorization: {{ deviceAuthorizationUrl: https://example.com/device, scopes: {{}}{more} }}"
        )
    };
    let document = format!(
        "{}components: {{ securitySchemes: {{ Device: {{ type: oauth2, flows: {{ @@ }} }} }} }}\n",
        DOCUMENT.replace("@@", "security: [{ Device: [] }]")
    );
    warning(
        "missing-keyword",
        &document,
        &flow("⟦", ""),
        &flow("", token),
    );
}

#[test]
fn both_forms_of_an_example_are_equal() {
    let example =
        |fields: &str| format!("application/problem+json: {{ examples: {{ a: {{ {fields} }} }} }}");
    for wrong in [
        "dataValue: { a: [1, x] }, serializedValue: ⟦'{\"a\": [1, \"y\"]}'",
        "dataValue: { a: 1 }, serializedValue: ⟦'{\"a\": 1, \"b\": 2}'",
        "dataValue: { a: 1 }, serializedValue: ⟦'{a: 1}'",
        "serializedValue: ⟦'{'",
    ] {
        warning(
            "contradicting-example",
            &MEDIA.replace("{}", "{ description: Done. }"),
            &example(wrong),
            &example(
                "dataValue: { a: [10, x], b: null }, serializedValue: '{\"b\": null, \"a\": [1e1, \"x\"]}'",
            ),
        );
    }
    // JSON that is no value here.
    for text in [
        r#"'"\ud800"'"#.to_owned(),
        "'1e999'".to_owned(),
        format!("'{}{}'", "[".repeat(300), "]".repeat(300)),
    ] {
        let text = example(&format!("serializedValue: {text}"));
        let text = MEDIA
            .replace("{}", "{ description: Done. }")
            .replace("@@", &text);
        assert_eq!(diagnostics(&text), []);
    }
    // Other media types have a syntax of their own.
    let text = "text/csv: { examples: { a: { dataValue: { a: 1 }, serializedValue: \"a\\n1\" } } }";
    let text = MEDIA
        .replace("{}", "{ description: Done. }")
        .replace("@@", text);
    assert_eq!(diagnostics(&text), []);
}

#[test]
fn a_server_has_each_variable_once() {
    let variables = "variables: { a: { default: x }, b: { default: y } }";
    let servers = |url: &str| format!("servers: [{{ url: {url}, {variables} }}]");
    warning(
        "duplicate-server-variable",
        DOCUMENT,
        &servers("⟦\"https://{a}.{b}.{a}\""),
        &servers("\"https://{a}.{b}\""),
    );
    // Before 3.2, the standard does not forbid it.
    let before = DOCUMENT
        .replace("3.2.0", "3.1.0")
        .replace("application/jsonl", "text/plain");
    let before = before.replace("itemSchema", "schema");
    let before = before.replace("@@", &servers("\"https://{a}.{b}.{a}\""));
    assert_eq!(diagnostics(&before), []);
}

#[test]
fn a_whole_query_is_a_form_or_json_or_a_text() {
    let template = r#"openapi: 3.2.0
info: { title: Pets, version: "1" }
paths:
  /pets: { get: { parameters: [⟧{ name: q, in: querystring, content: { @@ } }], responses: { "204": { summary: Done } } } }
"#;
    let marked = template;
    let template = &template.replace('⟧', "");
    let form = "application/x-www-form-urlencoded: { schema: { type: object } }";
    for wrong in [
        "application/xml: { schema: { type: object } }",
        "application/jsonpath: { schema: { type: [string, array] } }",
        "application/jsonpath: {}",
        "application/x-www-form-urlencoded: { schema: { type: string } }",
    ] {
        error("unsupported-location", template, wrong, form);
    }
    for right in [
        "application/json: { schema: { type: array, items: { type: integer } } }",
        "application/vnd.search+json: {}",
        "application/jsonpath: { schema: { type: string } }",
    ] {
        assert_eq!(diagnostics(&template.replace("@@", right)), []);
    }
    let labelled = marked
        .replace("@@", form)
        .replace("/pets:", "'/pets?kind=cat':");
    let (line, column) = place(&labelled, "⟧");
    assert_eq!(
        diagnostics(&labelled.replace('⟧', "")),
        [("shared-query".to_owned(), Severity::Error, line, column)]
    );
    // A key would be in the query too.
    let with_key = |place: &str| {
        let key = format!(
            "components: {{ securitySchemes: {{ own: {{ type: apiKey, in: {place}, name: k }} }} }}\nsecurity: [{{ own: [] }}]\n"
        );
        format!("{}\n{key}", template.replace("@@", form))
    };
    assert_eq!(diagnostics(&with_key("header")), []);
    let found = diagnostics(&with_key("query"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "shared-query");
}

#[test]
fn a_whole_query_has_no_encoding() {
    let form = "{ schema: { type: object, properties: { a: { type: array } } }, encoding: { a: { explode: false } } }";
    let whole = format!(
        "parameters: [{{ name: q, in: querystring, content: {{ application/x-www-form-urlencoded: {form} }} }}]"
    );
    let document = DOCUMENT
        .replace("@@\n", "")
        .replace("get:\n", &format!("get:\n      {whole}\n"));
    let found = diagnostics(&document);
    assert!(
        found.iter().any(|found| found.0 == "unapplied-encoding"),
        "{found:?}"
    );
}
