//! Generated crates as other teams have them: outside this workspace.

use tests::small;
use tests::standalone::Standalone;

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

/// Returns a contract with operations of these names.
fn contract(operations: &[&str]) -> String {
    let mut yaml = String::from("paths:\n");
    for operation in operations {
        yaml.push_str(&format!(
            "  /{operation}:\n    get:\n      operationId: {operation}\n      tags: [pet]\n      responses:\n        \
             '200': {{description: Done., content: {{application/json: {{schema: {{type: string}}}}}}}}\n"
        ));
    }
    small::paths(&yaml)
}

const IMPLEMENTATION: &str = r#"
use pets_server::pet::{FeedResponse, FeedError, FeedRequest, PetApi};
use pets_server::server;

struct Pets;

impl PetApi for Pets {
    async fn feed(&self, _: FeedRequest) -> Result<FeedResponse, FeedError> {
        Ok(String::from("fed").into())
    }
}

fn main() {
    let _ = pets_server::router(Pets, server::Problem, server::Config::default());
}
"#;

#[test]
fn an_operation_that_is_added_breaks_every_implementation() {
    for (operations, is_complete) in [(&["feed"][..], true), (&["feed", "walk"], false)] {
        let crates = Standalone::generate(
            SCRATCH,
            "added",
            "pets.yaml",
            contract(operations).as_bytes(),
            "pets",
        );
        crates.add_program(
            "pets",
            "pets-server = { path = \"../pets-server\" }\n",
            IMPLEMENTATION,
        );
        let output = crates.cargo(&["check", "--quiet", "--package", "pets"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), is_complete, "{errors}");
        if !is_complete {
            assert!(
                errors.contains("missing: `walk`") && errors.contains("E0046"),
                "{errors}"
            );
        }
    }
}

const REJECTION: &str = r"openapi: 3.1.0
info: {title: Small, version: 0.1.0}
paths:
  /cats:
    get: {tags: [cat], operationId: cat_list, responses: {'204': {description: None.}, '405': {$ref: '#/components/responses/Other'}}}
  /dogs:
    get: {tags: [dog], operationId: dog_list, responses: {'204': {description: None.}}}
components:
  schemas: {Why: {type: object, required: [text], properties: {text: {type: string}}}}
  responses:
    Other: {description: It has other methods., x-rejection: true, content: {application/json: {schema: {$ref: '#/components/schemas/Why'}}}}
";

#[test]
fn a_rejection_of_one_tag_compiles_without_that_tag() {
    let crates = Standalone::generate(
        SCRATCH,
        "rejection",
        "small.yaml",
        REJECTION.as_bytes(),
        "small",
    );
    for tag in ["cat", "dog"] {
        let features = format!("{tag},utoipa");
        let _ = crates.cargo_succeeds(&[
            "check",
            "--quiet",
            "--package",
            "small-server",
            "--no-default-features",
            "--features",
            &features,
        ]);
    }
}
