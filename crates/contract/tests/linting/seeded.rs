//! Documents with one seeded defect each, and the same documents without it.

use contract::load_text;

use crate::{SCHEMA_31, component, diagnostics, place, warning};

/// A document with an operation that has a body, a header and a link, to fill in.
const DOCUMENT: &str = r##"openapi: 3.1.0
info: { title: Pets, version: "1", contact: { email: INFO } }
servers: [{ url: "https://example.com/v1" }]
paths:
  /pets/{pet_id}:
    parameters: [{ name: pet_id, in: path, required: true, schema: { type: string } }]
    post:
      operationId: pet_update
      requestBody: { content: { MEDIA: { schema: { $ref: "#/components/schemas/Pet" } } } }
      responses:
        "200":
          description: The pet.
          content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } }
      FIELD
components:
  schemas:
    Pet: { type: object, properties: { id: { type: string }, url: { type: string } } }
SECTION
"##;

/// Returns the document with one place filled in by `@@`.
pub(crate) fn with(place: &str, around: &str) -> String {
    let filled = DOCUMENT.replace(place, around);
    ["SECTION", "      FIELD\n"]
        .iter()
        .fold(filled, |text, place| text.replace(place, ""))
        .replace("INFO", "pets@example.com")
        .replace("MEDIA", "application/json")
}

#[test]
fn addresses_can_be_used() {
    let template = with("INFO", "@@");
    warning("bad-email", &template, "pets", "pets@example.com");
    let template = with("INFO", "pets@example.com, url: @@");
    for wrong in ["\"not a url\"", "www.example.com"] {
        warning("bad-url", &template, wrong, "https://example.com");
    }
    let template = with("INFO", "a@b.c").replace("https://example.com/v1", "@@");
    let template = template.replace("\"@@\"", "@@");
    for wrong in ["\"https://a.b?c=d\"", "\"https://{a.b\"", "\"ht tp://a\""] {
        warning("bad-url", &template, wrong, "https://example.com/v1");
    }
    let template = with("      FIELD", "      deprecated: true\n      x-sunset: @@");
    for wrong in [
        "tomorrow",
        "2030",
        "\"2030-13-01\"",
        "\"20301201\"",
        "\"2030-12-01T00:00:00\"",
        "\"0000-01-01T00:00:00+01:00\"",
        "\"Mon, 31 Jan 2030 00:00:00 GMT\"",
    ] {
        warning("bad-sunset", &template, wrong, "\"2030-12-01\"");
        let since = template.replace("x-sunset", "x-deprecation");
        warning("bad-sunset", &since, wrong, "\"2030-12-01\"");
    }
    let template = with(
        "      FIELD",
        "      deprecated: true\n      x-deprecation: \"2030-12-01\"\n      x-sunset: @@",
    );
    let unused = template.replace("      deprecated: true\n", "");
    let found = diagnostics(&unused.replace("@@", "\"2031-12-01\""));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "undeprecated-sunset");
    let early = "\"2030-12-01T00:59:59+01:00\"";
    warning(
        "sunset-before-deprecation",
        &template,
        early,
        "\"2030-12-01\"",
    );
}

#[test]
fn security_schemes_have_what_their_type_needs() {
    let template = with("SECTION", "  securitySchemes: { s: @@ }")
        .replace("paths:", "security: [{ s: [] }]\npaths:");
    let right =
        "{ type: oauth2, flows: { implicit: { authorizationUrl: \"https://a.b\", scopes: {} } } }";
    for (code, wrong) in [
        (
            "missing-keyword",
            "{ type: oauth2, flows: { ⟦implicit: { scopes: {} } } }",
        ),
        (
            "missing-keyword",
            "{ type: oauth2, flows: { ⟦password: { scopes: {} } } }",
        ),
        ("missing-keyword", "{ type: oauth2, ⟦flows: {} }"),
        (
            "bad-url",
            "{ type: openIdConnect, openIdConnectUrl: ⟦\"no url\" }",
        ),
        (
            "idle-keyword",
            "{ type: apiKey, in: header, name: X, ⟦scheme: bearer }",
        ),
        (
            "idle-keyword",
            "{ type: http, scheme: basic, ⟦bearerFormat: JWT }",
        ),
        ("misspelt-scheme", "{ type: http, scheme: ⟦baerer }"),
        ("bad-name", "{ type: apiKey, in: header, name: ⟦\"X A\" }"),
    ] {
        warning(code, &template, wrong, right);
    }
}

