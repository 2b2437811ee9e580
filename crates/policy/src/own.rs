//! Rules of the policy's author: what a JSONPath selects must be as assertions say.

use contract::Diagnostic;
use contract::node::{Node, NodeValue};
use contract::overlay::{Match, Selector};
use contract::source::{FileId, Span};
use regex::Regex;

use crate::file::{Casing, Own, OwnLevel, Subject};
use crate::places::Places;

/// An own rule that can be run.
#[derive(Debug)]
pub(crate) struct OwnRule {
    pub(crate) code: &'static str,
    pub(crate) selector: Selector,
    pub(crate) pattern: Option<Regex>,
    pub(crate) own: Own,
}

impl OwnRule {
    /// Returns what the rule reports in each document.
    pub(crate) fn check(&self, places: &Places) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (file, root) in places.documents() {
            match self.selector.select(root) {
                Ok(matches) => found.extend(matches.iter().filter_map(|one| self.judge(file, one))),
                Err(error) => {
                    let span = Span { file, ..root.span };
                    let help = "select less";
                    found.push(Diagnostic::error(self.code, span, error.to_string()).help(help));
                }
            }
        }
        found
    }

    fn judge(&self, file: FileId, selected: &Match<'_>) -> Option<Diagnostic> {
        let key_span = selected.entry.map(|entry| entry.key_span);
        let start = key_span.unwrap_or(selected.node.span);
        let (entry, node) = match &self.own.field {
            None => (selected.entry, selected.node),
            Some(field) => {
                let Some(entry) = selected.node.entry(field) else {
                    // A value that is no object has no fields, and none is asked of it.
                    let is_missing =
                        self.own.exists == Some(true) && selected.node.as_object().is_some();
                    let problem = is_missing.then(|| format!("`{field}` is missing"))?;
                    return Some(self.report(file, start, problem));
                };
                (Some(entry), &entry.value)
            }
        };
        let name = entry.map_or("this", |entry| entry.key.as_str());
        if self.own.exists == Some(false) {
            let span = entry.map_or(node.span, |entry| entry.key_span);
            return Some(self.report(file, span, format!("`{name}` must not be here")));
        }
        let (text, span) = match self.own.of {
            Subject::Key => {
                let entry = entry?;
                (Some(entry.key.as_str()), entry.key_span)
            }
            Subject::Value => (node.as_str(), node.span),
        };
        let length = match self.own.of {
            Subject::Key => text.map(|text| text.chars().count()),
            Subject::Value => length(node),
        };
        let problem = self.problem(name, text, length)?;
        Some(self.report(file, span, problem))
    }

    /// Returns which assertion does not hold, in words.
    fn problem(&self, name: &str, text: Option<&str>, length: Option<usize>) -> Option<String> {
        if let (Some(pattern), Some(text)) = (&self.pattern, text)
            && !pattern.is_match(text)
        {
            return Some(format!("`{name}` does not match the pattern of this rule"));
        }
        if let (Some(casing), Some(text)) = (self.own.casing, text)
            && !is_in(casing, text)
        {
            return Some(format!("`{text}` is not in {}", example(casing)));
        }
        if let (Some(listed), Some(text)) = (&self.own.one_of, text)
            && !listed.iter().any(|one| one == text)
        {
            return Some(format!("`{text}` is none of `{}`", listed.join("`, `")));
        }
        let length = length?;
        if let Some(least) = self.own.min_length
            && length < least as usize
        {
            return Some(format!(
                "`{name}` has the length {length}, less than {least}"
            ));
        }
        if let Some(most) = self.own.max_length
            && length > most as usize
        {
            return Some(format!(
                "`{name}` has the length {length}, more than {most}"
            ));
        }
        None
    }

    fn report(&self, file: FileId, span: Span, problem: String) -> Diagnostic {
        let span = Span { file, ..span };
        let message = self.own.message.clone().unwrap_or(problem);
        let found = match self.own.level {
            OwnLevel::Error => Diagnostic::error(self.code, span, message),
            OwnLevel::Warning => Diagnostic::warning(self.code, span, message),
        };
        match &self.own.help {
            Some(help) => found.help(help.as_str()),
            None => found.help("this is a rule of your contract.toml"),
        }
    }
}

fn length(node: &Node) -> Option<usize> {
    match &node.value {
        NodeValue::String(text) => Some(text.chars().count()),
        NodeValue::Array(items) => Some(items.len()),
        NodeValue::Object(entries) => Some(entries.len()),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) => None,
    }
}

fn example(casing: Casing) -> &'static str {
    match casing {
        Casing::Camel => "camelCase",
        Casing::Pascal => "PascalCase",
        Casing::Snake => "snake_case",
        Casing::Kebab => "kebab-case",
        Casing::ScreamingSnake => "SCREAMING_SNAKE_CASE",
    }
}

fn is_in(casing: Casing, text: &str) -> bool {
    let words = |separator: char, is_part: fn(u8) -> bool| {
        text.split(separator)
            .all(|word| !word.is_empty() && word.bytes().all(is_part))
    };
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match casing {
        Casing::Camel => plain && text.starts_with(|first: char| first.is_ascii_lowercase()),
        Casing::Pascal => plain && text.starts_with(|first: char| first.is_ascii_uppercase()),
        Casing::Snake => words('_', lower),
        Casing::Kebab => words('-', lower),
        Casing::ScreamingSnake => words('_', upper),
    }
}
