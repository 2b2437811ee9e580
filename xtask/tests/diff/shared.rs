//! Changes of what operations share, of encodings and of servers, and links to operations that are the
//! same with other names.

use serde_json::Value;

use crate::{DONE, document, path, report};

/// Returns the rule of each finding.
fn rules(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings are a list");
    let rules = findings.iter().map(|finding| finding["rule"].as_str());
    rules.map(|rule| rule.expect("a rule is a text")).collect()
}

/// Returns a document with two operations that share a response and the document's security.
fn two(media: &str, scheme: &str) -> String {
    let one = |id: &str, response: &str| {
        format!(
            "get: {{operationId: {id}, responses: {{'200': {response}, '404': {{$ref: '#/components/responses/No'}}}}}}"
        )
    };
    let done = "{description: Done.}";
    let shared = "{$ref: '#/components/responses/Yes'}";
    let response = |name: &str| {
        format!(
            "    {name}: {{description: A., content: {{{media}: {{schema: {{type: object}}}}}}}}\n"
        )
    };
    document(&format!(
        "  responses:\n{}{}security: [{{own: []}}]\npaths:\n  /a: {{{}}}\n  /b: {{{}}}\n  /c: {{{}}}",
        response("No"),
        response("Yes"),
        one("a", done),
        one("b", shared),
        one("c", shared),
    ))
    .replace("    key: ", &format!("    own: {{{scheme}}}\n    key: "))
}

#[test]
fn a_change_of_what_operations_share_is_one_finding() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let bearer = "type: http, scheme: bearer";
    let json = two("application/json", bearer);
    let other = report(folder.path(), &json, &two("text/csv", bearer));
    let found = rules(&other);
    let count = |rule: &str| found.iter().filter(|found| **found == rule).count();
    assert_eq!(
        (count("media-type-removed"), count("media-type-added")),
        (2, 2),
        "{other:#}"
    );
    let reached = |at: usize| other["findings"][at]["operations"].as_array().map(Vec::len);
    assert_eq!((reached(0), reached(1)), (Some(3), Some(2)), "{other:#}");
    let witness = |at: usize| other["findings"][at]["witness"]["text"].as_str();
    let refused = witness(0).expect("it has a witness");
    assert_eq!(refused, r#"{"status":"404","media_type":"text/csv"}"#);
    let asked = witness(1).expect("it has a witness");
    assert!(asked.ends_with("-H 'Accept: application/json'"), "{asked}");

    let basic = two("application/json", "type: http, scheme: basic");
    let tightened = report(folder.path(), &json, &basic);
    assert_eq!(rules(&tightened), ["security-tightened"], "{tightened:#}");
    let reached = &tightened["findings"][0]["operations"];
    assert_eq!(reached.as_array().map(Vec::len), Some(3));
}

#[test]
fn a_renamed_path_parameter_changes_no_link() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let linked = |name: &str, key: &str| {
        let parameter =
            format!("{{name: {name}, in: path, required: true, schema: {{type: string}}}}");
        let link = format!(
            "links: {{view: {{operationId: b, parameters: {{{key}: $response.body#/id}}}}}}"
        );
        let body = "content: {application/json: {schema: {type: object, properties: {id: {type: string}}}}}";
        document(&format!(
            "paths:\n  /a: {{post: {{operationId: a, responses: {{'200': {{description: D., {body}, {link}}}}}}}}}\n  '/b/{{{name}}}': {{get: {{operationId: b, parameters: [{parameter}], {DONE}}}}}"
        ))
    };
    let old = linked("id", "id");
    for key in ["b_id", "path.b_id"] {
        let same = report(folder.path(), &old, &linked("b_id", key));
        assert_eq!(rules(&same), [""; 0], "{key}: {same:#}");
    }
    let moved = linked("id", "id").replace("$response.body#/id", "$response.body");
    let moved = report(folder.path(), &old, &moved);
    assert_eq!(rules(&moved), ["link-changed"]);
}

