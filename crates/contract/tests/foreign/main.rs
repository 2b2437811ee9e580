//! Documents of others: what is refused or warned about in our own documents is read in its one
//! plausible meaning, and each repair is reported with its place.

mod files;
mod indentation;
mod labels;
mod list;
mod meanings;
mod nulls;
mod operations;
mod shapes;

use std::collections::BTreeSet;

use contract::{LintSet, Loaded, Options, READINGS, Severity, load_text, load_text_with};
use meanings::schema;
use serde_json::{Value, json};

const SCHEMA: &str = "/paths/~1things/get/responses/200/content/application~1json/schema";

fn foreign(text: &str) -> Loaded {
    let options = Options {
        foreign: true,
        ..Options::default()
    };
    load_text_with("others.yaml", text.as_bytes(), &options)
}

/// A document with a schema as the response body of an operation.
fn with_schema(version: &str, schema: &str) -> String {
    format!(
        r#"openapi: {version}
info: {{ title: Others, version: "1" }}
paths:
  /things:
    get:
      responses:
        "200": {{ description: Things., content: {{ application/json: {{ schema: {schema} }} }} }}
components:
  schemas:
    Thing: {{ type: object }}
"#
    )
}

/// A document with a path item.
fn with_path(path: &str, item: &str) -> String {
    format!("openapi: 3.1.0\ninfo: {{ title: Others, version: \"1\" }}\npaths:\n  {path}: {item}\n")
}