#[test]
fn callbacks_and_links_name_what_exists() {
    let answer = r#"post: { responses: { "204": { description: Done. } } }"#;
    let template = with(
        "      FIELD",
        &format!("      callbacks: {{ event: {{ @@: {{ {answer} }} }} }}"),
    );
    for wrong in [
        "\"{$requst.body#/url}\"",
        "\"{$request.body#url}\"",
        "\"{$request.body#/nope}\"",
        "\"{$request.query.url}\"",
        "\"{$request.path.id}\"",
        "\"{$request.body#/url\"",
    ] {
        warning(
            "bad-expression",
            &template,
            wrong,
            "\"{$request.body#/url}\"",
        );
    }
    let template = with("      FIELD", "")
        .replace("The pet.", "The pet., links: { next: { @@ } }")
        .replace(
            "          description: The pet., links",
            "          description: The pet.\n          links",
        )
        .replace("      \n", "");
    let right = "operationId: pet_update, parameters: { pet_id: $response.body#/id }";
    for (code, wrong) in [
        (
            "unknown-link-parameter",
            "operationId: pet_update, parameters: { ⟦petId: $response.body#/id }",
        ),
        (
            "bad-expression",
            "operationId: pet_update, parameters: { pet_id: ⟦$response.body#/nope }",
        ),
        (
            "contradicting-fields",
            "operationId: pet_update, ⟦operationRef: \"#/paths/~1pets~1{pet_id}/post\"",
        ),
        ("unknown-operation", "operationRef: ⟦\"#/paths/~1dogs/get\""),
    ] {
        warning(code, &template, wrong, right);
    }
}

#[test]
fn encodings_are_of_parts_that_exist() {
    let template = with(
        "MEDIA: { schema: { $ref: \"#/components/schemas/Pet\" } }",
        "multipart/form-data: { schema: { $ref: \"#/components/schemas/Pet\" }, encoding: { @@ } }",
    );
    warning("unapplied-encoding", &template, "⟦key: {}", "id: {}");
    warning(
        "bad-media-type",
        &template,
        "id: { contentType: ⟦text }",
        "id: { contentType: 'text/plain; a=\"b,c\"' }",
    );
}

#[test]
fn names_differ_by_more_than_case() {
    for second in ["petid", "petID", "pet_id"] {
        warning(
            "similar-names",
            SCHEMA_31,
            &format!("{{ properties: {{ petId: {{}}, ⟦{second}: {{}} }} }}"),
            "{ properties: { petId: {}, _petId: {} } }",
        );
    }
}

#[test]
fn bounds_are_of_the_values_that_they_are_about() {
    for right in [
        "{ type: integer, allOf: [{ minLength: 4 }, { maxLength: 3 }] }",
        "{ allOf: [{ type: [string, \"null\"] }, { minimum: 4 }, { maximum: 3 }] }",
        "{ type: array, minContains: 3, maxItems: 2 }",
        "{ type: array, allOf: [{ contains: {} }, { minContains: 3 }, { maxItems: 2 }] }",
    ] {
        let found = diagnostics(&SCHEMA_31.replace("@@", right));
        let is_impossible = found.iter().any(|(code, ..)| code == "impossible-schema");
        assert!(!is_impossible, "{right}: {found:?}");
    }
    for (schema, start) in [
        (
            "{ allOf: [{ minLength: 4 }, { maxLength: 3 }] }",
            "no string is accepted: ",
        ),
        (
            "{ allOf: [{ minimum: 4 }, { maximum: 3 }] }",
            "no number is accepted: ",
        ),
        (
            "{ allOf: [{ minItems: 4 }, { maxItems: 3 }] }",
            "no array is accepted: ",
        ),
        (
            "{ allOf: [{ minProperties: 4 }, { maxProperties: 3 }] }",
            "no object is accepted: ",
        ),
    ] {
        let loaded = load_text("pets.yaml", SCHEMA_31.replace("@@", schema).as_bytes());
        let messages: Vec<_> = loaded
            .diagnostics
            .iter()
            .map(|found| &found.message)
            .collect();
        assert!(
            matches!(messages[..], [message] if message.starts_with(start)),
            "{schema}: {messages:?}"
        );
    }
}

