//! New paths that take requests from the template of an old one.

use serde_json::Value;

use crate::{DONE, document, report};

/// Returns a document with operations at paths, each with the schemas of its path parameters.
fn of(operations: &[(&str, &str, &[(&str, &str)])]) -> String {
    let operations = operations
        .iter()
        .enumerate()
        .map(|(at, (method, path, parameters))| {
            let parameters = parameters.iter().map(|(name, schema)| {
                format!("{{name: {name}, in: path, required: true, {schema}}}")
            });
            let parameters: Vec<String> = parameters.collect();
            format!(
                "  '{path}': {{{method}: {{operationId: o{at}, parameters: [{}], {DONE}}}}}\n",
                parameters.join(", ")
            )
        });
    document(&format!("paths:\n{}", operations.collect::<String>()))
}

/// Returns the witnesses of the findings about requests that go elsewhere.
fn taken(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings are a list");
    let findings = findings.iter().filter(|one| one["rule"] == "path-taken");
    findings
        .map(|finding| {
            assert_eq!(finding["kind"], "breaking");
            finding["witness"]["text"]
                .as_str()
                .expect("it has a witness")
        })
        .collect()
}

/// The old path with the schemas of its parameters, the new path with its own, and the path of the
/// request that goes elsewhere.
type Row = (
    (&'static str, &'static [(&'static str, &'static str)]),
    (&'static str, &'static [(&'static str, &'static str)]),
    Option<&'static str>,
);

const ANY: &str = "schema: {type: string}";

const ROWS: [Row; 28] = [
    (
        ("/pets/{id}", &[("id", ANY)]),
        ("/pets/mine", &[]),
        Some("/pets/mine"),
    ),
    (
        (
            "/pets/{id}",
            &[("id", "schema: {type: string, pattern: '^p[0-9]+$'}")],
        ),
        ("/pets/mine", &[]),
        None,
    ),
    (
        (
            "/pets/{id}",
            &[("id", "schema: {type: string, enum: [mine, yours]}")],
        ),
        ("/pets/mine", &[]),
        Some("/pets/mine"),
    ),
    (
        ("/pets/{id}", &[("id", "schema: {type: integer}")]),
        ("/pets/mine", &[]),
        None,
    ),
    (
        ("/pets/{id}", &[("id", "schema: {type: integer}")]),
        ("/pets/12", &[]),
        Some("/pets/12"),
    ),
    (
        (
            "/pets/{id}",
            &[("id", "schema: {type: string, maxLength: 3}")],
        ),
        ("/pets/mine", &[]),
        None,
    ),
    (
        (
            "/pets/{id}",
            &[("id", "schema: {type: array, items: {enum: [a, b]}}")],
        ),
        ("/pets/a,b", &[]),
        Some("/pets/a,b"),
    ),
    (
        (
            "/pets/{id}",
            &[("id", "style: label, schema: {type: string}")],
        ),
        ("/pets/mine", &[]),
        None,
    ),
    (
        (
            "/pets/{id}",
            &[("id", "style: label, schema: {type: string}")],
        ),
        ("/pets/.mine", &[]),
        Some("/pets/.mine"),
    ),
    (
        ("/pets/{id}.json", &[("id", ANY)]),
        ("/pets/mine.json", &[]),
        Some("/pets/mine.json"),
    ),
    (
        ("/pets/{id}.json", &[("id", ANY)]),
        ("/pets/mine", &[]),
        None,
    ),
    (
        ("/pets/{id}/toys/{toy}", &[("id", ANY), ("toy", ANY)]),
        ("/pets/{pet}/toys/all", &[("pet", ANY)]),
        Some("/pets//toys/all"),
    ),
    // Of both, each is the more general one in a segment.
    (
        ("/pets/mine/{part}", &[("part", ANY)]),
        ("/pets/{id}/toys", &[("id", ANY)]),
        None,
    ),
    (
        ("/pets/{id}", &[("id", ANY)]),
        ("/pets/mine/toys", &[]),
        None,
    ),
    (("/pets/{id}", &[("id", ANY)]), ("/cats/mine", &[]), None),
    (("/pets/mine", &[]), ("/pets/{id}", &[("id", ANY)]), None),
    (
        ("/pets/{id}", &[("id", ANY)]),
        ("/pets/é", &[]),
        Some("/pets/%C3%A9"),
    ),
    // Segments in which text and parameters are mixed.
    (
        ("/pets/{id}", &[("id", ANY)]),
        ("/pets/{name}.json", &[("name", ANY)]),
        Some("/pets/a.json"),
    ),
    (
        ("/pets/{name}.json", &[("name", ANY)]),
        ("/pets/{id}", &[("id", ANY)]),
        None,
    ),
    (
        ("/pets/{id}", &[("id", ANY)]),
        ("/pets/{id}:feed", &[("id", ANY)]),
        Some("/pets/a:feed"),
    ),
    (
        ("/pets/{id}", &[("id", "schema: {type: integer}")]),
        ("/pets/{name}.json", &[("name", ANY)]),
        None,
    ),
    (
        (
            "/pets/{id}",
            &[("id", "schema: {type: string, format: uuid}")],
        ),
        ("/pets/{name}.json", &[("name", ANY)]),
        None,
    ),
    (
        (
            "/pets/{id}",
            &[("id", "schema: {type: string, pattern: '^b+[.](json|xml)$'}")],
        ),
        ("/pets/{name}.json", &[("name", ANY)]),
        Some("/pets/b.json"),
    ),
    (
        (
            "/pets/{id}",
            &[("id", "schema: {type: string, pattern: '^b+[.](csv|xml)$'}")],
        ),
        ("/pets/{name}.json", &[("name", ANY)]),
        None,
    ),
    (
        ("/pets/{name}.{kind}", &[("name", ANY), ("kind", ANY)]),
        ("/pets/readme.txt", &[]),
        Some("/pets/readme.txt"),
    ),
    (
        ("/pets/{a}-{b}", &[("a", ANY), ("b", ANY)]),
        ("/pets/{c}-{d}.json", &[("c", ANY), ("d", ANY)]),
        Some("/pets/a-a.json"),
    ),
    (
        ("/pets/{a}-{b}.json", &[("a", ANY), ("b", ANY)]),
        ("/pets/{c}-{d}", &[("c", ANY), ("d", ANY)]),
        None,
    ),
    (
        (
            "/pets/{a}-{b}",
            &[("a", ANY), ("b", "schema: {type: integer}")],
        ),
        ("/pets/{c}-{d}.json", &[("c", ANY), ("d", ANY)]),
        None,
    ),
];

