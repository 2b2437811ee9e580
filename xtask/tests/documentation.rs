//! Every command that README.md and docs/ tell people to type is one that the program knows, with
//! flags that it has.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// How commands begin that this workspace's program has.
const CALLS: [&str; 2] = ["cargo xtask ", "cargo stratus "];
/// What ends a command in a line of a shell.
const ENDS: [&str; 6] = ["|", ">", "2>", "&&", "&", ";"];

fn pages() -> Vec<PathBuf> {
    let docs = Path::new(ROOT).join("docs");
    let entries = fs::read_dir(docs).expect("the folder is there");
    let files = entries.map(|entry| entry.expect("it can be read").path());
    let mut pages: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.extend(
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|name| Path::new(ROOT).join(name)),
    );
    pages.sort();
    pages
}

/// Returns the commands of a page: the lines of its code blocks, and its code in the text.
fn commands(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
            continue;
        }
        let codes: Vec<&str> = if is_block {
            vec![line.trim()]
        } else {
            line.split('`').skip(1).step_by(2).collect()
        };
        for code in codes {
            if let Some(call) = CALLS.iter().find(|call| code.starts_with(**call)) {
                found.insert(code[call.len()..].to_owned());
            }
        }
    }
    found
}

/// Returns the words of a command up to where the shell ends it. Optional and repeated parts, such
/// as `[FILE]` and `…`, are for readers.
fn words(command: &str) -> Vec<String> {
    let words =
        shlex::split(command).unwrap_or_else(|| panic!("`{command}` is no line of a shell"));
    words
        .into_iter()
        .take_while(|word| !ENDS.contains(&word.as_str()))
        .filter(|word| !word.starts_with('[') && word != "…")
        // The name of any rule.
        .map(|word| {
            if word == "RULE" {
                "unknown-keyword".to_owned()
            } else {
                word
            }
        })
        .collect()
}

/// Returns what the program says against a command. With `--help`, it reads the words and does
/// nothing.
fn objection(words: &[String]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(words)
        .arg("--help")
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(said)
}

#[test]
fn every_command_of_the_documentation_can_be_typed() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).expect("the page can be read");
        for command in commands(&page) {
            count += 1;
            if let Some(said) = objection(&words(&command)) {
                wrong.push(format!("{}: {command}\n{said}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 80, "{count} commands were found");
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    let page = "Type `cargo xtask lnit`.\n```sh\ncargo stratus lint --fixx a.yaml # why\n```\n";
    let found = commands(page);
    assert_eq!(found.len(), 2);
    for command in found {
        let said = objection(&words(&command)).expect("the program objects");
        assert!(said.contains("lnit") || said.contains("--fixx"), "{said}");
    }
}