#[test]
fn fields_and_reserved_characters_are_read_as_they_are_sent() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let form = |media: &str, encoding: &str| {
        let schema = "{type: object, properties: {a: {type: array, items: {type: string}}}}";
        let body = format!("content: {{{media}: {{schema: {schema}{encoding}}}}}");
        path("post", "/a", &format!("requestBody: {{{body}}}, {DONE}"))
    };
    let part = |types: &str| {
        let encoding = format!(", encoding: {{a: {{contentType: {types}}}}}");
        form("multipart/form-data", &encoding)
    };
    let field = |style: &str| {
        let encoding = format!(", encoding: {{a: {{{style}}}}}");
        form("application/x-www-form-urlencoded", &encoding)
    };
    let query = |fields: &str| {
        let parameter = format!("{{name: a, in: query, {fields}schema: {{type: string}}}}");
        path("get", "/a", &format!("parameters: [{parameter}], {DONE}"))
    };
    let none = form("multipart/form-data", "");
    let rows: [(&[&str], String, String); 9] = [
        (&["encoding-changed"], part("image/png"), part("image/jpeg")),
        (
            &["encoding-changed"],
            part("'image/png, image/gif'"),
            part("image/png"),
        ),
        (&[], part("image/png"), part("image/*")),
        (&[], part("image/png"), part("'image/gif, image/png'")),
        (&["encoding-changed"], part("image/png"), none.clone()),
        (&["encoding-changed"], none, part("image/png")),
        (
            &["encoding-changed"],
            field("explode: true"),
            field("explode: false"),
        ),
        (
            &[],
            field("explode: true"),
            form("application/x-www-form-urlencoded", ""),
        ),
        (
            &["parameter-style"],
            query("allowReserved: true, "),
            query(""),
        ),
    ];
    for (expected, old, new) in rows {
        let report = report(folder.path(), &old, &new);
        assert_eq!(rules(&report), expected, "{old}\n{new}");
        assert_eq!(report["refused"], !expected.is_empty());
    }
    let wider = report(folder.path(), &query(""), &query("allowReserved: true, "));
    assert_eq!(rules(&wider), [""; 0]);
}

