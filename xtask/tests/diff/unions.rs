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
