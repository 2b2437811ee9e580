//! Generated crates as other teams have them: outside this workspace.

use std::fs;
use std::path::Path;
use std::process::Command;

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
use added_server::pet::{FeedResponse, FeedError, FeedRequest, PetApi};
use added_server::server;

struct Pets;

impl PetApi for Pets {
    async fn feed(&self, _: FeedRequest) -> Result<FeedResponse, FeedError> {
        Ok(String::from("fed").into())
    }
}

fn main() {
    let _ = added_server::router(Pets, server::Problem, server::Config::default());
}
"#;

#[test]
#[ignore = "compiles crates for a minute; `cargo xtask test --external` runs it"]
fn an_operation_that_is_added_breaks_every_implementation() {
    for (operations, is_complete) in [(&["feed"][..], true), (&["feed", "walk"], false)] {
        let crates = Standalone::generate(
            SCRATCH,
            "added",
            "pets.yaml",
            contract(operations).as_bytes(),
            "added",
        );
        crates.add_program(
            "added-program",
            "added-server = { path = \"../added-server\" }\n",
            IMPLEMENTATION,
        );
        let output = crates.cargo(&["check", "--quiet", "--package", "added-program"]);
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
#[ignore = "compiles crates for a minute; `cargo xtask test --external` runs it"]
fn a_rejection_of_one_tag_compiles_without_that_tag() {
    let crates = Standalone::generate(
        SCRATCH,
        "rejection",
        "small.yaml",
        REJECTION.as_bytes(),
        "rejection",
    );
    for tag in ["cat", "dog"] {
        let features = format!("{tag},utoipa");
        let _ = crates.cargo_succeeds(&[
            "check",
            "--quiet",
            "--package",
            "rejection-server",
            "--no-default-features",
            "--features",
            &features,
        ]);
    }
}

/// A contract with a secured and an open tag, and an error of its own.
const BEGINNING: &str = r"openapi: 3.1.0
info: {title: Pets, version: 1.0.0}
security: [{token: []}]
paths:
  /pets:
    get:
      tags: [pet]
      operationId: pet_list
      responses:
        '200': {description: All., content: {application/json: {schema: {type: array, items: {type: string}}}}}
        default: {description: Failed., content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}}
    post:
      tags: [pet]
      operationId: pet_create
      requestBody: {required: true, content: {application/json: {schema: {type: string, maxLength: 9}}}}
      responses:
        '204': {description: Done.}
        '404': {description: Not there.}
        default: {description: Failed., content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}}
  /health: {get: {tags: [health], operationId: health_view, security: [], responses: {'204': {description: Well.}}}}
components:
  securitySchemes:
    token: {type: http, scheme: bearer}
  schemas:
    Error: {type: object, required: [message], properties: {message: {type: string}}}
";

/// Returns the first code block of a README in a language.
fn block<'r>(readme: &'r str, language: &str) -> &'r str {
    let (_, rest) = readme
        .split_once(&format!("```{language}"))
        .expect("the README has a block of this language");
    let (_, code) = rest
        .split_once('\n')
        .expect("the code begins on a new line");
    code.split_once("```").expect("the block ends").0
}

