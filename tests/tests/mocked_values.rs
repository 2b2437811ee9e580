//! Every response that a mock makes up fits its schema, by a validator that is built here.
//!
//! The documents are those of this repository and, if `STRATUS_CORPUS` names them, those of others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use contract::Contract;
use contract::model::{MediaType, SchemaId, SchemaKind};
use jsonschema::Validator;
use mock::{Mock, Settings};
use serde_json::{Value, json};
use tests::outside;

/// The seeds that are tried of each schema.
const SEEDS: u64 = 3;

/// Returns the schemas of all bodies, items and headers of responses, by their pointers.
fn schemas(contract: &'static Contract) -> BTreeMap<String, SchemaId> {
    let mut found = BTreeMap::new();
    for response in contract.operations.iter().flat_map(|it| &it.responses) {
        let bodies = response.content.iter().flat_map(MediaType::schemas);
        let headers = response.headers.iter().map(|header| header.schema);
        for id in bodies.chain(headers) {
            let id = contract.resolve(id);
            found.insert(contract.schema(id).pointer.clone(), id);
        }
    }
    found
}

/// Compiles a schema by its pointer in the bundle.
fn compiled(bundle: &Value, contract: &Contract, id: SchemaId) -> Validator {
    let mut root = bundle.clone();
    root["$ref"] = json!(contract::bundle::schema_reference(contract, id));
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&root)
        .expect("a contract's schema compiles")
}

/// Makes values for all responses of a document. Returns their number, and the schemas without one.
fn check(path: &Path) -> Option<(usize, Vec<String>)> {
    let options = contract::Options {
        foreign: true,
        ..contract::Options::default()
    };
    let contract = contract::load_with(path, &options).contract?;
    let mock = Mock::new(contract, Settings::default());
    let contract = mock.contract();
    let bundle = contract::bundle::schema_bundle(contract);
    let (mut made, mut without) = (0, Vec::new());
    for (pointer, id) in schemas(contract) {
        let mut validator = None;
        for (seed, is_dynamic) in (0..SEEDS).flat_map(|seed| [(seed, false), (seed, true)]) {
            match mock.values().value(id, seed, is_dynamic) {
                Ok(value) => {
                    let validator =
                        validator.get_or_insert_with(|| compiled(&bundle, contract, id));
                    if let Err(error) = validator.validate(&value) {
                        panic!("{}: {pointer}: {error}: {value}", path.display());
                    }
                    made += 1;
                }
                Err(error) => {
                    if !matches!(contract.schema(id).kind, SchemaKind::Bool(false)) {
                        without.push(format!("{}: {error}", path.display()));
                    }
                    break;
                }
            }
        }
    }
    Some((made, without))
}

/// Returns the documents in a folder.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    let is_document = |file: &PathBuf| {
        let extension = file.extension().and_then(|it| it.to_str());
        matches!(extension, Some("yaml" | "yml" | "json"))
    };
    files.retain(is_document);
    files.sort();
    files
}

#[test]
fn every_response_of_our_documents_fits() {
    let mut files = vec![PathBuf::from("../openapi.yaml")];
    files.extend(documents(Path::new("tests/features")));
    for file in files {
        let (made, without) = check(&file).expect("the document is right");
        assert!(without.is_empty(), "{without:#?}");
        println!("{}: {made} values", file.display());
    }
}

#[test]
fn every_response_of_the_corpus_fits() {
    let Some(folder) = outside::folder("STRATUS_CORPUS") else {
        return;
    };
    // A document of megabytes has thousands of schemas, each of which is compiled on its own.
    let is_small = |file: &PathBuf| std::fs::metadata(file).is_ok_and(|it| it.len() < 400_000);
    let (mut made, mut without) = (0, Vec::new());
    for file in documents(&folder).into_iter().filter(is_small) {
        if let Some((more, missing)) = check(&file) {
            made += more;
            without.extend(missing);
        }
    }
    println!("{made} values, without one: {without:#?}");
    assert!(made > 1000, "{made}");
    let most = made / 1000;
    assert!(
        without.len() <= most,
        "{} of {made}: {without:#?}",
        without.len()
    );
}
