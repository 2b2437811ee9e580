//! Reads YAML 1.2 (core schema) with the span of every value and key, from saphyr's events.
//!
//! The grammar of YAML is saphyr's. Resolving scalars, aliases and keys is done here, since a
//! document that other tools read differently must be reported, and aliases must be bounded.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

use super::indentation::{Blanks, indent};
use super::json::duplicate;
use super::recovery::{MOST_ERRORS, Recovery};
use super::scalar::{self, Plain};
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, MAX_DEPTH, Node, NodeValue};
use crate::source::{FileId, Span};

/// The weight of the nodes that anchors and aliases may copy. Without a limit, a few kilobytes of
/// nested aliases expand to gigabytes.
const COPY_BUDGET: usize = 1_000_000;

/// The bytes of a text that weigh as much as a node.
const BYTES_OF_A_NODE: usize = 64;

/// The errors after which the lines that are broken can be left out.
pub(super) const RECOVERABLE: [&str; 5] = [
    "key-not-text",
    "merge-key",
    "not-finite",
    "unknown-anchor",
    "yaml-syntax",
];

/// The label of the lines that are left out after an error.
pub(super) const LEFT_OUT: &str = "left out, to check the rest";

/// Parses one YAML document. Errors and warnings are added to `diagnostics`.
///
/// After an error, the lines that are broken are indented or left out, and the rest is read. Returns
/// `None` if that is not possible.
pub(super) fn read(file: FileId, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Node> {
    let mut found = Vec::new();
    let none = Blanks::default();
    let error = match read_once(file, text, &none, &mut found) {
        Ok(node) => {
            diagnostics.extend(found);
            return node;
        }
        Err(error) => error,
    };
    if error.code == "yaml-syntax"
        && let Some(node) = read_indented(file, text, diagnostics)
    {
        return Some(node);
    }
    let mut recovery = Recovery::new(text);
    let mut next = Some(error);
    for _ in 0..MOST_ERRORS {
        let Some(error) = next.take() else { break };
        let is_recoverable = RECOVERABLE.contains(&error.code);
        let at = error.span.start as usize;
        let left_out = if is_recoverable {
            recovery.leave_out(at)
        } else {
            None
        };
        let Some(left_out) = left_out else {
            diagnostics.push(*error);
            break;
        };
        let span = Span::new(file, left_out.start, left_out.end);
        diagnostics.push(error.related(span, LEFT_OUT));
        // Reading again finds these again.
        found.clear();
        match read_once(file, &recovery.text, &none, &mut found) {
            Ok(node) => {
                diagnostics.extend(found);
                return node.map(|mut node| {
                    recovery.prune(&mut node);
                    node
                });
            }
            Err(error) => next = Some(error),
        }
    }
    // What was found before the first error, since nothing after it was read.
    diagnostics.extend(found);
    None
}

/// Reads a document whose brackets or quotes go on in a line that is indented too little, and
/// reports these lines. Returns `None` if something else is wrong.
fn read_indented(file: FileId, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Node> {
    let indented = indent(text)?;
    let mut found = Vec::new();
    let node = read_once(file, &indented.text, &indented.blanks, &mut found).ok()??;
    diagnostics.extend(indented.places.into_iter().map(|place| {
        Diagnostic::error(
            "yaml-indentation",
            Span::new(file, place.start, place.end),
            "this line is inside of brackets or quotes, and is indented too little",
        )
        .help("indent it further than the key that the brackets or quotes belong to")
    }));
    diagnostics.extend(found);
    Some(node)
}

fn read_once(
    file: FileId,
    text: &str,
    blanks: &Blanks,
    diagnostics: &mut Vec<Diagnostic>,
) -> Parsed<Option<Node>> {
    let mut reader = Reader {
        file,
        offsets: Offsets::new(text, blanks),
        parser: Parser::new_from_str(text),
        anchors: HashMap::new(),
        copy_budget: COPY_BUDGET,
        diagnostics,
    };
    reader.document()
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Reader<'a, 'd> {
    file: FileId,
    offsets: Offsets<'a>,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// The anchored nodes, by saphyr's number of the anchor.
    anchors: HashMap<usize, Anchored>,
    /// The weight that may still be copied.
    copy_budget: usize,
    diagnostics: &'d mut Vec<Diagnostic>,
}

/// A node with an anchor.
struct Anchored {
    node: Node,
    /// What a copy of the node takes of the budget of copies.
    weight: usize,
    /// The number of levels below it.
    height: usize,
}

impl<'a> Reader<'a, '_> {
    fn document(&mut self) -> Parsed<Option<Node>> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Nothing => {}
                Event::StreamEnd => break,
                _ if document.is_some() => {
                    return Err(error(
                        "several-documents",
                        span,
                        "a second YAML document in one file",
                        "keep one document per file",
                    ));
                }
                event => document = Some(self.node(event, span, 0)?),
            }
        }
        if document.is_none() {
            let message = if self.offsets.text.trim().is_empty() {
                "the file is empty"
            } else {
                "the file has no document: it has comments or control characters alone"
            };
            let diagnostic =
                Diagnostic::error("empty-document", Span::new(self.file, 0, 0), message);
            return Err(Box::new(diagnostic.help("start with `openapi: 3.1.0`")));
        }
        Ok(document)
    }

    fn next(&mut self) -> Parsed<(Event<'a>, Span)> {
        match self.parser.next() {
            Some(Ok((event, span))) => {
                let span = self
                    .offsets
                    .span(self.file, span.start.index(), span.end.index());
                Ok((event, span))
            }
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Ok((Event::StreamEnd, Span::new(self.file, 0, 0))),
        }
    }

    fn syntax(&mut self, error: &ScanError) -> Box<Diagnostic> {
        let start = error.marker().index();
        let span = self.offsets.span(self.file, start, start + 1);
        // The parser has a limit of its own for brackets.
        if error.info().contains("recursion limit") {
            return too_deep(span);
        }
        let diagnostic = Diagnostic::error(
            "yaml-syntax",
            span,
            format!("this is not YAML: {}", error.info()),
        );
        Box::new(
            diagnostic
                .help("check the indentation, the quotes and the brackets just before this place"),
        )
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Parsed<Node> {
        if depth > MAX_DEPTH {
            return Err(too_deep(span));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix));
                let value = self.scalar(&text, style, tag.as_deref(), span)?;
                self.anchored(anchor, Node { span, value })
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                let end = loop {
                    let (event, inner) = self.next()?;
                    if matches!(event, Event::SequenceEnd) {
                        break inner;
                    }
                    items.push(self.node(event, inner, depth + 1)?);
                };
                let span = covering(span, items.last().map(|item| item.span), end);
                self.anchored(
                    anchor,
                    Node {
                        span,
                        value: NodeValue::Array(items),
                    },
                )
            }
            Event::MappingStart(anchor, _) => self.mapping(anchor, span, depth),
            Event::Alias(anchor) => self.alias(anchor, span, depth),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Err(error(
                "yaml-syntax",
                span,
                "a value is missing here",
                "complete the document",
            )),
        }
    }

    fn mapping(&mut self, anchor: usize, span: Span, depth: usize) -> Parsed<Node> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen: HashMap<String, Span> = HashMap::new();
        let end = loop {
            let (event, key_span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break key_span;
            }
            let key = self.key(event, key_span)?;
            let (event, value_span) = self.next()?;
            let value = self.node(event, value_span, depth + 1)?;
            if let Some(first) = seen.get(&key) {
                self.diagnostics.push(duplicate(&key, key_span, *first));
            } else {
                seen.insert(key.clone(), key_span);
                entries.push(Entry {
                    key,
                    key_span,
                    value,
                });
            }
        };
        // In flow style the span starts at the bracket, in block style at the first key, wherever
        // saphyr reports the start.
        let start = entries.first().map_or(span, |entry| Span {
            end: span.end,
            ..entry.key_span
        });
        let from = if span.start < start.start {
            span
        } else {
            start
        };
        let span = covering(from, entries.last().map(|entry| entry.value.span), end);
        self.anchored(
            anchor,
            Node {
                span,
                value: NodeValue::Object(entries),
            },
        )
    }

    fn key(&mut self, event: Event<'a>, span: Span) -> Parsed<String> {
        match event {
            Event::Scalar(text, ScalarStyle::Plain, _, _) => {
                if text == "<<" {
                    return Err(error(
                        "merge-key",
                        span,
                        "the merge key `<<` is not part of YAML 1.2",
                        "write the entries out, or use `$ref` or `allOf`",
                    ));
                }
                if let Some(diagnostic) = scalar::ambiguous_key(&text, span) {
                    self.diagnostics.push(diagnostic);
                }
                Ok(text.into_owned())
            }
            Event::Scalar(text, ..) => Ok(text.into_owned()),
            Event::Alias(anchor) => match self.alias(anchor, span, 0)?.value {
                NodeValue::String(text) => Ok(text),
                _ => Err(error(
                    "key-not-text",
                    span,
                    "a key must be a string",
                    "write the key as a string",
                )),
            },
            _ => Err(error(
                "key-not-text",
                span,
                "a key must be a string, not a list or a map",
                "write the key as a string",
            )),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&str>,
        span: Span,
    ) -> Parsed<NodeValue> {
        match tag {
            None | Some("!") => {}
            Some("tag:yaml.org,2002:str" | "!!str") => {
                return Ok(NodeValue::String(text.to_owned()));
            }
            Some(
                "tag:yaml.org,2002:int"
                | "tag:yaml.org,2002:float"
                | "tag:yaml.org,2002:bool"
                | "tag:yaml.org,2002:null"
                | "!!int"
                | "!!float"
                | "!!bool"
                | "!!null",
            ) => return plain(text, span),
            Some(other) => {
                let message = format!(
                    "the tag `{}` is not supported in a contract",
                    other.escape_debug()
                );
                return Err(error("unknown-tag", span, &message, "remove the tag"));
            }
        }
        if style == ScalarStyle::Plain {
            if let Some(diagnostic) = scalar::ambiguous(text, span) {
                self.diagnostics.push(diagnostic);
            }
            return plain(text, span);
        }
        Ok(NodeValue::String(text.to_owned()))
    }

    /// Returns a node, and keeps a copy of it if it has an anchor.
    fn anchored(&mut self, anchor: usize, node: Node) -> Parsed<Node> {
        if anchor == 0 {
            return Ok(node);
        }
        let (weight, height) = measure(&node);
        // Anchors can be nested, and each of them keeps all that is in it.
        self.charge(weight, node.span)?;
        let copy = Anchored {
            node: node.clone(),
            weight,
            height,
        };
        self.anchors.insert(anchor, copy);
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, span: Span, depth: usize) -> Parsed<Node> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(error(
                "unknown-anchor",
                span,
                "the alias is inside the node that it names",
                "an alias may only follow its anchor",
            ));
        };
        if depth + anchored.height > MAX_DEPTH {
            return Err(too_deep(span));
        }
        let weight = anchored.weight;
        self.charge(weight, span)?;
        // An alias copies its node, so nested aliases grow exponentially. Sharing nodes instead
        // would only move the growth to everything that walks the tree.
        Ok(self.anchors[&anchor].node.clone())
    }

    /// Takes the weight of a copy from the budget.
    fn charge(&mut self, weight: usize, span: Span) -> Parsed<()> {
        let Some(left) = self.copy_budget.checked_sub(weight) else {
            return Err(error(
                "too-many-aliases",
                span,
                "anchors and aliases copy more than a million nodes, or 64 MB of text",
                "use `$ref` instead of YAML anchors and aliases",
            ));
        };
        self.copy_budget = left;
        Ok(())
    }
}