#[test]
fn a_new_path_takes_the_requests_that_its_template_allows() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for ((old, schemas), (new, own), expected) in ROWS {
        let before = of(&[("get", old, schemas)]);
        let after = of(&[("get", old, schemas), ("get", new, own)]);
        let found = report(folder.path(), &before, &after);
        // An empty segment would not arrive, so the example of an id is another one.
        let shown = taken(&found);
        match expected {
            Some(path) if path.contains("//") => assert_eq!(shown.len(), 1, "{old} {new}"),
            Some(path) => {
                let command = format!("curl -X GET https://pets.example{path}");
                let shown: Vec<String> = shown.iter().map(|one| one.replace('\'', "")).collect();
                assert_eq!(shown, [command], "{old} {new}: {found:#}");
            }
            None => assert_eq!(shown, [""; 0], "{old} {new}: {found:#}"),
        }
        assert_eq!(found["refused"], expected.is_some(), "{old} {new}");
    }
}

#[test]
fn only_requests_that_another_operation_took_are_taken() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let any: &[(&str, &str)] = &[("id", ANY)];
    let view = ("get", "/pets/{id}", any);
    let none: &[(&str, &str)] = &[];
    // Another method: that of the template is refused now, and nobody answered the new one before.
    let also = |text: &str, path: &str, method: &str| {
        let id = if path.contains("id") {
            format!("{{name: id, in: path, required: true, {ANY}}}")
        } else {
            String::new()
        };
        let added = format!("{method}: {{operationId: {method}, parameters: [{id}], {DONE}}}");
        text.replace(&format!("'{path}': {{"), &format!("'{path}': {{{added}, "))
    };
    let more = of(&[view, ("post", "/pets/mine", none)]);
    let more = also(&more, "/pets/mine", "put");
    let found = report(folder.path(), &of(&[view]), &more);
    let refused = "curl -X GET https://pets.example/pets/mine";
    assert_eq!(taken(&found), [refused], "{found:#}");
    assert_eq!(found["refused"], true);
    // The new path has both methods, and each takes requests.
    let old = also(&of(&[view]), "/pets/{id}", "delete");
    let new = of(&[view, ("get", "/pets/mine", none)]);
    let new = also(&also(&new, "/pets/{id}", "delete"), "/pets/mine", "delete");
    let new = new.replacen("operationId: delete", "operationId: remove", 1);
    let found = report(folder.path(), &old, &new.replace("remove", "delete_it"));
    assert_eq!(taken(&found).len(), 2, "{found:#}");
    // The path was there, so that a GET of it was refused before.
    let old = of(&[view, ("post", "/pets/mine", none)]);
    let new = old.replace(
        "'/pets/mine': {",
        &format!("'/pets/mine': {{get: {{operationId: g, {DONE}}}, "),
    );
    assert_eq!(taken(&report(folder.path(), &old, &new)), [""; 0]);
    // The more specific template has the requests, and it allows no such id.
    let narrow: &[(&str, &str)] = &[("id", "schema: {type: integer}")];
    let wide: &[(&str, &str)] = &[("kind", ANY), ("id", ANY)];
    let both = [("get", "/{kind}/{id}", wide), ("get", "/pets/{id}", narrow)];
    let more = [both[0], both[1], ("get", "/pets/mine", none)];
    let found = report(folder.path(), &of(&both), &of(&more));
    assert_eq!(taken(&found), [""; 0]);
    // The old operation is gone, which is said of it.
    let found = report(
        folder.path(),
        &of(&[view]),
        &of(&[("get", "/pets/mine", none)]),
    );
    assert_eq!(taken(&found), [""; 0]);
    assert_eq!(found["refused"], true);
}

