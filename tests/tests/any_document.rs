//! Any bytes are either a contract whose crates are valid Rust, or rejected with diagnostics, in
//! bounded time and memory and without a panic.
//!
//! `STRATUS_SEED` repeats a run, `STRATUS_CASES` makes it longer. `tests/fuzz` runs the same checks
//! with `cargo fuzz`.

use std::panic;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use tests::any_document::{change, damage, generate, read};
use tests::outside;
use tests::random::{Choices, Run};

/// The time that one document may take: far more than any of them needs, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most memory that a test may ask for, in bytes.
const MEMORY: u64 = 4 << 30;

/// The largest document of the corpus that is drawn from, in bytes: many small ones find more than
/// few large ones.
const LARGEST: usize = 40_000;

/// The documents that cases start from.
struct Source {
    name: &'static str,
    documents: Vec<Document>,
    /// The number of cases that start from these documents, unless `STRATUS_CASES` sets it.
    cases: u32,
    /// The percentage of changed documents that must at least be accepted. If all of them were
    /// rejected, the generator would not be tested.
    least_generated: u32,
}

/// Returns every source that is available. Each is tested by itself, so that the result for the
/// documents of this repository does not depend on whether there is a corpus.
fn sources() -> Vec<Source> {
    let mut small: Vec<PathBuf> = [
        "../xtask/tests/documents/pets.yaml",
        "tests/additions/old.yaml",
        "tests/additions/new.yaml",
    ]
    .map(PathBuf::from)
    .into();
    small.extend(files("tests/features", &["yaml"]));
    let mut sources = vec![
        Source {
            name: "small contracts",
            documents: small.iter().map(document).collect(),
            cases: 200,
            least_generated: 15,
        },
        Source {
            name: "openapi.yaml",
            documents: vec![document("../openapi.yaml")],
            // It is larger than all the others together.
            cases: 40,
            least_generated: 12,
        },
    ];
    if let Some(folder) = outside::folder("STRATUS_CORPUS") {
        let corpus = files(folder, &["json", "yaml", "yml"]);
        let corpus = corpus.iter().map(document);
        sources.push(Source {
            name: "the corpus",
            documents: corpus.filter(|(_, text)| text.len() < LARGEST).collect(),
            cases: 400,
            least_generated: 15,
        });
    }
    sources
}

/// Returns the files of a folder that have one of these extensions, sorted.
fn files(folder: impl AsRef<Path>, extensions: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("the entry can be read").path());
    let has_extension = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    let mut files: Vec<PathBuf> = paths.filter(has_extension).collect();
    files.sort();
    files
}

fn document(file: impl AsRef<Path>) -> Document {
    let file = file.as_ref();
    let text = fs::read(file).expect("the file can be read");
    (file.display().to_string(), text)
}

/// The name and the text of a document.
type Document = (String, Vec<u8>);

/// Makes a document from each string of choices and runs a check on it. The time of each case is
/// limited, and the memory of the whole test.
fn each(
    cases: u32,
    make: impl Fn(&mut Choices<'_>) -> Document,
    judge: impl Fn(&str, &[u8]) + Clone + Send + Sync + 'static,
) {
    let limit = Rlimit {
        current: Some(MEMORY),
        ..getrlimit(Resource::As)
    };
    setrlimit(Resource::As, limit).expect("a limit can be set");
    // The hook keeps the message of the last panic for the report of the failure. Printing each one
    // would hide the rest, because shrinking repeats the panic many times.
    let said = Arc::new(Mutex::new(String::new()));
    let last = said.clone();
    panic::set_hook(Box::new(move |panic| {
        *last.lock().expect("no panic while the lock is held") = panic.to_string();
    }));
    let strategy = proptest::collection::vec(any::<u8>(), 0..200);
    let drawn = Run::from_environment(cases)
        .runner()
        .run(&strategy, |bytes| {
            let (name, text) = make(&mut Choices::new(&bytes));
            let (judge, shown) = (
                judge.clone(),
                String::from_utf8_lossy(&text)
                    .chars()
                    .take(4000)
                    .collect::<String>(),
            );
            let (done, end) = mpsc::channel();
            let worker = thread::spawn(move || {
                judge(&name, &text);
                // Sending fails only if the receiver has given up, which it has reported.
                let _ = done.send(());
            });
            if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                return Err(TestCaseError::fail(format!("it takes too long\n{shown}\n")));
            }
            let panicked = |_| {
                format!(
                    "{}\n{shown}\n",
                    said.lock().expect("no panic while the lock is held")
                )
            };
            worker
                .join()
                .map_err(|panic| TestCaseError::fail(panicked(panic)))
        });
    let _ = panic::take_hook();
    drawn.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_bytes_are_read_or_refused() {
    let start = b"openapi: 3.1.0\ninfo: {title: A, version: '1'}\npaths:\n";
    let make = |choices: &mut Choices<'_>| {
        let mut text = if choices.below(2) == 0 {
            Vec::new()
        } else {
            start.to_vec()
        };
        text.extend((0..choices.below(200)).map(|_| u8::try_from(choices.below(256)).unwrap_or(0)));
        ((*choices.of(&["any.json", "any.yaml"])).to_owned(), text)
    };
    each(5000, make, |name, text| drop(read(name, text)));
}

