//! What is at a position: a schema or an operation in Markdown, and the Rust that it becomes.

use std::fmt::Write as _;
use std::sync::Arc;

use contract::model::SchemaId;
use contract::node::{Node, NodeValue};
use contract::pointer;
use gen_lsp_types::{Contents, Hover, MarkupContent, MarkupKind};

use crate::index::{NameKind, Symbol, Target};
use crate::world::{Analysis, Request};
use crate::{navigate, parsed};

/// The maximum number of bytes that an editor is given to show.
const MOST_BYTES: usize = 32_768;

/// The maximum number of properties, parameters or responses that are listed.
const MOST_ROWS: usize = 60;

/// Returns what is at a position.
pub(crate) fn hover(request: &Request<'_>) -> Option<Hover> {
    let index = &request.index;
    let symbol = navigate::symbol(request);
    let range = symbol
        .as_ref()
        .and_then(|(_, span)| request.parsed().range(request.world.encoding, *span));
    let target = match symbol {
        Some((Symbol::Node(target), _)) => index.end(&target),
        Some((Symbol::Name(NameKind::Tag, name), _)) => {
            return Some(shown(tag(request, &name)?, range));
        }
        Some((symbol @ Symbol::Name(NameKind::Operation, _), _)) => {
            let (file, span) = index.declarations(&symbol).into_iter().next()?;
            let root = index.files[file].parsed.root()?;
            let pointer = parsed::cursor(root, span.start).pointer;
            Target { file, pointer }
        }
        None => {
            let offset = request.parsed().in_tree(request.offset)?;
            let root = request.parsed().root()?;
            Target {
                file: request.file,
                pointer: parsed::cursor(root, offset).pointer,
            }
        }
    };
    let (target, kind) = shown_part(request, target)?;
    let node = index.node(&target)?.node;
    let mut text = match kind {
        "an operation" => operation(node, &target),
        "a schema" => schema(node, &target),
        _ => described(node, &target)?,
    };
    if matches!(kind, "an operation" | "a schema") {
        rust(request, &target, kind, &mut text);
    }
    Some(shown(text, range))
}

fn shown(mut text: String, range: Option<gen_lsp_types::Range>) -> Hover {
    if text.len() > MOST_BYTES {
        let mut end = MOST_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        // Otherwise the rest of the editor's window would be part of the code.
        text.push_str("\n```\n\n…");
    }
    Hover {
        contents: Contents::MarkupContent(MarkupContent {
            kind: MarkupKind::Markdown,
            value: text,
        }),
        range,
    }
}

/// Returns the innermost object around a target that has something to show, and its name.
fn shown_part(request: &Request<'_>, mut target: Target) -> Option<(Target, &'static str)> {
    loop {
        let tokens: Vec<String> = pointer::tokens(&target.pointer)
            .map(std::borrow::Cow::into_owned)
            .collect();
        let place = request.index.place(target.file, &tokens);
        match place.and_then(contract::place::Place::name) {
            // Not the whole document: its description would be shown at every place that has none.
            Some("the document") | None => {}
            Some(name) => return Some((target, name)),
        }
        let length = target.pointer.rfind('/')?;
        target.pointer.truncate(length);
    }
}

fn last(target: &Target) -> String {
    let token = target.pointer.rsplit('/').next().unwrap_or_default();
    pointer::unescape(token).into_owned()
}

fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key)?.as_str()
}

fn tag(request: &Request<'_>, name: &str) -> Option<String> {
    let root = request.index.files[0].parsed.root()?;
    let tags = root.get("tags")?.as_array()?;
    let declared = tags.iter().find(|tag| text(tag, "name") == Some(name))?;
    let description = text(declared, "description").unwrap_or_default();
    Some(format!("**{name}**\n\n{description}\n"))
}

fn described(node: &Node, target: &Target) -> Option<String> {
    let words = text(node, "description").or_else(|| text(node, "summary"))?;
    Some(format!("**{}**\n\n{words}\n", last(target)))
}

fn schema(node: &Node, target: &Target) -> String {
    let mut out = format!("**{}** · {}\n", last(target), summary(node));
    if let Some(description) = text(node, "description") {
        let _ = write!(out, "\n{description}\n");
    }
    let required: Vec<&str> = node
        .get("required")
        .and_then(Node::as_array)
        .unwrap_or_default()
        .iter()
        .filter_map(Node::as_str)
        .collect();
    let properties = node.get("properties").and_then(Node::as_object);
    let rows = properties.unwrap_or_default().iter().map(|property| {
        let mark = if required.contains(&property.key.as_str()) {
            "required"
        } else {
            ""
        };
        [
            format!("`{}`", property.key),
            summary(&property.value),
            mark.to_owned(),
            first_line(text(&property.value, "description").unwrap_or_default()).to_owned(),
        ]
    });
    table(
        &mut out,
        ["property", "type", "", ""],
        &rows.collect::<Vec<_>>(),
    );
    out
}