#[test]
fn parts_of_a_schema_can_all_be_satisfied() {
    let all = |one: &str, two: &str| format!("{{ ⟦allOf: [{{ {one} }}, {{ {two} }}] }}");
    let right = "{ allOf: [{ minimum: 1 }, { maximum: 1 }] }";
    for wrong in [
        all("minimum: 10", "maximum: 5"),
        all("minLength: 4", "maxLength: 3"),
        all("type: string, minLength: 4", "maxLength: 3"),
        all("contains: {}, minContains: 3", "maxItems: 2"),
        all("enum: [a]", "const: b"),
        all(
            "additionalProperties: false",
            "required: [b], properties: { b: {} }",
        ),
        "{ type: object, additionalProperties: false, minProperties: ⟦2, properties: { a: {} } }"
            .to_owned(),
        "{ type: object, maxProperties: ⟦0, required: [a], properties: { a: {} } }".to_owned(),
        "{ type: array, minItems: ⟦2, prefixItems: [{}], items: false }".to_owned(),
        "{ type: array, minItems: ⟦2, uniqueItems: true, items: { enum: [a] } }".to_owned(),
    ] {
        warning("impossible-schema", SCHEMA_31, &wrong, right);
    }
    warning(
        "closed-part",
        SCHEMA_31,
        "{ allOf: [{ properties: { a: {} } }, { ⟦additionalProperties: false, properties: { b: {} } }] }",
        "{ allOf: [{ properties: { a: {} } }, { properties: { b: {} } }], unevaluatedProperties: false }",
    );
    warning(
        "bound-beyond-format",
        SCHEMA_31,
        "{ type: integer, format: int32, maximum: ⟦2147483648 }",
        "{ type: integer, format: int32, maximum: 2147483647 }",
    );
}

#[test]
fn discriminators_choose_branches() {
    let dog = "    Dog: { type: object, required: [kind], properties: { kind: { const: Dog } } }\n";
    let union = "{ oneOf: [{ $ref: \"#/components/schemas/Cat\" }, { $ref: \"#/components/schemas/Dog\" }], discriminator: { propertyName: kind } }";
    let template = component(&format!("{union}\n    Cat: @@\n{dog}"));
    let cat = "{ type: object, required: [kind], properties: { kind: { type: string } } }";
    for (code, wrong) in [
        (
            "discriminator-property",
            cat.replace("required: [kind], ", ""),
        ),
        (
            "discriminator-property",
            cat.replace("{ kind:", "{ sort:")
                .replace("[kind]", "[sort]"),
        ),
        ("discriminator-property", cat.replace("string", "array")),
        (
            "discriminator-value",
            cat.replace("type: string", "const: cat"),
        ),
        // No number is `Cat`.
        (
            "discriminator-value",
            cat.replace("type: string", "type: integer"),
        ),
    ] {
        let (line, column) = place(&template, "{ $ref: \"#/components/schemas/Cat\" }");
        let found = diagnostics(&template.replace("@@", &wrong));
        assert_eq!(found.len(), 1, "{wrong}: {found:?}");
        assert_eq!((&*found[0].0, found[0].2, found[0].3), (code, line, column));
    }
    assert_eq!(diagnostics(&template.replace("@@", cat)), vec![]);
    // The value is at odds with its own type, and fits no union because of that.
    let wrong = cat.replace("type: string", "type: string, const: 5");
    let found = diagnostics(&template.replace("@@", &wrong));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "bad-enum");
    let template = component(&format!(
        "{}\n    Cat: {cat}\n{dog}    Cow: {cat}\n",
        union.replace("kind }", "kind, mapping: { Dog: Dog, @@ } }")
    ));
    let found = diagnostics(&template.replace("@@", "cow: Cow"));
    assert_eq!(found[0].0, "mapping-no-branch", "{found:?}");
}

