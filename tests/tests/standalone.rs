//! Generated crates as other teams have them: outside this workspace, from any contract.

use std::fs;

use tests::outside;
use tests::small;
use tests::standalone::Standalone;

const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

#[test]
fn contracts_of_others_become_crates_that_compile() {
    let Some(corpus) = outside::folder("STRATUS_CORPUS") else {
        return;
    };
    for (file, name) in [
        ("museum.yaml", "museum"),
        ("petstore.yml", "petstore"),
        ("nexus.json", "nexus"),
    ] {
        let text = fs::read(corpus.join(file)).expect("the document can be read");
        let crates = Standalone::generate(SCRATCH, name, file, &text, name);
        let _ = crates.cargo_succeeds(&["check", "--workspace", "--all-targets", "--all-features"]);
        let _ = crates.cargo_succeeds(&["check", "--workspace", "--no-default-features"]);
    }
}

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
