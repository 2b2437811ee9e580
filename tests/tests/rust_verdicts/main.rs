//! Whose Rust source a change of a contract breaks, judged by cargo-semver-checks and by the
//! compiler.
//!
//! Each row is a small change. All rows together are one contract before and one after, so that
//! their crates are compiled once: the items of a row have its number in their names.
//! cargo-semver-checks compares the crates; where it cannot see a break, a program that was written
//! for the old crates is compiled with the new ones.

mod rows;

use std::collections::{BTreeMap, BTreeSet};

use codegen::surface::{Crate, surface};
use compatibility::compare_rust;
use regex::Regex;
use rows::{ROWS, Row};
use tests::standalone::Standalone;

const PREFIX: &str = "rows";
/// The crates, each with the letter by which rows name it.
const CRATES: [(&str, Crate, char); 3] = [
    ("types", Crate::Types, 't'),
    ("client", Crate::Client, 'c'),
    ("server", Crate::Server, 's'),
];

#[test]
fn rust_verdicts_are_those_of_cargo_semver_checks_and_the_compiler() {
    if !is_installed() {
        return;
    }
    let (old, new) = (document(|row| row.old), document(|row| row.new));
    let ours = our_verdicts(&old, &new);
    let (old, new) = (generate("rows-old", &old), generate("rows-new", &new));
    let seen = semver_verdicts(&old, &new);
    let refused = compiler_verdicts(&old, &new);
    let mut wrong = Vec::new();
    for (at, row) in ROWS.iter().enumerate() {
        let number = at + 1;
        let of = |verdicts: &BTreeSet<(usize, char)>| -> String {
            let crates = CRATES.iter().map(|(.., letter)| *letter);
            crates
                .filter(|letter| verdicts.contains(&(number, *letter)))
                .collect()
        };
        let (ours, seen) = (of(&ours), of(&seen));
        if ours != row.breaks {
            wrong.push(format!("{number} {}: ours {ours:?}", row.name));
        }
        if seen != row.seen {
            wrong.push(format!("{number} {}: semver-checks {seen:?}", row.name));
        }
        if seen.chars().any(|letter| !ours.contains(letter)) {
            wrong.push(format!("{number} {}: {seen:?} against {ours:?}", row.name));
        }
        // What semver-checks does not see needs another judge, and what breaks nobody may have one.
        let is_unseen = ours.chars().any(|letter| !seen.contains(letter));
        if is_unseen && row.program.is_empty() {
            wrong.push(format!("{number} {}: nobody judges {ours:?}", row.name));
        }
        if !row.program.is_empty() && refused.contains(&number) == row.breaks.is_empty() {
            wrong.push(format!("{number} {}: the compiler disagrees", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn is_installed() -> bool {
    let found = launch::cargo()
        .args(["semver-checks", "--version"])
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        assert!(
            std::env::var_os("CI").is_none(),
            "CI needs cargo-semver-checks"
        );
        println!("skipped: cargo-semver-checks is not installed");
    }
    found
}

/// Returns a contract with one side of every row.
fn document(side: impl Fn(&Row) -> &'static str) -> String {
    let (mut schemas, mut paths) = (String::new(), String::new());
    for row in ROWS {
        for line in side(row).lines().map(str::trim) {
            let (section, indent) = if line.starts_with('/') {
                (&mut paths, "  ")
            } else {
                (&mut schemas, "    ")
            };
            section.push_str(&format!("{indent}{line}\n"));
        }
    }
    format!(
        "openapi: 3.1.0
info: {{title: Rows, version: 1.0.0}}
components:
  securitySchemes:
    token: {{type: http, scheme: bearer}}
  schemas:
{schemas}paths:
  /always: {{get: {{operationId: always, tags: [always], security: [{{token: []}}], responses: {{'204': {{description: Done.}}}}}}}}
{paths}"
    )
}

fn load(document: &str) -> contract::Loaded {
    contract::load_text("rows.yaml", document.as_bytes())
}

/// Returns the rows that break a crate, as `cargo xtask diff` says.
fn our_verdicts(old: &str, new: &str) -> BTreeSet<(usize, char)> {
    let [old, new] = [old, new].map(|document| {
        let loaded = load(document);
        let diagnostics = contract::diagnostic::render(&loaded.sources, &loaded.diagnostics);
        let contract = loaded.contract.unwrap_or_else(|| panic!("{diagnostics}"));
        surface(&codegen::lower(&contract, PREFIX), None)
    });
    let mut out = BTreeSet::new();
    for finding in compare_rust(&old, &new).findings {
        let rows = numbers(&finding.item);
        assert_eq!(rows.len(), 1, "{finding:?}");
        for (_, krate, letter) in CRATES {
            if finding.crates.contains(&krate) {
                out.extend(rows.iter().map(|row| (*row, letter)));
            }
        }
    }
    out
}

/// Returns the numbers of the rows whose items a text names.
fn numbers(text: &str) -> BTreeSet<usize> {
    let name = Regex::new(r"(?i)(?:^|[^a-z0-9]|client)r(\d\d)").expect("the pattern is right");
    name.captures_iter(text)
        .map(|found| found[1].parse().expect("two digits are a number"))
        .collect()
}

fn generate(name: &str, document: &str) -> Standalone {
    Standalone::generate_from(env!("CARGO_TARGET_TMPDIR"), name, load(document), PREFIX)
}

/// Returns the rows that break a crate, as cargo-semver-checks says.
fn semver_verdicts(old: &Standalone, new: &Standalone) -> BTreeSet<(usize, char)> {
    let mut out = BTreeSet::new();
    for (part, _, letter) in CRATES {
        // What rustdoc describes has no features: the manifests say them.
        let krate = format!("{PREFIX}-{part}");
        let left = new.features(&krate);
        for feature in old.features(&krate) {
            if !left.contains(&feature) {
                out.extend(numbers(&feature).into_iter().map(|row| (row, letter)));
            }
        }
        let [before, after] = [old, new].map(|crates| crates.describe(&krate, &[]));
        let output = launch::cargo()
            .args([
                "semver-checks",
                "--color",
                "never",
                "--release-type",
                "minor",
            ])
            .arg("--baseline-rustdoc")
            .arg(before)
            .arg("--current-rustdoc")
            .arg(after)
            .output()
            .expect("cargo can be started");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("Summary"), "{printed}{errors}");
        // Below this line are the items of each lint that has failed.
        let mut is_failed = false;
        for line in printed.lines() {
            match line.trim() {
                "Failed in:" => is_failed = true,
                line if line.starts_with("--- ") => is_failed = false,
                line if is_failed => {
                    let item = line.split(", previously").next().unwrap_or(line);
                    let item = item.split(" in /").next().unwrap_or(item);
                    out.extend(numbers(item).into_iter().map(|row| (row, letter)));
                }
                _ => {}
            }
        }
    }
    out
}

/// Returns the rows whose program compiles with the old crates only.
fn compiler_verdicts(old: &Standalone, new: &Standalone) -> BTreeSet<usize> {
    let failed: Vec<BTreeMap<usize, String>> = [old, new]
        .into_iter()
        .map(|crates| {
            for (at, row) in ROWS.iter().enumerate() {
                if !row.program.is_empty() {
                    let path = format!("rows-programs/src/bin/row_{}.rs", at + 1);
                    let program = row.program;
                    crates.write(
                        &path,
                        &format!("#![allow(warnings)]\nuse rows_types::*;\nuse rows_client::prelude::*;\n{program}\nfn main() {{}}\n"),
                    );
                }
            }
            let dependencies = "rows-types = { path = \"../rows-types\" }\nrows-client = { path = \"../rows-client\" }\nrows-server = { path = \"../rows-server\" }\napi-runtime = { package = \"rows-runtime\", path = \"../rows-runtime\" }\n";
            crates.add_program("rows-programs", dependencies, "fn main() {}\n");
            let output = crates.cargo(&[
                "check",
                "--package",
                "rows-programs",
                "--bins",
                "--keep-going",
                "--message-format",
                "short",
            ]);
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            let failed = Regex::new(r"row_(\d+)\.rs:.* error").expect("the pattern is right");
            let mut rows = BTreeMap::new();
            for line in errors.lines() {
                if let Some(found) = failed.captures(line) {
                    let row: usize = found[1].parse().expect("digits are a number");
                    rows.entry(row).or_insert_with(|| line.to_owned());
                }
            }
            assert!(!errors.contains("(lib) due to"), "{errors}");
            rows
        })
        .collect();
    assert!(
        failed[0].is_empty(),
        "with the old crates: {:#?}",
        failed[0]
    );
    failed[1].keys().copied().collect()
}
