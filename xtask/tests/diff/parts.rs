//! Parts of multipart bodies that have no names, and parts within parts (OpenAPI 3.2).

use serde_json::Value;

use crate::{DONE, path, report};

/// Returns an operation that receives a multipart body, or one that sends it.
fn multipart(fields: &str, is_sent: bool) -> String {
    let content = format!("content: {{multipart/mixed: {{{fields}}}}}");
    let operation = if is_sent {
        path(
            "get",
            "/a",
            &format!("responses: {{'200': {{description: A., {content}}}}}"),
        )
    } else {
        path("post", "/a", &format!("requestBody: {{{content}}}, {DONE}"))
    };
    operation.replace("openapi: 3.1.0", "openapi: 3.2.0")
}

/// Returns the breaking findings: the rule and the witness of each.
fn breaking(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().expect("findings are a list");
    let findings = findings.iter().filter(|one| one["kind"] == "breaking");
    findings
        .map(|one| {
            let text = |value: &'_ Value| value.as_str().expect("it is a text").to_owned();
            let (rule, witness) = (text(&one["rule"]), text(&one["witness"]["text"]));
            (&*rule.leak(), &*witness.leak())
        })
        .collect()
}

const LIST: &str =
    "schema: {type: array, prefixItems: [{type: object}, {type: string}], items: {type: string}}";

#[test]
fn parts_without_names_are_compared_by_their_positions() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let of = |more: &str| multipart(&format!("{LIST}, {more}"), false);
    let png = "{contentType: image/png}";
    let jpeg = "{contentType: image/jpeg}";
    let header =
        "{contentType: image/png, headers: {X-A: {required: true, schema: {type: string}}}}";
    let changed = "encoding-changed";
    let rows: [(String, String, &[(&str, &str)]); 9] = [
        (
            format!("prefixEncoding: [{{}}, {png}]"),
            format!("prefixEncoding: [{{}}, {jpeg}]"),
            &[(
                changed,
                r#"curl -X POST https://pets.example/a -H 'Content-Type: multipart/mixed' -F '={};type=application/json' -F '="";filename=part;type=image/png'"#,
            )],
        ),
        (
            format!("itemEncoding: {png}"),
            format!("itemEncoding: {jpeg}"),
            // The first part is an object, which is no image, so no command can be written.
            &[(changed, r#"{"part":0,"media_type":"image/png"}"#)],
        ),
        (
            format!("itemEncoding: {png}"),
            "itemEncoding: {contentType: image/*}".to_owned(),
            &[],
        ),
        // A part after those that are listed is as all others.
        (
            format!("prefixEncoding: [{png}], itemEncoding: {png}"),
            format!("itemEncoding: {png}"),
            &[],
        ),
        (
            format!("prefixEncoding: [{png}], itemEncoding: {jpeg}"),
            format!("itemEncoding: {jpeg}"),
            &[(changed, r#"{"part":0,"media_type":"image/png"}"#)],
        ),
        // The default of an object is JSON.
        (
            "prefixEncoding: [{}]".to_owned(),
            "prefixEncoding: [{contentType: text/plain}]".to_owned(),
            &[(
                changed,
                "curl -X POST https://pets.example/a -H 'Content-Type: multipart/mixed' -F '={};type=application/json'",
            )],
        ),
        (
            "prefixEncoding: [{}, {}]".to_owned(),
            "prefixEncoding: [{contentType: application/json}, {contentType: text/plain}]"
                .to_owned(),
            &[],
        ),
        (
            format!("itemEncoding: {png}"),
            format!("itemEncoding: {header}"),
            &[("part-header-required", r#"{"part":0,"headers":{}}"#)],
        ),
        (
            format!("prefixEncoding: [{header}]"),
            format!("prefixEncoding: [{png}]"),
            &[],
        ),
    ];
    for (old, new, expected) in rows {
        let report = report(folder.path(), &of(&old), &of(&new));
        assert_eq!(breaking(&report), expected, "{old} → {new}: {report:#}");
    }
    // A response is sent by the new document.
    let sent = |more: &str| multipart(&format!("{LIST}, itemEncoding: {more}"), true);
    let found = report(folder.path(), &sent(png), &sent(jpeg));
    assert_eq!(
        breaking(&found),
        [(changed, r#"{"part":0,"media_type":"image/jpeg"}"#)]
    );
    let found = report(folder.path(), &sent(header), &sent(png));
    assert_eq!(
        breaking(&found),
        [("part-header-removed", r#"{"part":0,"headers":{}}"#)]
    );
    // Before 3.2 these keywords mean nothing.
    let old = |more: &str| of(more).replace("3.2.0", "3.1.0");
    let (png, jpeg) = (
        format!("itemEncoding: {png}"),
        format!("itemEncoding: {jpeg}"),
    );
    let found = report(folder.path(), &old(&png), &old(&jpeg));
    assert_eq!(breaking(&found), []);
}

#[test]
fn parts_within_parts_are_compared() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let inner = "{type: object, properties: {b: {type: string}}}";
    let of = |encoding: &str| {
        let schema = format!("{{type: object, properties: {{a: {inner}}}}}");
        let encoding = format!("{{a: {{contentType: multipart/mixed, {encoding}}}}}");
        multipart(&format!("schema: {schema}, encoding: {encoding}"), false)
    };
    let named = |media: &str| of(&format!("encoding: {{b: {{contentType: {media}}}}}"));
    let found = report(folder.path(), &named("image/png"), &named("image/gif"));
    let command = "curl -X POST https://pets.example/a -H 'Content-Type: multipart/mixed' -F 'a=(;type=multipart/mixed'";
    let expected = format!(r#"{command} -F 'b="";filename=b;type=image/png' -F '=)'"#);
    assert_eq!(breaking(&found), [("encoding-changed", &*expected)]);
    assert!(
        found["findings"][0]["message"]
            .as_str()
            .is_some_and(|text| text.contains("the field `b` of the part `a` may no longer be")),
        "{found:#}"
    );
    let same = report(folder.path(), &named("image/png"), &named("image/*"));
    assert_eq!(breaking(&same), []);
    let listed = |media: &str| {
        of(&format!(
            "prefixEncoding: [{{contentType: text/plain}}, {{contentType: multipart/mixed, itemEncoding: {{contentType: {media}}}}}]"
        ))
    };
    let found = report(folder.path(), &listed("image/png"), &listed("image/gif"));
    let expected = r#"{"part":["a",1,0],"media_type":"image/png"}"#;
    assert_eq!(breaking(&found), [("encoding-changed", expected)]);
}
