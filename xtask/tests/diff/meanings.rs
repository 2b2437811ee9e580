//! Pairs of schemas, and what `diff` must say where one becomes the other.

use serde_json::Value;

use crate::{DONE, path, report};

/// Where the schema is.
#[derive(Debug, Clone, Copy)]
enum Place {
    Request,
    Response,
    Query,
    Form,
    Multipart,
    /// A header of a response.
    Header,
}

use Place::{Form, Header, Multipart, Query, Request, Response};

fn document(place: Place, schema: &str) -> String {
    let body = |media: &str| {
        format!(
            "requestBody: {{required: true, content: {{{media}: {{schema: {schema}}}}}}}, {DONE}"
        )
    };
    let fields = match place {
        Request => body("application/json"),
        Form => body("application/x-www-form-urlencoded"),
        Multipart => body("multipart/form-data"),
        Response => format!(
            "responses: {{'200': {{description: Done., content: {{application/json: {{schema: {schema}}}}}}}}}"
        ),
        Query => format!("parameters: [{{name: q, in: query, schema: {schema}}}], {DONE}"),
        Header => format!(
            "responses: {{'204': {{description: Done., headers: {{X-Q: {{schema: {schema}}}}}}}}}"
        ),
    };
    path("post", "/a", &fields)
}

/// Compares the rules of the findings on the wire, where one schema becomes the other.
fn assert_rules(rows: &[(Place, &str, &str, &[&str])]) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (place, old, new, expected) in rows {
        let report = report(
            folder.path(),
            &document(*place, old),
            &document(*place, new),
        );
        let findings = report["findings"].as_array().expect("findings are a list");
        let rules: Vec<&str> = findings
            .iter()
            .filter_map(|finding| finding["rule"].as_str())
            .collect();
        assert_eq!(rules, *expected, "{place:?} {old} → {new}: {report:#}");
    }
}

#[test]
fn a_required_property_is_sent_although_no_schema_names_it() {
    let wide = "{type: object, required: [id, nmae], properties: {id: {type: string}}}";
    let other = "{type: object, required: [id, nmae], properties: {id: {type: integer}}}";
    let apart = "{allOf: [{type: object, properties: {id: {type: string}}}, {required: [nmae]}]}";
    let other_apart =
        "{allOf: [{type: object, properties: {id: {type: integer}}}, {required: [nmae]}]}";
    let within = |n: &str| {
        format!("{{type: object, required: [in, n], properties: {{in: {wide}, n: {{type: {n}}}}}}}")
    };
    assert_rules(&[
        (Response, wide, other, &["response-widened"]),
        (Request, wide, other, &["request-narrowed"]),
        (Response, apart, other_apart, &["response-widened"]),
        (
            Response,
            &within("string"),
            &within("integer"),
            &["response-widened"],
        ),
        (
            Response,
            wide,
            "{type: object, required: [nmae], properties: {id: {type: string}}}",
            &["response-widened"],
        ),
    ]);
}

#[test]
fn unevaluated_properties_are_sent() {
    let map = |rest: &str| {
        format!(
            "{{type: object, properties: {{id: {{type: string}}}}, unevaluatedProperties: {rest}}}"
        )
    };
    let union = |rest: &str| {
        format!(
            "{{type: object, anyOf: [{{required: [a], properties: {{a: {{type: string}}}}}}, {{required: [b], properties: {{b: {{type: string}}}}}}], unevaluatedProperties: {rest}}}"
        )
    };
    let (none, whole, text) = (map("false"), map("{type: integer}"), map("{type: string}"));
    assert_rules(&[
        (Response, &none, &whole, &["response-widened"]),
        (Response, &whole, &text, &["response-widened"]),
        (Response, &whole, &none, &["response-narrowed"]),
        (Request, &whole, &text, &["request-narrowed"]),
        (Request, &map("true"), &none, &["request-narrowed"]),
        (Request, &text, &none, &["request-narrowed"]),
        (
            Request,
            "{type: object, unevaluatedProperties: {type: integer}}",
            "{type: object, unevaluatedProperties: {type: string}}",
            &["request-narrowed"],
        ),
        // Which branch evaluates a property is not decided, so there may be another cause.
        (
            Request,
            &union("{type: integer}"),
            &union("{type: string}"),
            &["request-narrowed", "undecided"],
        ),
        (
            Response,
            &union("false"),
            &union("{type: integer}"),
            &["response-widened", "undecided"],
        ),
    ]);
}

