//! Slips that a reader of the document overlooks: in `xml`, names of paths, bodies that HTTP does
//! not have, and texts that several tools read in several ways.

use contract::{LintSet, Options, load_text_with};

use crate::{OK, OPERATION, SCHEMA_31, component, diagnostics, ok, place, schema_30, warning};

#[test]
fn xml_has_names_and_effects() {
    for (wrong, right) in [
        (
            "{ type: string, xml: { wrapped: ⟦true } }",
            "{ type: array, items: {}, xml: { wrapped: true } }",
        ),
        (
            "{ type: object, xml: { attribute: ⟦true } }",
            "{ type: string, xml: { attribute: true } }",
        ),
        (
            "{ xml: { name: ⟦\"a b\" } }",
            "{ xml: { name: \"x:größe-1.0\" } }",
        ),
        ("{ xml: { name: ⟦\"1a\" } }", "{ xml: { name: a1 } }"),
        ("{ xml: { prefix: ⟦\"x:\" } }", "{ xml: { prefix: x } }"),
        (
            "{ xml: { namespace: ⟦here } }",
            "{ xml: { namespace: \"urn:a\" } }",
        ),
    ] {
        warning("bad-xml", SCHEMA_31, wrong, right);
    }
    let since_32 = SCHEMA_31.replace("3.1.0", "3.2.0");
    let right = "{ xml: { nodeType: cdata } }";
    warning(
        "bad-xml",
        &since_32,
        "{ xml: { nodeType: ⟦comment } }",
        right,
    );
    let both = "{ xml: { nodeType: element, ⟦attribute: true } }";
    warning("contradicting-fields", &since_32, both, right);
}

#[test]
fn what_is_read_only_and_write_only_by_its_parts_is_never_sent() {
    for (wrong, right) in [
        (
            "{ type: string, readOnly: true, ⟦allOf: [{ maxLength: 3, writeOnly: true }] }",
            "{ type: string, readOnly: true, allOf: [{ maxLength: 3 }] }",
        ),
        (
            "{ ⟦allOf: [{ type: string, readOnly: true }, { maxLength: 3, writeOnly: true }] }",
            "{ allOf: [{ type: string, readOnly: true }, { maxLength: 3 }] }",
        ),
        // It is a consequence in what has such a part.
        (
            "{ allOf: [{ type: string, maxLength: 3, readOnly: true, ⟦writeOnly: true }] }",
            "{ allOf: [{ type: string, maxLength: 3, readOnly: true }] }",
        ),
    ] {
        warning("contradicting-fields", SCHEMA_31, wrong, right);
    }
}

#[test]
fn responses_to_head_and_empty_requests_have_no_body() {
    let content = "content: { application/json: { schema: {} } }";
    let template = OPERATION.replace("get: @@", "head: { parameters: [{ $ref: \"#/components/parameters/PetId\" }], responses: { \"200\": { description: A pet. @@ } } }");
    warning(
        "impossible-body",
        &template,
        &format!(", ⟦{content}"),
        ", headers: { Content-Length: { schema: { type: integer } } }",
    );
    // What HEAD shares with GET is right there.
    let shared = template.replace(
        "{ description: A pet. @@ }",
        "{ $ref: \"#/components/responses/Pet\" }",
    );
    let shared = format!("{shared}  responses: {{ Pet: {{ description: A pet., {content} }} }}\n");
    assert_eq!(diagnostics(&shared), vec![], "{shared}");
    let template = OPERATION.replace("get:", "post:");
    warning(
        "missing-keyword",
        &template,
        &ok("requestBody: { ⟦content: {} },"),
        &ok("requestBody: { content: { application/json: {} } },"),
    );
}

#[test]
fn a_parameter_and_a_path_that_differ_in_a_name_are_one_finding() {
    let template = OPERATION.replace("@@", "{ parameters: [{ name: @@, in: path, required: true, schema: {} }], responses: { \"204\": { description: Done. } } }");
    let template = template.split("components:").next().unwrap();
    for wrong in ["petId", "name"] {
        let found = diagnostics(&template.replace("@@", wrong));
        let codes: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(codes, ["path-parameter-unused"], "{wrong}");
    }
    assert_eq!(diagnostics(&template.replace("@@", "pet_id")), vec![]);
}

#[test]
fn a_webhook_has_no_path() {
    let template = "openapi: 3.1.0\ninfo: { title: Pets, version: \"1\" }\nwebhooks:\n  born: { post: { parameters: [{ @@, schema: {} }], responses: { \"204\": { description: Done. } } } }\n";
    let found = diagnostics(&template.replace("@@", "name: id, in: path, required: true"));
    let codes: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(codes, ["path-parameter-unused"]);
    assert_eq!(
        diagnostics(&template.replace("@@", "name: id, in: query")),
        vec![]
    );
}

#[test]
fn servers_are_where_their_author_means() {
    let template = format!(
        "openapi: 3.1.0\ninfo: {{ title: Pets, version: \"1\" }}\nservers: [{{ url: @@ }}]\npaths: {{ /pets: {{ get: {{ {OK} }} }} }}\n"
    );
    for wrong in [
        "\"https//example.com\"",
        "\"https:/example.com\"",
        "\"htps://example.com\"",
        "\"https://example.com:99999/v1\"",
    ] {
        warning(
            "bad-url",
            &template,
            wrong,
            "\"https://example.com:8443/v1\"",
        );
    }
    for right in ["/v1", "\"unix://socket\"", "\"//example.com\"", "https-api"] {
        assert_eq!(
            diagnostics(&template.replace("@@", right)),
            vec![],
            "{right}"
        );
    }
}

