//! The table of rules: each example is reported as the table says, and the table has each rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use contract::rules::{self, Example, HOLE, MARK, OVERLAID, Pair, Rule};
use contract::{LintSet, Loaded, Options, load_text_with, load_with};

use crate::place;

/// The rules that no small document can break.
const WITHOUT_EXAMPLE: [&str; 13] = [
    "misplaced-ref",
    "not-utf8",
    "overlay-too-large",
    "too-deep",
    "too-large",
    "too-many-aliases",
    "too-many-links",
    "too-many-ways",
    "unchecked-values",
    "unchoosable",
    "unchosen-operation",
    "unknown-choice",
    "unreadable-file",
];

/// The rules that another crate reports: `compatibility`, because it can search for values. The tests
/// of xtask check their examples.
const ELSEWHERE: [&str; 3] = [
    "impossible-property",
    "overlapping-branches",
    "redundant-branch",
];

/// What the source has in the form of a code, and is no rule.
const NO_RULES: [&str; 19] = [
    "content-type",
    "date-time",
    "idn-hostname",
    "kebab-case",
    "quoted-printable",
    "read-only",
    "scram-sha-1",
    "scram-sha-256",
    "write-only",
    "x-deprecation",
    "x-extensible-enum",
    "x-item-schema",
    "x-media-range",
    "x-paging",
    "x-pattern",
    "x-rejection",
    "x-secret",
    "x-stability",
    "x-sunset",
];

#[test]
fn each_bad_example_breaks_its_rule_alone_and_each_good_one_none() {
    let mut wrong = Vec::new();
    let own = rules::all().into_iter();
    for rule in own.filter(|rule| !ELSEWHERE.contains(&rule.code)) {
        let (Example::Document(pair) | Example::Overlay(pair)) = &rule.example else {
            continue;
        };
        let marked = if pair.bad.contains(MARK) {
            pair.frame.fill(pair.bad)
        } else {
            pair.frame.fill(&format!("{MARK}{}", pair.bad))
        };
        let (line, column) = place(&marked, &MARK.to_string());
        let expected = format!("{}:{line}:{column}: {:?}", pair.frame.file, rule.code);
        let found = found(rule, pair, &pair.bad());
        if found != [expected.as_str()] {
            wrong.push(format!("bad: expected {expected}, found {found:#?}"));
        }
        let found = self::found(rule, pair, pair.good);
        if !found.is_empty() {
            wrong.push(format!("good: {:?}: {found:#?}", rule.code));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_rules_without_an_example_are_listed() {
    let without = rules::all()
        .into_iter()
        .filter(|rule| matches!(rule.example, Example::None(_)));
    let without: Vec<&str> = without.map(|rule| rule.code).collect();
    assert_eq!(without, WITHOUT_EXAMPLE);
}

#[test]
fn the_table_has_each_rule_that_the_source_names_once() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let formats = names(&fs::read_to_string(source.join("format.rs")).expect("the file is there"));
    let misspelt = source.join("syntax/formats.rs");
    let misspelt = names(&fs::read_to_string(misspelt).expect("the file is there"));
    let mut named = BTreeSet::from(["unchoosable".to_owned()]);
    named.extend(ELSEWHERE.map(str::to_owned));
    collect(&source, &mut named);
    let is_rule = |name: &String| {
        let is_format = formats.contains(name) || misspelt.contains(name);
        !NO_RULES.contains(&name.as_str()) && (!is_format || rules::find(name).is_some())
    };
    named.retain(is_rule);
    let known: Vec<String> = rules::all()
        .into_iter()
        .map(|rule| rule.code.to_owned())
        .collect();
    assert_eq!(
        named.into_iter().collect::<Vec<_>>(),
        known,
        "the rules in the source, and those in the table"
    );
}

#[test]
fn the_table_is_written_as_documentation() {
    for rule in rules::all() {
        for text in [rule.summary, rule.why] {
            assert!(text.ends_with('.') && !text.contains('\n'), "{rule:#?}");
        }
        if let Example::Document(pair) | Example::Overlay(pair) = &rule.example {
            assert_eq!(pair.frame.text.matches(HOLE).count(), 1, "{rule:#?}");
            assert!(pair.bad.matches(MARK).count() < 2, "{rule:#?}");
        }
    }
}

/// Returns the diagnostics of an example, except for those of other rules outside of the set
/// `correct`: examples need not be written in the best style.
fn found(rule: &Rule, pair: &Pair, fragment: &str) -> Vec<String> {
    let text = pair.frame.fill(fragment);
    let sets = [rule.set].into();
    let loaded = match rule.example {
        Example::Overlay(_) => {
            let folder = tempfile::tempdir().expect("a folder can be made");
            let (document, overlay) = (folder.path().join("openapi.yaml"), pair.frame.file);
            let overlay = folder.path().join(overlay);
            fs::write(&document, OVERLAID).expect("the folder is writable");
            fs::write(&overlay, text).expect("the folder is writable");
            let options = Options {
                sets,
                overlays: vec![overlay],
                ..Options::default()
            };
            load_with(&document, &options)
        }
        Example::Document(_) | Example::None(_) => {
            let options = Options {
                sets,
                ..Options::default()
            };
            load_text_with(pair.frame.file, text.as_bytes(), &options)
        }
    };
    let Loaded {
        sources,
        diagnostics,
        ..
    } = loaded;
    let counted = diagnostics.iter().filter(|found| {
        found.code == rule.code
            || rules::find(found.code).is_none_or(|other| other.set == LintSet::Correct)
    });
    let shown = counted.map(|found| {
        let at = sources.line_column(found.span);
        let name = &sources.file(found.span.file).name;
        let name = Path::new(name).file_name().expect("the file has a name");
        // Some cases of a rule are less grave than others, never graver.
        let is_graver = found.severity < rule.severity;
        let graver = if is_graver { " graver" } else { "" };
        format!(
            "{}:{}:{}: {:?}{graver}",
            name.display(),
            at.line,
            at.column,
            found.code
        )
    });
    shown.collect()
}

/// Adds the names in the form of a code in the source files of a folder, without the table's own.
fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "rules") {
            collect(&path, names);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("the file is there");
            names.extend(self::names(&text));
        }
    }
}

/// Returns the strings of a source file that have the form of a code.
fn names(text: &str) -> BTreeSet<String> {
    let code = text.lines().filter(|line| !line.trim().starts_with("//"));
    let strings = code.flat_map(|line| line.split('"').skip(1).step_by(2));
    let is_code = |text: &&str| {
        let mut words = text.split('-');
        let is_word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        words.clone().count() > 1
            && words.all(is_word)
            && text.starts_with(|first: char| first.is_ascii_lowercase())
    };
    strings.filter(is_code).map(str::to_owned).collect()
}
