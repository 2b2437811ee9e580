//! The page of extensions (docs/extensions.md): it has every field `x-…` that the generator reads,
//! and its examples do what it says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

/// Names that the sources have, and that are no extensions which the generator reads.
const OTHERS: [&str; 4] = [
    // A header.
    "x-request-id",
    // Read by `lint` and `diff` alone; docs/diff.md describes it.
    "x-stability",
    // What a repair leaves of a pattern that no one can read.
    "x-pattern",
    // What a repair leaves of the media type `*/*`.
    "x-media-range",
];

/// A section of the page.
struct Section<'p> {
    name: &'p str,
    text: &'p str,
}

impl<'p> Section<'p> {
    /// Returns the lines of generated files that the extension makes: Rust, or the description of a
    /// command line.
    fn lines(&self) -> &'p str {
        if self.text.contains("```json5\n") {
            self.code("json5")
        } else {
            self.code("rust")
        }
    }

    /// Returns the code block in a language, which the section has once.
    fn code(&self, language: &str) -> &'p str {
        let fence = format!("```{language}\n");
        let mut blocks = self.text.split(&fence).skip(1);
        let block = blocks.next().and_then(|block| block.split_once("```"));
        let (block, _) = block.unwrap_or_else(|| panic!("{} has no {language}", self.name));
        assert!(blocks.next().is_none(), "{}", self.name);
        block
    }
}

fn sections(page: &str) -> Vec<Section<'_>> {
    let sections = page.split("\n## `").skip(1);
    let named = sections.map(|section| section.split_once("`\n").expect("a heading is a line"));
    named.map(|(name, text)| Section { name, text }).collect()
}

fn page() -> String {
    fs::read_to_string("../docs/extensions.md").expect("the page exists")
}

/// Adds the names of extensions that the Rust sources of a folder have as texts.
fn add_names(folder: &Path, names: &mut BTreeSet<String>) {
    let name = Regex::new(r#""(x-[a-z-]*[a-z])""#).expect("it is a pattern");
    for entry in fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_names(&path, names);
        } else {
            let text = fs::read_to_string(&path).unwrap_or_default();
            names.extend(name.captures_iter(&text).map(|found| found[1].to_owned()));
        }
    }
}

#[test]
fn the_page_has_every_extension_that_is_read_and_no_other() {
    let mut names = BTreeSet::new();
    for krate in ["contract", "codegen"] {
        add_names(&Path::new("../crates").join(krate).join("src"), &mut names);
    }
    for other in OTHERS {
        assert!(names.remove(other), "the sources no longer have `{other}`");
    }
    let page = page();
    let documented: Vec<&str> = sections(&page).iter().map(|section| section.name).collect();
    assert_eq!(documented, names.iter().collect::<Vec<_>>());
}

/// Returns the value of the field `name` wherever a document has it.
fn values<'d>(document: &'d Value, name: &str, found: &mut Vec<&'d Value>) {
    match document {
        Value::Object(fields) => {
            found.extend(fields.get(name));
            fields.values().for_each(|field| values(field, name, found));
        }
        Value::Array(items) => items.iter().for_each(|item| values(item, name, found)),
        _ => {}
    }
}

#[test]
fn the_examples_of_extensions_do_what_the_page_says() {
    let page = page();
    for section in sections(&page) {
        let name = section.name;
        let loaded = contract::load_text("example.yaml", section.code("yaml").as_bytes());
        let found = contract::render(&loaded.sources, &loaded.diagnostics);
        assert!(loaded.diagnostics.is_empty(), "{name}: {found}");
        let contract = loaded.contract.expect("it has no diagnostics");
        let schema = serde_json::from_str(section.code("json")).expect("it is JSON");
        let schema = jsonschema::validator_for(&schema).expect("it is a schema");
        let mut used = Vec::new();
        values(&contract.document, name, &mut used);
        assert!(!used.is_empty(), "{name}");
        assert!(used.iter().all(|value| schema.is_valid(value)), "{name}");
        assert!(!schema.is_valid(&Value::Null), "{name}");

        let options = codegen::Options {
            // Not a copy, whose sources would be among the files.
            runtime: codegen::Runtime::Path("../api-runtime".to_owned()),
            cli: Some("pets".to_owned()),
            ..codegen::Options::new("pets")
        };
        let files = codegen::generate(&contract, &options).expect("it is generated");
        let lines: BTreeSet<&str> = files
            .iter()
            .flat_map(|file| file.text.lines())
            .map(str::trim)
            .collect();
        for line in section.lines().lines() {
            assert!(lines.contains(line.trim()), "{name}: `{line}`");
        }
        // Without the extension, at least one of the lines is not there.
        let plain = section.code("yaml").replace(name, "x-other");
        let plain = contract::load_text("example.yaml", plain.as_bytes());
        let plain = plain.contract.expect("it is read all the same");
        let files = codegen::generate(&plain, &options).expect("it is generated");
        let lines: BTreeSet<&str> = files
            .iter()
            .flat_map(|file| file.text.lines())
            .map(str::trim)
            .collect();
        let is_there = |line: &str| lines.contains(line.trim());
        assert!(
            !section.lines().lines().all(is_there),
            "{name} has no effect"
        );
    }
}

/// The page's parts of a response, each with the type that it says of the body or its items.
#[test]
fn the_bodies_of_the_page_on_version_3_2_are_typed() {
    let page = include_str!("../../docs/openapi-3.2.md");
    let blocks = page.split("```yaml\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    let types = [
        "ItemStream<types::LogEntry>",
        "TypedEvent<types::Change>",
        "#[field(json_text = \"application/json\")] pub data: Change",
        "Parts<(Part<Json<types::AlbumInfo>>, Part<Bytes>), Text<String>>",
    ];
    assert_eq!(blocks.len(), types.len());
    for (block, expected) in blocks.iter().zip(types) {
        let block: String = block
            .lines()
            .map(|line| format!("          {line}\n"))
            .collect();
        let document = format!(
            "openapi: 3.2.0
info: {{ title: Pets, version: 1.0.0 }}
paths:
  /log:
    get:
      operationId: log_watch
      responses:
        '200':
          description: Entries.
{block}components:
  schemas:
    LogEntry: {{ type: object, properties: {{ line: {{ type: string }} }} }}
    Change: {{ type: object, properties: {{ name: {{ type: string }} }} }}
    AlbumInfo: {{ type: object, properties: {{ title: {{ type: string }} }} }}
"
        );
        let loaded = contract::load_text("example.yaml", document.as_bytes());
        let found = contract::render(&loaded.sources, &loaded.diagnostics);
        let wrong = |line: &&str| line.starts_with("error");
        assert_eq!(found.lines().find(wrong), None, "{found}");
        let contract = loaded.contract.expect("it has no errors");
        let options = codegen::Options {
            runtime: codegen::Runtime::Path("../api-runtime".to_owned()),
            ..codegen::Options::new("pets")
        };
        let files = codegen::generate(&contract, &options).expect("it is generated");
        // Without paths, and on one line.
        let has = |file: &codegen::File| {
            let text: String = file.text.split_whitespace().collect();
            let text = text.replace("runtime::", "").replace("server::", "");
            text.replace(",>", ">")
                .replace(",)", ")")
                .contains(&expected.replace(' ', ""))
        };
        assert!(files.iter().any(has), "{expected}");
    }
}