#[test]
fn maps_whose_names_are_limited_are_decided() {
    let map = |names: &str, rest: &str| format!("{{type: object, propertyNames: {names}, {rest}}}");
    let pattern = "{pattern: '^[a-z][a-z0-9-]{0,62}$'}";
    let values = |most: &str| format!("additionalProperties: {{type: string, maxLength: {most}}}");
    for names in [
        pattern,
        "{maxLength: 8}",
        "{enum: [a, b, c, d]}",
        "{format: uuid}",
    ] {
        assert_rules(&[
            (
                Request,
                &map(names, "maxProperties: 3"),
                &map(names, "maxProperties: 2"),
                &["request-narrowed"],
            ),
            (
                Response,
                &map(names, "maxProperties: 3"),
                &map(names, "maxProperties: 4"),
                &["response-widened"],
            ),
            (
                Request,
                &map(names, &values("9")),
                &map(names, &values("5")),
                &["request-narrowed"],
            ),
        ]);
    }
    // There are no more names than these, so the bound forbids nothing.
    assert_rules(&[(
        Request,
        &map("{enum: [a, b]}", "maxProperties: 5"),
        &map("{enum: [a, b]}", "maxProperties: 2"),
        &[],
    )]);
    assert_rules(&[(
        Request,
        &map(pattern, "maxProperties: 64"),
        &map("{pattern: '^[a-z]{1,9}$'}", "maxProperties: 64"),
        &["request-narrowed"],
    )]);
}

#[test]
fn values_that_are_written_as_text_are_compared_as_text() {
    let digits = "{type: string, pattern: '^[0-9]+$'}";
    let object = |a: &str| format!("{{type: object, properties: {{a: {{type: {a}}}}}}}");
    let nested = |a: &str| {
        format!(
            "{{type: object, properties: {{o: {{type: object, properties: {{a: {{type: {a}}}}}}}}}}}"
        )
    };
    assert_rules(&[
        (
            Query,
            "{type: boolean}",
            "{type: string, enum: ['true', 'false']}",
            &[],
        ),
        (
            Query,
            "{type: boolean}",
            "{type: string, enum: ['true', 'no']}",
            &["request-narrowed"],
        ),
        (
            Query,
            "{type: integer, enum: [1, 2]}",
            "{type: string, enum: ['1', '2']}",
            &[],
        ),
        (
            Query,
            "{type: string, enum: ['1', '2']}",
            "{type: integer, enum: [1, 2]}",
            &[],
        ),
        (
            Query,
            "{type: string, enum: ['1', x]}",
            "{type: integer}",
            &["request-narrowed"],
        ),
        (
            Query,
            "{type: string}",
            "{type: integer}",
            &["request-narrowed"],
        ),
        (
            Query,
            "{type: integer, minimum: 0}",
            digits,
            &["request-widened"],
        ),
        (Query, "{type: integer}", digits, &["request-narrowed"]),
        (
            Query,
            "{type: string, enum: [a, b]}",
            "{type: array, items: {type: string}}",
            &["request-widened"],
        ),
        (
            Query,
            "{type: array, items: {type: boolean}}",
            "{type: array, items: {type: string, enum: ['true', 'false']}}",
            &[],
        ),
        (
            Header,
            "{type: string, enum: ['1']}",
            "{type: integer, enum: [1]}",
            &[],
        ),
        (
            Header,
            "{type: integer}",
            "{type: string}",
            &["response-widened"],
        ),
        (
            Form,
            &object("integer"),
            &object("string"),
            &["request-widened"],
        ),
        (
            Form,
            &object("string"),
            &object("integer"),
            &["request-narrowed"],
        ),
        // What is within a field is written as JSON, with its types.
        (
            Form,
            &nested("integer"),
            &nested("string"),
            &["request-narrowed"],
        ),
        (
            Request,
            &object("integer"),
            &object("string"),
            &["request-narrowed"],
        ),
    ]);
}

