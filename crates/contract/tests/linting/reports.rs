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
