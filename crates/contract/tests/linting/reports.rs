//! What a run reports, and how it is printed.

use contract::load_text;

use crate::{SCHEMA_31, component, diagnostics};

#[test]
fn every_diagnostic_comes_in_one_run() {
    let text =
        component("{ type: strin, minLenght: 3, pattern: \"(\", $ref: \"#/nowhere\", default: 1 }");
    let codes: Vec<String> = diagnostics(&text)
        .into_iter()
        .map(|(code, ..)| code)
        .collect();
    assert_eq!(
        codes,
        [
            "unknown-type",
            "misspelt-keyword",
            "bad-pattern",
            "dangling-ref"
        ]
    );
}

#[test]
fn what_is_said_of_many_places_in_the_same_words_is_shown_for_a_few() {
    let properties: String = (0..50)
        .map(|at| format!("        p{at}: {{ type: string, nullable: true }}\n"))
        .collect();
    let text = SCHEMA_31.replace(
        "@@",
        &format!(
            "\n                type: object\n                properties:\n{}",
            properties.replace("        p", "                  p")
        ),
    );
    let loaded = load_text("pets.yaml", text.as_bytes());
    assert_eq!(loaded.diagnostics.len(), 50);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    assert_eq!(printed.matches("--> pets.yaml:").count(), 3, "{printed}");
    assert!(printed.contains("= and 47 more: pets.yaml:"), "{printed}");
    for diagnostic in &loaded.diagnostics {
        let at = loaded.sources.line_column(diagnostic.span);
        assert!(
            printed.contains(&format!("{}:{}", at.line, at.column)),
            "{printed}"
        );
    }
    assert!(
        printed.ends_with("50 warnings\n") && printed.lines().all(|line| line.len() < 130),
        "{printed}"
    );
}

#[test]
fn the_properties_that_one_value_lacks_are_one_diagnostic() {
    for (required, example, message) in [
        ("a, b", "{}", "\"a\" and \"b\" are required properties"),
        (
            "a, b, c, d, e, f",
            "{}",
            "\"a\", \"b\", \"c\", \"d\" and 2 more are required properties",
        ),
        ("a, b", "{ b: 1 }", "\"a\" is a required property"),
    ] {
        let properties = "properties: { a: {}, b: {}, c: {}, d: {}, e: {}, f: {} }";
        let schema = format!("{{ {properties}, required: [{required}], examples: [{example}] }}");
        let text = SCHEMA_31.replace("@@", &schema);
        let loaded = load_text("pets.yaml", text.as_bytes());
        let messages = loaded.diagnostics.iter().map(|found| &found.message);
        assert_eq!(
            messages.collect::<Vec<_>>(),
            [&format!("the example does not fit its schema: {message}")]
        );
    }
    // Those of another value, and of another schema for the same value, are others.
    let apart = "{ required: [a], examples: [{}, {}], allOf: [{ required: [b] }] }";
    let text = SCHEMA_31.replace("@@", apart);
    let loaded = load_text("pets.yaml", text.as_bytes());
    let about = loaded
        .diagnostics
        .iter()
        .filter(|found| found.code == "bad-example");
    assert_eq!(about.count(), 4);
}
