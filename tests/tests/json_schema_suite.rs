//! The public test suite of JSON Schema 2020-12, run on the types that are generated from its
//! schemas, and on the compiled schemas that the types use for checks.

use std::fs;
use std::path::PathBuf;

use contract::model::Formats;
use serde_json::{Map, Value, json};
use tests::outside;
use tests::standalone::Standalone;

/// The number of cases in the suite. Compared, so that a suite that is read in part does not pass.
const CASES: usize = 1209;

/// A group of the suite: a schema with its cases.
struct Group {
    /// The name of the component that the schema becomes.
    component: String,
    description: String,
    schema: Value,
    cases: Vec<Case>,
}

struct Case {
    description: String,
    data: Value,
    valid: bool,
}

impl Group {
    fn read(component: String, group: &Value) -> Self {
        let text = |value: &Value| {
            value["description"]
                .as_str()
                .expect("all have descriptions")
                .to_owned()
        };
        let mut schema = group["schema"].clone();
        if let Some(keywords) = schema.as_object_mut() {
            // In the suite a reference starts at the schema, here at the document.
            keywords
                .entry("$id")
                .or_insert_with(|| json!(format!("urn:stratus:{component}")));
        }
        let cases = group["tests"]
            .as_array()
            .expect("cases are an array")
            .iter()
            .map(|case| Case {
                description: text(case),
                data: case["data"].clone(),
                valid: case["valid"].as_bool().expect("a case is valid or not"),
            });
        Self {
            description: text(group),
            schema,
            cases: cases.collect(),
            component,
        }
    }
}

/// Returns every group of the suite; none if the suite is not there.
fn groups() -> Option<Vec<Group>> {
    let suite = outside::folder("STRATUS_JSON_SCHEMA_SUITE")?;
    let mut files: Vec<PathBuf> = fs::read_dir(suite)
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "json")
    });
    files.sort();
    let mut groups = Vec::new();
    for file in files {
        let text = fs::read(&file).expect("the file can be read");
        let stem: String = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .split(['-', '_'])
            .map(capital)
            .collect();
        let read: Vec<Value> =
            serde_json::from_slice(&text).expect("the file has an array of cases");
        groups.extend(
            read.iter()
                .enumerate()
                .map(|(at, group)| Group::read(format!("{stem}{at}"), group)),
        );
    }
    Some(groups)
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or_default();
    first.to_uppercase() + rest
}

/// Returns a document with these groups as its component schemas.
fn document<'g>(groups: impl IntoIterator<Item = &'g Group>) -> String {
    let schemas: Map<String, Value> = groups
        .into_iter()
        .map(|group| (group.component.clone(), group.schema.clone()))
        .collect();
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "Cases", "version": "1.0.0"},
        "components": {"schemas": schemas},
    });
    document.to_string()
}

/// Fails with all cases whose verdict differs from the suite's, or is missing.
fn compare(groups: &[Group], mut verdict: impl FnMut(&Group, &Case) -> Option<bool>) {
    let (mut cases, mut wrong) = (0, Vec::new());
    for group in groups {
        for case in &group.cases {
            cases += 1;
            let said = verdict(group, case);
            if said != Some(case.valid) {
                let Group {
                    component,
                    description,
                    ..
                } = group;
                wrong.push(format!(
                    "{component}: {description}: {}: {said:?}",
                    case.description
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {cases}\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(cases, CASES);
}

#[test]
fn the_schemas_that_checks_depend_on_mean_what_the_contract_says() {
    let Some(groups) = groups() else { return };
    let validators: Vec<_> = groups.iter().map(validator).collect();
    let validators: std::collections::HashMap<_, _> = groups
        .iter()
        .map(|group| group.component.as_str())
        .zip(&validators)
        .collect();
    compare(&groups, |group, case| {
        Some(
            validators[group.component.as_str()]
                .as_ref()?
                .is_valid(&case.data),
        )
    });
}

/// Compiles the schema of a group; none if it is not valid in a contract.
fn validator(group: &Group) -> Option<jsonschema::Validator> {
    let contract = contract::load_text("case.json", document([group]).as_bytes()).contract?;
    let mut bundle = contract::bundle::schema_bundle(&contract);
    bundle["$ref"] = json!(format!("#/components/schemas/{}", group.component));
    jsonschema::draft202012::options()
        .should_validate_formats(false)
        .build(&bundle)
        .ok()
}

/// A program that reads lines of a component's name, a blank and a JSON text, and prints for each
/// whether the type accepts the text.
const JUDGE: &str = r#"
use std::io::{self, BufRead as _, Write as _};

use suite_types::schemas::TYPES;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (name, text) = line.split_once(' ').expect("a name and a text");
        let (_, recode) = TYPES.iter().find(|(known, _)| *known == name).expect("a type of that name");
        writeln!(out, "{}", recode(text.as_bytes()).is_ok())?;
    }
    Ok(())
}
"#;

#[test]
fn the_generated_types_accept_what_the_suite_says() {
    let Some(groups) = groups() else { return };
    // In the suite `format` is an annotation, which is the standard's default.
    let loaded = contract::load_text_with(
        "suite.json",
        document(&groups).as_bytes(),
        &contract::Options {
            formats: Formats::Annotation,
            ..contract::Options::default()
        },
    );
    let crates = Standalone::generate_from(env!("CARGO_TARGET_TMPDIR"), "suite", loaded, "suite");
    let dependency = "suite-types = { path = \"../suite-types\", features = [\"schemas\"] }\n";
    crates.add_program("suite-judge", dependency, JUDGE);
    let cases: String = groups
        .iter()
        .flat_map(|group| {
            group
                .cases
                .iter()
                .map(move |case| format!("{} {}\n", group.component, case.data))
        })
        .collect();
    let verdicts = crates.cargo_with_input(&["run", "--quiet", "--package", "suite-judge"], &cases);
    let mut verdicts = verdicts
        .lines()
        .map(|line| line.parse().expect("true or false"));
    compare(&groups, |_, _| verdicts.next());
}