/// Checks that our own document is reported by a rule, and that the document of others is repaired
/// at the pointer, reported as a warning of that rule. Returns what is at `place` then.
#[track_caller]
fn repaired(text: &str, rule: &str, pointer: &str, place: &str) -> Value {
    let own = load_text("own.yaml", text.as_bytes());
    let rules: BTreeSet<&str> = own.diagnostics.iter().map(|found| found.code).collect();
    assert!(rules.contains(rule), "{rules:?}");
    let loaded = foreign(text);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    let found = loaded
        .repairs
        .iter()
        .map(|repair| (repair.rule, repair.pointer.as_str()));
    assert_eq!(found.collect::<Vec<_>>(), [(rule, pointer)], "{printed}");
    let warnings = loaded.diagnostics.iter().filter(|found| found.code == rule);
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{printed}");
    assert_eq!(warnings[0].severity, Severity::Warning);
    assert!(
        printed.contains("read as a document of others: "),
        "{printed}"
    );
    let contract = loaded.contract.expect("a document of others is a contract");
    contract
        .document
        .pointer(place)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn a_version_without_quotes_has_what_the_version_brought() {
    let text = with_schema(
        "3.2",
        "{ $ref: \"https://others.example/api.yaml#/components/schemas/Thing\" }",
    );
    let text = text.replacen('\n', "\n$self: https://others.example/api.yaml\n", 1);
    let loaded = foreign(&text);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    assert!(loaded.contract.is_some(), "{printed}");
}

#[test]
fn documents_may_miss_quotes_and_responses() {
    let text = "openapi: 3.0\ninfo: { title: Others, version: \"1\" }\npaths: {}\n";
    let version = repaired(text, "unsupported-version", "/openapi", "/openapi");
    assert_eq!(version, json!("3.0"));
    let text = "openapi: 3.0.0\ninfo: { title: Others, version: 1.10 }\npaths: {}\n";
    let version = repaired(text, "wrong-type", "/info/version", "/info/version");
    assert_eq!(version, json!("1.10"));
    let text =
        "openapi: 3.0.0\ninfo: { title: Others, version: \"1\" }\npaths: { /a: { get: {} } }\n";
    let responses = repaired(
        text,
        "missing-responses",
        "/paths/~1a/get",
        "/paths/~1a/get/responses",
    );
    // A body of which nothing is known is bytes, and is not dropped.
    let anything = json!({"default": {"description": "", "content": {"*/*": {}}}});
    assert_eq!(responses, anything);
    for version in ["3.0.0", "3.1.0", "3.2.0"] {
        let text = text
            .replace("3.0.0", version)
            .replace("{}", "{ responses: {} }");
        let place = "/paths/~1a/get/responses";
        assert_eq!(repaired(&text, "missing-responses", place, place), anything);
    }
    let later = text.replace("3.0.0", "3.1.0");
    let place = "/paths/~1a/get";
    let responses = repaired(
        &later,
        "missing-responses",
        place,
        &format!("{place}/responses"),
    );
    assert_eq!(responses, anything);
    let head = text.replace("get:", "head:");
    let place = "/paths/~1a/head";
    let responses = repaired(
        &head,
        "missing-responses",
        place,
        &format!("{place}/responses"),
    );
    assert_eq!(responses, json!({"default": {"description": ""}}));
    // Nothing is read into a version that is refused with quotes, too.
    let text = "openapi: 3.3\ninfo: { title: Others, version: \"1\" }\npaths: {}\n";
    assert_eq!(foreign(text).diagnostics.len(), 1);
}

#[test]
fn a_dropped_default_is_nowhere_in_the_contract() {
    let written = "{ type: object, required: [b], properties: { \
        b: { type: integer, default: none }, \
        c: { type: string, nullable: true, default: 3600 }, \
        d: { $ref: '#/components/schemas/Thing', default: none } } }";
    let without = "{ type: object, required: [b], properties: { \
        b: { type: integer }, \
        c: { type: [string, \"null\"] }, \
        d: { $ref: '#/components/schemas/Thing' } } }";
    let rules = ["bad-default", "bad-default", "bad-default", "wrong-dialect"];
    ensure_dropped(written, without, &rules);
}

#[test]
fn a_default_of_which_several_parts_do_not_fit_is_dropped_once() {
    let pairs = "type: object, properties: { x: { type: string }, y: { type: string } }";
    let written = format!("{{ {pairs}, default: {{ x: null, y: 1 }} }}");
    ensure_dropped(&written, &format!("{{ {pairs} }}"), &["bad-default"]);
}

#[test]
fn a_dropped_default_hides_no_other_mistake() {
    // It is read as the number, which is reported in the same place.
    let wrong = "p: { type: string, maxLength: \"-1\" }";
    for more in ["", ", q: { type: integer, default: none }"] {
        let schema = format!("{{ type: object, properties: {{ {wrong}{more} }} }}");
        let loaded = foreign(&with_schema("3.1.0", &schema));
        let printed = contract::render(&loaded.sources, &loaded.diagnostics);
        assert!(loaded.contract.is_none(), "{printed}");
        assert!(printed.contains("error[wrong-type]"), "{printed}");
    }
}

#[test]
fn a_default_of_two_properties_is_dropped_from_both() {
    // Of an alias, each use is repaired.
    let written = "{ type: object, properties: { p: { type: integer, default: &d none }, q: { type: string, default: *d } } }";
    let without = "{ type: object, properties: { p: { type: integer }, q: { type: string } } }";
    ensure_dropped(written, without, &["bad-default", "bad-default"]);
}

#[test]
fn a_default_with_a_property_of_that_name_is_dropped_as_a_whole() {
    for name in ["default", "x"] {
        let pair = format!(
            "type: object, properties: {{ {name}: {{ type: string }}, y: {{ type: string }} }}"
        );
        let written = format!("{{ {pair}, default: {{ {name}: 3, y: a }} }}");
        ensure_dropped(&written, &format!("{{ {pair} }}"), &["bad-default"]);
    }
}

#[test]
fn a_default_of_a_property_with_the_name_of_a_section_is_dropped() {
    for name in ["headers", "properties", "variables", "default"] {
        let written = format!(
            "{{ type: object, properties: {{ {name}: {{ type: array, items: {{ type: integer, default: a }}, default: none }} }} }}"
        );
        let without = format!(
            "{{ type: object, properties: {{ {name}: {{ type: array, items: {{ type: integer }} }} }} }}"
        );
        ensure_dropped(&written, &without, &["bad-default", "bad-default"]);
    }
}

/// Checks that a document of others with the schema `written` becomes what our own one with the
/// schema `without` says, and that no other rule reports its defaults.
#[track_caller]
fn ensure_dropped(written: &str, without: &str, rules: &[&str]) {
    let options = Options {
        foreign: true,
        sets: LintSet::ALL.into(),
        ..Options::default()
    };
    let text = with_schema("3.1.0", written);
    let loaded = load_text_with("others.yaml", text.as_bytes(), &options);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    let repaired: Vec<_> = loaded.repairs.iter().map(|repair| repair.rule).collect();
    assert_eq!(repaired, rules, "{printed}");
    let mut codes = loaded.diagnostics.iter().map(|found| found.code);
    assert!(!codes.any(|code| code == "defaulted-required"), "{printed}");
    let own = load_text("own.yaml", with_schema("3.1.0", without).as_bytes());
    let schemas = |loaded: &Loaded| -> Vec<String> {
        let contract = loaded.contract.as_ref().expect("it is a contract");
        let kinds = contract.schemas.iter().map(|schema| &schema.kind);
        kinds.map(|kind| format!("{kind:?}")).collect()
    };
    assert_eq!(schemas(&loaded), schemas(&own));
}

#[test]
fn what_has_no_plausible_meaning_is_still_refused() {
    let loaded = foreign(&with_schema(
        "3.1.0",
        "{ $ref: '#/components/schemas/Gone' }",
    ));
    assert!(loaded.contract.is_none());
    assert!(loaded.repairs.is_empty());
    // An operation cannot be a reference: what it lacks is probably in the other file.
    let text = with_path(
        "/a/{b}",
        "{ get: { $ref: '#/paths/~1c/get' } }\n  /c: { get: {} }",
    );
    let loaded = foreign(&text.replace("3.1.0", "3.0.3"));
    assert!(loaded.contract.is_none());
    let repaired = loaded.repairs.iter().map(|repair| repair.pointer.as_str());
    assert_eq!(repaired.collect::<Vec<_>>(), ["/paths/~1c/get"]);
}

#[test]
fn a_document_without_mistakes_is_read_as_it_is() {
    let text = with_schema("3.1.0", "{ type: string }");
    let loaded = foreign(&text);
    assert!(
        loaded
            .diagnostics
            .iter()
            .all(|found| found.code == "unused-component")
    );
    assert!(loaded.repairs.is_empty());
    assert_eq!(loaded.contract.expect("a contract").yaml, Some(text));
}

#[test]
fn paths_with_a_query_or_fragment_are_labels_of_one_url() {
    let ok = r#"{ get: { responses: { "204": { description: Done. } } } }"#;
    let text = with_path("/a", &format!("{ok}\n  /a?b=c%20c: {ok}\n  /a#d: {ok}"));
    let loaded = load_text("labels.yaml", text.as_bytes());
    let found = loaded.diagnostics.iter().map(|found| found.code);
    assert_eq!(found.collect::<Vec<_>>(), ["shared-url"]);
    let contract = loaded.contract.expect("labels are legal");
    let ids: Vec<&str> = contract
        .operations
        .iter()
        .map(|found| found.id.as_str())
        .collect();
    assert_eq!(ids, ["get_a", "get_a_b_c_20c", "get_a_d"]);
    assert_eq!(
        contract.operations[1].query,
        [("b".to_owned(), "c c".to_owned())]
    );
}

#[test]
fn labels_of_one_url_are_found_wherever_operations_are_declared() {
    let ok = r#"{ responses: { "204": { description: Done. } } }"#;
    let found = |paths: &str| {
        let text = with_path("/a", paths).replace("3.1.0", "3.2.0");
        let loaded = load_text("labels.yaml", text.as_bytes());
        let found = loaded.diagnostics.into_iter();
        found
            .map(|found| {
                let at = loaded.sources.line_column(found.span);
                (found.code, at.line, found.message)
            })
            .collect::<Vec<_>>()
    };
    let said = |method: &str, line: usize| {
        let message = format!(
            "`{method} /a` and `{method} /a#b` are the same request, so a server only ever serves the first"
        );
        ("shared-url", line, message)
    };
    let item = format!("{{ query: {ok}, additionalOperations: {{ COPY: {ok} }} }}");
    assert_eq!(
        found(&format!("{item}\n  /a#b: {item}")),
        [said("QUERY", 5), said("COPY", 5)]
    );
    let reference = "{ $ref: '#/components/pathItems/A' }";
    let shared = format!(
        "{reference}\n  /a#b: {reference}\ncomponents: {{ pathItems: {{ A: {{ get: {ok} }} }} }}"
    );
    assert_eq!(found(&shared), [said("GET", 5)]);
}

/// Returns what is at a pointer of a document of others, and the pointers that were repaired.
#[track_caller]
fn read(text: &str, place: &str) -> (Value, Vec<String>) {
    let loaded = foreign(text);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    let contract = loaded.contract.unwrap_or_else(|| panic!("{printed}"));
    let place = contract.document.pointer(place).cloned();
    let repaired = loaded.repairs.into_iter().map(|repair| repair.pointer);
    (place.unwrap_or_default(), repaired.collect())
}

#[test]
fn a_repair_that_moves_another_mistake_does_not_hide_it() {
    let both =
        "{ type: number, minimum: 0, maximum: 9, exclusiveMinimum: true, exclusiveMaximum: true }";
    let (schema, repaired) = read(&with_schema("3.1.0", both), SCHEMA);
    assert_eq!(
        schema,
        json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 9})
    );
    assert_eq!(repaired.len(), 2);
    let nested = "{ oneOf: [{ type: object, properties: { z: { type: string, nullable: true } } }], nullable: true }";
    let (schema, repaired) = read(&with_schema("3.1.0", nested), SCHEMA);
    assert_eq!(
        schema["anyOf"][0]["oneOf"][0]["properties"]["z"]["type"],
        json!(["string", "null"])
    );
    assert_eq!(repaired.len(), 2);
}