fn plain(text: &str, span: Span) -> Parsed<NodeValue> {
    match scalar::plain(text) {
        Plain::Null => Ok(NodeValue::Null),
        Plain::Bool(value) => Ok(NodeValue::Bool(value)),
        Plain::Number(number) => Ok(NodeValue::Number(number)),
        Plain::Text => Ok(NodeValue::String(text.to_owned())),
        Plain::NotFinite => Err(error(
            "not-finite",
            span,
            "JSON has no infinity and no NaN",
            "write a finite number, or put the text in quotes",
        )),
    }
}

fn error(code: &'static str, span: Span, message: &str, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, span, message).help(help))
}

fn too_deep(span: Span) -> Box<Diagnostic> {
    error(
        "too-deep",
        span,
        &format!("nesting deeper than {MAX_DEPTH} levels"),
        "name inner schemas under components and refer to them",
    )
}

/// Returns the weight of a node and all that is in it, and the number of levels below it.
///
/// Each node weighs one, and its text and its keys one more for every [`BYTES_OF_A_NODE`].
fn measure(node: &Node) -> (usize, usize) {
    let children: Vec<(&str, &Node)> = match &node.value {
        NodeValue::Array(items) => items.iter().map(|item| ("", item)).collect(),
        NodeValue::Object(entries) => entries
            .iter()
            .map(|entry| (entry.key.as_str(), &entry.value))
            .collect(),
        NodeValue::String(text) => return (1 + text.len() / BYTES_OF_A_NODE, 0),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) => return (1, 0),
    };
    children
        .into_iter()
        .fold((1, 0), |(weight, height), (key, child)| {
            let (inner, below) = measure(child);
            let key = key.len() / BYTES_OF_A_NODE;
            (weight + key + inner, height.max(below + 1))
        })
}