#[test]
fn the_headers_of_parts_are_compared_as_those_of_messages() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let body = |media: &str, headers: &str| {
        let schema = "{type: object, properties: {a: {type: string}}}";
        let encoding =
            format!("encoding: {{a: {{contentType: image/png, headers: {{{headers}}}}}}}");
        format!("content: {{{media}: {{schema: {schema}, {encoding}}}}}")
    };
    let sent = |headers: &str| {
        let body = body("multipart/form-data", headers);
        path("post", "/a", &format!("requestBody: {{{body}}}, {DONE}"))
    };
    let received = |headers: &str| {
        let body = body("multipart/mixed", headers);
        path(
            "get",
            "/a",
            &format!("responses: {{'200': {{description: A., {body}}}}}"),
        )
    };
    let optional = "X-Id: {schema: {type: integer, maximum: 9}}";
    let required = "X-Id: {required: true, schema: {type: integer, maximum: 9}}";
    let narrow = "x-id: {schema: {type: integer, maximum: 8}}";
    let number = "X-Id: {schema: {type: integer}}";
    let string = "X-Id: {schema: {type: string}}";
    let exploded = "X-Id: {explode: true, schema: {type: object, properties: {b: {type: string}}}}";
    let flat = "X-Id: {schema: {type: object, properties: {b: {type: string}}}}";
    // What is found in a request, and in a response; `!` stands in front of what refuses.
    let rows = [
        ("", required, "!part-header-required", "part-header-added"),
        ("", optional, "part-header-added", "part-header-added"),
        (optional, required, "!part-header-required", ""),
        (
            required,
            optional,
            "part-header-optional",
            "!part-header-optional",
        ),
        (optional, "", "!part-header-removed", "!part-header-removed"),
        (optional, narrow, "!request-narrowed", "response-narrowed"),
        (narrow, optional, "request-widened", "!response-widened"),
        (exploded, flat, "!part-header-style", "!part-header-style"),
        (required, required, "", ""),
        // What is sent as a number is read as text, but not the other way round.
        (number, string, "request-widened", "!response-widened"),
        (string, number, "!request-narrowed", "response-narrowed"),
    ];
    for (old, new, in_request, in_response) in rows {
        for (expected, old, new) in [
            (in_request, sent(old), sent(new)),
            (in_response, received(old), received(new)),
        ] {
            let report = report(folder.path(), &old, &new);
            let rule = expected.trim_start_matches('!');
            let expected_rules: Vec<&str> =
                (!rule.is_empty()).then_some(rule).into_iter().collect();
            assert_eq!(rules(&report), expected_rules, "{old}\n{new}");
            assert_eq!(report["refused"], expected.starts_with('!'), "{report:#}");
        }
    }
    let report = report(folder.path(), &sent(""), &sent(required));
    assert_eq!(
        report["findings"][0]["witness"]["text"],
        r#"curl -X POST https://pets.example/a -F 'a="";filename=a;type=image/png'"#
    );
    // A part that no body can have is without headers.
    let never = |headers: &str| sent(headers).replace("a: {type: string}", "a: false");
    let found = crate::report(folder.path(), &never(optional), &never(required));
    assert_eq!(rules(&found), [""; 0]);
    // What sends no such part sends no header of it.
    let none = path(
        "post",
        "/a",
        &format!(
            "requestBody: {{content: {{multipart/form-data: {{schema: {{type: object, properties: {{b: {{type: string}}}}}}}}}}}}, {DONE}"
        ),
    );
    let found = crate::report(folder.path(), &none, &sent(required));
    assert!(
        !rules(&found).contains(&"part-header-required"),
        "{found:#}"
    );
}

#[test]
fn a_receiver_of_a_webhook_does_not_read_any_text_as_a_number() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let called = |kind: &str| {
        let parameters = format!("parameters: [{{name: n, in: query, schema: {{type: {kind}}}}}]");
        let fields = format!("{{post: {{operationId: a, {parameters}, {DONE}}}}}");
        document(&format!("webhooks: {{a: {fields}}}"))
    };
    let found = report(folder.path(), &called("integer"), &called("string"));
    assert_eq!(rules(&found), ["response-widened"]);
    assert_eq!(found["refused"], true);
    // But it reads any number as a text.
    let found = report(folder.path(), &called("string"), &called("integer"));
    assert_eq!(rules(&found), ["response-narrowed"]);
    assert_eq!(found["refused"], false);
}