#[test]
fn a_scheme_that_is_not_declared_opens_nothing() {
    let text = with_path(
        "/a",
        "{ get: { security: [{ key: [] }, { gone: [] }], responses: { '204': { description: Done. } } } }",
    );
    let schemes = "components: { securitySchemes: { key: { type: http, scheme: bearer } } }\n";
    let (security, _) = read(&format!("{text}{schemes}"), "/paths/~1a/get/security");
    assert_eq!(security, json!([{"key": []}]));
}

#[test]
fn what_looks_like_a_repair_but_is_none_is_left() {
    // Without its default, the variable would be empty in the URL.
    let servers =
        "servers: [{ url: 'https://{r}.x', variables: { r: { default: eu, enum: [us] } } }]\n";
    let text = with_schema("3.1.0", "{ type: string }") + servers;
    let (default, repaired) = read(&text, "/servers/0/variables/r/default");
    assert_eq!(default, json!("eu"));
    assert!(repaired.is_empty(), "{repaired:?}");
    // No parameter of the path is written so.
    let ok = "responses: { '204': { description: Done. } }";
    let loaded = foreign(&with_path("'/a{?q}'", &format!("{{ get: {{ {ok} }} }}")));
    assert!(loaded.repairs.is_empty());
    // A part of a value in the query is no parameter.
    let parameter = "{ name: v, in: path, required: true, schema: { type: string } }";
    let item = format!("{{ get: {{ parameters: [{parameter}], {ok} }} }}");
    assert!(foreign(&with_path("'/a?v=a{v}'", &item)).repairs.is_empty());
}

