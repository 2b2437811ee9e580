//! Probe.
use serde_json::{Value, json};

#[test]
fn suite() {
    let folder = std::path::PathBuf::from("/work/shared/json-schema-suite");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    let (mut total, mut good) = (0, 0);
    for file in &files {
        let groups: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        for group in groups.as_array().unwrap() {
            let mut schema = group["schema"].clone();
            if let Some(map) = schema.as_object_mut() && !map.contains_key("$id") {
                map.insert("$id".into(), "urn:stratus:case".into());
            }
            let doc = json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "components": {"schemas": {"S": schema}}});
            let text = serde_json::to_vec(&doc).unwrap();
            let loaded = contract::load_text("t.json", &text);
            let tests = group["tests"].as_array().unwrap();
            total += tests.len();
            let Some(contract) = loaded.contract else {
                println!("REFUSED {} {}: {:?}", file.display(), group["description"], loaded.diagnostics);
                continue;
            };
            let mut bundle = contract::bundle::schema_bundle(&contract);
            bundle["$ref"] = "#/components/schemas/S".into();
            let validator = match jsonschema::draft202012::options().should_validate_formats(false).build(&bundle) { Ok(v) => v, Err(e) => { println!("COMPILE {e} {bundle}"); continue; } };
            for test in tests {
                if validator.is_valid(&test["data"]) == test["valid"].as_bool().unwrap() { good += 1 } else { println!("WRONG {} {} {} {bundle}", file.display(), group["description"], test["description"]); }
            }
        }
    }
    println!("{good} of {total}");
}

#[test]
fn corpus() {
    let folder = std::path::PathBuf::from("/work/shared/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e != "md")).collect();
    files.push("/work/main/openapi.yaml".into());
    files.sort();
    for file in &files {
        let start = std::time::Instant::now();
        let loaded = contract::load(file);
        let took = start.elapsed();
        let errors = loaded.diagnostics.iter().filter(|d| d.severity == contract::Severity::Error).count();
        println!("{} {} ops {:?} schemas {:?} errors {errors} warnings {} {took:?}", if loaded.contract.is_some() {"ok "} else {"REFUSED"}, file.file_name().unwrap().display(), loaded.contract.as_ref().map(|c| c.operations.len()), loaded.contract.as_ref().map(|c| c.schemas.len()), loaded.diagnostics.len() - errors);
        let Some(contract) = loaded.contract else { continue };
        let start = std::time::Instant::now();
        let mut bundle = contract::bundle::schema_bundle(&contract);
        let took = start.elapsed();
        bundle["prefixItems"] = (0..contract.schemas.len()).map(|i| json!({"$ref": contract::bundle::schema_reference(&contract, contract::model::SchemaId(i as u32))})).collect();
        let start = std::time::Instant::now();
        if let Err(e) = jsonschema::draft202012::options().build(&bundle) { println!("  COMPILE {e}"); }
        println!("   bundle {took:?} compile {:?}", start.elapsed());
        if file.ends_with("openapi.yaml") { for d in loaded.diagnostics { println!("{d:?}"); } }
        for s in &contract.schemas { if bundle.pointer(&s.pointer).is_none() { println!("  no {}", s.pointer); } }
    }
}