#[test]
fn licenses_are_expressions_of_spdx() {
    let template = format!(
        "openapi: 3.1.0\ninfo: {{ title: Pets, version: \"1\", license: {{ name: L, identifier: @@ }} }}\npaths: {{ /pets: {{ get: {{ {OK} }} }} }}\n"
    );
    for wrong in [
        "MIT License",
        "(MIT",
        "MIT OR",
        "MIT)",
        "\"\"",
        "MIT/Apache",
    ] {
        warning("bad-license", &template, wrong, "MIT");
    }
    for right in [
        "GPL-2.0+",
        "(MIT OR Apache-2.0) AND BSD-3-Clause",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "LicenseRef-own",
    ] {
        assert_eq!(
            diagnostics(&template.replace("@@", right)),
            vec![],
            "{right}"
        );
    }
}

#[test]
fn what_is_for_other_places_has_no_effect() {
    let parameter = |more: &str| {
        format!("{{ parameters: [{{ $ref: \"#/components/parameters/PetId\" }}, {more}], {OK} }}")
    };
    for (wrong, right) in [
        (
            "{ name: a, in: header, ⟦allowReserved: true, schema: {} }",
            "{ name: a, in: query, allowReserved: true, schema: {} }",
        ),
        (
            "{ name: a, in: query, schema: { ⟦readOnly: true } }",
            "{ name: a, in: query, schema: { readOnly: false } }",
        ),
    ] {
        warning(
            "idle-keyword",
            OPERATION,
            &parameter(wrong),
            &parameter(right),
        );
    }
    // The keyword of Swagger 2.0 is the cause, so nothing is said of the schema.
    warning(
        "unknown-keyword",
        OPERATION,
        &parameter("{ name: a, in: query, ⟦type: integer }"),
        &parameter("{ name: a, in: query, schema: { type: integer } }"),
    );
    warning(
        "empty-required",
        &schema_30(),
        "{ type: object, ⟦required: [] }",
        "{ type: object }",
    );
    assert_eq!(
        diagnostics(&SCHEMA_31.replace("@@", "{ required: [] }")),
        vec![]
    );
    for (wrong, right) in [("⟦crad: [a]", "card: [a]"), ("card: [⟦b]", "card: [a]")] {
        let schema = |text: &str| {
            format!("{{ properties: {{ card: {{}}, a: {{}} }}, dependentRequired: {{ {text} }} }}")
        };
        warning(
            "undeclared-required",
            SCHEMA_31,
            &schema(wrong),
            &schema(right),
        );
    }
    warning(
        "bad-media-type",
        SCHEMA_31,
        "{ type: string, contentMediaType: ⟦json }",
        "{ type: string, contentMediaType: application/json }",
    );
}

#[test]
fn a_mapping_of_a_base_leads_to_what_extends_it() {
    let base = |target: &str| {
        component(&format!(
            "{{ required: [kind], properties: {{ kind: {{ type: string }}, cat: {{ $ref: \"#/components/schemas/Cat\" }}, dog: {{ $ref: \"#/components/schemas/Dog\" }} }}, discriminator: {{ propertyName: kind, mapping: {{ cat: {target} }} }} }}\n    Cat: {{ allOf: [{{ $ref: \"#/components/schemas/Pet\" }}] }}\n    Dog: {{}}"
        ))
    };
    let found = diagnostics(&base("Dog"));
    let (line, column) = place(&base("⟦Dog"), "⟦");
    let found: Vec<_> = found
        .iter()
        .map(|one| (one.0.as_str(), one.2, one.3))
        .collect();
    assert_eq!(found, [("mapping-no-branch", line, column)]);
    assert_eq!(diagnostics(&base("Cat")), vec![]);
    assert_eq!(diagnostics(&base("Pet")), vec![]);
}

/// Returns the codes that a set reports in a document, of these codes.
fn of_set(set: LintSet, codes: &[&str], text: &str) -> Vec<String> {
    let options = Options {
        sets: [set].into(),
        ..Options::default()
    };
    let loaded = load_text_with("pets.yaml", text.as_bytes(), &options);
    let found = loaded.diagnostics.iter().map(|one| one.code);
    let found = found.filter(|code| codes.contains(code));
    found.map(str::to_owned).collect()
}

#[test]
fn anchors_and_alternatives_of_patterns_are_judged() {
    let codes = ["unanchored-pattern", "backtracking-pattern"];
    let found = |pattern: &str| {
        let schema = format!("{{ type: string, pattern: '{pattern}' }}");
        of_set(LintSet::Style, &codes, &SCHEMA_31.replace("@@", &schema))
    };
    for loose in ["^a|b$", "^[a-z]+", "[a-z]+$", "a"] {
        assert_eq!(found(loose), ["unanchored-pattern"], "{loose}");
    }
    for slow in ["^(a|a)*$", "^([a-z]|[a-c])+$", "^(\\w|\\d)*$", "^(a+)+$"] {
        assert_eq!(found(slow), ["backtracking-pattern"], "{slow}");
    }
    for right in [
        "^(a|b)$",
        "^https://.+",
        "^[a-z]",
        "^(a|b)*$",
        "^a$|^b$",
        "^/",
        "^(ab|a)*$",
    ] {
        assert_eq!(found(right), Vec::<String>::new(), "{right}");
    }
}

#[test]
fn a_misspelt_format_is_reported_once() {
    let codes = ["unknown-format", "misspelt-format"];
    let found = |format: &str| {
        let schema = format!("{{ type: string, format: {format} }}");
        of_set(
            LintSet::Interoperable,
            &codes,
            &SCHEMA_31.replace("@@", &schema),
        )
    };
    assert_eq!(found("datetime"), ["misspelt-format"]);
    assert_eq!(found("shoe-size"), ["unknown-format"]);
}
