//! Unions of many branches, of which one has changed.

use crate::{DONE, document, report};

/// Returns a document in whose request there is a union of objects, of which one has an id of at most
/// `most` characters.
fn union(kind: &str, branches: usize, most: usize) -> String {
    let names = (0..branches).map(|at| {
        let most = if at == 3 { most } else { 64 };
        let id = format!("id: {{type: string, minLength: 1, maxLength: {most}}}");
        format!(
            "    P{at}: {{type: object, required: [kind, id], properties: {{kind: {{type: string}}, {id}, p{at}: {{type: integer}}}}}}\n"
        )
    });
    let references = (0..branches).map(|at| format!("{{$ref: '#/components/schemas/P{at}'}}"));
    let references: Vec<String> = references.collect();
    let content = format!(
        "content: {{application/json: {{schema: {{{kind}: [{}]}}}}}}",
        references.join(", ")
    );
    document(&format!(
        "  schemas:\n{}paths:\n  /a: {{post: {{operationId: a, requestBody: {{{content}}}, {DONE}}}}}",
        names.collect::<String>()
    ))
}

#[test]
fn a_change_of_one_branch_of_many_is_decided() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for kind in ["anyOf", "oneOf"] {
        for branches in [6, 12, 24] {
            for (old, new, expected) in [(64, 99, "request-widened"), (99, 64, "request-narrowed")]
            {
                let (old, new) = (union(kind, branches, old), union(kind, branches, new));
                let found = report(folder.path(), &old, &new);
                let findings = found["findings"].as_array().expect("findings are a list");
                let rules: Vec<&str> = findings
                    .iter()
                    .filter_map(|finding| finding["rule"].as_str())
                    .collect();
                assert_eq!(rules, [expected], "{kind} of {branches}: {found:#}");
            }
        }
    }
}

/// The number of unions in a document of hard ones: together they take all steps of a comparison.
const HARD: usize = 6;

/// Returns a document with unions that each take the search all its steps, and a small schema after them.
fn beside_hard_unions(address: &str, most: usize) -> String {
    let mut schemas = format!("    Small: {{type: string, maxLength: {most}}}\n");
    for at in 0..5 {
        let address = if at == 2 { address } else { "{type: string}" };
        schemas += &format!(
            "    Content{at}: {{type: object, required: [q{at}], properties: {{q{at}: {{type: string}}, address: {address}}}}}\n"
        );
    }
    schemas += &union_of("Content", "Content", 5);
    let mut paths = String::new();
    for number in 0..HARD {
        let name = format!("Result{number}");
        for at in 0..20 {
            let required = if at % 3 == 0 {
                String::new()
            } else {
                format!(", p{at}")
            };
            let content = "content: {$ref: '#/components/schemas/Content'}";
            schemas += &format!(
                "    {name}Of{at}: {{type: object, required: [n{number}{required}], properties: {{n{number}: {{type: string}}, {content}, p{at}: {{type: string}}}}}}\n"
            );
        }
        schemas += &union_of(&name, &format!("{name}Of"), 20);
        paths += &operation(&format!("a{number}"), &name);
    }
    paths += &operation("z", "Small");
    document(&format!("  schemas:\n{schemas}paths:\n{paths}"))
}

fn union_of(name: &str, branch: &str, branches: usize) -> String {
    let references =
        (0..branches).map(|at| format!("{{$ref: '#/components/schemas/{branch}{at}'}}"));
    let references: Vec<String> = references.collect();
    format!("    {name}: {{oneOf: [{}]}}\n", references.join(", "))
}

fn operation(id: &str, schema: &str) -> String {
    let schema = format!("{{$ref: '#/components/schemas/{schema}'}}");
    let body = format!("requestBody: {{content: {{application/json: {{schema: {schema}}}}}}}");
    format!("  /{id}: {{post: {{operationId: {id}, {body}, {DONE}}}}}\n")
}

#[test]
fn unions_that_take_long_leave_other_changes_decided() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let old = beside_hard_unions("{type: string}", 9);
    let new = beside_hard_unions("{}", 5);
    let found = report(folder.path(), &old, &new);
    let findings = found["findings"].as_array().expect("findings are a list");
    let about = |rule: &str, place: &str| {
        let is_one = |finding: &&serde_json::Value| {
            let message = finding["message"].as_str().unwrap_or_default();
            finding["rule"] == rule && message.contains(place)
        };
        findings.iter().filter(is_one).count()
    };
    assert_eq!(
        about("undecided", "`Result"),
        HARD,
        "some are too easy: {found:#}"
    );
    assert_eq!(about("request-narrowed", "`Small`"), 1, "{found:#}");
    assert_eq!(
        about("request-widened", "`Content2.address`"),
        1,
        "{found:#}"
    );
}
