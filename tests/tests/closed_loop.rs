//! The document that is derived from the generated Rust is equal to the contract.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::closed_loop::{differences, normalise};
use tests::standalone::Standalone;

fn text() -> Vec<u8> {
    std::fs::read("../openapi.yaml").expect("the contract is beside the crates")
}

fn contract() -> Value {
    contract::load_text("openapi.yaml", &text())
        .contract
        .expect("the contract has no errors")
        .document
        .to_json()
}

#[test]
fn the_document_of_the_generated_rust_is_the_contract() {
    let found = differences(
        &normalise(&contract()),
        &normalise(&api_server::openapi::json()),
    );
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_utoipa_writes_is_the_contract() {
    let document = api_server::openapi::openapi().expect("utoipa holds the document");
    let document = serde_json::to_value(document).expect("utoipa writes JSON");
    let found = differences(&normalise(&contract()), &normalise(&document));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_schemars_writes_is_the_contract() {
    let contract = normalise(&contract());
    let components = contract["components"]["schemas"]
        .as_object()
        .expect("the contract has schemas");
    let known: BTreeSet<&str> = api_types::schemas::JSON_SCHEMAS
        .iter()
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(
        known,
        components.keys().map(String::as_str).collect(),
        "every component of the contract is in the derived document"
    );
    for (name, json_schema) in api_types::schemas::JSON_SCHEMAS {
        let mut derived = json_schema().to_value();
        let own = derived
            .as_object_mut()
            .expect("a schema that describes something is an object");
        let mentioned = own.remove("$defs").unwrap_or_else(|| json!({}));
        own.remove("$schema");
        // schemars uses the name of the type as the title of a schema that has none.
        own.remove("title")
            .filter(|title| title != name)
            .map(|title| own.insert("title".to_owned(), title));
        let mut found = differences(
            &contract["components"]["schemas"][name],
            &normalise(&in_components(&derived)),
        );
        for (other, derived) in mentioned.as_object().expect("definitions are an object") {
            let derived = normalise(&in_components(derived));
            found.extend(differences(
                &contract["components"]["schemas"][other],
                &derived,
            ));
        }
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    }
}

/// Returns the schema with references to `components/schemas`.
fn in_components(schema: &Value) -> Value {
    let text = schema
        .to_string()
        .replace("\"#/$defs/", "\"#/components/schemas/");
    serde_json::from_str(&text).expect("the text is still JSON after references are replaced")
}

/// Adds a program that prints the document that is derived from the crates.
fn add_derive(crates: &Standalone, prefix: &str) {
    crates.add_program(
        &format!("{prefix}-derive"),
        &format!(
            "{prefix}-server = {{ path = \"../{prefix}-server\", features = [\"utoipa\"] }}\n"
        ),
        &format!("fn main() {{\n    println!(\"{{}}\", {prefix}_server::openapi::json());\n}}\n"),
    );
}

#[test]
fn a_change_in_the_generated_rust_is_reported() {
    let crates = Standalone::generate(
        env!("CARGO_TARGET_TMPDIR"),
        "faults",
        "openapi.yaml",
        &text(),
        "faults",
    );
    add_derive(&crates, "faults");
    // A required flag.
    let count = "#[field(optional)]\n    pub count: Option<Count>,\n    /// The virtual";
    crates.replace(
        "faults-types/src/vm.rs",
        "pub count: Count,\n    /// The virtual",
        count,
    );
    // A bound.
    let bound = "minimum = 1, maximum = 2147483647)]\npub struct StorageSizeGib";
    crates.replace(
        "faults-types/src/shared.rs",
        bound,
        &bound.replace("= 1,", "= 2,"),
    );
    // A pattern.
    let pattern = "pattern = \"^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$\")]\npub struct Name(";
    crates.replace(
        "faults-types/src/shared.rs",
        pattern,
        &pattern.replace("[a-z0-9](?", "[a-z](?"),
    );
    // A status.
    let status = "#[response(200, json)]\n    Ok(faults_types::VmPage)";
    crates.replace(
        "faults-server/src/vm.rs",
        status,
        &status.replace("200", "202"),
    );
    // A parameter.
    let parameter = "#[parameter(query, default = 10)]\n    pub page_size";
    crates.replace(
        "faults-server/src/vm.rs",
        parameter,
        &parameter.replace("query", "query, name = \"size\""),
    );
    // A default.
    let default = "#[parameter(query, default = \"id\")]\n    pub order_column";
    crates.replace(
        "faults-server/src/vm.rs",
        default,
        &default.replace("id", "name"),
    );
    // A media type.
    let media = "#[body(json)]\n    pub body: faults_types::InferenceApiKey,";
    crates.replace(
        "faults-server/src/inference_api_key.rs",
        media,
        &media.replace("json", "json = \"text/json\""),
    );

    let derived = crates.cargo_succeeds(&["run", "--quiet", "--package", "faults-derive"]);
    let derived: Value = serde_json::from_str(&derived).expect("the program prints JSON");
    let found = differences(&normalise(&contract()), &normalise(&derived));
    for fault in [
        "/components/schemas/Name/pattern: ",
        "/components/schemas/StorageSizeGib/minimum: the contract says 1, the Rust says 2",
        "/components/schemas/VmPage/required: the contract says [\"count\",\"items\"], the Rust says [\"items\"]",
        "/paths/~1project~1{project_id}~1location~1{location}~1vm/get/parameters/3/name: \
         the contract says \"page_size\", the Rust says \"size\"",
        "/paths/~1project~1{project_id}~1location~1{location}~1vm/get/parameters/2/schema/default: \
         the contract says nothing, the Rust says \"name\"",
        "/paths/~1project~1{project_id}~1inference-api-key/post/responses/200/content/application~1json: ",
        "/paths/~1project~1{project_id}~1inference-api-key/post/responses/200/content/text~1json: the contract says nothing",
        "/paths/~1project~1{project_id}~1location~1{location}~1vm/get/responses/200: ",
        "/paths/~1project~1{project_id}~1location~1{location}~1vm/get/responses/202: the contract says nothing",
    ] {
        let reports = found
            .iter()
            .filter(|found| found.starts_with(fault))
            .count();
        assert_eq!(reports, 1, "{fault}\n{}", found.join("\n"));
    }
    // Nothing else differs, except descriptions of components that have lost their names.
    let strangers = found.iter().filter(|found| {
        ![
            "/components/schemas/Name/",
            "/components/schemas/StorageSizeGib/",
            "/components/schemas/VmPage/",
            "/paths/~1project~1{project_id}~1location~1{location}~1vm/get/parameters/2/schema/default",
            "/paths/~1project~1{project_id}~1location~1{location}~1vm/get/parameters/3/",
            "/paths/~1project~1{project_id}~1inference-api-key/post/responses/200/content/",
            "/paths/~1project~1{project_id}~1location~1{location}~1vm/get/responses/20",
        ]
        .iter()
        .any(|place| found.starts_with(place))
    });
    assert_eq!(strangers.count(), 0, "{}", found.join("\n"));
}

#[test]
fn a_document_of_3_2_is_derived_with_all_that_it_says() {
    let text = include_bytes!("closed_loop/since_32.yaml");
    let loaded = contract::load_text("pets.yaml", text);
    assert_eq!(
        contract::render(&loaded.sources, &loaded.diagnostics),
        "",
        "the document is correct"
    );
    let contract = loaded.contract.expect("the document is correct").document;
    let crates = Standalone::generate(
        env!("CARGO_TARGET_TMPDIR"),
        "since-32",
        "pets.yaml",
        text,
        "since",
    );
    add_derive(&crates, "since");
    let derived = || {
        let derived = crates.cargo_succeeds(&["run", "--quiet", "--package", "since-derive"]);
        let derived: Value = serde_json::from_str(&derived).expect("the program prints JSON");
        differences(&normalise(&contract), &normalise(&derived))
    };
    let found = derived();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let method = "server::Method::new(\"COPY\")";
    crates.replace(
        "since-server/src/pets.rs",
        method,
        &method.replace("COPY", "MOVE"),
    );
    let sunset = "sunset: Some(\"Thu, 31 Jan 2030 00:00:00 GMT\"),";
    crates.replace(
        "since-server/src/pets.rs",
        sunset,
        &sunset.replace("2030", "2031"),
    );
    let content = "#[field(optional, json_text)]\n    pub data: Option<i32>";
    crates.replace(
        "since-types/src/pets.rs",
        content,
        &content.replace("i32", "i64"),
    );
    let found = derived();
    let place = "/components/schemas/Counted/properties/data/contentSchema/format: ";
    let faults = found.iter().filter(|found| found.starts_with(place));
    assert_eq!(faults.count(), 1, "{}", found.join("\n"));
    let place = "/paths/~1pets/query/x-sunset: ";
    let faults = found.iter().filter(|found| found.starts_with(place));
    assert_eq!(faults.count(), 1, "{}", found.join("\n"));
    let faults = found.iter().filter(|found| {
        ["COPY", "MOVE"].iter().any(|method| {
            found.starts_with(&format!("/paths/~1pets/additionalOperations/{method}: "))
        })
    });
    assert_eq!(
        (faults.count(), found.len()),
        (2, 4),
        "{}",
        found.join("\n")
    );
}
