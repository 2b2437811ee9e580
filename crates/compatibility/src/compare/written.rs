//! Values that are written otherwise by two encodings, and messages that have them.

use contract::model::{Location, Parameter, ParameterEncoding, SchemaId, SchemaKind, Types};
use serde_json::{Map, Value, json};

use super::message::Given;
use super::shape::Declared;
use super::{Comparison, Flow, OperationPair, encoding};
use crate::finding::{Kind, Witness};
use crate::pair::Side;

/// The maximum number of properties of a schema that are tried one by one.
const MOST_PROPERTIES: usize = 24;
/// Texts with a character that is in a URL as it is only where this is allowed.
const RESERVED: [&str; 4] = ["/", "a/b", "a:b", "a,b"];

/// A value that is written otherwise after a change.
pub(super) struct Written {
    pub(super) value: Value,
    /// How the sender writes it, if that has a simple form.
    pub(super) text: Option<String>,
}

impl Comparison<'_> {
    /// Returns a value that a sender may send and that is written otherwise than it is read, or `None`
    /// if none was found. `texts` writes a value as it is sent, and as it is read.
    pub(super) fn written_otherwise(
        &self,
        (side, schema): (Side, Option<SchemaId>),
        flow: Flow,
        texts: impl Fn(&Value) -> (Option<String>, Option<String>),
    ) -> Option<Written> {
        let mut unclear = None;
        for value in self.several(side, schema, flow) {
            match texts(&value) {
                (Some(sent), Some(read)) if sent == read => {}
                (Some(sent), Some(_)) => {
                    return Some(Written {
                        value,
                        text: Some(sent),
                    });
                }
                (text, read) => {
                    // Nothing is known of how either is written, as of an empty array in a query.
                    let is_clear = text.is_some() != read.is_some() || shows_style(&value);
                    if is_clear && unclear.is_none() {
                        unclear = Some(Written { value, text });
                    }
                }
            }
        }
        unclear
    }

    /// Returns small values of a schema, those first in which a style shows: arrays of several items,
    /// objects with properties, and texts with reserved characters.
    pub(super) fn several(&self, side: Side, schema: Option<SchemaId>, flow: Flow) -> Vec<Value> {
        let texts = RESERVED.map(Value::from);
        let usual = [json!(["a", "b"]), json!([1, 2]), json!({ "a": "b" })];
        let Some(id) = schema else {
            return usual.into_iter().chain(texts).collect();
        };
        let contract = self.context.pair.contract(side);
        let example = |id| self.context.example(side, id, flow.reading);
        let smallest = example(id);
        let mut out: Vec<Value> = smallest.iter().cloned().collect();
        if let SchemaKind::Object(keywords) = &contract.schema(contract.resolve(id)).kind
            && let Some(item) = keywords.items.and_then(example)
        {
            out.push(json!([item, item]));
        }
        let declared = Declared::of(contract, id);
        for (name, ids) in declared.properties.iter().take(MOST_PROPERTIES) {
            let Some(part) = ids.first().copied().and_then(example) else {
                continue;
            };
            let mut whole = match &smallest {
                Some(Value::Object(fields)) => fields.clone(),
                _ => Map::new(),
            };
            whole.insert(name.clone(), part);
            out.push(Value::Object(whole));
        }
        out.extend(usual);
        out.extend(texts);
        out.retain(|value| self.context.is_valid(side, id, value) == Some(true));
        // The sort is stable: the smallest stay first.
        out.sort_by_key(|value| !shows_style(value));
        out
    }

    /// Returns whether all values of a schema are written in the same way by all styles that have no
    /// mark before the value: it has no arrays and no objects.
    pub(super) fn is_flat(&self, side: Side, schema: Option<SchemaId>) -> bool {
        let contract = self.context.pair.contract(side);
        let Some(id) = schema else { return false };
        match &contract.schema(self.context.pair.end(side, id)).kind {
            SchemaKind::Object(keywords) => keywords.types.is_some_and(|types| {
                !types.contains(Types::ARRAY) && !types.contains(Types::OBJECT)
            }),
            SchemaKind::Bool(_) => false,
        }
    }

    /// Returns a value of a parameter or header that is written otherwise than it is read.
    fn parameter_otherwise(
        &self,
        (old, new): (&Parameter, &Parameter),
        flow: Flow,
    ) -> Option<Written> {
        let (sent, read) = if flow.is_to_api() {
            (old, new)
        } else {
            (new, old)
        };
        self.written_otherwise((flow.sender, Some(sent.schema)), flow, |value| {
            (text(sent, value), text(read, value))
        })
    }

    /// Returns the kind of a finding about the style of a parameter, and the request that shows it.
    pub(super) fn style_of_parameter(
        &self,
        pair: &OperationPair<'_>,
        at: usize,
        (old, new): (&Parameter, &Parameter),
    ) -> (Kind, Option<Witness>) {
        let (flow, _) = Self::flows(pair);
        let Some(found) = self.parameter_otherwise((old, new), flow) else {
            return (Kind::Undecided, None);
        };
        let place = match new.location {
            Location::Path => "path",
            Location::Query => "query",
            Location::Header => "headers",
            Location::Cookie => "cookies",
        };
        let name = &new.name;
        let value = match found.text {
            Some(text) => Value::String(text),
            None => found.value.clone(),
        };
        let command = (!pair.is_reversed)
            .then(|| self.with_body(pair.base, Given::Parameter(at, &found.value)))
            .flatten();
        let outline = || {
            let message = if pair.is_reversed {
                json!({ "webhook": pair.name, place: { name: value } })
            } else {
                let request = format!("{} {}", pair.base.method.as_str(), pair.base.path);
                json!({ "request": request, place: { name: value } })
            };
            Witness::Message(message.to_string())
        };
        (Kind::Breaking, Some(command.unwrap_or_else(outline)))
    }

    /// Returns the kind of a finding about the style of a header, and the value that shows it.
    pub(super) fn style_of_header(
        &self,
        both: (&Parameter, &Parameter),
        flow: Flow,
    ) -> (Kind, Option<Value>) {
        match self.parameter_otherwise(both, flow) {
            Some(Written {
                text: Some(text), ..
            }) => (Kind::Breaking, Some(Value::String(text))),
            Some(Written { value, .. }) => (Kind::Breaking, Some(value)),
            None => (Kind::Undecided, None),
        }
    }
}

/// Returns what has happened to a parameter or header, by the kind of the finding.
pub(super) fn style_words(kind: Kind) -> &'static str {
    if kind == Kind::Breaking {
        "is written in another style"
    } else {
        "is written in another style, and no value is known that shows it"
    }
}

/// Returns whether some styles write a value in different ways.
fn shows_style(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.len() > 1,
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => RESERVED.contains(&text.as_str()),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the text of a parameter or header where it stands, if it has a simple form.
fn text(parameter: &Parameter, value: &Value) -> Option<String> {
    match parameter.location {
        Location::Path => encoding::in_path(parameter, value),
        Location::Query => encoding::in_query(parameter, value).map(|pairs| pairs.join("&")),
        Location::Header => encoding::of_header(parameter, value),
        // The encoding of JSON in a cookie has no simple form.
        Location::Cookie => match &parameter.encoding {
            ParameterEncoding::Style { .. } => encoding::in_cookie(parameter, value),
            ParameterEncoding::Content(_) => None,
        },
    }
}