#[test]
fn what_follows_from_a_mistake_is_not_reported() {
    let template = with("SECTION", "    Lost: { type: object }\n    Toy: @@");
    let toy = "/components/schemas/Toy";
    let template = template.replace(
        "url: { type",
        &format!("toy: {{ $ref: \"#{toy}\" }}, url: {{ type"),
    );
    // `Lost` may be what is meant.
    for (code, wrong) in [
        ("dangling-ref", "{ $ref: \"#/components/schemas/Lots\" }"),
        (
            "wrong-ref-kind",
            "{ $ref: \"#/components/responses/Lost\" }",
        ),
    ] {
        let text = format!("{template}  responses: {{ Lost: {{ description: Lost. }} }}\n");
        let found = diagnostics(&text.replace("@@", wrong));
        assert_eq!(found[0].0, code, "{found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
    let template = with("SECTION", "    Toy: @@").replace(
        "url: { type",
        &format!("toy: {{ $ref: \"#{toy}\" }}, url: {{ type"),
    );
    for required in ["[nmae]", "\n        - nmae"] {
        let wrong = format!(
            "\n      type: object\n      properties: {{ name: {{ type: string }} }}\n      example: {{ name: Rex }}\n      required: {required}"
        );
        let found = diagnostics(&template.replace(" @@", &wrong));
        let codes: Vec<&str> = found.iter().map(|found| &*found.0).collect();
        assert_eq!(codes, ["undeclared-required"], "{found:?}");
        // Another mistake of the example is its own.
        let found = diagnostics(&template.replace(" @@", &wrong.replace("Rex", "1")));
        let codes: Vec<&str> = found.iter().map(|found| &*found.0).collect();
        assert_eq!(codes, ["bad-example", "undeclared-required"], "{found:?}");
    }
}

#[test]
fn a_form_has_fields() {
    let template = with("MEDIA", "multipart/form-data").replace(
        "{ type: object, properties: { id: { type: string }, url: { type: string } } }",
        "@@",
    );
    for right in [
        "{}",
        "{ type: object }",
        "{ anyOf: [{ type: string }, { type: object }] }",
    ] {
        assert_eq!(
            diagnostics(&template.replace("@@", right)),
            vec![],
            "{right}"
        );
    }
    for wrong in [
        "{ type: string }",
        "{ type: [array, \"null\"] }",
        "{ anyOf: [{ type: string }] }",
    ] {
        let found = diagnostics(&template.replace("@@", wrong));
        let codes: Vec<&str> = found.iter().map(|found| &*found.0).collect();
        assert_eq!(codes, ["form-of-no-object"], "{wrong}: {found:?}");
    }
}

#[test]
fn references_lead_to_the_kind_that_is_wanted() {
    let template = with("SECTION", "  responses: { Done: { description: Done. } }");
    let wrong = template.replace("      responses:\n        \"200\":", "      responses:\n        \"204\": { $ref: \"#/components/schemas/Pet\" }\n        \"200\":");
    let found = diagnostics(&wrong);
    assert_eq!(found[0].0, "wrong-ref-kind", "{found:?}");
    assert!(
        found.iter().all(|found| found.0 != "missing-keyword"),
        "{found:?}"
    );
}

#[test]
fn paths_are_told_apart() {
    let path = |key: &str, name: &str| {
        format!(
            "  {key}:\n    get: {{ parameters: [{{ name: {name}, in: path, required: true, schema: {{ type: string }} }}], responses: {{ \"204\": {{ description: Done. }} }} }}\n"
        )
    };
    let start = "openapi: 3.1.0\ninfo: { title: Pets, version: \"1\" }\npaths:\n";
    let template = format!("{start}{}@@", path("/pets/{id}", "id"));
    warning(
        "overlapping-paths",
        &template,
        &path("⟦/{kind}/mine", "kind"),
        "  /pets/mine:\n    get: { responses: { \"204\": { description: Done. } } }\n",
    );
}

#[test]
fn a_slip_in_yaml_hides_nothing_else() {
    for slip in [
        "summary: a: b",
        "summary: [",
        "   summary: a",
        "summary: \"a",
    ] {
        let text = with(
            "      FIELD",
            &format!("      {slip}\n      x-sunset: tomorrow"),
        );
        let codes: Vec<String> = diagnostics(&text)
            .into_iter()
            .map(|found| found.0)
            .collect();
        assert!(
            codes.contains(&"yaml-syntax".to_owned()),
            "{slip}: {codes:?}"
        );
        assert!(
            codes
                .iter()
                .all(|code| code == "yaml-syntax" || code == "bad-sunset"),
            "{slip}: {codes:?}"
        );
    }
    let text = with(
        "      FIELD",
        "      summary: a: b\n      x-sunset: tomorrow",
    );
    let codes: Vec<String> = diagnostics(&text)
        .into_iter()
        .map(|found| found.0)
        .collect();
    assert_eq!(codes, ["yaml-syntax", "bad-sunset"]);
}

#[test]
fn a_chain_of_unused_components_is_one_finding() {
    let text = with(
        "SECTION",
        "    A: { properties: { b: { $ref: \"#/components/schemas/B\" } } }\n    B: { properties: { c: { $ref: \"#/components/schemas/C\" } } }\n    C: {}",
    );
    let found = diagnostics(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&*found[0].0, found[0].2),
        ("unused-component", place(&text, "A:").0)
    );
}

#[test]
fn a_time_with_a_leading_zero_is_a_string_everywhere() {
    let template = SCHEMA_31.replace("@@", "{ type: string, example: @@ }");
    for right in ["09:30", "12:60", "12:345"] {
        warning("ambiguous-scalar", &template, "12:30", right);
    }
}

#[test]
fn references_to_other_files_lead_to_the_kind_that_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let codes = |parts: &str, reference: &str| {
        let document = format!(
            "openapi: 3.1.0\ninfo: {{ title: Pets, version: \"1\" }}\npaths:\n  /pets:\n    put:\n      requestBody:\n        $ref: {reference}\n      responses: {{ \"204\": {{ description: Done. }} }}\n"
        );
        let file = folder.path().join("api.yaml");
        std::fs::write(&file, document).expect("the folder is writable");
        std::fs::write(folder.path().join("parts.yaml"), parts).expect("the folder is writable");
        let loaded = contract::load(&file);
        let found = loaded.diagnostics.iter().map(|found| {
            let name = &loaded.sources.file(found.span.file).name;
            let name = name.rsplit('/').next().unwrap_or_default();
            let line = loaded.sources.line_column(found.span).line;
            format!("{} {name}:{line}", found.code)
        });
        found.collect::<Vec<_>>()
    };
    let components = "components:\n  schemas: { Pet: { type: string } }\n  requestBodies: { Pet: { content: { text/plain: { schema: { type: string } } } } }\n";
    let document =
        format!("openapi: 3.1.0\ninfo: {{ title: Parts, version: \"1\" }}\n{components}");
    let schema = "\"parts.yaml#/components/schemas/Pet\"";
    let body = "\"parts.yaml#/components/requestBodies/Pet\"";
    assert_eq!(codes(&document, schema)[0], "wrong-ref-kind api.yaml:7");
    assert_eq!(codes(&document, body), Vec::<String>::new());
    // A file without `openapi` can have any structure, and this one's schema is no request body.
    let found = codes(components, schema);
    assert!(!found.is_empty(), "{found:?}");
    assert!(
        found.iter().all(|one| !one.starts_with("wrong-ref-kind")),
        "{found:?}"
    );
}

