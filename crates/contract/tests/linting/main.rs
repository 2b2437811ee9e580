//! Each lint with a small document that it reports, at a span that the test marks in the text, and
//! with a similar document that is correct and has no diagnostics.

mod bodies;
mod keywords;
mod legal;
mod linked;
mod one_way;
mod operations;
mod paths;
mod references;
mod reports;
mod schemas;
mod security;
mod seeded;
mod since_32;
mod slips;
mod style;
mod table;
mod values;

use contract::{Severity, load_text};

const SCHEMA_31: &str = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      responses:
        "200":
          description: All pets.
          content:
            application/json:
              schema: @@
"#;

const OPERATION: &str = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets/{pet_id}:
    get: @@
components:
  parameters:
    PetId: { name: pet_id, in: path, required: true, schema: { type: string } }
"#;

const OK: &str = r#"responses: { "204": { description: Done. } }"#;

fn schema_30() -> String {
    SCHEMA_31.replace("3.1.0", "3.0.3")
}

/// A diagnostic of a document: code, severity, line and column.
type Found = (String, Severity, usize, usize);

fn diagnostics(text: &str) -> Vec<Found> {
    let loaded = load_text("pets.yaml", text.as_bytes());
    let wrong = loaded
        .diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_eq!(
        loaded.contract.is_none(),
        wrong,
        "{:#?}",
        loaded.diagnostics
    );
    loaded
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let at = loaded.sources.line_column(diagnostic.span);
            let code = diagnostic.code.to_owned();
            (code, diagnostic.severity, at.line, at.column)
        })
        .collect()
}

fn help(text: &str) -> String {
    let loaded = load_text("pets.yaml", text.replace('⟦', "").as_bytes());
    let helps = loaded
        .diagnostics
        .into_iter()
        .filter_map(|diagnostic| diagnostic.help);
    helps.collect::<Vec<_>>().join("; ")
}

/// Returns the line and column of a marker, from 1 and in characters. Counted without the code
/// under test.
fn place(text: &str, marker: &str) -> (usize, usize) {
    let (before, _) = text.split_once(marker).expect("the text has the marker");
    let line = before.split('\n').count();
    let column = before.split('\n').next_back().unwrap().chars().count() + 1;
    (line, column)
}

/// Checks that the wrong text yields exactly this diagnostic, and the right text none. The
/// diagnostic is expected at `⟦`, or else at the start of the text.
#[track_caller]
fn reports(severity: Severity, code: &str, template: &str, wrong: &str, right: &str) {
    let marked = if wrong.contains('⟦') {
        template.replace("@@", wrong)
    } else {
        template.replace("@@", &format!("⟦{wrong}"))
    };
    let (line, column) = place(&marked, "⟦");
    let found = diagnostics(&marked.replace('⟦', ""));
    assert_eq!(
        found,
        vec![(code.to_owned(), severity, line, column)],
        "{marked}"
    );
    assert_eq!(
        diagnostics(&template.replace("@@", right)),
        vec![],
        "{right}"
    );
}

#[track_caller]
fn error(code: &str, template: &str, wrong: &str, right: &str) {
    reports(Severity::Error, code, template, wrong, right);
}

#[track_caller]
fn warning(code: &str, template: &str, wrong: &str, right: &str) {
    reports(Severity::Warning, code, template, wrong, right);
}

/// Returns a document with one operation, whose response has a component schema.
fn component(schema: &str) -> String {
    let used = SCHEMA_31.replace("@@", r##"{ $ref: "#/components/schemas/Pet" }"##);
    format!("{used}components:\n  schemas:\n    Pet: {schema}\n")
}

/// Returns a valid operation with an additional field.
fn ok(more: &str) -> String {
    format!("{{ {more} parameters: [{{ $ref: \"#/components/parameters/PetId\" }}], {OK} }}")
}
