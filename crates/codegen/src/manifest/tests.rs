//! Tests that strings of a document cannot become markup or keys in manifests and READMEs, and that
//! the copies of `api-runtime` and `api-macros` are complete.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toml_edit::DocumentMut;

use super::{files, inherit, runtime, text};
use crate::{File, Options, Runtime, lower};

/// Generates the manifests and READMEs of a contract with this `info`.
fn manifests(info: &Value) -> Vec<File> {
    let document = json!({"openapi": "3.1.0", "info": info, "paths": {}});
    let loaded = contract::load_text("small.json", document.to_string().as_bytes());
    let contract = loaded.contract.expect("the document is a contract");
    files(&lower(&contract, "small"), None, &options())
}

/// Returns options with the run time in a folder.
fn options() -> Options {
    Options {
        runtime: Runtime::Path("../api-runtime".to_owned()),
        ..Options::new("small")
    }
}

fn text_of<'f>(files: &'f [File], path: &str) -> &'f str {
    let file = files.iter().find(|file| file.path == path);
    &file
        .unwrap_or_else(|| panic!("{path} is not generated"))
        .text
}

fn manifest(files: &[File]) -> DocumentMut {
    text_of(files, "small-client/Cargo.toml")
        .parse()
        .expect("a manifest is TOML")
}

#[test]
fn a_hostile_text_stays_a_string_of_toml() {
    let hostile = "a\"\n[dependencies]\nevil = \"1\"\u{0}\u{202e}\u{7f}'''\"\"\" \\";
    let files =
        manifests(&json!({"title": hostile, "version": hostile, "license": {"name": hostile}}));
    let manifest = manifest(&files);
    assert!(manifest["dependencies"].get("evil").is_none());
    assert_eq!(manifest["package"]["version"].as_str(), Some("0.1.0"));
    assert!(manifest["package"].get("license").is_none());
    let description = manifest["package"]["description"]
        .as_str()
        .expect("a description is a string");
    assert!(
        description.contains("a\" [dependencies] evil = \"1\" '''\"\"\" \\"),
        "{description}"
    );
}

#[test]
fn a_server_has_a_feature_for_idempotency_keys_if_its_contract_has_them() {
    for (name, location, expected) in [
        ("Idempotency-Key", "header", true),
        ("idempotency-key", "header", true),
        ("Idempotency-Key", "query", false),
        ("Idempotency-Keys", "header", false),
    ] {
        let key = json!({"name": name, "in": location, "schema": {"type": "string"}});
        let operation =
            json!({"parameters": [key], "responses": {"204": {"description": "None."}}});
        let document = json!({
            "openapi": "3.1.0",
            "info": {"title": "Small", "version": "1.0.0"},
            "paths": {"/things": {"post": operation}},
        });
        let loaded = contract::load_text("small.json", document.to_string().as_bytes());
        let contract = loaded.contract.expect("the document is a contract");
        let files = files(&lower(&contract, "small"), None, &options());
        let manifest = text_of(&files, "small-server/Cargo.toml");
        let manifest: DocumentMut = manifest.parse().expect("a manifest is TOML");
        let feature = manifest["features"].get("idempotency");
        let feature = feature.map(|enables| enables.to_string().trim().to_owned());
        let enables = expected.then(|| "[\"api-runtime/idempotency\"]".to_owned());
        assert_eq!(feature, enables, "{name} {location}");
        let readme = text_of(&files, "small-server/README.md");
        assert_eq!(
            readme.contains("| `idempotency` |"),
            expected,
            "{name} {location}"
        );
    }
}

