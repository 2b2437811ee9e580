//! Links, discriminators, flows of OAuth, keys in requests, and schemas on one side only.

use serde_json::Value;

use crate::{DONE, document, path, report};

/// Returns the kind and the rule of each finding on the wire.
fn found(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().expect("findings are a list");
    findings
        .iter()
        .map(|finding| {
            let kind = finding["kind"].as_str().unwrap_or_default();
            (kind, finding["rule"].as_str().unwrap_or_default())
        })
        .collect()
}

#[test]
fn a_body_without_a_schema_accepts_anything() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let body = |media: &str, schema: &str| {
        let fields = format!("requestBody: {{content: {{{media}: {{{schema}}}}}}}, {DONE}");
        path("post", "/a", &fields)
    };
    let json = |schema: &str| body("application/json", schema);
    let narrowed = report(folder.path(), &json(""), &json("schema: {type: object}"));
    assert_eq!(found(&narrowed), [("breaking", "schema-missing")]);
    let witness = &narrowed["findings"][0]["witness"];
    assert_eq!(witness["kind"], "request", "{witness}");
    let nothing = report(folder.path(), &json(""), &json("schema: {title: Any}"));
    assert_eq!(found(&nothing), [("compatible", "schema-missing")]);
    let wider = report(folder.path(), &json("schema: {type: object}"), &json(""));
    assert_eq!(found(&wider), [("compatible", "schema-missing")]);
    let bytes = |schema: &str| body("application/octet-stream", schema);
    let same = report(folder.path(), &bytes(""), &bytes("schema: {type: object}"));
    assert_eq!(found(&same), [("breaking", "schema-missing")]);
}

#[test]
fn keys_in_queries_and_cookies_are_in_the_command() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let with_key = |place: &str, required: &str| {
        let fields = format!(
            "security: [{{own: []}}], parameters: [{{name: a, in: query, required: true, schema: {{type: integer}}}}, {{name: c, in: cookie, required: true, schema: {{type: integer}}}}{required}], {DONE}"
        );
        path("get", "/a", &fields).replace(
            "    key: ",
            &format!("    own: {{type: apiKey, in: {place}, name: my_key}}\n    key: "),
        )
    };
    let more = ", {name: b, in: query, required: true, schema: {type: string}}";
    let rows = [
        (
            "query",
            "curl -X GET 'https://pets.example/a?a=0&my_key='\"$TOKEN\" -H 'Cookie: c=0'",
        ),
        (
            "cookie",
            "curl -X GET 'https://pets.example/a?a=0' -H 'Cookie: c=0; my_key='\"$TOKEN\"",
        ),
        (
            "header",
            "curl -X GET 'https://pets.example/a?a=0' -H 'Cookie: c=0' -H 'my_key: '\"$TOKEN\"",
        ),
    ];
    for (place, expected) in rows {
        let report = report(folder.path(), &with_key(place, ""), &with_key(place, more));
        assert_eq!(report["findings"][0]["witness"]["text"], expected);
    }
}

#[test]
fn a_command_has_every_credential_of_a_requirement() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let with = |requirements: &str, required: &str| {
        let fields = format!("security: [{requirements}], parameters: [{required}], {DONE}");
        path("get", "/a", &fields).replace(
            "    key: ",
            "    other: {type: apiKey, in: query, name: one}
    more: {type: apiKey, in: query, name: two}
    cookie: {type: apiKey, in: cookie, name: three}
    mutual: {type: mutualTLS}
    key: ",
        )
    };
    let more = "{name: b, in: query, required: true, schema: {type: string}}";
    let rows = [
        (
            "{token: [], other: []}",
            "curl -X GET 'https://pets.example/a?one='\"$TOKEN_2\" -H 'Authorization: Bearer '\"$TOKEN\"",
        ),
        (
            "{other: [], more: []}",
            "curl -X GET 'https://pets.example/a?one='\"$TOKEN\"'&two='\"$TOKEN_2\"",
        ),
        (
            "{cookie: [], token: []}",
            "curl -X GET https://pets.example/a -H 'Cookie: three='\"$TOKEN\" -H 'Authorization: Bearer '\"$TOKEN_2\"",
        ),
        // One that a command cannot hold gives way to the next requirement.
        (
            "{token: [], mutual: []}, {other: []}",
            "curl -X GET 'https://pets.example/a?one='\"$TOKEN\"",
        ),
        ("{}, {token: []}", "curl -X GET https://pets.example/a"),
    ];
    for (requirements, expected) in rows {
        let report = report(
            folder.path(),
            &with(requirements, ""),
            &with(requirements, more),
        );
        assert_eq!(report["findings"][0]["witness"]["text"], expected);
    }
}

