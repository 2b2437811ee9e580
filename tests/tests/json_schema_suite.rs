//! The public cases of JSON Schema 2020-12, against the schemas that generated code compiles for its checks.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tests::outside;

/// How many cases the suite has; a smaller number would be a suite that was not read.
const CASES: usize = 1209;

#[test]
fn the_schemas_that_checks_lean_on_mean_what_the_contract_says() {
    let Some(suite) = outside::folder("STRATUS_JSON_SCHEMA_SUITE") else { return };
    let mut files: Vec<PathBuf> =
        fs::read_dir(suite).expect("the folder can be read").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let (mut cases, mut wrong) = (0, Vec::new());
    for file in files {
        let text = fs::read(&file).expect("the file can be read");
        let groups: Vec<Value> = serde_json::from_slice(&text).expect("it is an array");
        for group in &groups {
            for (case, verdict) in group["tests"].as_array().expect("cases are an array").iter().zip(verdicts(group)) {
                cases += 1;
                if Some(case["valid"] == true) != verdict {
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    wrong.push(format!("{name}: {}: {}: {verdict:?}", group["description"], case["description"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cases}\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(cases, CASES);
}

/// Whether each case is accepted; none where the contract around the schema is refused.
fn verdicts(group: &Value) -> Vec<Option<bool>> {
    let cases = group["tests"].as_array().expect("cases are an array");
    let mut schema = group["schema"].clone();
    if let Some(keywords) = schema.as_object_mut() {
        // References of the suite are meant from the schema on, not from the document around it.
        keywords.entry("$id").or_insert_with(|| json!("urn:stratus:case"));
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "Case", "version": "1.0.0"},
        "components": {"schemas": {"Case": schema}},
    });
    let loaded = contract::load_text("case.json", document.to_string().as_bytes());
    let Some(contract) = loaded.contract else { return vec![None; cases.len()] };
    let mut bundle = contract::bundle::schema_bundle(&contract);
    bundle["$ref"] = json!("#/components/schemas/Case");
    let validator = jsonschema::draft202012::options().should_validate_formats(false).build(&bundle);
    let Ok(validator) = validator else { return vec![None; cases.len()] };
    cases.iter().map(|case| Some(validator.is_valid(&case["data"]))).collect()
}
