//! Whole requests that show what has changed about a part.

use contract::model::Parameter;
use serde_json::{Map, Value, json};

use super::{Encodings, Key, Part};
use crate::compare::message::Given;
use crate::compare::multipart::Shown;
use crate::compare::walk::{PartHeader, Place};
use crate::compare::{Comparison, Flow, OperationPair};
use crate::finding::Witness;

impl<'c> Comparison<'c> {
    /// Returns a request that has a part, or `None` if the part is not of a request to the API, or no
    /// command sends it.
    pub(super) fn request_with(
        &self,
        index: usize,
        part: &Part<'_, 'c>,
        flow: Flow,
        shown: &Shown,
    ) -> Option<Witness> {
        let pair = &self.pairs[index];
        let Place::RequestBody(media) = part.whole.place else {
            return None;
        };
        if pair.is_reversed || !part.whole.is_multipart {
            return None;
        }
        let mut values = self.values_of(part, flow).into_iter();
        values.find_map(|value| {
            let body = self.body_with(flow, part, &value)?;
            self.request(pair.base, Some(media), Given::Parts(&body, shown))
        })
    }

    /// Returns the place of a header of a part.
    pub(super) fn part_header_place(
        &self,
        part: &Part<'_, 'c>,
        header: &Parameter,
        flow: Flow,
    ) -> Place {
        let values = self.values_of(part, flow);
        let mut bodies = values.iter().map(|value| self.body_with(flow, part, value));
        Place::PartHeader(Box::new(PartHeader {
            media: match part.whole.place {
                Place::RequestBody(media) => media.clone(),
                _ => String::new(),
            },
            way: part.whole.keys(part.key),
            header: header.clone(),
            body: bodies.find_map(|body| body),
        }))
    }

    /// Returns a request in which a header of a part has a text.
    pub(in crate::compare) fn part_header_request(
        &self,
        pair: &OperationPair<'_>,
        place: &PartHeader,
        text: String,
    ) -> Option<Witness> {
        let shown = Shown {
            way: place.way.clone(),
            media: None,
            header: Some((place.header.name.clone(), text)),
        };
        let given = Given::Parts(place.body.as_ref()?, &shown);
        self.request(pair.base, Some(&place.media), given)
    }

    /// Returns small values of a part, the smallest first. An empty array is no part.
    fn values_of(&self, part: &Part<'_, 'c>, flow: Flow) -> Vec<Value> {
        let schema = part.schemas.0;
        if schema.is_none() {
            return vec![json!("a")];
        }
        let mut values = self.several(flow.sender, schema, flow);
        let usual = json!("a");
        if schema.is_some_and(|id| self.context.is_valid(flow.sender, id, &usual) == Some(true)) {
            values.insert(0, usual);
        }
        values.retain(|value| value.as_array().is_none_or(|items| !items.is_empty()));
        values.sort_by_key(|value| value.to_string().len());
        values
    }

    /// Returns a body that may be sent, in which a field or part has a value.
    pub(super) fn body_with(
        &self,
        flow: Flow,
        part: &Part<'_, 'c>,
        value: &Value,
    ) -> Option<Value> {
        let way = part.whole.way.iter().rev();
        let levels = way.map(|(key, level)| (key, level));
        let mut body = value.clone();
        let mut schema = None;
        for (key, level) in [(part.key, &part.level)].into_iter().chain(levels) {
            body = self.whole_with(flow, (key, level), body)?;
            schema = level.schema;
        }
        let is_valid = |id| self.context.is_valid(flow.sender, id, &body) == Some(true);
        schema.is_none_or(is_valid).then_some(body)
    }

    /// Returns a whole in which a part has a value.
    fn whole_with(
        &self,
        flow: Flow,
        (key, level): (&Key, &Encodings<'c>),
        value: Value,
    ) -> Option<Value> {
        let example = |id| self.context.example(flow.sender, id, flow.reading);
        // Nothing is known of how a null is a part.
        let usual = level.schema.and_then(example);
        let usual = usual.map(without_null);
        match key {
            Key::Name(name) => {
                let mut fields = match usual {
                    Some(Value::Object(fields)) => fields,
                    _ => Map::new(),
                };
                fields.insert(name.clone(), value);
                Some(Value::Object(fields))
            }
            Key::At(at) | Key::Rest(at) => {
                let mut items = match usual {
                    Some(Value::Array(items)) => items,
                    _ => Vec::new(),
                };
                for before in items.len()..*at {
                    let schema = self.part_schema(flow.sender, level, &Key::At(before));
                    items.push(schema.map_or(Some(json!("a")), example)?);
                }
                match items.get_mut(*at) {
                    Some(item) => *item = value,
                    None => items.push(value),
                }
                Some(Value::Array(items))
            }
        }
    }
}

/// Returns a value with letters in place of null.
fn without_null(value: Value) -> Value {
    match value {
        Value::Null => json!("a"),
        Value::Array(items) => items.into_iter().map(without_null).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(name, part)| (name, without_null(part)))
                    .collect(),
            )
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