#[test]
fn a_style_for_objects_is_dropped_for_single_values() {
    let parameter = "{ name: m, in: query, style: deepObject, schema: { type: string } }";
    let item = format!(
        "{{ get: {{ parameters: [{parameter}], responses: {{ '204': {{ description: Done. }} }} }} }}"
    );
    let (parameter, _) = read(&with_path("/a", &item), "/paths/~1a/get/parameters/0");
    assert_eq!(
        (&parameter["name"], &parameter["style"]),
        (&json!("m"), &Value::Null)
    );
}

#[test]
fn a_misspelt_section_is_listed_whatever_else_is_repaired() {
    let text = with_path(
        "/a",
        "{ get: { security: [{ key: [] }], responses: { 4xx: { description: Refused. } } } }",
    );
    let text = text.replace("\npaths:", "\npath:")
        + "component: { securitySchemes: { key: { type: http, scheme: bearer } } }\n";
    let codes: Vec<&str> = load_text("own.yaml", text.as_bytes())
        .diagnostics
        .iter()
        .map(|found| found.code)
        .collect();
    assert_eq!(
        codes,
        ["misspelt-section", "impossible-status", "misspelt-section"]
    );
    let (security, repaired) = read(&text, "/paths/~1a/get/security");
    assert_eq!(security, json!([{"key": []}]));
    assert_eq!(
        repaired,
        ["/paths/~1a/get/responses/4xx", "/components", "/paths"]
    );
}

#[test]
fn a_default_is_judged_by_the_schema_as_it_is_read() {
    let default = |version: &str, text: &str| {
        let (schema, repaired) = read(&with_schema(version, text), SCHEMA);
        assert_eq!(repaired, [format!("{SCHEMA}/nullable")]);
        schema["default"].clone()
    };
    let text = "{ type: string, nullable: true, default: null }";
    assert!(default("3.1.0", text).is_null());
    let text = "{ type: string, enum: [a], nullable: true, default: null }";
    assert!(default("3.0.3", text).is_null());
    let dropped = "{ type: string, nullable: true, default: 1 }";
    let (schema, _) = read(&with_schema("3.1.0", dropped), SCHEMA);
    assert_eq!(schema, json!({"type": ["string", "null"]}));
}