#[test]
fn a_new_success_is_no_error_of_the_default_response() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let with = |status: &str| {
        let body = |schema: &str, media: &str| {
            format!("description: Done., content: {{{media}: {{schema: {{type: {schema}}}}}}}")
        };
        let (done, wrong) = (
            body("integer", "application/json"),
            body("object", "application/problem+json"),
        );
        path(
            "post",
            "/a",
            &format!("responses: {{'{status}': {{{done}}}, default: {{{wrong}}}}}"),
        )
    };
    let report = report(folder.path(), &with("201"), &with("200"));
    let findings = report["findings"].as_array().expect("findings are a list");
    let rules: Vec<&Value> = findings.iter().map(|finding| &finding["rule"]).collect();
    assert_eq!(rules, ["success-status-changed"], "{report:#}");
}

#[test]
fn keywords_of_3_1_mean_what_formats_of_3_0_do() {
    let file = |binary: &str| format!("{{type: object, properties: {{f: {binary}}}}}");
    let octets = "{type: string, contentMediaType: application/octet-stream}";
    assert_rules(&[
        (
            Multipart,
            &file("{type: string, format: binary}"),
            &file(octets),
            &[],
        ),
        (
            Multipart,
            &file("{type: string, format: binary}"),
            &file("{type: string, contentMediaType: image/png}"),
            &["content-changed"],
        ),
        (
            Request,
            "{type: string, format: email}",
            "{type: string, format: idn-email}",
            &["request-widened"],
        ),
        (
            Request,
            "{type: string, format: uri}",
            "{type: string, format: iri}",
            &["request-widened"],
        ),
        (
            Request,
            "{type: string, format: uri-reference}",
            "{type: string, format: iri-reference}",
            &["request-widened"],
        ),
        (
            Request,
            "{type: string, format: idn-hostname}",
            "{type: string, format: hostname}",
            &["request-narrowed"],
        ),
        (
            Request,
            "{type: string, format: idn-email}",
            "{type: string, format: color}",
            &["content-changed"],
        ),
    ]);
}

#[test]
fn a_promise_that_is_taken_back_is_refused() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let with = |stability: &str| path("post", "/a", &format!("{stability}{DONE}"));
    for (old, new, rule, is_refused) in [
        ("", "x-stability: draft, ", "stability-lowered", true),
        (
            "x-stability: stable, ",
            "x-stability: beta, ",
            "stability-lowered",
            true,
        ),
        // What may change at any time may say so once more.
        (
            "x-stability: draft, ",
            "x-stability: beta, ",
            "stability-raised",
            false,
        ),
    ] {
        let report = report(folder.path(), &with(old), &with(new));
        assert_eq!(report["findings"][0]["rule"], rule, "{report:#}");
        assert_eq!(report["refused"], is_refused, "{report:#}");
    }
}

#[test]
fn the_server_of_a_document_without_servers_is_its_own() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let with = |servers: &str| {
        path("post", "/a", DONE).replace("servers: [{url: https://pets.example}]", servers)
    };
    for (old, new, expected) in [
        ("servers: [{url: /}]", "", 0),
        ("", "servers: [{url: /}]", 0),
        ("", "servers: [{url: https://other.example}]", 1),
    ] {
        let report = report(folder.path(), &with(old), &with(new));
        let findings = report["findings"].as_array().expect("findings are a list");
        assert_eq!(findings.len(), expected, "{report:#}");
    }
}

