//! The fields of a form and the parts of a multipart body: their names or positions, their schemas,
//! and the media types that they have if none is named.

use contract::model::{Contract, MediaType, PropertyEncoding, SchemaId, SchemaKind, Types};
use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::compare::Comparison;
use crate::compare::shape::Declared;
use crate::pair::Side;

/// The media types that a part without `contentType` may have, by the kind of its property.
pub(super) const DEFAULTS: [&str; 3] =
    ["application/json", "application/octet-stream", "text/plain"];
/// The deepest nesting of arrays that is followed to their items.
const MOST_DEPTH: usize = 8;

/// How the fields or parts of a body, or of a part, are encoded before or after a change.
#[derive(Clone, Copy)]
pub(in crate::compare) struct Encodings<'c> {
    named: Option<&'c IndexMap<String, PropertyEncoding>>,
    prefix: &'c [PropertyEncoding],
    item: Option<&'c PropertyEncoding>,
    /// The schema of the whole, and that of each item.
    pub(super) schema: Option<SchemaId>,
    item_schema: Option<SchemaId>,
}

impl<'c> Encodings<'c> {
    pub(in crate::compare) fn of(media: &'c MediaType) -> Self {
        Self {
            named: Some(&media.encoding),
            prefix: &media.prefix_encoding,
            item: media.item_encoding.as_ref(),
            schema: media.schema,
            item_schema: media.item_schema,
        }
    }

    /// Returns the encodings of the parts of a part, which has a schema.
    pub(in crate::compare) fn within(
        part: Option<&'c PropertyEncoding>,
        schema: Option<SchemaId>,
    ) -> Self {
        Self {
            named: part.map(|part| &part.encoding),
            prefix: part.map_or(&[], |part| &part.prefix_encoding),
            item: part.and_then(|part| part.item_encoding.as_deref()),
            schema,
            item_schema: None,
        }
    }

    /// Returns the encoding of a part.
    pub(in crate::compare) fn get(&self, key: &Key) -> Option<&'c PropertyEncoding> {
        match key {
            Key::Name(name) => self.named?.get(name),
            Key::At(at) => self.prefix.get(*at).or(self.item),
            Key::Rest(_) => self.item,
        }
    }
}

/// The name or the position of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::compare) enum Key {
    Name(String),
    At(usize),
    /// All parts from this position on.
    Rest(usize),
}

impl Key {
    /// Returns the parts that either of two encodings is about: those that are sent first.
    pub(super) fn of(sent: &Encodings<'_>, read: &Encodings<'_>) -> Vec<Self> {
        let mut names: Vec<&String> = Vec::new();
        for named in [sent.named, read.named].into_iter().flatten() {
            for name in named.keys() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let mut keys: Vec<Self> = names.into_iter().cloned().map(Self::Name).collect();
        let positions = sent.prefix.len().max(read.prefix.len());
        keys.extend((0..positions).map(Self::At));
        if sent.item.is_some() || read.item.is_some() {
            keys.push(Self::Rest(positions));
        }
        keys
    }

    /// Returns the part in words.
    pub(super) fn words(&self, what: &str) -> String {
        match self {
            Self::Name(name) => format!("the {what} `{name}`"),
            Self::At(at) => format!("the part {}", at + 1),
            Self::Rest(0) => "each part".to_owned(),
            Self::Rest(at) => format!("each part after the part {at}"),
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Self::Name(name) => json!(name),
            Self::At(at) | Self::Rest(at) => json!(at),
        }
    }
}

impl Comparison<'_> {
    /// Returns the schema of a part, or `None` if anything may be there or it is not known.
    pub(in crate::compare) fn part_schema(
        &self,
        side: Side,
        whole: &Encodings<'_>,
        key: &Key,
    ) -> Option<SchemaId> {
        let contract = self.context.pair.contract(side);
        let keywords = |id: SchemaId| match &contract.schema(contract.resolve(id)).kind {
            SchemaKind::Object(keywords) => Some(keywords),
            SchemaKind::Bool(_) => None,
        };
        match key {
            Key::Name(name) => {
                let declared = Declared::of(contract, whole.schema?);
                declared.properties.get(name)?.first().copied()
            }
            Key::At(at) => {
                let found = whole.schema.and_then(keywords).and_then(|keywords| {
                    keywords.prefix_items.get(*at).copied().or(keywords.items)
                });
                found.or(whole.item_schema)
            }
            Key::Rest(_) => {
                let items = whole.schema.and_then(keywords).and_then(|one| one.items);
                items.or(whole.item_schema)
            }
        }
    }

    /// Returns whether the values of a schema may have a part, unless it lists others alone.
    pub(super) fn may_have(&self, side: Side, whole: &Encodings<'_>, key: &Key) -> bool {
        let Some(id) = whole.schema else {
            return true;
        };
        let contract = self.context.pair.contract(side);
        let is_none = |id: SchemaId| matches!(contract.schema(id).kind, SchemaKind::Bool(false));
        let SchemaKind::Object(keywords) = &contract.schema(self.context.pair.end(side, id)).kind
        else {
            return true;
        };
        let name = match key {
            Key::Name(name) => name,
            Key::At(at) | Key::Rest(at) => {
                let is_beyond = keywords.max_items.is_some_and(|most| *at as u64 >= most);
                let item = keywords.prefix_items.get(*at).copied().or(keywords.items);
                return !is_beyond && !item.is_some_and(is_none);
            }
        };
        let declared = Declared::of(contract, id);
        match declared.properties.get(name) {
            Some(schemas) => !schemas.iter().copied().any(is_none),
            None => declared.properties.is_empty() || !keywords.pattern_properties.is_empty(),
        }
    }

    /// Returns the media types that a part has if none is named: those for each kind of its values.
    pub(super) fn defaults_of(
        &self,
        side: Side,
        schema: Option<SchemaId>,
    ) -> Vec<Vec<&'static str>> {
        let contract = self.context.pair.contract(side);
        let mut out = Vec::new();
        let is_known = schema.is_some_and(|id| add_defaults(contract, id, 0, &mut out).is_some());
        if !is_known || out.is_empty() {
            return vec![DEFAULTS.to_vec()];
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Adds the media types for each kind of the values of a schema, or returns `None` if these are not
/// known.
fn add_defaults(
    contract: &Contract,
    id: SchemaId,
    depth: usize,
    out: &mut Vec<Vec<&'static str>>,
) -> Option<()> {
    let SchemaKind::Object(keywords) = &contract.schema(contract.resolve(id)).kind else {
        return None;
    };
    if depth > MOST_DEPTH {
        return None;
    }
    let types = keywords.types?;
    let scalars = [Types::STRING, Types::INTEGER, Types::NUMBER, Types::BOOLEAN];
    for scalar in scalars.into_iter().filter(|kind| types.contains(*kind)) {
        // The text may be that of bytes, by `contentEncoding`, or by a format of 3.0.
        let is_text = scalar != Types::STRING;
        out.push(if is_text {
            vec!["text/plain"]
        } else {
            vec!["application/octet-stream", "text/plain"]
        });
    }
    if types.contains(Types::OBJECT) {
        out.push(vec!["application/json"]);
    }
    if types.contains(Types::ARRAY) {
        // Each item is a part of its own, or the array is one.
        let before = out.len();
        add_defaults(contract, keywords.items?, depth + 1, out)?;
        for kind in &mut out[before..] {
            kind.push("application/json");
            kind.sort_unstable();
            kind.dedup();
        }
    }
    Some(())
}