#[test]
fn a_path_that_differs_by_its_query_takes_the_requests_with_it() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let document = |schema: &str, more: &str| {
        let kind = format!("{{name: kind, in: query, schema: {schema}}}");
        document(&format!(
            "paths:\n  /pets: {{get: {{operationId: a, parameters: [{kind}], {DONE}}}}}\n{more}"
        ))
    };
    let more = format!("  '/pets?kind=new': {{get: {{operationId: b, {DONE}}}}}");
    let rows = [
        ("{type: string}", true),
        ("{enum: [new, old]}", true),
        ("{enum: [old]}", false),
        ("{type: integer}", false),
    ];
    for (schema, is_taken) in rows {
        let found = report(
            folder.path(),
            &document(schema, ""),
            &document(schema, &more),
        );
        let command = "curl -X GET 'https://pets.example/pets?kind=new'";
        let expected: Vec<&str> = is_taken.then_some(command).into_iter().collect();
        assert_eq!(taken(&found), expected, "{schema}: {found:#}");
        assert_eq!(found["refused"], is_taken, "{schema}");
    }
    // Clients send no parameter that they do not know.
    let unknown = |more: &str| document("{type: string}", more).replace("name: kind", "name: sort");
    let found = report(folder.path(), &unknown(""), &unknown(&more));
    assert_eq!(taken(&found), [""; 0], "{found:#}");
    // The path with the query was there, and has its requests still.
    let wide = document("{type: string}", "").replace("/pets:", "/pets?kind=new:");
    let both = document("{type: string}", &more);
    let found = report(folder.path(), &wide, &both);
    assert_eq!(taken(&found), [""; 0], "{found:#}");
}

#[test]
fn a_new_path_refuses_methods_whatever_queries_others_of_its_path_ask_for() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let id = format!("parameters: [{{name: id, in: path, required: true, {ANY}}}]");
    let template = format!(
        "  '/files/{{id}}':\n    get: {{operationId: view, {id}, {DONE}}}\n    delete: {{operationId: remove, {id}, {DONE}}}\n"
    );
    let full = format!("  '/files/latest?full': {{get: {{operationId: full, {DONE}}}}}\n");
    let put = format!("  '/files/latest': {{put: {{operationId: change, {DONE}}}}}\n");
    let document = |paths: &[&str]| document(&format!("paths:\n{}", paths.concat()));
    let command = "curl -X DELETE https://pets.example/files/latest";
    for (base, revision) in [
        (
            document(&[&template, &full]),
            document(&[&template, &full, &put]),
        ),
        (document(&[&template]), document(&[&template, &full, &put])),
    ] {
        let found = report(folder.path(), &base, &revision);
        assert!(taken(&found).contains(&command), "{found:#}");
    }
}

#[test]
fn of_equal_mixtures_the_one_of_the_first_tag_has_the_requests() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |path: &str, name: &str, tag: &str| {
        format!(
            "  '{path}': {{get: {{operationId: {name}, tags: [{tag}], parameters: [{{name: {name}, in: path, required: true, {ANY}}}], {DONE}}}}}\n"
        )
    };
    let document = |paths: &str| {
        document(&format!(
            "tags: [{{name: alpha}}, {{name: zeta}}]\npaths:\n{paths}"
        ))
    };
    let old = path("/p/{a}-x", "a", "zeta");
    let revision = document(&(old.clone() + &path("/p/a-{b}", "b", "alpha")));
    let found = report(folder.path(), &document(&old), &revision);
    assert_eq!(
        taken(&found),
        ["curl -X GET https://pets.example/p/a-x"],
        "{found:#}"
    );
    let old = path("/p/{a}-x", "a", "alpha");
    let revision = document(&(path("/p/a-{b}", "b", "zeta") + &old));
    let found = report(folder.path(), &document(&old), &revision);
    assert_eq!(taken(&found), [""; 0], "{found:#}");
}

