//! Patterns: regular expressions of ECMA 262 that the engines of generated code support.
//!
//! A pattern is translated to Rust's syntax by `jsonschema-regex`, as in generated code. It is
//! usable if `regex` or else `fancy-regex` compiles the translation. A pattern that compiles but is
//! not ECMA 262, such as one with `\A`, works in Rust but not for other readers of the document, so
//! it is a warning.

use super::walk::Walk;
use crate::model::Dialect;
use crate::node::Node;
use crate::pattern::canonical;
use crate::source::Span;

/// Reports patterns of a schema, in `pattern` and the keys of `patternProperties`, that are
/// unusable or not ECMA 262.
pub(super) fn check(walk: &mut Walk<'_, '_>, node: &Node) {
    if let Some(pattern) = node.get("pattern")
        && let Some(text) = pattern.as_str()
    {
        check_pattern(walk, text, pattern.span);
    }
    // In 3.0 this keyword has no effect, which is reported.
    if walk.dialect >= Dialect::V31
        && let Some(entries) = node.get("patternProperties").and_then(Node::as_object)
    {
        for entry in entries {
            check_pattern(walk, &entry.key, entry.key_span);
        }
    }
}

/// The maximum number of bytes that a pattern may have: 16 KiB. Compiling a longer one takes seconds,
/// and each reader of the contract compiles it again.
const LONGEST_PATTERN: usize = 16 << 10;

fn check_pattern(walk: &mut Walk<'_, '_>, pattern: &str, span: Span) {
    let help = "write a regular expression of ECMA 262, as JavaScript has them".to_owned();
    if let Some(why) = why_unusable(pattern) {
        walk.syntax.has_unusable_patterns = true;
        let help = if jsonschema_regex::is_valid_ecma_regex(pattern) {
            "write a simpler one: smaller numbers of repetitions, or `maxLength` in their place"
                .to_owned()
        } else {
            help
        };
        return walk.error(
            "bad-pattern",
            span,
            format!("the pattern cannot be used: {why}"),
            help,
        );
    }
    // Annex B allows more, of which the canonical spelling has nothing.
    if !jsonschema_regex::is_valid_ecma_regex(pattern)
        && !jsonschema_regex::is_valid_ecma_regex(&canonical(pattern))
    {
        let message =
            "the pattern is not a regular expression of ECMA 262, and is read as Rust reads it"
                .to_owned();
        let (message, help) = match foreign(pattern) {
            Some((written, at, help)) => (
                format!("{message}: `{written}` at character {at}"),
                help.to_owned(),
            ),
            None => (message, help),
        };
        walk.warning("bad-pattern", span, message, help);
    }
}

/// Syntax of other dialects of regular expressions, each with what to write instead in ECMA 262.
const FOREIGN: [(&str, &str); 11] = [
    ("(?P<", "name a group as in `(?<name>…)`"),
    ("(?P=", "mean a named group as in `\\k<name>`"),
    ("(?x", "write the pattern without white space and comments"),
    ("(?i)", "write both cases, as in `[aA]`"),
    ("(?s)", "write `[^]` for any character"),
    ("(?m)", "write the line breaks themselves"),
    ("(?>", "write a plain group, as in `(?:…)`"),
    ("[[:", "write the characters themselves, as in `[a-z]`"),
    ("\\A", "write `^`"),
    ("\\z", "write `$`"),
    ("\\Z", "write `$`"),
];

/// Returns the first syntax in a pattern that belongs to another dialect: as written, its position
/// in characters from 1, and what to write instead.
fn foreign(pattern: &str) -> Option<(&'static str, usize, &'static str)> {
    let found = FOREIGN
        .into_iter()
        .filter_map(|(written, help)| Some((pattern.find(written)?, written, help)));
    let (at, written, help) = found.min_by_key(|(at, ..)| *at)?;
    Some((written, pattern[..at].chars().count() + 1, help))
}

/// Returns why no regular expression engine supports a pattern, or `None` if one does.
pub(crate) fn why_unusable(pattern: &str) -> Option<String> {
    if pattern.len() > LONGEST_PATTERN {
        return Some(format!(
            "it has {} bytes, and at most {LONGEST_PATTERN} are read",
            pattern.len()
        ));
    }
    // The grammar of ECMA 262 does not decide: documents in use contain patterns of other dialects,
    // and most of those compile.
    let spelt = canonical(pattern);
    let translated = jsonschema_regex::to_rust_regex(&spelt);
    let compiled = translated.map_err(|()| why_unreadable(&spelt));
    compiled.and_then(|translated| compile(&translated)).err()
}

/// Returns why a pattern is not a regular expression, with the character from 1 if the parser says
/// where.
fn why_unreadable(pattern: &str) -> String {
    // The translation reports no position. The parser of `regex` does, and its syntax is close.
    match regex_syntax::ast::parse::Parser::new().parse(pattern) {
        Err(error) => {
            format!(
                "{} at character {}",
                error.kind(),
                pattern[..error.span().start.offset].chars().count() + 1
            )
        }
        Ok(_) => "it is not a regular expression".to_owned(),
    }
}

fn compile(pattern: &str) -> Result<(), String> {
    // `regex` first: it runs in linear time, and generated code prefers it as well.
    if regex::Regex::new(pattern).is_ok() {
        return Ok(());
    }
    match fancy_regex::Regex::new(pattern) {
        Ok(_) => Ok(()),
        Err(error) => {
            let text = error.to_string();
            let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
            Err(last.unwrap_or("it is not a regular expression").to_owned())
        }
    }
}
