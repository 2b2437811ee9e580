//! The types that are generated for each feature of a schema, beside a contract that has it.

mod enumerations;
mod names;
mod objects;
mod recursion;
mod scalars;
mod unions;

/// The diagnostics that are allowed, because these contracts have schemas and nothing else, and some
/// of the schemas contradict themselves.
const BESIDE_THE_POINT: [&str; 4] = [
    "unused-component",
    "component-name",
    "impossible-schema",
    "bound-beyond-format",
];

/// Returns the types that are generated for a contract, file by file.
fn types(contract: &str) -> String {
    let loaded = contract::load_text("small.yaml", contract.as_bytes());
    let diagnostics: Vec<_> = loaded
        .diagnostics
        .iter()
        .filter(|diagnostic| !BESIDE_THE_POINT.contains(&diagnostic.code))
        .cloned()
        .collect();
    assert!(
        diagnostics.is_empty(),
        "{}",
        contract::diagnostic::render(&loaded.sources, &diagnostics)
    );
    let contract_model = loaded
        .contract
        .expect("a document without errors is a contract");
    let options = codegen::Options::new("small");
    let files = codegen::generate(&contract_model, &options).expect("a contract is generated");
    let mut text = String::new();
    for file in files {
        let name = file
            .path
            .strip_prefix("small-types/src/")
            .unwrap_or_default();
        if name.ends_with(".rs") && name != "lib.rs" && name != "schemas.rs" {
            text.push_str(&format!("---- {name}\n{}", file.text));
        }
    }
    text
}
