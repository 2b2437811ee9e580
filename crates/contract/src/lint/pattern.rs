//! Patterns: regular expressions of ECMA 262 that the engines of generated code can run.

use super::syntax::Walk;
use crate::model::Dialect;
use crate::node::Node;
use crate::source::Span;

/// Checks `pattern` and the keys of `patternProperties`.
pub(super) fn check(walk: &mut Walk<'_, '_>, node: &Node) {
    if let Some(pattern) = node.get("pattern")
        && let Some(text) = pattern.as_str()
    {
        check_pattern(walk, text, pattern.span);
    }
    if walk.dialect == Dialect::V31
        && let Some(entries) = node.get("patternProperties").and_then(Node::as_object)
    {
        for entry in entries {
            check_pattern(walk, &entry.key, entry.key_span);
        }
    }
}

fn check_pattern(walk: &mut Walk<'_, '_>, pattern: &str, span: Span) {
    let help = "patterns are regular expressions as ECMA 262 has them".to_owned();
    if let Some(why) = why_unusable(pattern) {
        return walk.error("bad-pattern", span, format!("the pattern cannot be used: {why}"), help);
    }
    if !jsonschema_regex::is_valid_ecma_regex(pattern) {
        walk.warning(
            "bad-pattern",
            span,
            "the pattern is not of the dialect ECMA 262, and is read as Rust reads it".to_owned(),
            help,
        );
    }
}

/// Why no engine can run the pattern; none if one can.
pub(super) fn why_unusable(pattern: &str) -> Option<String> {
    let translated = jsonschema_regex::to_rust_regex(pattern);
    let compiled = translated.map_err(|()| "it is not a regular expression".to_owned());
    compiled.and_then(|translated| compile(&translated)).err()
}

fn compile(pattern: &str) -> Result<(), String> {
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