#[test]
#[ignore = "compiles crates for a minute; `cargo xtask test --external` runs it"]
fn the_programs_of_the_readmes_compile_with_the_manifests_beside_them() {
    let crates = Standalone::generate(
        SCRATCH,
        "beginning",
        "pets.yaml",
        BEGINNING.as_bytes(),
        "beginning",
    );
    for part in ["server", "client"] {
        let readme = crates.root().join(format!("beginning-{part}/README.md"));
        let readme = fs::read_to_string(readme).expect("a crate has a README");
        let program = format!("beginning-{part}-program");
        crates.add_program(&program, "", block(&readme, "rust"));
        let manifest = format!("{program}/Cargo.toml");
        let dependencies = block(&readme, "toml");
        crates.replace(&manifest, "[dependencies]\n", dependencies);
        let _ = crates.cargo_succeeds(&["check", "--quiet", "--package", &program]);
    }
    // What does not compile says what to write.
    let program = crates.root().join("beginning-server-program/src/main.rs");
    let program = fs::read_to_string(program).expect("the program was written");
    let handler = |body: &str| {
        let method = format!(
            "async fn pet_create(&self, _: Caller, _: beginning_server::pet::PetCreateRequest) -> \
             Result<beginning_server::pet::PetCreateResponse, beginning_server::pet::PetCreateError> {{ {body} }}"
        );
        program.replace(
            "beginning_server::pet_stubs!(Caller: ..);",
            &format!("beginning_server::pet_stubs!(Caller: pet_list);\n{method}"),
        )
    };
    let failed = |status: &str| {
        handler(&format!(
            "Err(beginning_server::pet::PetCreateError::Default {{ status: {status}, body: beginning_server::types::Error::new(\"no\") }})"
        ))
    };
    let own = "server::default_status!(beginning_server::pet::PetCreateError, 404)";
    let unwritten = program.replace("pet_stubs!(Caller: ..)", "pet_stubs!(Caller: pet_list)");
    let unknown = program.replace("pet_stubs!(Caller: ..)", "pet_stubs!(Caller: pet_lost)");
    for (main, message) in [
        (failed(&own.replace("404", "503")), None),
        (failed(own), Some("this status has a response of its own")),
        (
            failed("503.into()"),
            Some("a number must be checked before it is a status of `PetCreateError`"),
        ),
        (unwritten, Some("missing: `pet_create`")),
        (unknown, Some("`pet_lost` is no operation of `PetApi`")),
    ] {
        crates.write("beginning-server-program/src/main.rs", &main);
        let output = crates.cargo(&["check", "--quiet", "--package", "beginning-server-program"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), message.is_none(), "{errors}");
        assert!(
            message.is_none_or(|message| errors.contains(message)),
            "{errors}"
        );
    }
}

#[test]
#[ignore = "compiles crates for a minute; `cargo xtask test --external` runs it"]
fn a_server_without_json_bodies_does_not_compile_the_validator() {
    let contract = contract(&["feed"]);
    let crates = Standalone::generate(SCRATCH, "small", "pets.yaml", contract.as_bytes(), "small");
    let arguments = ["tree", "--package", "small-server", "--edges", "normal"];
    let tree = crates.cargo_succeeds(&arguments);
    assert!(
        tree.contains("axum v") && !tree.contains("jsonschema v"),
        "{tree}"
    );
    let _ = crates.cargo_succeeds(&["check", "--quiet", "--package", "small-server"]);
}

#[test]
#[ignore = "compiles crates for a minute; `cargo xtask test --external` runs it"]
fn a_command_line_without_the_feature_mcp_says_how_to_have_it() {
    let contract = contract(&["feed"]);
    let options = codegen::Options {
        cli: Some("handy".to_owned()),
        ..codegen::Options::new("handy")
    };
    let loaded = contract::load_text("pets.yaml", contract.as_bytes());
    let crates = Standalone::generate_with(SCRATCH, "handy", loaded, &options);
    let _ = crates.cargo_succeeds(&["build", "--quiet", "--package", "handy-cli"]);
    let target = Path::new(SCRATCH)
        .parent()
        .expect("it is in the target folder");
    let run = |arguments: &[&str]| {
        let program = Command::new(target.join("debug/handy"))
            .args(arguments)
            .output();
        let output = program.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said)
    };
    for arguments in [&["mcp"][..], &["mcp", "--help"], &["mcp", "--only", "pet"]] {
        let (code, said) = run(arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("without the feature `mcp`") && said.contains("--features mcp"),
            "{said}"
        );
    }
    for arguments in [&["mpc"][..], &["completions", "mcp"]] {
        let (code, said) = run(arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(!said.contains("--features"), "{said}");
    }
}