fn operation(node: &Node, target: &Target) -> String {
    let mut tokens = target.pointer.rsplit('/').map(pointer::unescape);
    let method = tokens.next().unwrap_or_default().to_uppercase();
    let path = tokens.next().unwrap_or_default();
    let mut out = format!("**{method} {path}**");
    if let Some(id) = text(node, "operationId") {
        let _ = write!(out, " · `{id}`");
    }
    out.push('\n');
    for words in ["summary", "description"]
        .into_iter()
        .filter_map(|key| text(node, key))
    {
        let _ = write!(out, "\n{words}\n");
    }
    let parameters = node.get("parameters").and_then(Node::as_array);
    let rows = parameters.unwrap_or_default().iter().map(|parameter| {
        let name = text(parameter, "name").map_or_else(|| summary(parameter), str::to_owned);
        let is_required = parameter.get("required").and_then(Node::as_bool) == Some(true);
        [
            format!("`{name}`"),
            parameter.get("schema").map(summary).unwrap_or_default(),
            text(parameter, "in").unwrap_or_default().to_owned(),
            if is_required { "required" } else { "" }.to_owned(),
        ]
    });
    table(
        &mut out,
        ["parameter", "type", "in", ""],
        &rows.collect::<Vec<_>>(),
    );
    let responses = node.get("responses").and_then(Node::as_object);
    let rows = responses.unwrap_or_default().iter().map(|response| {
        let words = text(&response.value, "description").unwrap_or_default();
        let words = match text(&response.value, "$ref") {
            Some(_) => summary(&response.value),
            None => first_line(words).to_owned(),
        };
        [response.key.clone(), words, String::new(), String::new()]
    });
    table(
        &mut out,
        ["response", "", "", ""],
        &rows.collect::<Vec<_>>(),
    );
    out
}

/// Adds a table, unless it has no rows.
fn table(out: &mut String, head: [&str; 4], rows: &[[String; 4]]) {
    if rows.is_empty() {
        return;
    }
    let columns = (0..head.len())
        .filter(|column| rows.iter().any(|row| !row[*column].is_empty()))
        .collect::<Vec<_>>();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push('\n');
    out.push_str(&line(
        columns
            .iter()
            .map(|column| head[*column].to_owned())
            .collect(),
    ));
    out.push_str(&line(columns.iter().map(|_| "---".to_owned()).collect()));
    for row in rows.iter().take(MOST_ROWS) {
        // A pipe would end the cell, and the end of a line the row.
        let cells = columns
            .iter()
            .map(|column| row[*column].replace('|', "\\|").replace(['\n', '\r'], " "));
        out.push_str(&line(cells.collect()));
    }
    if rows.len() > MOST_ROWS {
        let _ = write!(out, "\nand {} more\n", rows.len() - MOST_ROWS);
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Returns a schema in a few words.
fn summary(node: &Node) -> String {
    if let Some(reference) = text(node, "$ref") {
        let name = reference.rsplit(['/', '#']).next().unwrap_or(reference);
        return format!("`{name}`");
    }
    if let Some(values) = node.get("enum").and_then(Node::as_array) {
        let shown: Vec<String> = values
            .iter()
            .take(12)
            .map(|value| format!("`{}`", value.to_json()))
            .collect();
        let more = if values.len() > shown.len() {
            ", …"
        } else {
            ""
        };
        return format!("{}{more}", shown.join(", "));
    }
    for (key, word) in [("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")] {
        if let Some(branches) = node.get(key).and_then(Node::as_array) {
            let branches: Vec<String> = branches.iter().take(12).map(branch).collect();
            return branches.join(word);
        }
    }
    let mut words = match node.get("type").map(|node| &node.value) {
        Some(NodeValue::String(name)) if name == "array" => match node.get("items") {
            Some(items) => format!("array of {}", branch(items)),
            None => "array".to_owned(),
        },
        Some(NodeValue::String(name)) => name.clone(),
        Some(NodeValue::Array(names)) => {
            let names: Vec<&str> = names.iter().filter_map(Node::as_str).collect();
            names.join(" or ")
        }
        _ if node.get("properties").is_some() => "object".to_owned(),
        _ => "any value".to_owned(),
    };
    let bounds = [
        "format",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "pattern",
        "default",
    ];
    for key in bounds {
        if let Some(value) = node.get(key) {
            let value = match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_json().to_string(),
            };
            let _ = write!(words, ", {key} `{value}`");
        }
    }
    words
}

/// Returns a word for a schema that is a part of another one, without the parts inside it.
fn branch(node: &Node) -> String {
    match (text(node, "$ref"), text(node, "type")) {
        (Some(_), _) => summary(node),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "a schema".to_owned(),
    }
}

/// Adds the Rust that a schema or an operation becomes: by the text as it is, or by the last one
/// without errors.
fn rust(request: &Request<'_>, target: &Target, kind: &str, out: &mut String) {
    let world = request.world;
    let Some(now) = world.recent(request) else {
        return;
    };
    let good = match now.contract {
        Some(_) => Some(Arc::clone(&now)),
        None => world.good(&request.root),
    };
    let Some(good) = good else {
        out.push_str("\nThe Rust of this is shown once the document has no errors.\n");
        return;
    };
    let path = &request.index.files[target.file].path;
    let code = good.index.file(path).and_then(|file| {
        let target = Target {
            file,
            pointer: target.pointer.clone(),
        };
        written(&good, &target, kind)
    });
    let Some(code) = code else { return };
    if now.contract.is_none() {
        out.push_str("\nThe document has errors. Before them, this became:\n");
    } else if now.revision != request.texts.revision {
        out.push_str("\nThe text is being read again. Before, this became:\n");
    }
    let _ = write!(out, "\n```rust\n{}\n```\n", code.trim());
}

fn written(analysis: &Analysis, target: &Target, kind: &str) -> Option<String> {
    let contract = analysis.contract.as_ref()?;
    let (key, span) = analysis.span(target)?;
    if kind == "an operation" {
        let mut operations = contract.operations.iter();
        let index = operations.position(|operation| Some(operation.span) == key)?;
        return analysis.with_preview(|preview| preview.operation(index))?;
    }
    let index = contract
        .schemas
        .iter()
        .position(|schema| schema.span == span)?;
    let id = SchemaId(u32::try_from(index).ok()?);
    analysis.with_preview(|preview| preview.schema(id))?
}