#[test]
fn media_types_that_nobody_reads_are_shown() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let body = |content: &str| {
        path(
            "post",
            "/a",
            &format!("requestBody: {{content: {{{content}}}}}, {DONE}"),
        )
    };
    let text = |report: &Value| report["findings"][0]["witness"]["text"].clone();
    // No command is written for XML.
    let both = body("application/xml: {schema: {type: object}}, text/plain: {}");
    let gone = report(folder.path(), &both, &body("text/plain: {}"));
    assert_eq!(rules(&gone), ["media-type-removed"]);
    assert_eq!(text(&gone), r#"{"media_type":"application/xml"}"#);
    let part = |types: &str| {
        body(&format!(
            "multipart/form-data: {{schema: {{type: object, properties: {{a: {{}}}}}}, encoding: {{a: {{contentType: {types}}}}}}}"
        ))
    };
    let narrower = report(
        folder.path(),
        &part("'text/csv, text/html'"),
        &part("text/csv"),
    );
    assert_eq!(rules(&narrower), ["encoding-changed"]);
    let command = "curl -X POST https://pets.example/a -F";
    let expected = format!("{command} 'a=a;type=text/html'");
    assert_eq!(text(&narrower), expected);
    // A message has one media type, and no range of them.
    for (range, kept, shown) in [
        ("image/*", "image/png", "image/jpeg"),
        ("'*/*'", "'application/*, text/*'", "audio/mpeg"),
    ] {
        let narrower = report(folder.path(), &part(range), &part(kept));
        assert_eq!(rules(&narrower), ["encoding-changed"]);
        let expected = format!("{command} 'a=a;filename=a;type={shown}'");
        assert_eq!(text(&narrower), expected);
    }
    let narrower = report(folder.path(), &body("image/*: {}"), &body("image/png: {}"));
    assert_eq!(rules(&narrower), ["media-type-removed"]);
    assert_eq!(text(&narrower), r#"{"media_type":"image/jpeg"}"#);
    // No common one is known that is left.
    let rare = report(folder.path(), &part("font/*"), &part("font/woff"));
    assert_eq!(rules(&rare), ["encoding-changed"]);
    assert_eq!(
        text(&rare),
        format!("{command} 'a=a;filename=a;type=font/vnd.example'")
    );
}

#[test]
fn the_witness_of_a_lost_server_calls_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let at =
        |servers: &str| path("get", "/a", DONE).replace("[{url: https://pets.example}]", servers);
    let regions = |values: &str| {
        at(&format!(
            "[{{url: 'https://{{region}}.pets.example', variables: {{region: {{default: eu, enum: [{values}]}}}}}}]"
        ))
    };
    let two = "[{url: https://pets.example}, {url: https://old.example/v1/}]";
    for (old, new, url) in [
        (
            at("[{url: https://pets.example}]"),
            at("[{url: https://b.example}]"),
            "https://pets.example/a",
        ),
        (
            at(two),
            at("[{url: https://pets.example}]"),
            "https://old.example/v1/a",
        ),
        (
            regions("eu, us"),
            regions("eu"),
            "https://us.pets.example/a",
        ),
    ] {
        let report = report(folder.path(), &old, &new);
        assert_eq!(rules(&report), ["server-changed"]);
        let witness = &report["findings"][0]["witness"]["text"];
        assert_eq!(witness, &format!("curl -X GET {url}"), "{report:#}");
    }
}

#[test]
fn a_header_that_may_be_missing_has_a_response_without_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let header = |fields: &str| {
        let headers = format!("headers: {{X-A: {{{fields}schema: {{type: string}}}}}}");
        let responses = format!("responses: {{'200': {{description: D., {headers}}}}}");
        path("get", "/a", &responses)
    };
    let report = report(folder.path(), &header("required: true, "), &header(""));
    let witness = report["findings"][0]["witness"]["text"].as_str();
    assert_eq!(witness, Some(r#"{"status":"200","headers":{}}"#));
}

#[test]
fn unevaluated_properties_are_decided_where_no_branch_evaluates_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let body = |schema: &str| {
        let body = format!("content: {{application/json: {{schema: {schema}}}}}");
        path("post", "/a", &format!("requestBody: {{{body}}}, {DONE}"))
    };
    let property = |name: &str| format!("properties: {{{name}: {{type: string}}}}");
    let both = "properties: {a: {type: string}, b: {type: string}}";
    let parts = |more: &str| {
        body(&format!(
            "{{type: object, allOf: [{{{}}}, {{{}}}], {more}}}",
            property("a"),
            property("b")
        ))
    };
    let open = body(&format!(
        "{{type: object, {both}, additionalProperties: {{type: integer}}}}"
    ));
    let narrowed = report(folder.path(), &open, &parts("unevaluatedProperties: false"));
    assert_eq!(rules(&narrowed), ["request-narrowed"], "{narrowed:#}");
    assert_eq!(narrowed["findings"][0]["witness"]["kind"], "request");
    let named = body(&format!("{{type: object, {both}}}"));
    let closed = report(
        folder.path(),
        &named,
        &parts("unevaluatedProperties: false"),
    );
    assert_eq!(closed["refused"], false, "{closed:#}");
    assert!(!rules(&closed).contains(&"undecided"), "{closed:#}");
}