#[test]
fn the_example_of_a_client_calls_the_server_of_the_contract() {
    let any = "https://api.example.com";
    for (url, expected) in [
        ("https://museum.example/v1/", "https://museum.example/v1"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        (
            "https://{place}.museum.example",
            "https://north.museum.example",
        ),
        ("/v2", "https://api.example.com/v2"),
        ("/", any),
        ("//museum.example", any),
        ("https://\");panic!(\"", any),
        ("https://a\n```", any),
        ("https://a\\", any),
        ("https:///x", any),
        ("javascript:alert(1)", any),
        ("{other}", any),
    ] {
        let document = json!({
            "openapi": "3.1.0",
            "info": {"title": "Museum", "version": "1.0.0"},
            "servers": [
                {"url": url, "variables": {"place": {"default": "north"}}},
                {"url": "https://second.example"},
            ],
            "paths": {},
        });
        let loaded = contract::load_text("small.json", document.to_string().as_bytes());
        let contract = loaded.contract.expect("the document is a contract");
        let files = files(&lower(&contract, "small"), None, &options());
        let readme = text_of(&files, "small-client/README.md");
        let line = format!("Client::builder(\"{expected}\")");
        assert!(readme.contains(&line), "{url:?}: {readme}");
    }
}

#[test]
fn a_hostile_text_stays_plain_in_markdown() {
    let hostile =
        "<script>x</script> [a](javascript:b) ```rust\npanic!()\n``` | ![c](d) #e &amp; *f*";
    let files = manifests(
        &json!({"title": hostile, "version": "1.0.0", "description": format!("T {hostile}")}),
    );
    let readme = text_of(&files, "small-client/README.md");
    for markup in ["<script", "[a](", "```rust\npanic", "![c](", "&amp;", "*f*"] {
        let escaped = markup
            .chars()
            .next()
            .is_some_and(|first| readme.contains(&format!("\\{first}")));
        assert!(
            escaped && !unescaped(readme, markup),
            "{markup} is markup in:\n{readme}"
        );
    }
}

/// Returns whether the words occur without a backslash before them.
fn unescaped(text: &str, words: &str) -> bool {
    text.match_indices(words)
        .any(|(at, _)| !text[..at].ends_with('\\'))
}

#[test]
fn a_version_and_a_licence_of_the_contract_are_those_of_the_crates() {
    let files = manifests(
        &json!({"title": "T", "version": "2.1.0-rc.1+7", "license": {"name": "Apache 2.0"}}),
    );
    let manifest = manifest(&files);
    assert_eq!(
        manifest["package"]["version"].as_str(),
        Some("2.1.0-rc.1+7")
    );
    assert_eq!(manifest["package"]["license"].as_str(), Some("Apache-2.0"));
    assert_eq!(
        manifest["dependencies"]["small-types"]["version"].as_str(),
        Some("2.1.0-rc.1")
    );
    assert!(
        files
            .iter()
            .any(|file| file.path == "small-client/LICENSE-APACHE")
    );
    assert!(
        !files
            .iter()
            .any(|file| file.path == "small-client/LICENSE-MIT")
    );
}

#[test]
fn a_contract_without_a_licence_has_crates_without_one() {
    let files = manifests(&json!({"title": "T", "version": "2022-11-28"}));
    let manifest = manifest(&files);
    assert!(manifest["package"].get("license").is_none());
    assert_eq!(manifest["package"]["version"].as_str(), Some("0.1.0"));
    assert!(!files.iter().any(|file| file.path.contains("LICENSE")));
    assert!(!text_of(&files, "small-client/README.md").contains("## Licence"));
}

#[test]
fn every_source_of_the_run_time_is_copied() {
    for (krate, _, sources) in runtime::CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate);
        let mut found = Vec::new();
        let mut pending = vec![root.join("src")];
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder).expect("the folder is readable") {
                let path = entry.expect("the folder is readable").path();
                if path.is_dir() {
                    pending.push(path);
                } else {
                    let path = path
                        .strip_prefix(&root)
                        .expect("the file is below the crate");
                    found.push(path.to_string_lossy().replace('\\', "/"));
                }
            }
        }
        found.sort();
        let embedded: Vec<&str> = sources.iter().map(|(path, _)| *path).collect();
        assert_eq!(
            embedded, found,
            "src/manifest/embedded.rs must list the sources of {krate}"
        );
    }
}

#[test]
fn a_copied_manifest_inherits_nothing() {
    for (krate, manifest, _) in runtime::CRATES {
        let spelled_out = inherit::spelled_out(manifest, "zoo");
        let document: DocumentMut = spelled_out.parse().expect("the written manifest is TOML");
        assert!(
            !spelled_out.contains("workspace"),
            "{krate}:\n{spelled_out}"
        );
        let name = krate.replace("api-", "zoo-");
        assert_eq!(document["package"]["name"].as_str(), Some(name.as_str()));
        assert_eq!(document["package"]["edition"].as_str(), Some("2024"));
    }
}