#[test]
fn every_operation_gets_an_id_of_its_own() {
    let get = "{ get: { operationId: do, responses: { '204': { description: Done. } } } }";
    let text = with_path(
        "/a",
        &format!("{get}\n  /a-b: {get}\n  /a/b: {get}\n  /a.b: {get}"),
    );
    let loaded = foreign(&text);
    let contract = loaded.contract.expect("the ids are repaired");
    let ids: Vec<&str> = contract
        .operations
        .iter()
        .map(|operation| operation.id.as_str())
        .collect();
    assert_eq!(ids, ["do", "do_get_a_b_3", "do_get_a_b_2", "do_get_a_b"]);
}

#[test]
fn references_into_a_schema_that_accepts_null_lead_where_they_led() {
    let part = "{ allOf: [{ type: object, properties: { a: { type: string } } }], nullable: true }";
    let text = with_schema("3.1.0", "{ $ref: '#/components/schemas/P%61rt/allOf/0' }");
    let text = text.replace("schemas:", &format!("schemas:\n    Part: {part}"));
    let (reference, repaired) = read(&text, SCHEMA);
    assert_eq!(
        reference["$ref"],
        "#/components/schemas/P%61rt/anyOf/0/allOf/0"
    );
    assert_eq!(repaired, ["/components/schemas/Part/nullable"]);
    // A branch more moves nothing.
    let text = text.replace("allOf", "anyOf");
    let (reference, _) = read(&text, SCHEMA);
    assert_eq!(reference["$ref"], "#/components/schemas/P%61rt/anyOf/0");
    let (part, _) = read(&text, "/components/schemas/Part/anyOf/1");
    assert_eq!(part, json!({"type": "null"}));
}

#[test]
fn the_tighter_of_two_bounds_holds() {
    let bounds = |text: &str| read(&with_schema("3.0.3", text), SCHEMA).0;
    let looser = "{ type: number, minimum: 5, exclusiveMinimum: 1 }";
    assert_eq!(bounds(looser), json!({"type": "number", "minimum": 5}));
    let looser = "{ type: number, maximum: 1.5, exclusiveMaximum: 2 }";
    assert_eq!(bounds(looser), json!({"type": "number", "maximum": 1.5}));
    let tighter = "{ type: number, minimum: 5, exclusiveMinimum: 5 }";
    assert_eq!(
        bounds(tighter),
        json!({"type": "number", "minimum": 5, "exclusiveMinimum": true})
    );
}

#[test]
fn a_misspelt_path_parameter_has_the_name_in_the_path() {
    let item = |parameter: &str| {
        let ok = "responses: { '204': { description: Done. } }";
        let item = format!("{{ get: {{ parameters: [{parameter}], {ok} }} }}");
        with_path("/a/{user_id}", &item)
    };
    let place = "/paths/~1a~1{user_id}";
    let misspelt = "{ name: userId, in: path, required: true, schema: { type: integer } }";
    let (path, repaired) = read(&item(misspelt), place);
    assert_eq!(path["get"]["parameters"][0]["name"], "user_id");
    assert_eq!(path["get"]["parameters"][0]["schema"]["type"], "integer");
    assert_eq!(path["parameters"], Value::Null);
    assert_eq!(repaired, [format!("{place}/get/parameters/0/name")]);
    // A component is used by other paths under its own name.
    let shared = format!("components: {{ parameters: {{ User: {misspelt} }} }}\n");
    let (root, repaired) = read(
        &(item("{ $ref: '#/components/parameters/User' }") + &shared),
        "",
    );
    assert_eq!(root["components"]["parameters"]["User"]["name"], "userId");
    let own = root.pointer(&format!("{place}/get/parameters/0/name"));
    assert_eq!(own, Some(&json!("user_id")));
    assert_eq!(repaired, [format!("{place}/get/parameters/0")]);
}