#[test]
fn a_path_that_asks_for_more_takes_the_requests_with_more() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let full = format!("parameters: [{{name: full, in: query, {ANY}}}]");
    let old = format!("  '/pets?kind=new': {{get: {{operationId: a, {full}, {DONE}}}}}\n");
    let more = format!("  '/pets?kind=new&full=1': {{get: {{operationId: b, {DONE}}}}}\n");
    let [base, revision] =
        [old.clone(), old + &more].map(|paths| document(&format!("paths:\n{paths}")));
    let found = report(folder.path(), &base, &revision);
    let command = "curl -X GET 'https://pets.example/pets?kind=new&full=1'";
    assert_eq!(taken(&found), [command], "{found:#}");
}

#[test]
fn a_pattern_that_is_not_decided_leaves_it_open_what_a_new_path_takes() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let schema = |pattern: &str| format!("schema: {{type: string, pattern: '{pattern}'}}");
    let kinds_of = |pattern: &str, method: &'static str| {
        let schema = schema(pattern);
        let old: &[(&str, &str)] = &[("id", &schema)];
        let new: &[(&str, &str)] = &[("name", ANY)];
        let view = ("get", "/pets/{id}", old);
        let before = of(&[view]);
        let after = of(&[view, (method, "/pets/{name}.json", new)]);
        let found = report(folder.path(), &before, &after);
        let findings = found["findings"].as_array().expect("findings are a list");
        let taken = findings.iter().filter(|one| one["rule"] == "path-taken");
        taken
            .map(|one| one["kind"].as_str().expect("a kind").to_owned())
            .collect::<Vec<_>>()
    };
    let kinds = |pattern: &str| kinds_of(pattern, "get");
    // The pattern refers back, so that no search knows its strings.
    assert_eq!(kinds(r"^(q|w)\1x+[.](json|xml)$"), ["undecided"]);
    assert_eq!(kinds(r"^(?!a)[a-c]+[.]json$"), ["undecided"]);
    assert_eq!(kinds(r"^[a-c]+[.]xml$"), [""; 0]);
    // Whether a path refuses their method is as open.
    assert_eq!(kinds_of(r"^(q|w)\1x+[.]json$", "post"), ["undecided"]);
    assert_eq!(kinds_of(r"^[a-c]+[.]xml$", "post"), [""; 0]);
}

#[test]
fn many_new_paths_beside_a_template_are_judged_in_time() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let id: &[(&str, &str)] = &[("id", ANY)];
    let names = |kind: &str| -> Vec<String> {
        let name = |number| format!("/pets/{kind}{number}");
        (0..2000).map(name).collect()
    };
    let (kept, new) = (names("kept"), names("new"));
    let fixed = |path| ("get", path, &[] as &[(&str, &str)]);
    let mut before = vec![("get", "/pets/{id}", id)];
    before.extend(kept.iter().map(|path| fixed(path.as_str())));
    let mut after = before.clone();
    after.extend(new.iter().map(|path| fixed(path.as_str())));
    let start = std::time::Instant::now();
    let found = report(folder.path(), &of(&before), &of(&after));
    assert_eq!(taken(&found).len(), 2000);
    // Where each request has a router made for it, this takes minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn a_text_of_an_unchanged_segment_is_one_that_leads_to_the_template() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let both: &[(&str, &str)] = &[("id", ANY), ("toy", ANY)];
    let toy: &[(&str, &str)] = &[("toy", ANY)];
    let id: &[(&str, &str)] = &[("id", ANY)];
    // The example of an id would be one of these literals.
    let old = [
        ("get", "/pets/{id}/toys/{toy}", both),
        ("get", "/pets/a/toys/{toy}", toy),
        ("get", "/pets/0/toys/{toy}", toy),
    ];
    let new = [old[0], old[1], old[2], ("get", "/pets/{id}/toys/all", id)];
    let found = report(folder.path(), &of(&old), &of(&new));
    let shown = taken(&found);
    assert_eq!(shown.len(), 1, "{found:#}");
    let is_literal = ["/pets/a/", "/pets/0/"]
        .iter()
        .any(|literal| shown[0].contains(literal));
    assert!(!is_literal && shown[0].ends_with("/toys/all"), "{shown:?}");
    assert_eq!(found["refused"], true);
}
