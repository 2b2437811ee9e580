//! The diagnostics of the check of the syntax.

use super::grammar::{Field, Grammar, OLD_KEYWORDS, SCHEMA};
use super::walk::{Item, Walk};
use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::{Entry, Node, NodeValue};
use crate::node_ref::address;
use crate::resolve::RefProblem;
use crate::source::Span;
use crate::spelling::nearest;

impl<'a> Walk<'_, 'a> {
    pub(super) fn missing(&mut self, item: Item<'a>, field: &Field, grammar: &Grammar) {
        let Some(essential) = field.need.is_essential(self.dialect) else {
            return;
        };
        let code = if field.name == "responses" {
            "missing-responses"
        } else {
            "missing-keyword"
        };
        let message = format!("{} needs `{}`", grammar.name, field.name);
        let help = format!("add `{}`", field.name);
        if essential {
            self.error(code, item.at, message, help);
        } else {
            self.warning(code, item.at, message, help);
        }
    }

    /// Reports a field of `holder` that this version does not have.
    pub(super) fn wrong_dialect(&mut self, holder: &Node, entry: &Entry, field: &Field) {
        let own = self.dialect.as_str();
        if field.first == Dialect::V32 {
            return self.warning(
                "wrong-dialect",
                entry.key_span,
                format!(
                    "`{}` exists since OpenAPI 3.2 and has no effect in {own}",
                    entry.key
                ),
                "remove it, or write `openapi: 3.2.0` at the top of the document".to_owned(),
            );
        }
        let other = if self.dialect < field.first {
            field.first.as_str()
        } else {
            field.last.as_str()
        };
        let help = match field.name {
            "nullable" => "list the type, as in `type: [string, \"null\"]`".to_owned(),
            "const" => "write an `enum` with this one value, or `openapi: 3.1.0`".to_owned(),
            "examples" => "write `example`, or `openapi: 3.1.0`".to_owned(),
            _ => format!("remove it, or write `openapi: {other}.0` at the top of the document"),
        };
        let message = format!(
            "`{}` is a keyword of OpenAPI {other} and has no effect in {own}",
            entry.key
        );
        let found = Diagnostic::warning("wrong-dialect", entry.key_span, message).help(help);
        if matches!(field.name, "contentMediaType" | "contentSchema") {
            // In an event it says what the data is, in documents of every version.
            self.of_contents.push((address(holder), found));
        } else {
            self.diagnostics.push(found);
        }
    }

    /// Reports a `$ref` in place of an object that only later versions let references replace.
    pub(super) fn reference_too_early(&mut self, entry: &Entry, grammar: &Grammar) {
        let own = self.dialect.as_str();
        self.error(
            "wrong-dialect",
            entry.key_span,
            format!(
                "{} can be a reference since OpenAPI 3.2, and this is {own}",
                grammar.name
            ),
            "write it out, or write `openapi: 3.2.0` at the top of the document".to_owned(),
        );
    }

    pub(super) fn unknown(&mut self, entry: &Entry, grammar: &'static Grammar) {
        let name = grammar.name;
        // Old keywords come before similar names: `definitions` is no misspelling of another
        // keyword.
        if std::ptr::eq(grammar, &raw const SCHEMA)
            && let Some((_, help)) = OLD_KEYWORDS.iter().find(|(old, _)| *old == entry.key)
        {
            return self.warning(
                "unknown-keyword",
                entry.key_span,
                format!(
                    "`{}` is a keyword of an older JSON Schema and has no effect",
                    entry.key
                ),
                (*help).to_owned(),
            );
        }
        if let Some(help) = swagger_2(grammar.name, &entry.key) {
            return self.warning(
                "unknown-keyword",
                entry.key_span,
                format!(
                    "{name} has no `{}` since OpenAPI 3.0, so it has no effect",
                    entry.key
                ),
                help,
            );
        }
        let dialect = self.dialect;
        let known = grammar.fields.iter().filter(|field| field.is_in(dialect));
        match nearest(&entry.key, known.map(|field| field.name)) {
            Some(meant) => {
                let mut found = misspelt(&entry.key, meant, grammar, entry.key_span);
                if !self.is_free(entry, meant, grammar) {
                    found.edits.clear();
                }
                // What does not fit the field that it resembles is probably something else. In a
                // schema any other keyword is an annotation.
                let is_schema = std::ptr::eq(grammar, &raw const SCHEMA);
                let field = grammar.field(meant).filter(|_| !is_schema);
                if field.is_some_and(|field| field.shape.fits(&entry.value)) {
                    found = found.about(meant);
                }
                self.diagnostics.push(found);
            }
            None => self.warning(
                "unknown-keyword",
                entry.key_span,
                format!("{name} has no `{}`, so it has no effect", entry.key),
                format!("remove it, or rename it to `x-{}`", entry.key),
            ),
        }
    }

    /// Returns whether the object of a misspelt field has no field `meant`, and no field before the
    /// misspelt one that is mended to it. Otherwise mending would repeat a key.
    fn is_free(&self, misspelt: &Entry, meant: &str, grammar: &Grammar) -> bool {
        let at = misspelt.key_span;
        let mut documents = self.resolver.documents.list.iter();
        let root = documents.find(|document| document.root.span.file == at.file);
        let Some(entries) = root.and_then(|document| siblings(&document.root, at)) else {
            return false;
        };
        let dialect = self.dialect;
        let becomes_meant = |key: &str| {
            let known = grammar.fields.iter().filter(|field| field.is_in(dialect));
            grammar.field(key).is_none()
                && nearest(key, known.map(|field| field.name)) == Some(meant)
        };
        let mut before = entries.iter().take_while(|entry| entry.key_span != at);
        entries.iter().all(|entry| entry.key != meant)
            && !before.any(|entry| becomes_meant(&entry.key))
    }

    pub(super) fn ignored_siblings(&mut self, entries: &'a [Entry], grammar: &'static Grammar) {
        for entry in entries {
            let key = entry.key.as_str();
            let harmless = matches!(key, "$ref" | "description" | "summary" | "title")
                || key.starts_with("x-")
                // These are merged with the target.
                || grammar.name == "a path item";
            if !harmless {
                self.warning(
                    "ignored-sibling",
                    entry.key_span,
                    format!("`{key}` beside `$ref` has no effect"),
                    if grammar.name == "a schema" {
                        "put the reference into `allOf` with one member, or write `openapi: 3.1.0`"
                            .to_owned()
                    } else {
                        "remove it".to_owned()
                    },
                );
            }
        }
    }

    pub(super) fn report_reference(&mut self, text: &str, span: Span, problem: RefProblem) {
        let (code, message, help) = match problem {
            RefProblem::Dangling(meant) => (
                "dangling-ref",
                format!("there is nothing at `{text}`"),
                match meant {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "declare it, or correct the reference".to_owned(),
                },
            ),
            RefProblem::Remote => (
                "remote-ref",
                format!("`{text}` is on another host, and nothing is fetched from there"),
                "save it beside this document and refer to the file, or keep a copy and say `--map ADDRESS=PATH`"
                    .to_owned(),
            ),
            RefProblem::NoFiles => (
                "file-ref",
                format!("`{text}` is another file, and this document was not read from a folder"),
                "put what it holds into this document".to_owned(),
            ),
            RefProblem::Unreadable(why) => (
                "dangling-ref",
                format!("the file of `{text}` {why}"),
                "correct the path: it starts from the folder of the file that refers".to_owned(),
            ),
            RefProblem::Malformed => (
                "dangling-ref",
                format!("`{text}` is not a URI reference"),
                "write `#/components/…`, or a file's path".to_owned(),
            ),
            RefProblem::Broken => return,
        };
        self.error(code, span, message, help);
    }

    pub(super) fn exclusive(&mut self, item: Item<'a>) {
        match (self.dialect, &item.node.value) {
            (Dialect::V30, NodeValue::Bool(_))
            | (Dialect::V31 | Dialect::V32, NodeValue::Number(_)) => {}
            (Dialect::V30, NodeValue::Number(limit)) => {
                let bound = item.key.replace("exclusiveM", "m");
                self.error(
                    "wrong-dialect",
                    item.node.span,
                    format!(
                        "in OpenAPI 3.0 `{}` must be true or false, not a number",
                        item.key
                    ),
                    format!("write `{bound}: {limit}` and `{}: true`", item.key),
                );
            }
            (Dialect::V31 | Dialect::V32, NodeValue::Bool(_)) => self.error(
                "wrong-dialect",
                item.node.span,
                format!(
                    "in OpenAPI {} `{}` must be the limit itself, not a boolean",
                    self.dialect.as_str(),
                    item.key
                ),
                format!(
                    "write the number of `{}` here, and leave that out",
                    item.key.replace("exclusiveM", "m")
                ),
            ),
            (Dialect::V30, _) => self.expect(item, false, "true or false"),
            (Dialect::V31 | Dialect::V32, _) => self.expect(item, false, "a number"),
        }
    }

    /// Reports that a value is not what is `wanted`, such as "a string", unless `holds` is true.
    pub(super) fn expect(&mut self, item: Item<'a>, holds: bool, wanted: &str) {
        if holds {
            return;
        }
        let node = item.node;
        let what = match item.key {
            "" => "the document".to_owned(),
            key if item.at == node.span => format!("an item of `{key}`"),
            key => format!("`{key}`"),
        };
        let message = match (&node.value, wanted) {
            (NodeValue::Number(number), "an integer from 0") => {
                format!("{what} must be an integer from 0, not {number}")
            }
            _ => format!("{what} must be {wanted}, not {}", node.kind()),
        };
        let empty = matches!(node.value, NodeValue::Null);
        if empty && wanted == "a string" {
            self.syntax.null_texts.insert(item.at);
            return self.warning(
                "wrong-type",
                item.at,
                message,
                "write a string, or remove the key".to_owned(),
            );
        }
        // In YAML, null can be written as nothing at all, which leaves no text to underline.
        let span = if empty { item.at } else { node.span };
        self.error("wrong-type", span, message, correction(item, wanted));
        if let Some(text) = unquoted(item, wanted) {
            self.mend(span, text);
        }
    }
}

