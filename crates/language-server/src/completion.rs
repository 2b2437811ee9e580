//! Completes what is typed: keywords by the tables of the standard, and names by what the contract
//! declares. It works on texts that are broken at the moment.

mod block;
mod context;
mod flow;

use std::collections::BTreeSet;
use std::path::Path;

use contract::format::FORMATS;
use contract::node::Node;
use contract::place::{Form, Place};
use contract::pointer;
use gen_lsp_types::{CompletionItem, CompletionItemKind, CompletionList, TextEdit};

use crate::index::{Index, NameKind};
use crate::scalar;
use crate::world::Request;
use context::{Context, Spot};

/// The maximum number of items that one response lists. The editor asks again as the name grows.
const MOST_ITEMS: usize = 500;

/// The media types that most contracts have.
const MEDIA_TYPES: [&str; 12] = [
    "application/json",
    "application/problem+json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/octet-stream",
    "application/jsonl",
    "application/json-seq",
    "text/event-stream",
    "text/plain",
    "application/xml",
];

/// The status codes of RFC 9110 and of others in common use, each with its meaning.
const STATUSES: [(&str, &str); 38] = [
    ("200", "OK"),
    ("201", "Created"),
    ("202", "Accepted"),
    ("204", "No Content"),
    ("206", "Partial Content"),
    ("301", "Moved Permanently"),
    ("302", "Found"),
    ("303", "See Other"),
    ("304", "Not Modified"),
    ("307", "Temporary Redirect"),
    ("308", "Permanent Redirect"),
    ("400", "Bad Request"),
    ("401", "Unauthorized"),
    ("402", "Payment Required"),
    ("403", "Forbidden"),
    ("404", "Not Found"),
    ("405", "Method Not Allowed"),
    ("406", "Not Acceptable"),
    ("408", "Request Timeout"),
    ("409", "Conflict"),
    ("410", "Gone"),
    ("412", "Precondition Failed"),
    ("413", "Content Too Large"),
    ("415", "Unsupported Media Type"),
    ("422", "Unprocessable Content"),
    ("428", "Precondition Required"),
    ("429", "Too Many Requests"),
    ("431", "Request Header Fields Too Large"),
    ("500", "Internal Server Error"),
    ("501", "Not Implemented"),
    ("502", "Bad Gateway"),
    ("503", "Service Unavailable"),
    ("504", "Gateway Timeout"),
    ("2XX", "any success"),
    ("3XX", "any redirection"),
    ("4XX", "any error of the client"),
    ("5XX", "any error of the server"),
    ("default", "any other status"),
];

/// Something that can be written at a position.
struct Candidate {
    text: String,
    detail: String,
    kind: CompletionItemKind,
    /// Whether a block follows a key, and not a value on the same line.
    is_block: bool,
}

impl Candidate {
    fn value(text: impl Into<String>, detail: &str, kind: CompletionItemKind) -> Self {
        Self {
            text: text.into(),
            detail: detail.to_owned(),
            kind,
            is_block: false,
        }
    }
}

/// Returns what can be written at a position.
pub(crate) fn complete(request: &Request<'_>) -> CompletionList {
    let found = Context::at(&request.text, request.offset);
    let items = found.map(|context| items(request, &context));
    let mut items = items.unwrap_or_default();
    let is_incomplete = items.len() > MOST_ITEMS;
    items.truncate(MOST_ITEMS);
    CompletionList {
        is_incomplete,
        items,
        ..CompletionList::default()
    }
}

fn items(request: &Request<'_>, context: &Context) -> Vec<CompletionItem> {
    let index = &request.index;
    let Some(place) = index.place(request.file, &context.tokens) else {
        return Vec::new();
    };
    // A lone word below a key is a key of an object, or the value itself.
    let is_key = context.spot == Spot::Key
        || context.spot == Spot::Either && matches!(place.form(), Form::Object | Form::Map);
    let candidates = if is_key {
        keys(index, place, context)
    } else {
        values(request, context, place)
    };
    let typed = &request.text[context.typed.clone()];
    let wanted = typed.to_lowercase();
    let range = request
        .lines
        .range(&request.text, request.world.encoding, context.typed.clone());
    candidates
        .into_iter()
        .filter(|candidate| {
            // Editors match loosely; this leaves out only what none of them would show.
            let text = candidate.text.to_lowercase();
            wanted.chars().all(|one| text.contains(one))
        })
        .enumerate()
        .map(|(order, candidate)| {
            let new_text = if is_key {
                context.key(&candidate.text, candidate.is_block)
            } else {
                context.value(&candidate.text)
            };
            CompletionItem {
                label: candidate.text.clone(),
                kind: Some(candidate.kind),
                detail: (!candidate.detail.is_empty()).then_some(candidate.detail),
                // Editors sort by this text, and by the label if there is none.
                sort_text: Some(format!("{order:05}")),
                filter_text: Some(candidate.text),
                text_edit: Some(TextEdit { range, new_text }.into()),
                ..CompletionItem::default()
            }
        })
        .collect()
}

