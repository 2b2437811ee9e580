//! The readings of values in the query of a path, such as `/a?b={c}`.

use serde_json::json;

use super::{foreign, repaired, with_path};

const OK: &str = r#"responses: { "204": { description: Done. } }"#;

#[test]
fn values_in_the_query_of_a_path_are_parameters() {
    let parameters = |list: &str| {
        repaired(
            &with_path(
                "/a?size=big&sort={order}",
                &format!("{{ get: {{ parameters: [{list}], {OK} }} }}"),
            ),
            "query-parameter-undeclared",
            "/paths/~1a?size=big&sort={order}",
            "/paths/~1a?size=big&sort={order}/get/parameters",
        )
    };
    let order = "{ name: order, in: query, schema: { type: integer } }";
    assert_eq!(
        parameters(order),
        json!([{"name": "sort", "in": "query", "schema": {"type": "integer"}}])
    );
    let sort =
        json!({"name": "sort", "in": "query", "required": true, "schema": {"type": "string"}});
    assert_eq!(parameters(""), json!([sort]));
    // In a header, the name means something else.
    let header = "{ name: order, in: header, schema: { type: string } }";
    assert_eq!(parameters(header)[1], sort);
    // Each operation has its own parameter, or that of the path.
    let item = format!("{{ get: {{ parameters: [{order}], {OK} }}, put: {{ {OK} }} }}");
    let pointer = "/paths/~1a?sort={order}";
    let rule = "query-parameter-undeclared";
    let both = repaired(&with_path("/a?sort={order}", &item), rule, pointer, pointer);
    assert_eq!(both["get"]["parameters"][0]["name"], "sort");
    assert_eq!(both["put"]["parameters"], json!([sort]));
    let item = format!("{{ parameters: [{order}], get: {{ {OK} }}, put: {{ {OK} }} }}");
    let shared = repaired(&with_path("/a?sort={order}", &item), rule, pointer, pointer);
    assert_eq!(shared["parameters"][0]["name"], "sort");
    assert_eq!(shared["get"].get("parameters"), None);
    // A component keeps its name, also behind another reference.
    let item =
        format!("{{ get: {{ parameters: [{{ $ref: '#/components/parameters/B' }}], {OK} }} }}");
    let components = format!(
        "components: {{ parameters: {{ B: {{ $ref: '#/components/parameters/C' }}, C: {order} }} }}\n"
    );
    let text = with_path("/a?sort={order}", &item) + &components;
    let copied = repaired(&text, rule, pointer, pointer);
    assert_eq!(copied["get"]["parameters"][0]["name"], "sort");
}

#[test]
fn values_in_the_query_of_a_path_that_may_mean_several_things_are_left() {
    let query = |name: &str| format!("{{ name: {name}, in: query, schema: {{ type: integer }} }}");
    for (path, list) in [
        // A part of a value, and several, have no name of their own.
        ("/a?b=by-{c}", String::new()),
        ("/a?b={c},{d}", [query("c"), query("d")].join(",")),
        ("/a?b={?c}", String::new()),
        ("/a?b={}", String::new()),
        ("/a?={c}", String::new()),
        // One name for two values, and two for one.
        ("/a?b={c}&d={c}", query("c")),
        ("/a?b={c}&b={d}", query("c")),
        ("/a?b={b}&c={b}", query("b")),
        ("/a?b={c}&c=5", query("c")),
        (
            "/a/{b}?c={b}",
            "{ name: b, in: path, required: true, schema: { type: string } }".to_owned(),
        ),
    ] {
        let item = format!("{{ get: {{ parameters: [{list}], {OK} }} }}");
        let loaded = foreign(&with_path(&format!("'{path}'"), &item));
        assert!(loaded.repairs.is_empty(), "{path}");
        let mut warned = loaded.diagnostics.iter();
        let is_warned = warned.any(|found| found.code == "query-parameter-undeclared");
        assert!(is_warned, "{path}");
    }
    // What is a credential, or a part of the whole query, is given already.
    let item = format!("{{ get: {{ security: [{{ key: [] }}], {OK} }} }}");
    let scheme = "components: { securitySchemes: { key: { type: apiKey, in: query, name: b } } }\n";
    let loaded = foreign(&(with_path("'/a?b={key}'", &item) + scheme));
    assert_eq!(loaded.diagnostics, []);
    let whole = "{ name: q, in: querystring, content: { application/x-www-form-urlencoded: { schema: { type: object } } } }";
    let item = format!("{{ get: {{ parameters: [{whole}], {OK} }} }}");
    let loaded = foreign(&with_path("'/a?b={c}'", &item).replace("3.1.0", "3.2.0"));
    assert_eq!(loaded.diagnostics, []);
}
