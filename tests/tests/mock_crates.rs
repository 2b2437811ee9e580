//! The mock of contracts of others: whose operations have the names of its methods, whose error
//! nobody can write but the test, and which a command line asks for.

use std::fs;

use tests::standalone::Standalone;

/// A contract whose names are those of the mock, in every place.
const NAMES: &str = r"
openapi: 3.1.0
info: {title: Names, version: 1.0.0}
tags: [{name: mock}, {name: operations}, {name: types}, {name: server}]
security: [{key: [], login: []}, {token: [read]}]
paths:
  /check: {get: {tags: [mock], operationId: check, responses: {'200': {description: Done., content: {application/json: {schema: {type: string}}}}, default: {$ref: '#/components/responses/Failed'}}}}
  /check-again: {get: {tags: [mock], operationId: check_, responses: {'204': {description: Done.}}}}
  /verify: {get: {tags: [operations], operationId: verify, security: [{}, {token: []}], responses: {2XX: {description: Done.}}}}
  /new: {get: {tags: [types], operationId: new, security: [], responses: {'204': {description: Done.}}}}
  /type: {get: {tags: [server], operationId: type, deprecated: true, responses: {'204': {description: Done.}}}}
  /drop: {put: {operationId: drop, requestBody: {content: {application/octet-stream: {}}}, responses: {'200': {description: Bytes., content: {application/octet-stream: {}}}}}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
    login: {type: http, scheme: basic}
    token: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://example.com', scopes: {read: Read.}}}}
  responses:
    Failed: {description: Failed., content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}}
  schemas:
    Error: {type: object, required: [code], properties: {code: {type: string, pattern: '^E[0-9]+$'}}}
";

/// Calls the mock without a socket.
const PROGRAM: &str = r##"
#[allow(dead_code)]
mod example;

use names_mock::names_server::server::{ByteStream, Rejection, RenderRejection, StatusCode};
use names_mock::{Credential, Mock, types};

struct Errors;

impl RenderRejection for Errors {
    type Body = types::Error;

    fn render(&self, rejection: &Rejection) -> types::Error {
        let code = format!("E{}", rejection.status.as_u16());
        types::Error::new(types::ErrorCode::try_from(code).expect("a status has digits"))
    }
}