/// Returns the keys that an object can have besides those that it has.
fn keys(index: &Index, place: Place, context: &Context) -> Vec<Candidate> {
    let last = context.tokens.last().map_or("", String::as_str);
    let mut found: Vec<Candidate> = Vec::new();
    if place.is_referable(index.dialect) && place.name() != Some("a schema") {
        let text = "a reference to a component";
        found.push(Candidate::value(
            "$ref",
            text,
            CompletionItemKind::Reference,
        ));
    }
    for field in place.fields(index.dialect) {
        let detail = if field.is_needed { "required" } else { "" };
        found.push(Candidate {
            is_block: matches!(field.place.form(), Form::Object | Form::Map | Form::List),
            ..Candidate::value(field.name, detail, CompletionItemKind::Property)
        });
    }
    let block = |text: &str, detail: &str, kind| Candidate {
        is_block: true,
        ..Candidate::value(text, detail, kind)
    };
    let is_security = context.tokens.iter().rev().nth(1).map(String::as_str) == Some("security");
    match last {
        "responses" if place.form() == Form::Map => found.extend(
            STATUSES.map(|(code, words)| block(code, words, CompletionItemKind::EnumMember)),
        ),
        "content" if place.form() == Form::Map => {
            let names = MEDIA_TYPES.map(|name| block(name, "", CompletionItemKind::EnumMember));
            found.extend(names);
        }
        _ if is_security && place.form() == Form::Map => {
            let schemes = index.targets("securitySchemes").into_iter();
            // Requirements name schemes of the first document alone.
            let own = schemes.filter(|scheme| scheme.file == 0);
            found.extend(own.map(|scheme| {
                let name = scheme.pointer.rsplit('/').next().unwrap_or_default();
                let name = pointer::unescape(name);
                block(&name, "security scheme", CompletionItemKind::Reference)
            }));
        }
        _ => {}
    }
    found.retain(|candidate| !context.siblings.contains(&candidate.text));
    found
}

/// Returns the values that a key or an item can have.
fn values(request: &Request<'_>, context: &Context, place: Place) -> Vec<Candidate> {
    let index = &request.index;
    let mut tokens = context.tokens.as_slice();
    // The items of a list are those of its key.
    while let [outer @ .., last] = tokens
        && last == context::ITEM
    {
        tokens = outer;
    }
    let Some((key, holder)) = tokens.split_last() else {
        return Vec::new();
    };
    let holder = index.place(request.file, holder);
    let names = |texts: &[&str]| -> Vec<Candidate> {
        let texts = texts.iter();
        texts
            .map(|text| Candidate::value(*text, "", CompletionItemKind::EnumMember))
            .collect()
    };
    if place.form() == Form::Flag {
        return names(&["true", "false"]);
    }
    let is_mapping = tokens.iter().rev().nth(1).map(String::as_str) == Some("mapping");
    let name = holder.and_then(Place::name);
    match (name, key.as_str()) {
        (_, "$ref") => holder
            .and_then(Place::section)
            .map(|section| references(request, section))
            .unwrap_or_default(),
        (_, "operationRef") => Vec::new(),
        (Some("a discriminator"), "defaultMapping") => references(request, "schemas"),
        (None, _) if is_mapping => references(request, "schemas"),
        (Some("a schema"), "type") => names(&[
            "string", "integer", "number", "boolean", "array", "object", "null",
        ]),
        (Some("a schema"), "format") => FORMATS
            .iter()
            .map(|format| {
                let types = format.types.join(" or ");
                Candidate::value(format.name, &types, CompletionItemKind::EnumMember)
            })
            .collect(),
        (Some("a schema"), "required") => properties(request, context),
        (Some("a schema"), "contentMediaType") | (Some("an encoding"), "contentType") => {
            names(&MEDIA_TYPES)
        }
        (Some("an operation"), "tags") | (Some("a tag"), "parent") => {
            declared(index, NameKind::Tag, "tag")
        }
        (Some("a link"), "operationId") => declared(index, NameKind::Operation, "operation"),
        (Some("a parameter"), "in") => names(&["query", "header", "path", "cookie", "querystring"]),
        (Some("a parameter"), "style") => names(&[
            "simple",
            "form",
            "label",
            "matrix",
            "spaceDelimited",
            "pipeDelimited",
            "deepObject",
        ]),
        (Some("a header"), "style") => names(&["simple"]),
        (Some("a security scheme"), "type") => {
            names(&["http", "apiKey", "oauth2", "openIdConnect", "mutualTLS"])
        }
        (Some("a security scheme"), "in") => names(&["header", "query", "cookie"]),
        (Some("a security scheme"), "scheme") => names(&["bearer", "basic", "digest"]),
        (Some("the document"), "openapi") => names(&["3.1.1", "3.0.4", "3.2.0"]),
        _ => Vec::new(),
    }
}

