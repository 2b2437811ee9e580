//! `cargo xtask figures`: measures how the workspace reads, such as the lengths of files and
//! functions, comments, and cycles of imports.
//!
//! Everything is read from the text, as rustfmt lays it out, so this compiles nothing. Code by hand
//! is measured without its tests, except for words.

mod function;
mod imports;
mod source;

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;

use crate::Exit;
use crate::workspace;
use source::Source;

/// Words that make a sentence of a comment hard to read at once.
const WORDS: [&str; 5] = ["neither", "shall", "told", "whatever", "whoever"];
/// A call that panics on a missing value. In two parts, so that this line is none.
const UNWRAP: &str = concat!(".unwrap", "()");
/// A file of more lines is named.
const MOST_LINES: usize = 600;
/// A cycle of more files is named.
const MOST_IN_CIRCLE: usize = 3;
/// The generated crates whose lines per operation are measured.
const PER_OPERATION: [&str; 2] = ["api-server", "api-client"];

/// Measure how the code reads: lengths, comments, words, `unwrap`, circles of imports
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also name every comment line with a word to avoid, and every `unwrap`
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    let sources = source::by_hand(&root)?;
    let (tests, code): (Vec<&Source>, Vec<&Source>) =
        sources.iter().partition(|source| source.is_test);
    write_lengths(&code, &tests, out)?;
    write_comments(&code, &sources, arguments, out)?;
    write_circles(&code, out)?;
    write_operations(&root, out)?;
    Ok(Exit::Fresh)
}

fn write_lengths(code: &[&Source], tests: &[&Source], out: &mut dyn Write) -> anyhow::Result<()> {
    let mut files: Vec<usize> = code.iter().map(|source| source.lines.len()).collect();
    files.sort_unstable();
    row(
        out,
        "files by hand, without tests",
        &files.len().to_string(),
    )?;
    row(out, "lines of a file, median", &at(&files, 50).to_string())?;
    let mut functions: Vec<usize> = code
        .iter()
        .flat_map(|source| function::lengths(&source.lines))
        .collect();
    functions.sort_unstable();
    let lines = format!("{} and {}", at(&functions, 50), at(&functions, 90));
    row(out, "lines of a function, median and 90 %", &lines)?;
    let long: Vec<&&Source> = code
        .iter()
        .chain(tests)
        .filter(|source| source.whole > MOST_LINES)
        .collect();
    let name = format!("files of more than {MOST_LINES} lines, with tests");
    row(out, &name, &long.len().to_string())?;
    for source in long {
        writeln!(out, "    {} {}", source.whole, source.path)?;
    }
    Ok(())
}

fn write_comments(
    code: &[&Source],
    all: &[Source],
    arguments: &Arguments,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let lines = || code.iter().flat_map(|source| &source.lines);
    let filled = lines().filter(|line| !line.trim().is_empty()).count();
    let reasons = lines().filter(|line| is_plain_comment(line)).count();
    let share = format!("{:.2} %", per(100 * reasons, filled));
    row(out, "comments inside of code, of its lines", &share)?;

    let unwraps = found(code.iter().copied(), |line| {
        !is_comment(line) && line.contains(UNWRAP)
    });
    row(out, "`unwrap` outside of tests", &unwraps.len().to_string())?;
    let words = found(all.iter(), |line| is_comment(line) && has_word(line));
    let name = format!("comment lines with {}", WORDS.join(", "));
    row(out, &name, &words.len().to_string())?;
    if arguments.list {
        for place in unwraps.iter().chain(&words) {
            writeln!(out, "    {place}")?;
        }
    }
    Ok(())
}

fn write_circles(code: &[&Source], out: &mut dyn Write) -> anyhow::Result<()> {
    let circles = imports::circles(code)?;
    let largest = circles.iter().map(Vec::len).max().unwrap_or_default();
    row(
        out,
        "files in the largest circle of imports",
        &largest.to_string(),
    )?;
    for circle in circles.iter().filter(|files| files.len() > MOST_IN_CIRCLE) {
        writeln!(out, "    {}", circle.join(" "))?;
    }
    Ok(())
}

fn write_operations(root: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    let contract = root.join("openapi.yaml");
    let text = fs::read_to_string(&contract)
        .with_context(|| format!("failed to read {}", contract.display()))?;
    // A lint wants an id of every operation, and nothing else has this property.
    let operations = text
        .lines()
        .filter(|line| line.trim_start().starts_with("operationId:"))
        .count();
    for package in PER_OPERATION {
        let lines: usize = source::of(root, &root.join("crates").join(package))?
            .iter()
            .map(|source| source.whole)
            .sum();
        let name = format!("lines of {package} per operation");
        row(out, &name, &format!("{:.1}", per(lines, operations)))?;
    }
    Ok(())
}

fn row(out: &mut dyn Write, name: &str, value: &str) -> anyhow::Result<()> {
    Ok(writeln!(out, "{name}: {value}")?)
}

/// Returns the places of all lines that a condition holds for, with the lines.
fn found<'s>(
    sources: impl Iterator<Item = &'s Source>,
    condition: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut places = Vec::new();
    for source in sources {
        for (at, line) in source.lines.iter().enumerate() {
            if condition(line) {
                places.push(format!("{}:{}: {}", source.path, at + 1, line.trim()));
            }
        }
    }
    places
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Returns whether a line is a comment inside of code, which says why, and not a doc comment, which
/// says what.
fn is_plain_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") && !line.starts_with("///") && !line.starts_with("//!")
}

fn has_word(line: &str) -> bool {
    line.split(|sign: char| !sign.is_alphanumeric())
        .any(|part| WORDS.contains(&part.to_lowercase().as_str()))
}

/// Returns the value of a sorted list below which a percentage of its values are.
fn at(sorted: &[usize], percent: usize) -> usize {
    let index = sorted.len() * percent / 100;
    sorted.get(index).copied().unwrap_or_default()
}

/// Returns a quotient, or 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "a million lines are exact")]
fn per(lines: usize, of: usize) -> f64 {
    if of == 0 {
        return 0.0;
    }
    lines as f64 / of as f64
}