#[test]
fn what_is_inherited_is_merged_with_what_is_said_here() {
    let manifest = "[dependencies]\nregex = { workspace = true, optional = true, features = [\"std\", \"unicode-perl\"] }\n\
                    api-macros.workspace = true\nthiserror.workspace = true\n\n[dev-dependencies]\ncontract.workspace = true\n";
    insta::assert_snapshot!(inherit::spelled_out(manifest, "zoo"), @r#"
    [dependencies]
    regex = { version = "1.13", default-features = false, features = ["std", "unicode", "perf", "unicode-perl"], optional = true }
    api-macros = { path = "../zoo-macros", package = "zoo-macros", version = "0.1.0" }
    thiserror = "2.0"

    [dev-dependencies]
    "#);
}

#[test]
fn text_that_is_too_long_is_cut_at_a_word() {
    assert_eq!(text::shortened("one two, three", 9), "one two…");
    assert_eq!(text::shortened("one two", 9), "one two");
}

#[test]
fn each_source_of_the_run_time_is_a_dependency_that_cargo_knows() {
    let sources = [
        (
            "copy",
            "package = \"zoo-runtime\", path = \"../zoo-runtime\", version = \"0.1.0\"",
        ),
        (
            "copy=farm",
            "package = \"farm-runtime\", path = \"../farm-runtime\", version = \"0.1.0\"",
        ),
        (
            "version",
            "package = \"stratus-runtime\", version = \"0.1.0\"",
        ),
        (
            "version=0.1.7",
            "package = \"stratus-runtime\", version = \"0.1.7\"",
        ),
        (
            "git=https://git.example/s#1a2b",
            "package = \"stratus-runtime\", git = \"https://git.example/s\", rev = \"1a2b\", version = \"0.1.0\"",
        ),
        (
            "path=../r",
            "package = \"stratus-runtime\", path = \"../r\", version = \"0.1.0\"",
        ),
    ];
    for (text, line) in sources {
        let runtime: Runtime = text.parse().expect("it is a run time");
        assert_eq!(runtime::source(&runtime, "zoo"), line);
    }
}

#[test]
fn a_run_time_that_lacks_what_crates_call_is_refused() {
    // The promise of docs/versions.md: the generator's version, or a later compatible one.
    assert_eq!(super::runtime_version(), env!("CARGO_PKG_VERSION"));
    for text in [
        "version=0.0.9",
        "version=0.2.0",
        "version=1",
        "git=https://git.example/s",
        "path=",
        "copy=A",
        "none",
    ] {
        assert!(text.parse::<Runtime>().is_err(), "{text}");
    }
}

#[test]
fn a_server_takes_the_validator_by_a_feature_unless_its_types_need_it() {
    let manifest = |schema: Value| -> DocumentMut {
        let document = json!({
            "openapi": "3.1.0",
            "info": {"title": "Small", "version": "1.0.0"},
            "paths": {"/a": {"post": {
                "operationId": "a_create",
                "requestBody": {"content": {"application/json": {"schema": schema}}},
                "responses": {"204": {"description": "Done."}},
            }}},
        });
        let loaded = contract::load_text("small.json", document.to_string().as_bytes());
        let contract = loaded.contract.expect("the document is a contract");
        let files = files(&lower(&contract, "small"), None, &options());
        let text = text_of(&files, "small-server/Cargo.toml");
        text.parse().expect("a manifest is TOML")
    };
    let simple = manifest(json!({"type": "object", "properties": {"b": {"type": "string"}}}));
    let features = &simple["features"];
    assert_eq!(
        features["violations"][0].as_str(),
        Some("small-types/schemas")
    );
    let default = features["default"].as_array().expect("a list");
    assert!(
        default
            .iter()
            .all(|name| name.as_str() != Some("violations"))
    );
    assert!(
        simple["dependencies"]["small-types"]
            .get("features")
            .is_none()
    );
    // No type checks this keyword.
    let needed =
        manifest(json!({"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}}));
    assert!(needed["features"].get("violations").is_none());
    let enabled = &needed["dependencies"]["small-types"]["features"];
    assert_eq!(enabled[0].as_str(), Some("schemas"));
}