/// Returns how to replace a field that Swagger 2.0 had in an object, or `None` if it had no such
/// field.
pub(super) fn swagger_2(object: &str, key: &str) -> Option<String> {
    let help = match (object, key) {
        ("a parameter" | "a header", "collectionFormat") => "write `style` and `explode`",
        ("a parameter" | "a header" | "a media type", _) if SCHEMA.field(key).is_some() => {
            return Some(format!(
                "put it into `schema`, as in `schema: {{ {key}: … }}`"
            ));
        }
        ("a response", "schema") => {
            "put it into `content`, as in `content: { application/json: { schema: … } }`"
        }
        ("a response", "examples") => "put it into `content`, beside the schema of its media type",
        ("an operation" | "the document", "consumes") => {
            "name the media types in the `content` of request bodies"
        }
        ("an operation" | "the document", "produces") => {
            "name the media types in the `content` of responses"
        }
        ("an operation", "schemes") | ("the document", "host" | "basePath" | "schemes") => {
            "write `servers`, as in `servers: [{ url: https://example.com/v1 }]`"
        }
        ("the document", "definitions") => "write `schemas` in `components`",
        ("the document", "parameters" | "responses") => "put it into `components`",
        ("the document", "securityDefinitions") => "write `securitySchemes` in `components`",
        _ => return None,
    };
    Some(help.to_owned())
}

