//! Definitions, references and the outline of a document.

use gen_lsp_types::{DocumentSymbol, Location, SymbolKind};

use contract::node::{Entry, Node};
use contract::source::Span;

use crate::index::{Index, ReferenceForm, Symbol};
use crate::parsed::Parsed;
use crate::position::Encoding;
use crate::world::Request;

/// The maximum number of places that one response lists.
const MOST_PLACES: usize = 10_000;

/// Returns where what is at a position is declared.
pub(crate) fn definition(request: &Request<'_>) -> Vec<Location> {
    let Some((symbol, _)) = symbol(request) else {
        return Vec::new();
    };
    let index = &request.index;
    let places = index.declarations(&symbol).into_iter();
    let places = places.filter_map(|(file, span)| request.location(index, file, span));
    places.take(MOST_PLACES).collect()
}

/// Returns where what is at a position is named, sorted by file and position.
pub(crate) fn references(request: &Request<'_>, with_declaration: bool) -> Vec<Location> {
    let Some((symbol, _)) = symbol(request) else {
        return Vec::new();
    };
    let index = &request.index;
    let mut places = uses(index, &symbol);
    if with_declaration {
        places.extend(index.declarations(&symbol));
    }
    places.sort_unstable();
    places.dedup();
    let places = places.into_iter();
    let places = places.filter_map(|(file, span)| request.location(index, file, span));
    places.take(MOST_PLACES).collect()
}

/// Returns what is at the position of a request, with the span that names it.
pub(crate) fn symbol(request: &Request<'_>) -> Option<(Symbol, Span)> {
    let offset = request.parsed().in_tree(request.offset)?;
    request.index.symbol(request.file, offset)
}

fn uses(index: &Index, symbol: &Symbol) -> Vec<(usize, Span)> {
    match symbol {
        Symbol::Node(target) => index
            .references_to(target)
            .filter(|reference| reference.form != ReferenceForm::Implied)
            .map(|reference| (reference.file, reference.span))
            .collect(),
        Symbol::Name(kind, text) => index
            .names
            .iter()
            .filter(|name| name.kind == *kind && name.text == *text && !name.is_declaration)
            .map(|name| (name.file, name.span))
            .collect(),
    }
}

/// Returns the outline of a document: paths with their operations, webhooks, components and tags.
pub(crate) fn outline(parsed: &Parsed, encoding: Encoding) -> Vec<DocumentSymbol> {
    let Some(root) = parsed.root() else {
        return Vec::new();
    };
    let outline = Outline { parsed, encoding };
    let mut symbols = Vec::new();
    for entry in root.as_object().unwrap_or_default() {
        let inner = match entry.key.as_str() {
            "paths" | "webhooks" => outline.each(&entry.value, SymbolKind::Interface, |item| {
                outline.operations(item)
            }),
            "components" => outline.each(&entry.value, SymbolKind::Namespace, |section| {
                outline.each(section, SymbolKind::Struct, |_| Vec::new())
            }),
            _ => Vec::new(),
        };
        symbols.extend(outline.symbol(entry, SymbolKind::Module, None, inner));
    }
    symbols
}

struct Outline<'p> {
    parsed: &'p Parsed,
    encoding: Encoding,
}

impl Outline<'_> {
    fn each(
        &self,
        node: &Node,
        kind: SymbolKind,
        inner: impl Fn(&Node) -> Vec<DocumentSymbol>,
    ) -> Vec<DocumentSymbol> {
        let entries = node.as_object().unwrap_or_default().iter();
        entries
            .filter_map(|entry| self.symbol(entry, kind, None, inner(&entry.value)))
            .collect()
    }

    fn operations(&self, item: &Node) -> Vec<DocumentSymbol> {
        let entries = item.as_object().unwrap_or_default().iter();
        // By their responses, because a path item has other entries too, such as `parameters`.
        let operations = entries.filter(|entry| entry.value.get("responses").is_some());
        operations
            .filter_map(|entry| {
                let id = entry.value.get("operationId").and_then(Node::as_str);
                self.symbol(entry, SymbolKind::Method, id, Vec::new())
            })
            .collect()
    }

    #[expect(
        deprecated,
        reason = "the struct has a field that the protocol deprecates"
    )]
    fn symbol(
        &self,
        entry: &Entry,
        kind: SymbolKind,
        detail: Option<&str>,
        children: Vec<DocumentSymbol>,
    ) -> Option<DocumentSymbol> {
        let selection_range = self.parsed.range(self.encoding, entry.key_span)?;
        let end = self.parsed.range(self.encoding, entry.value.span)?.end;
        // A client refuses an outline with an empty name.
        let name = if entry.key.is_empty() {
            "(empty)".to_owned()
        } else {
            entry.key.clone()
        };
        Some(DocumentSymbol {
            name,
            detail: detail.map(str::to_owned),
            kind,
            tags: None,
            deprecated: None,
            range: gen_lsp_types::Range {
                start: selection_range.start,
                // The value of an alias is elsewhere.
                end: end.max(selection_range.end),
            },
            selection_range,
            children: (!children.is_empty()).then_some(children),
        })
    }
}
