//! Features of OpenAPI that contracts of others use, each as a contract of a few lines: its
//! generated client and server talk to each other, and to requests and responses written by hand.
//!
//! A feature is a contract and a file of Rust, with the implementation of the server and the calls.
//! All features are merged into one contract and compiled once.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tests::standalone::Standalone;

/// Returns the contract of each feature, with the feature's name.
fn contracts() -> Vec<(String, Value)> {
    let mut files: Vec<PathBuf> = fs::read_dir("tests/features")
        .expect("the folder of features exists")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    files.sort();
    files.iter().map(|file| contract(file)).collect()
}

/// The feature that is a document of others, in which there is something to repair.
const FOREIGN: &str = "foreign";

/// Returns the options for a document of others.
fn foreign() -> contract::Options {
    contract::Options {
        foreign: true,
        ..contract::Options::default()
    }
}

/// What may be reported about a feature: the discriminator of a union whose branches differ by other
/// properties, or by other values of its property, and a chain of `allOf` that is longer than types are
/// made for.
const ALLOWED: [&str; 3] = [
    "discriminator-property",
    "discriminator-value",
    "too-many-links",
];

/// Loads the contract of a feature, which must have no diagnostics but those that are [`ALLOWED`],
/// unless it is [`FOREIGN`].
fn contract(file: &Path) -> (String, Value) {
    let is_foreign = file.file_stem().is_some_and(|name| name == FOREIGN);
    let mut loaded = if is_foreign {
        contract::load_with(file, &foreign())
    } else {
        contract::load(file)
    };
    loaded
        .diagnostics
        .retain(|diagnostic| !ALLOWED.contains(&diagnostic.code));
    assert!(
        loaded.diagnostics.is_empty() != is_foreign,
        "{}",
        contract::render(&loaded.sources, &loaded.diagnostics)
    );
    let name = file
        .file_stem()
        .expect("the file has a name")
        .to_string_lossy()
        .into_owned();
    (
        name,
        loaded
            .contract
            .expect("a contract without diagnostics is loaded")
            .document
            .to_json(),
    )
}

/// Merges the contracts into one.
fn merged(contracts: &[(String, Value)]) -> Value {
    let mut whole = json!({"openapi": "3.2.0", "info": {"title": "Features", "version": "1.0.0"}});
    for (name, document) in contracts {
        for (section, entries) in document.as_object().expect("a document is an object") {
            match (section.as_str(), entries.as_object()) {
                ("paths" | "webhooks", Some(entries)) => add(&mut whole[section], entries, name),
                ("components", Some(sections)) => {
                    for (section, entries) in sections {
                        add(
                            &mut whole["components"][section],
                            entries.as_object().expect("a section is an object"),
                            name,
                        );
                    }
                }
                _ => {}
            }
        }
    }
    whole
}

fn add(into: &mut Value, entries: &Map<String, Value>, name: &str) {
    for (key, value) in entries {
        assert!(
            into.get(key).is_none(),
            "{name}: another feature has `{key}` already"
        );
        into[key] = value.clone();
    }
}

const DEPENDENCIES: &str = r#"
features-mock = { path = "../features-mock" }
features-server = { path = "../features-server", features = ["idempotency"] }
features-types = { path = "../features-types", features = ["fake"] }
features-webhook-receiver = { path = "../features-webhook-receiver" }
"#;

/// The other dependencies of the program, in the versions of this workspace.
const LIBRARIES: [(&str, &str); 7] = [
    (
        "axum",
        r#"{ version = "0.8", default-features = false, features = ["http1", "tokio"] }"#,
    ),
    (
        "futures-util",
        r#"{ version = "0.3", default-features = false }"#,
    ),
    (
        "jsonschema",
        r#"{ version = "0.60", default-features = false }"#,
    ),
    (
        "proptest",
        r#"{ version = "1", default-features = false, features = ["bit-set", "std"] }"#,
    ),
    (
        "reqwest",
        r#"{ version = "0.13", default-features = false, features = ["json"] }"#,
    ),
    (
        "serde_json",
        r#"{ version = "1", features = ["preserve_order"] }"#,
    ),
    (
        "tokio",
        r#"{ version = "1", default-features = false, features = ["macros", "net", "rt"] }"#,
    ),
];

#[test]
fn both_sides_of_every_feature_understand_each_other() {
    let contracts = contracts();
    let document = merged(&contracts).to_string();
    let scratch = env!("CARGO_TARGET_TMPDIR");
    // Paths that differ in the name of a parameter are not repaired in the document.
    let loaded = contract::load_text_with("features.json", document.as_bytes(), &foreign());
    let contract = loaded.contract.as_ref().expect("the features fit together");
    let bundle = contract::bundle::schema_bundle(contract).to_string();
    let options = codegen::Options {
        mock: true,
        ..codegen::Options::new("features")
    };
    let crates = Standalone::generate_with(scratch, "features", loaded, &options);
    let (mut modules, mut checks) = (String::new(), String::new());
    for (name, _) in &contracts {
        let file = fs::read_to_string(format!("tests/features/{name}.rs"))
            .expect("a feature has both sides");
        crates.write(&format!("features/src/{name}.rs"), &file);
        modules.push_str(&format!("mod {name};\n"));
        checks.push_str(&format!(
            "    println!(\"{name}\");\n    {name}::check(client, url).await;\n"
        ));
    }
    // The recipe in the README is compiled, and what it needs is called.
    let readme = fs::read_to_string(crates.root().join("features-client/README.md"));
    let readme = readme.expect("the client has a README");
    let (_, recipe) = readme
        .split_once("## Test a caller")
        .expect("the README has the recipe");
    let recipe = recipe.split("```").nth(1).expect("the recipe has code");
    let recipe = recipe.trim_start_matches("rust,no_run");
    crates.write(
        "features/src/recipe.rs",
        &format!("#![allow(dead_code)]\n{recipe}"),
    );
    crates.write("features/src/mock.rs", include_str!("features/mock.rs"));
    crates.write("features/src/fake.rs", include_str!("features/fake.rs"));
    crates.write("features/src/bundle.json", &bundle);
    modules.push_str("mod fake;\nmod mock;\nmod recipe;\n");
    checks.push_str("    mock::check().await;\n    fake::check();\n");
    let main = format!(
        "{modules}\n{}\nasync fn check(client: &Client, url: &str) {{\n{checks}}}\n",
        include_str!("features/program.rs")
            .split_once("\n\n")
            .expect("program.rs begins with its docs")
            .1
    );
    let libraries: String = LIBRARIES
        .iter()
        .map(|(name, requirement)| format!("{name} = {requirement}\n"))
        .collect();
    // Without TLS: its provider would have to be installed before the program creates HTTP clients
    // of its own.
    let tags = crates
        .features("features-client")
        .into_iter()
        .filter(|name| name != "rustls");
    let tags = tags
        .map(|name| format!("\"{name}\""))
        .collect::<Vec<_>>()
        .join(", ");
    let callers: String = [("client", tags.as_str()), ("webhook-sender", "\"callbacks\"")]
        .map(|(part, tags)| {
            format!(
                "features-{part} = {{ path = \"../features-{part}\", default-features = false, features = [{tags}] }}\n"
            )
        })
        .concat();
    crates.add_program(
        "features",
        &format!("{DEPENDENCIES}{callers}{libraries}"),
        &main,
    );
    let printed = crates.cargo_succeeds(&["run", "--quiet", "--package", "features"]);
    let names: Vec<&str> = contracts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), names);
}