#[test]
fn damaged_documents_are_read_or_rejected() {
    for source in sources() {
        let make = |choices: &mut Choices<'_>| {
            let (name, text) = choices.of(&source.documents);
            (name.clone(), damage(text, choices))
        };
        each(2 * source.cases, make, |name, text| drop(read(name, text)));
    }
}

#[test]
fn changed_documents_yield_rust_or_diagnostics() {
    for source in sources() {
        let load = |(name, text): &Document| {
            let contract = contract::load_text(name, text).contract;
            Some(contract?.document.to_json())
        };
        let documents: Vec<Value> = source.documents.iter().filter_map(load).collect();
        let make = |choices: &mut Choices<'_>| {
            let mut document = choices.of(&documents).clone();
            change(&mut document, choices);
            ("changed.json".to_owned(), document.to_string().into_bytes())
        };
        let counts = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let [judged, generated] = &*counts;
        let judge = {
            let counts = counts.clone();
            move |name: &str, text: &[u8]| {
                let [judged, generated] = &*counts;
                judged.fetch_add(1, Ordering::Relaxed);
                generated.fetch_add(u32::from(generate(name, text)), Ordering::Relaxed);
            }
        };
        each(source.cases, make, judge);
        let [judged, generated] = [judged, generated].map(|count| count.load(Ordering::Relaxed));
        println!("{}: {generated} of {judged} generated", source.name);
        // Few cases differ by chance: by three standard deviations, though of forty not all are rejected.
        let [share, cases] = [f64::from(source.least_generated) / 100.0, f64::from(judged)];
        let by_chance = 3.0 * (cases * share * (1.0 - share)).sqrt();
        let least = if judged < 40 { 0.0 } else { 1.0 };
        assert!(
            f64::from(generated) >= (cases * share - by_chance).max(least),
            "{}: only {generated} of {judged} changed documents generate",
            source.name
        );
    }
}

/// Returns a document with a number of component schemas, each made from its index.
fn document_of(components: usize, component: impl Fn(usize) -> String) -> String {
    let components: Vec<String> = (0..components)
        .map(|at| format!("\"C{at}\":{}", component(at)))
        .collect();
    let head = r#""openapi":"3.1.0","info":{"title":"Large","version":"1.0.0"}"#;
    format!(
        "{{{head},\"components\":{{\"schemas\":{{{}}}}}}}",
        components.join(",")
    )
}

#[test]
fn a_chain_of_a_thousand_references_is_followed() {
    let last = 999;
    let chain = document_of(last + 1, |at| {
        if at == last {
            r#"{"type":"string"}"#.to_owned()
        } else {
            format!("{{\"$ref\":\"#/components/schemas/C{}\"}}", at + 1)
        }
    });
    assert!(generate("chain.json", chain.as_bytes()));
    let circle = document_of(last + 1, |at| {
        format!(
            "{{\"$ref\":\"#/components/schemas/C{}\"}}",
            (at + 1) % (last + 1)
        )
    });
    assert!(!generate("circle.json", circle.as_bytes()));
}

#[test]
fn a_chain_of_all_of_grows_with_its_length() {
    let lines = |links: usize| {
        let chain = document_of(links, |at| {
            let own = format!(
                "{{\"type\":\"object\",\"properties\":{{\"p{at}\":{{\"type\":\"string\"}}}}}}"
            );
            match at {
                0 => own,
                _ => format!(
                    "{{\"allOf\":[{{\"$ref\":\"#/components/schemas/C{}\"}},{own}]}}",
                    at - 1
                ),
            }
        });
        let contract = read("chain.json", chain.as_bytes()).expect("the document has no errors");
        let files = codegen::generate(&contract, &codegen::Options::new("any"));
        let files = files.expect("crates are generated");
        let own = files
            .iter()
            .filter(|file| file.path.starts_with("any-") && file.path.ends_with(".rs"));
        own.map(|file| file.text.lines().count()).sum::<usize>()
    };
    // Four times as many, if each type had the properties of all links before it.
    let [short, long] = [160, 320].map(lines);
    assert!(
        2 * long < 5 * short,
        "{short} lines for 160 links, {long} for 320"
    );
}

#[test]
fn thirty_megabytes_are_read() {
    let words = "word ".repeat(60);
    let document = document_of(85_000, |at| {
        let reference = format!("#/components/schemas/C{}", at / 2);
        format!(
            "{{\"description\":\"{words}\",\"type\":\"object\",\"properties\":{{\"a\":{{\"$ref\":\"{reference}\"}}}}}}"
        )
    });
    assert!(document.len() > 30_000_000, "{}", document.len());
    let contract = read("large.json", document.as_bytes()).expect("the document has no errors");
    assert_eq!(contract.components.len(), 85_000);
}
