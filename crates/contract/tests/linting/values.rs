//! Defaults, examples and listed values.

use contract::load_text;

use crate::{OPERATION, SCHEMA_31, diagnostics, error, ok, schema_30, warning};

#[test]
fn listed_values_and_defaults_equal_the_constant() {
    warning(
        "bad-enum",
        SCHEMA_31,
        "{ enum: [a, ⟦b], const: a }",
        "{ enum: [a], const: a }",
    );
    error(
        "bad-default",
        SCHEMA_31,
        "{ type: string, const: a, default: ⟦b }",
        "{ type: string, const: a, default: a }",
    );
    let both = SCHEMA_31.replace("@@", "{ enum: [a, b], const: a, default: b }");
    let found = diagnostics(&both);
    let codes: Vec<&str> = found.iter().map(|(code, ..)| code.as_str()).collect();
    assert_eq!(codes, ["bad-enum", "bad-default"]);
}

#[test]
fn values_fit_their_schema() {
    error(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, minimum: 5, default: ⟦3 }",
        "{ type: integer, minimum: 5, default: 5 }",
    );
    warning(
        "bad-default",
        SCHEMA_31,
        "{ format: date, type: string, default: ⟦\"2020-13-01\" }",
        "{ format: date, type: string, default: \"2020-12-01\" }",
    );
    warning(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, format: int32, default: ⟦2147483648 }",
        "{ type: integer, format: int32, default: 2147483647 }",
    );
    warning(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, format: uint16, default: ⟦-1 }",
        "{ type: integer, format: uint16, default: 65535 }",
    );
    // Valid, but beyond all integer types of 64 bits that hold -1 too.
    warning(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, minimum: -1, default: ⟦9223372036854775808 }",
        "{ type: integer, minimum: -1, default: 9223372036854775807 }",
    );
    warning(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, default: ⟦18446744073709551616 }",
        "{ type: integer, default: 18446744073709551615 }",
    );
    warning(
        "bad-default",
        SCHEMA_31,
        "{ type: [integer, 'null'], default: ⟦-1e30 }",
        "{ type: [integer, 'null'], default: -1e18 }",
    );
    warning(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, minimum: 0, default: ⟦1e19 }",
        "{ type: integer, minimum: 0, default: 10000000000000000000 }",
    );
    warning(
        "bad-default",
        SCHEMA_31,
        "{ type: array, items: { properties: { a: { type: integer } } }, default: ⟦[{ a: 9223372036854775808 }] }",
        "{ type: array, items: { properties: { a: { type: integer } } }, default: [{ a: 9223372036854775807 }] }",
    );
    warning(
        "bad-example",
        SCHEMA_31,
        "{ type: integer, examples: [1, ⟦a] }",
        "{ type: integer, examples: [1] }",
    );
    warning(
        "bad-example",
        SCHEMA_31,
        "{ properties: { a: { maxLength: 1 } }, example: { a: ⟦bc } }",
        "{ properties: { a: { maxLength: 1 } }, example: { a: b } }",
    );
    warning(
        "bad-example",
        SCHEMA_31,
        "{ properties: { a: {} }, additionalProperties: false, example: { a: 1, ⟦b: 2 } }",
        "{ properties: { a: {} }, additionalProperties: false, example: { a: 1 } }",
    );
    warning(
        "bad-enum",
        SCHEMA_31,
        "{ type: string, enum: [a, ⟦1] }",
        "{ type: string, enum: [a, \"1\"] }",
    );
    warning(
        "bad-example",
        &schema_30(),
        "{ type: string, example: ⟦null }",
        "{ type: string, nullable: true, example: null }",
    );
}

#[test]
fn examples_of_media_types_and_parameters_fit() {
    let media = SCHEMA_31.replace(
        "schema: @@",
        "schema: { type: array }\n              examples: { all: { value: @@ } }",
    );
    warning("bad-example", &media, "{}", "[]");
    let parameter = OPERATION.replace(
        "@@",
        &ok("").replace(
            "parameters: [",
            "parameters: [{ name: q, in: query, schema: { type: integer }, example: @@ }, ",
        ),
    );
    warning("bad-example", &parameter, "a", "1");
}

#[test]
fn an_example_may_leave_out_what_only_the_other_side_sends() {
    let text = SCHEMA_31.replace(
        "@@",
        "{ required: [id], properties: { id: { type: string, readOnly: true } }, example: {} }",
    );
    assert_eq!(diagnostics(&text), vec![]);
}

#[test]
fn a_default_that_nothing_uses_is_only_a_warning_and_not_applied() {
    let text = "openapi: 3.1.0\ninfo: { title: T, version: \"1\" }\ncomponents: { schemas: { A: { type: integer, default: a } } }\n";
    let loaded = load_text("a.yaml", text.as_bytes());
    assert_eq!(loaded.diagnostics[0].code, "bad-default");
    assert_eq!(first_default(loaded), None);
}

#[test]
fn a_default_that_is_only_at_odds_with_its_format_is_not_applied() {
    for schema in [
        "{ type: string, format: date, default: today }",
        "{ type: integer, format: int32, default: 99999999999 }",
        "{ type: integer, format: int32, minimum: -99999999999, default: -9999999999 }",
        "{ type: integer, minimum: -1, default: 9223372036854775808 }",
    ] {
        let loaded = load_text("a.yaml", SCHEMA_31.replace("@@", schema).as_bytes());
        let found = contract::render(&loaded.sources, &loaded.diagnostics);
        let help = "help: correct the value, or the schema: until then the schema has no default";
        assert!(found.contains(help), "{found}");
        assert_eq!(first_default(loaded), None);
    }
    // A bound of the document is no format.
    error(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, format: int32, maximum: 5, default: ⟦6 }",
        "{ type: integer, format: int32, maximum: 5, default: 5 }",
    );
}

/// Returns the default of the first schema.
fn first_default(loaded: contract::Loaded) -> Option<serde_json::Value> {
    let contract = loaded
        .contract
        .expect("a document with only warnings is a contract");
    let contract::model::SchemaKind::Object(keywords) = &contract.schemas[0].kind else {
        panic!("an object")
    };
    keywords.default.clone()
}