#[test]
fn what_began_with_3_1_is_reported_in_3_0() {
    let text = |version: &str, schema: &str, scheme: &str| {
        format!(
            "openapi: {version}\ninfo: {{ title: Pets, version: \"1\" }}\nsecurity: [{{ own: [] }}]\npaths:\n  /pets:\n    get:\n      responses:\n        \"200\": {{ description: Done., content: {{ application/json: {{ schema: {schema} }} }} }}\ncomponents: {{ securitySchemes: {{ own: {{ {scheme} }} }} }}\n"
        )
    };
    let (bearer, mutual) = ("type: http, scheme: bearer", "type: mutualTLS");
    let any = "{ nullable: true, description: A pet. }";
    let right = "{ type: object, nullable: true }";
    for (code, wrong) in [
        ("wrong-dialect", text("3.0.3", right, mutual)),
        ("idle-keyword", text("3.0.3", any, bearer)),
    ] {
        let found = diagnostics(&wrong);
        let codes: Vec<&str> = found.iter().map(|found| &*found.0).collect();
        assert_eq!(codes, [code], "{found:?}");
    }
    let all_of = "{ nullable: true, allOf: [{ type: object }] }";
    for right in [
        text("3.0.3", right, bearer),
        text("3.0.3", all_of, bearer),
        text("3.1.0", "{ type: object }", mutual),
    ] {
        assert_eq!(diagnostics(&right), vec![], "{right}");
    }
}