#[test]
fn a_witness_of_a_field_shows_this_field_alone() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let fields = |a: &str, b: &str| format!("{{type: object, properties: {{a: {a}, b: {b}}}}}");
    let old = fields("{type: string}", "{type: string, maxLength: 9}");
    let new = fields("{type: integer}", "{type: boolean}");
    let report = report(folder.path(), &document(Form, &old), &document(Form, &new));
    let findings = report["findings"].as_array().expect("findings are a list");
    assert_eq!(findings.len(), 2, "{report:#}");
    for (finding, (own, other)) in findings.iter().zip([("a=", "b="), ("b=", "a=")]) {
        let shown = finding["witness"]["text"].as_str().expect("a command");
        assert!(shown.contains(own) && !shown.contains(other), "{shown}");
    }
}

#[test]
fn what_is_read_as_text_hides_no_break() {
    let digits = "{type: string, pattern: '^(0|-?[1-9][0-9]*)$'}";
    let own = |kind: &str| format!("{{type: object, properties: {{a: {{type: {kind}}}}}}}");
    let many = |values: &str, kind: &str| {
        format!(
            "{{type: array, items: {{type: {kind}, enum: {values}}}, minItems: 7, maxItems: 7}}"
        )
    };
    assert_rules(&[
        // Not every server reads `1.0` as an integer.
        (
            Query,
            "{type: string, enum: ['1.0']}",
            "{type: integer}",
            &["request-narrowed"],
        ),
        (
            Query,
            "{type: integer, maximum: 999}",
            "{type: string, maxLength: 3}",
            &["request-narrowed"],
        ),
        (Query, "{type: integer}", digits, &[]),
        (
            Query,
            "{type: integer, exclusiveMinimum: -1}",
            "{type: string, pattern: '^[0-9]+$'}",
            &["request-widened"],
        ),
        (
            Query,
            &many("['1', '2']", "string"),
            &many("[1, 2]", "integer"),
            &[],
        ),
        // A word could be read as a list of it, and a text with a blank could not.
        (
            Query,
            "{type: string}",
            "{maxLength: 7}",
            &["request-narrowed"],
        ),
        (
            Request,
            "{type: string, format: date-time}",
            r"{type: string, format: date-time, pattern: '^\S.*$'}",
            &[],
        ),
        (
            Query,
            "{type: boolean, default: true}",
            "{type: string, enum: ['true', 'false'], default: 'true'}",
            &[],
        ),
        (
            Query,
            "{type: boolean, default: true}",
            "{type: string, enum: ['true', 'false'], default: 'false'}",
            &["default-changed"],
        ),
    ]);
    // A field with a media type of its own is JSON.
    let folder = tempfile::tempdir().expect("a folder can be made");
    let as_json = |kind: &str| {
        document(Form, &own(kind)).replace(
            "application/x-www-form-urlencoded: {",
            "application/x-www-form-urlencoded: {encoding: {a: {contentType: application/json}}, ",
        )
    };
    let report = report(folder.path(), &as_json("integer"), &as_json("string"));
    assert_eq!(
        report["findings"][0]["rule"], "request-narrowed",
        "{report:#}"
    );
}

#[test]
fn schemas_that_are_shared_by_many_branches_are_looked_at_once() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let with = |kind: &str| {
        let schemas: String = (0..6)
            .map(|at| {
                let next = format!("{{$ref: '#/components/schemas/S{}'}}", at + 1);
                format!("    S{at}: {{anyOf: [{next}, {next}, {next}, {next}]}}\n")
            })
            .collect();
        let whole = format!(
            "    S6: {{properties: {{a: {{type: string}}}}}}\n    Whole: {{type: object, properties: {{id: {{type: {kind}}}}}, allOf: [{{$ref: '#/components/schemas/S0'}}], unevaluatedProperties: false}}\n"
        );
        document(Response, "{$ref: '#/components/schemas/Whole'}").replace(
            "  securitySchemes:",
            &format!("  schemas:\n{schemas}{whole}  securitySchemes:"),
        )
    };
    let report = report(folder.path(), &with("string"), &with("integer"));
    let rules: Vec<&str> = report["findings"]
        .as_array()
        .expect("findings are a list")
        .iter()
        .filter_map(|finding| finding["rule"].as_str())
        .collect();
    assert!(rules.contains(&"response-widened"), "{report:#}");
}
