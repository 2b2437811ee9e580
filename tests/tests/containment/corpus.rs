//! Random changes of the schemas of public documents: how many of them are not decided.

use std::collections::BTreeMap;
use std::fs;

use compatibility::{Kind, compare};
use contract::model::Contract;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::strategy::{Strategy as _, ValueTree as _};
use serde_json::{Value, json};
use tests::outside;
use tests::random::{Choices, Run};

use super::random::change;

/// The largest document that is changed, in bytes: many small ones show more than a few large ones.
const LARGEST: u64 = 1 << 20;
/// The number of schemas of a document that are changed at once.
const CHANGES: usize = 8;
/// The bytes of choices for a change of a document.
const CHOICES: usize = 256;

/// What is added to a schema of a type, so that changes also narrow.
fn bound(schema: &mut Value, choices: &mut Choices<'_>) {
    let kinds = [
        ("string", "maxLength", json!(7)),
        ("string", "pattern", json!(r"^[\w .-]+$")),
        ("string", "pattern", json!(r"^\S.*$")),
        ("string", "format", json!("uuid")),
        ("integer", "maximum", json!(1000)),
        ("integer", "multipleOf", json!(5)),
        ("number", "minimum", json!(0.5)),
        ("array", "maxItems", json!(3)),
        ("array", "uniqueItems", json!(true)),
        ("object", "minProperties", json!(2)),
        ("object", "additionalProperties", json!(false)),
    ];
    let of_type: Vec<_> = kinds
        .iter()
        .filter(|(kind, keyword, _)| schema["type"] == *kind && schema.get(keyword).is_none())
        .collect();
    if !of_type.is_empty() {
        let (_, keyword, value) = choices.of(&of_type);
        schema[*keyword] = value.clone();
    }
}

/// Returns a document in which some schemas have changed.
fn changed(contract: &Contract, whole: &Value, choices: &mut Choices<'_>) -> Value {
    let mut whole = whole.clone();
    for _ in 0..CHANGES {
        let schema = choices.of(&contract.schemas);
        let Some(at) = whole.pointer_mut(&schema.pointer) else {
            // Within one that was changed before.
            continue;
        };
        if !at.is_object() {
            continue;
        }
        if choices.below(2) == 1 {
            bound(at, choices);
        } else {
            *at = change(at, choices);
        }
    }
    whole
}

#[test]
fn few_changes_of_public_documents_are_undecided() {
    let Some(folder) = outside::folder("STRATUS_CORPUS") else {
        return;
    };
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.metadata().is_ok_and(|about| about.len() < LARGEST))
        .collect();
    files.sort_unstable();
    let documents: Vec<(Contract, Value)> = files
        .iter()
        .filter_map(|path| {
            let contract = contract::load(path).contract?;
            let whole = contract.document.part("")?;
            (!contract.schemas.is_empty()).then_some((contract, whole))
        })
        .collect();
    assert!(documents.len() > 20, "{} documents", documents.len());
    let run = Run::of_seed(1, 200);
    let mut runner = run.runner();
    let (mut decided, mut undecided) = (0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for case in 0..run.cases as usize {
        let (base, whole) = &documents[case % documents.len()];
        let bytes = vec(any::<u8>(), CHOICES).new_tree(&mut runner);
        let bytes = bytes.expect("bytes have no conditions").current();
        let other = changed(base, whole, &mut Choices::new(&bytes));
        let loaded = contract::load_text("changed.json", other.to_string().as_bytes());
        let Some(revision) = loaded.contract else {
            continue;
        };
        for finding in compare(base, &revision).findings {
            if finding.kind == Kind::Undecided {
                undecided += 1;
                let reason = finding.message.split("because of ").nth(1);
                let reason = reason.and_then(|text| text.split(';').next());
                *reasons
                    .entry(reason.unwrap_or_default().to_owned())
                    .or_default() += 1;
            } else {
                decided += 1;
            }
        }
    }
    println!("{decided} decided, {undecided} undecided: {reasons:?}");
    assert!(decided > run.cases, "{decided} findings");
    assert!(
        undecided * 100 <= decided,
        "{undecided} findings are undecided, and {decided} are decided: {reasons:?}"
    );
}