#[test]
fn lists_of_numbers_are_read_as_lists_of_texts() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let list = |items: &str, more: &str| {
        let fields = format!(
            "parameters: [{{name: a, in: query, schema: {{type: array, items: {items}{more}}}}}], {DONE}"
        );
        path("get", "/a", &fields)
    };
    let (numbers, texts) = ("{type: integer}", "{type: string}");
    let same = report(folder.path(), &list(numbers, ""), &list(texts, ""));
    assert_eq!(found(&same), [("compatible", "request-widened")]);
    let other = report(folder.path(), &list(texts, ""), &list(numbers, ""));
    assert_eq!(found(&other), [("breaking", "request-narrowed")]);
    let short = ", maxItems: 3";
    let shorter = report(folder.path(), &list(numbers, ""), &list(texts, short));
    assert!(found(&shorter).contains(&("breaking", "request-narrowed")));
}

#[test]
fn links_are_judged_by_where_they_lead() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let linked = |id: &str, link: &str| {
        document(&format!(
            "paths:
  /a:
    get:
      operationId: a
      responses: {{'200': {{description: Done., links: {{{link}}}}}}}
  /b: {{get: {{operationId: {id}, {DONE}}}}}
  /c: {{get: {{operationId: c, {DONE}}}}}"
        ))
    };
    let one = linked("b", "next: {operationId: b}");
    let judge = |new: &str| {
        let report = report(folder.path(), &one, new);
        let found = found(&report).into_iter();
        found
            .map(|(kind, rule)| (kind.to_owned(), rule.to_owned()))
            .collect::<Vec<_>>()
    };
    let pair = |kind: &str, rule: &str| vec![(kind.to_owned(), rule.to_owned())];
    assert_eq!(judge(&one), []);
    assert_eq!(judge(&linked("z", "next: {operationId: z}")), []);
    assert_eq!(
        judge(&linked("b", "next: {operationRef: '#/paths/~1b/get'}")),
        []
    );
    assert_eq!(
        judge(&linked("b", "")),
        pair("information_removed", "link-removed")
    );
    let elsewhere = linked("b", "next: {operationId: c}");
    assert_eq!(judge(&elsewhere), pair("meaning_changed", "link-changed"));
    let further = linked("b", "next: {operationId: b}, more: {operationId: c}");
    assert_eq!(judge(&further), pair("compatible", "link-added"));
}

#[test]
fn values_of_a_discriminator_are_judged_by_what_they_select() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let document = |mapping: &str| {
        format!(
            "openapi: 3.1.0
info: {{title: Pets, version: 1.2.0}}
paths:
  /a:
    get:
      operationId: a
      responses: {{'200': {{description: Done., content: {{application/json: {{schema: {{$ref: '#/components/schemas/Pet'}}}}}}}}}}
components:
  schemas:
    Pet:
      oneOf: [{{$ref: '#/components/schemas/Cat'}}, {{$ref: '#/components/schemas/Dog'}}]
      discriminator: {{propertyName: kind, mapping: {{{mapping}}}}}
    Cat: {{type: object, required: [kind, name], properties: {{kind: {{type: string}}, name: {{type: string}}}}}}
    Dog: {{type: object, required: [kind, age], properties: {{kind: {{type: string}}, age: {{type: integer}}}}}}
"
        )
    };
    let old = document("cat: '#/components/schemas/Cat', dog: '#/components/schemas/Dog'");
    let same = document("dog: '#/components/schemas/Dog', cat: '#/components/schemas/Cat'");
    assert!(found(&report(folder.path(), &old, &same)).is_empty());
    let swapped = document("cat: '#/components/schemas/Dog', dog: '#/components/schemas/Cat'");
    let swapped = report(folder.path(), &old, &swapped);
    assert_eq!(
        found(&swapped),
        [("meaning_changed", "discriminator-changed")]
    );
    let renamed = document("feline: '#/components/schemas/Cat', dog: '#/components/schemas/Dog'");
    let renamed = report(folder.path(), &old, &renamed);
    assert_eq!(
        found(&renamed),
        [("meaning_changed", "discriminator-changed")]
    );
}