/// Returns how to correct a value of the wrong type.
fn correction(item: Item<'_>, wanted: &str) -> String {
    let node = item.node;
    if item.key == "required" && wanted == "an array" {
        return "list the names of the required properties in the `required` of the object's schema".to_owned();
    }
    if let Some(text) = unquoted(item, wanted) {
        return format!("write {text} without quotes");
    }
    match (&node.value, wanted) {
        // A number is not kept as it is written: `1.10` would become "1.1".
        (NodeValue::Number(_) | NodeValue::Bool(_), "a string") => {
            "put it in quotes, as it is written".to_owned()
        }
        (NodeValue::String(text), "an array") => format!("write a list with one item, `[{text}]`"),
        _ => format!("write {wanted}"),
    }
}

/// Returns the entries of the object that has a key at a span. What an alias of YAML repeats is found
/// at its anchor only.
fn siblings(root: &Node, key: Span) -> Option<&[Entry]> {
    let mut node = root;
    loop {
        match &node.value {
            NodeValue::Object(entries) => {
                // Entries stand in the order of the text, so only one of them can hold the key.
                let after = entries.partition_point(|entry| entry.key_span.start <= key.start);
                let entry = entries.get(after.checked_sub(1)?)?;
                if entry.key_span == key {
                    return Some(entries);
                }
                node = &entry.value;
            }
            NodeValue::Array(items) => {
                let after = items.partition_point(|item| item.span.start <= key.start);
                node = items.get(after.checked_sub(1)?)?;
            }
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => {
                return None;
            }
        }
    }
}

/// Returns the text of a string that is the wanted number or truth value in quotes.
fn unquoted<'a>(item: Item<'a>, wanted: &str) -> Option<&'a str> {
    item.node.as_str().filter(|text| {
        (matches!(wanted, "a number" | "an integer from 0") && is_number(text))
            || (wanted == "true or false" && matches!(*text, "true" | "false"))
    })
}

/// Returns whether a text is a number of JSON. Others, such as `inf` and `.5`, are texts or errors
/// without their quotes.
fn is_number(text: &str) -> bool {
    // The parser of JSON skips blanks around a number.
    text.trim() == text
        && serde_json::from_str::<serde_json::Number>(text).is_ok()
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Returns the diagnostic of a misspelt field.
pub(crate) fn misspelt(key: &str, meant: &str, grammar: &Grammar, span: Span) -> Diagnostic {
    Diagnostic::error(
        "misspelt-keyword",
        span,
        format!("{} has no `{key}`", grammar.name),
    )
    .help(format!("did you mean `{meant}`?"))
    .edit(span, meant)
}