async fn sent(mock: &Mock, method: &str, path: &str, authorization: Option<&str>) -> (StatusCode, String) {
    use tower::ServiceExt as _;
    let mut request = axum::http::Request::builder().method(method).uri(path);
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization).header("x-key", "key");
    }
    let request = request.body(axum::body::Body::from("bytes")).expect("it is a request");
    let response = mock.router().oneshot(request).await.expect("it responds");
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("the body arrives");
    (status, String::from_utf8(bytes.to_vec()).expect("it is text"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mock = Mock::with_errors(Errors);
    mock.check_credentials(|credentials, _| {
        assert!(matches!(credentials, [Credential::ApiKey(_), Credential::Basic(_)] | [Credential::Bearer(_)]));
        Ok(())
    });
    mock.check_().times(1).respond("yes".to_owned());
    mock.drop().respond_async(|request| async move {
        let bytes = request.body.expect("there is one").collect().await.expect("it arrives");
        Ok(ByteStream::new(bytes).into())
    });
    mock.drop().never();
    let login = Some("Basic dTpw");
    assert_eq!(sent(&mock, "GET", "/check", login).await, (StatusCode::OK, "\"yes\"".to_owned()));
    assert_eq!(sent(&mock, "GET", "/new", None).await, (StatusCode::NOT_IMPLEMENTED, r#"{"code":"E501"}"#.to_owned()));
    assert_eq!(sent(&mock, "PUT", "/drop", Some("Bearer t")).await.0, StatusCode::OK);
    mock.verify_().respond_once(names_mock::names_server::operations::VerifyResponse::Success {
        status: names_mock::names_server::server::range_status!(names_mock::names_server::operations::VerifyResponse, 202),
    });
    assert_eq!(sent(&mock, "GET", "/verify", None).await.0, StatusCode::ACCEPTED);
    assert_eq!(sent(&mock, "GET", "/verify", None).await.0, StatusCode::NOT_IMPLEMENTED);
    for unmet in mock.received().iter().filter(|it| it.unmet().is_some()) {
        println!("{unmet}");
    }
    mock.allow_unexpected();
}
"##;

const DEPENDENCIES: &str = r#"
names-mock = { path = "../names-mock" }
names-server = { path = "../names-server" }
axum = { version = "0.8", default-features = false, features = ["http1", "tokio"] }
tokio = { version = "1", default-features = false, features = ["macros", "net", "rt"] }
tower = { version = "0.5", default-features = false, features = ["util"] }
"#;

/// Returns options with a mock.
fn options(prefix: &str) -> codegen::Options {
    codegen::Options {
        mock: true,
        ..codegen::Options::new(prefix)
    }
}

#[test]
fn names_of_the_mock_and_an_error_that_only_the_test_can_write_compile() {
    let loaded = contract::load_text("names.yaml", NAMES.as_bytes());
    let scratch = env!("CARGO_TARGET_TMPDIR");
    let crates = Standalone::generate_with(scratch, "names", loaded, &options("names"));
    crates.add_program("names", DEPENDENCIES, PROGRAM);
    let readme = fs::read_to_string(crates.root().join("names-server/README.md"));
    let readme = readme.expect("a server has a README");
    let (_, example) = readme
        .split_once("```rust,no_run\n")
        .expect("the README has an example");
    let (example, _) = example.split_once("```").expect("the example ends");
    let argument = "rejections: impl server::RenderRejection<Body = shared_types::Error>";
    assert!(example.contains(argument), "{example}");
    crates.write("names/src/example.rs", example);
    let printed = crates.cargo_succeeds(&["run", "--quiet", "--package", "names"]);
    insta::assert_snapshot!(printed);
    let without = [
        "check",
        "--quiet",
        "--no-default-features",
        "--package",
        "names-mock",
    ];
    let _ = crates.cargo_succeeds(&without);
}

/// Returns a file of the crates of a small contract.
fn file(mock: bool, path: &str) -> Option<String> {
    let yaml = tests::small::paths(
        "
        paths:
          /pets/{name}:
            get:
              operationId: pet_view
              tags: [pet]
              summary: Views a pet
              security: [{token: []}]
              parameters: [{name: name, in: path, required: true, schema: {type: string}}]
              responses:
                '200': {description: A pet., content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
                default: {description: Failed., content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}}
        components:
          securitySchemes: {token: {type: http, scheme: bearer}}
          schemas:
            Pet: {type: object, required: [name], properties: {name: {type: string}}}
            Error: {type: object, required: [message], properties: {message: {type: string}}}
        ",
    );
    let contract = contract::load_text("pets.yaml", yaml.as_bytes()).contract;
    let options = codegen::Options {
        mock,
        runtime: codegen::Runtime::Path("../api-runtime".to_owned()),
        ..options("pets")
    };
    let files = codegen::generate(&contract.expect("it is a contract"), &options);
    let mut files = files.expect("it is generated").into_iter();
    files.find(|file| file.path == path).map(|file| file.text)
}

#[test]
fn a_mock_is_a_method_for_each_operation() {
    for path in [
        "src/lib.rs",
        "src/operations/pet.rs",
        "Cargo.toml",
        "README.md",
    ] {
        let path = format!("pets-mock/{path}");
        insta::assert_snapshot!(
            path.replace('/', "_"),
            file(true, &path).expect("it is generated")
        );
        assert_eq!(file(false, &path), None);
    }
}

#[test]
fn the_recipe_stands_in_the_readme_of_the_client() {
    let readme = |mock| file(mock, "pets-client/README.md").expect("a client has a README");
    let (with, without) = (readme(true), readme(false));
    let heading = "## Test a caller\n\n";
    let (before, rest) = with.split_once(heading).expect("the recipe is there");
    let (recipe, after) = rest.split_once("\n## ").expect("the features follow");
    insta::assert_snapshot!(recipe);
    assert_eq!(format!("{before}## {after}"), without);
    let manifest = |mock| file(mock, "pets-client/Cargo.toml").expect("a client has a manifest");
    assert!(!manifest(false).contains("pets-mock"));
    assert!(manifest(true).contains("pets-mock = { path = \"../pets-mock\" }\n"));
}