#[test]
fn flows_of_oauth_are_judged() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let with_flows = |flows: &str| {
        path("get", "/a", &format!("security: [{{own: [read]}}], {DONE}")).replace(
            "    key: ",
            &format!("    own: {{type: oauth2, flows: {{{flows}}}}}\n    key: "),
        )
    };
    let flow =
        "clientCredentials: {tokenUrl: 'https://a.example/token', scopes: {read: R, write: W}}";
    let old = with_flows(flow);
    let judge = |new: &str| {
        let report = report(folder.path(), &old, &with_flows(new));
        let findings = report["findings"].as_array().expect("findings are a list");
        findings
            .iter()
            .map(|finding| finding["message"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(judge(flow).is_empty());
    assert!(judge(&flow.replace("R, write", "Read, more: M, write")).is_empty());
    assert_eq!(
        judge(&flow.replace("/token", "/other")),
        ["`own`: `tokenUrl` of the flow `clientCredentials` is `https://a.example/other` now"]
    );
    assert_eq!(
        judge(&flow.replace(", write: W", "")),
        ["`own`: the flow `clientCredentials` no longer gives the scope `write`"]
    );
    assert_eq!(
        judge(&flow.replace("clientCredentials: {", "password: {")),
        ["`own`: the flow `clientCredentials` of OAuth is gone"]
    );
}

#[test]
fn a_sunset_may_be_announced_and_postponed_but_not_pulled_forward() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let operation = |fields: &str| path("get", "/a", &format!("{fields} {DONE}"));
    let parameter = |fields: &str| {
        let parameter = format!("{{name: a, in: query, {fields} schema: {{type: string}}}}");
        path("get", "/a", &format!("parameters: [{parameter}], {DONE}"))
    };
    let property = |fields: &str| {
        let schema = format!("{{type: object, properties: {{a: {{{fields} type: string}}}}}}");
        let content = format!("content: {{application/json: {{schema: {schema}}}}}");
        path("put", "/a", &format!("requestBody: {{{content}}}, {DONE}"))
    };
    let [first, second] = ["2030-01-31", "'2031-01-31T00:00:00Z'"]
        .map(|day| format!("deprecated: true, x-sunset: {day},"));
    let plain = "deprecated: true,";
    for (what, document) in [
        ("operation", &operation as &dyn Fn(&str) -> String),
        ("parameter", &parameter),
        ("property", &property),
    ] {
        for (old, new, expected) in [
            (&*first, &*first, None),
            (&first, &second, Some(("compatible", "sunset-postponed"))),
            (&first, plain, Some(("compatible", "sunset-postponed"))),
            (plain, &first, Some(("compatible", "sunset-announced"))),
            (
                &second,
                &first,
                Some(("sunset_pulled_forward", "sunset-pulled-forward")),
            ),
        ] {
            let report = report(folder.path(), &document(old), &document(new));
            let expected: Vec<_> = expected.into_iter().collect();
            assert_eq!(found(&report), expected, "{what}: {old} {new}");
            let refuses = expected.contains(&("sunset_pulled_forward", "sunset-pulled-forward"));
            assert_eq!(report["refused"], refuses, "{what}: {old} {new}");
        }
    }
    let report = report(folder.path(), &operation(""), &operation(&first));
    let message = "a (GET /a) is deprecated, and ends on 2030-01-31";
    assert_eq!(found(&report), [("compatible", "operation-deprecated")]);
    assert_eq!(report["findings"][0]["message"], message);
}

#[test]
fn a_whole_query_is_judged_by_its_properties_and_not_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let with = |name: &str, size: &str| {
        let schema = format!("{{type: object, properties: {{size: {{type: integer, {size}}}}}}}");
        let content = format!("{{application/x-www-form-urlencoded: {{schema: {schema}}}}}");
        let parameter = format!("{{name: {name}, in: querystring, content: {content}}}");
        path("get", "/a", &format!("parameters: [{parameter}], {DONE}"))
            .replacen("3.1.0", "3.2.0", 1)
    };
    let same = report(
        folder.path(),
        &with("q", "maximum: 9"),
        &with("find", "maximum: 9"),
    );
    assert_eq!(found(&same), []);
    let narrower = report(
        folder.path(),
        &with("q", "maximum: 9"),
        &with("q", "maximum: 5"),
    );
    assert_eq!(found(&narrower), [("breaking", "request-narrowed")]);
    assert_eq!(
        narrower["findings"][0]["witness"]["text"],
        "curl -X GET 'https://pets.example/a?size=6'"
    );
    let plain = path(
        "get",
        "/a",
        &format!("parameters: [{{name: q, in: query, schema: {{type: string}}}}], {DONE}"),
    );
    let gone = report(folder.path(), &with("q", "maximum: 9"), &plain);
    assert_eq!(
        found(&gone),
        [
            ("information_removed", "parameter-removed"),
            ("compatible", "parameter-added"),
        ]
    );
}