/// Returns the span of a collection: from its start to the end of its last part, or to its closing
/// bracket in flow style.
///
/// In block style, saphyr reports the end where the next token starts, which can be many comment
/// lines later.
fn covering(start: Span, last: Option<Span>, end: Span) -> Span {
    let part = last.map_or(start.end, |last| last.end);
    let end = if end.end > end.start { end.end } else { part };
    Span {
        end: end.max(part),
        ..start
    }
}

/// Converts positions in characters, as saphyr counts, to positions in bytes.
///
/// Positions mostly grow, so each is counted from the last one: counting from the start every time
/// would be quadratic.
struct Offsets<'a> {
    text: &'a str,
    /// The blanks of the text that its author has not written.
    blanks: &'a Blanks,
    ascii: bool,
    /// The last position, in characters and in bytes.
    last: (usize, usize),
}

impl<'a> Offsets<'a> {
    fn new(text: &'a str, blanks: &'a Blanks) -> Self {
        Self {
            text,
            blanks,
            // Most documents are ASCII, where the two positions are equal and nothing is counted.
            ascii: text.is_ascii(),
            last: (0, 0),
        }
    }

    fn span(&mut self, file: FileId, start: usize, end: usize) -> Span {
        let start = self.byte(start);
        let back = self.last;
        let end = self.byte(end);
        // The next event starts at or after the start of this one, but can start before its end.
        self.last = back;
        Span::new(file, self.blanks.without(start), self.blanks.without(end))
    }

    fn byte(&mut self, character: usize) -> usize {
        if self.ascii {
            return character.min(self.text.len());
        }
        if character < self.last.0 {
            self.last = (0, 0);
        }
        let (from, base) = self.last;
        let byte = self.text[base..]
            .char_indices()
            .nth(character - from)
            .map_or(self.text.len(), |(offset, _)| base + offset);
        self.last = (character, byte);
        byte
    }
}