/// Returns the names of a kind, each once.
fn declared(index: &Index, kind: NameKind, detail: &str) -> Vec<Candidate> {
    let of_kind = index.names.iter().filter(|name| name.kind == kind);
    // An operation may have a tag that nothing declares.
    let of_kind = of_kind.filter(|name| name.is_declaration || kind == NameKind::Tag);
    let names: BTreeSet<&str> = of_kind.map(|name| name.text.as_str()).collect();
    names
        .into_iter()
        .map(|name| Candidate::value(name, detail, CompletionItemKind::Reference))
        .collect()
}

/// Returns the properties that a schema declares, for its `required`.
fn properties(request: &Request<'_>, context: &Context) -> Vec<Candidate> {
    let mut tokens = context.tokens.clone();
    while tokens.last().is_some_and(|last| last == context::ITEM) {
        tokens.pop();
    }
    tokens.pop();
    let mut at = String::new();
    for token in &tokens {
        pointer::push(&mut at, token);
    }
    let root = request.parsed().root();
    let schema = root.and_then(|root| crate::parsed::at(root, &at));
    let properties = schema.and_then(|schema| schema.node.get("properties")?.as_object());
    properties
        .unwrap_or_default()
        .iter()
        .map(|entry| Candidate::value(&*entry.key, "property", CompletionItemKind::Field))
        .collect()
}

/// Returns the references to what a section of `components` holds, as the file writes them.
fn references(request: &Request<'_>, section: &str) -> Vec<Candidate> {
    let index = &request.index;
    let here = &index.files[request.file].path;
    let mut found = Vec::new();
    for target in index.targets(section) {
        let file = if target.file == request.file {
            Some(String::new())
        } else {
            relative(&index.files[target.file].path, here)
        };
        let Some(file) = file else { continue };
        let fragment = if target.pointer.is_empty() {
            String::new()
        } else {
            pointer::fragment(&target.pointer)
        };
        let node = index.node(&target).map(|found| found.node);
        let words = node.and_then(|node| node.get("description").and_then(Node::as_str));
        let words = words
            .and_then(|words| words.lines().next())
            .unwrap_or(section);
        found.push(Candidate::value(
            format!("{file}{fragment}"),
            words,
            CompletionItemKind::Reference,
        ));
    }
    found
}

/// Returns the path of a file relative to the folder of another one, as references write it.
fn relative(path: &Path, from: &Path) -> Option<String> {
    let mut folder = from.parent()?;
    let mut ups = String::new();
    loop {
        if let Ok(rest) = path.strip_prefix(folder) {
            return Some(format!("{ups}{}", rest.to_str()?.replace('\\', "/")));
        }
        // Files on different drives have no folder in common.
        folder = folder.parent()?;
        ups.push_str("../");
    }
}

impl Context {
    /// Returns a key as it is written here.
    fn key(&self, key: &str, is_block: bool) -> String {
        let key = self.quoted(key, false);
        if self.has_colon {
            return key;
        }
        match (is_block, self.is_flow) {
            (true, false) => format!("{key}:"),
            _ => format!("{key}: "),
        }
    }

    /// Returns a value as it is written here.
    fn value(&self, value: &str) -> String {
        let is_word = matches!(value, "true" | "false");
        self.quoted(value, is_word)
    }

    /// Returns a text with the quotes that it needs here and does not have.
    fn quoted(&self, text: &str, is_bare: bool) -> String {
        match self.quote {
            Some(quote) => {
                let open = format!("{quote}{quote}");
                let inner = scalar::written(&open, text);
                if self.is_closed {
                    inner
                } else {
                    format!("{inner}{quote}")
                }
            }
            None if is_bare => text.to_owned(),
            None if self.is_json => serde_json::Value::from(text).to_string(),
            None if scalar::is_plain(text) || text == "$ref" => text.to_owned(),
            None => format!("'{}'", text.replace('\'', "''")),
        }
    }
}