#[test]
fn copies_of_components_and_operations_are_bounded() {
    let properties: String = (0..500)
        .map(|index| format!("p{index}: {{ type: string }}, "))
        .collect();
    // A parameter is declared for the path and dropped, as one that resembles none.
    let large = format!(
        "{{ name: userId, in: path, required: true, schema: {{ type: object, properties: {{ {properties} }} }} }}"
    );
    let text = with_path(
        "/a/{user_id}",
        "{ get: { parameters: [{ $ref: '#/components/parameters/User' }], responses: { '204': { description: Done. } } } }",
    ) + &format!("components: {{ parameters: {{ User: {large} }} }}\n");
    let (path, _) = read(&text, "/paths/~1a~1{user_id}");
    assert_eq!(path["get"]["parameters"], json!([]));
    assert_eq!(path["parameters"][0]["name"], "user_id");
    // A million nodes are copied, and then no more.
    let operation = format!(
        "{{ responses: {{ '204': {{ description: Done., x-large: [{}] }} }} }}",
        "1, ".repeat(20_000)
    );
    let paths: String = (0..100)
        .map(|index| format!("  /p{index}: {{ get: {{ $ref: '#/x-get' }} }}\n"))
        .collect();
    let text = with_path("/p", "{}") + &paths + "x-get: " + &operation + "\n";
    let loaded = foreign(&text);
    let misplaced = loaded.repairs.iter();
    let misplaced = misplaced.filter(|repair| repair.rule == "misplaced-ref");
    assert_eq!(misplaced.count(), 49);
    assert!(loaded.contract.is_none());
}

#[test]
fn paths_are_renamed_within_a_bound() {
    // Each path is renamed twice: it begins with a slash, and then its second parameter has a name.
    let named = |count: usize| {
        let paths = (0..count).map(|at| {
            format!("  a{at}/{{id}}/b/{{id}}: {{ get: {{ operationId: get{at}, parameters: [{{ name: id, in: path, required: true, schema: {{ type: string }} }}], responses: {{ '204': {{ description: Done. }} }} }} }}\n")
        });
        let text = format!(
            "openapi: 3.1.0\ninfo: {{ title: Others, version: '1' }}\npaths:\n{}",
            paths.collect::<String>()
        );
        let loaded = foreign(&text);
        let count = |rule: &str| {
            let repairs = loaded.repairs.iter();
            repairs.filter(|repair| repair.rule == rule).count()
        };
        let rules = ["bad-path", "duplicate-template-name"];
        (rules.map(count), loaded.contract.is_some())
    };
    assert_eq!(named(250), ([250, 250], true));
    assert_eq!(named(260), ([260, 240], false));
}

#[test]
fn a_pattern_that_nothing_reads_is_an_annotation() {
    schema(
        "3.0.3",
        "{ type: string, pattern: '^[_-.]+$' }",
        "bad-pattern",
        "/pattern",
        &json!({"type": "string", "x-pattern": "^[_-.]+$"}),
    );
    // It would not be known which properties are meant.
    let keys = "{ type: object, patternProperties: { '(': {} }, additionalProperties: false }";
    assert!(foreign(&with_schema("3.1.0", keys)).contract.is_none());
}

#[test]
fn the_page_lists_every_reading_and_nothing_else() {
    let page = std::fs::read_to_string("../../docs/foreign.md").expect("the page exists");
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with("What is repaired\n"));
    let section = section.expect("the section has the table");
    let documented = section.lines().filter(|line| line.starts_with("| `"));
    let known = READINGS.iter().map(|reading| {
        format!(
            "| `{}` | {} | {} |",
            reading.rule, reading.mistake, reading.meaning
        )
    });
    assert_eq!(documented.collect::<Vec<_>>(), known.collect::<Vec<_>>());
}

#[test]
fn the_page_says_how_many_documents_are_read() {
    let list = std::fs::read_to_string("../../tests/foreign.txt").expect("the list exists");
    let results = list.lines().filter(|line| !line.starts_with('#'));
    let results: Vec<Vec<&str>> = results.map(|line| line.split(" | ").collect()).collect();
    let read = results
        .iter()
        .filter(|columns| columns[1] == "read")
        .count();
    let generated = results
        .iter()
        .filter(|columns| columns[2].contains(" operations"));
    let sentence = format!(
        "Of the {} public documents in [tests/foreign.txt](../tests/foreign.txt), {read} are read without the flag, and {} generate with it.",
        results.len(),
        generated.count()
    );
    let page = std::fs::read_to_string("../../docs/foreign.md").expect("the page exists");
    assert!(page.contains(&sentence), "{sentence}");
}
