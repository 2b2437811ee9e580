//! Compares how the fields of forms and the parts of multipart bodies are written.

mod headers;
mod parts;
mod requests;

use contract::model::{MediaType, PropertyEncoding, SchemaId, Style};
use contract::source::Span;
use serde_json::{Value, json};

use super::bodies::{covers, describe, unread};
use super::multipart::Shown;
use super::walk::Place;
use super::written::style_words;
use super::{Comparison, Flow, Found, encoding};
use crate::finding::{Kind, Witness};
use crate::pair::Side;
pub(super) use parts::{Encodings, Key};

/// The deepest nesting of multipart bodies in parts of others that is compared.
const MOST_DEPTH: usize = 16;

/// A body whose fields or parts are compared, and the part of it that is looked at.
#[derive(Clone)]
struct Whole<'w, 'c> {
    place: &'w Place,
    /// The spans of the media type before and after the change.
    spans: (Span, Span),
    is_multipart: bool,
    /// The part of the body that is multipart itself, from the outermost one.
    way: Vec<(Key, Encodings<'c>)>,
}

impl Whole<'_, '_> {
    /// Returns a part in words, from the innermost one.
    fn words(&self, what: &str, key: &Key) -> String {
        let ways = self.way.iter().rev().map(|(key, _)| key.words("part"));
        let mut words = vec![key.words(what)];
        words.extend(ways);
        words.join(" of ")
    }

    /// Returns the name or position of a part, or a list of them for a part of a part.
    fn json(&self, key: &Key) -> Value {
        if self.way.is_empty() {
            return key.json();
        }
        Value::Array(self.keys(key).iter().map(Key::json).collect())
    }

    /// Returns the names or positions that lead to a part.
    fn keys(&self, key: &Key) -> Vec<Key> {
        let way = self.way.iter().map(|(key, _)| key).chain([key]);
        let first = |key: &Key| match key {
            Key::Rest(at) => Key::At(*at),
            Key::Name(_) | Key::At(_) => key.clone(),
        };
        way.map(first).collect()
    }
}

/// A part of a body, as it is sent and as it is read.
struct Part<'p, 'c> {
    whole: &'p Whole<'p, 'c>,
    key: &'p Key,
    sent: Option<&'c PropertyEncoding>,
    read: Option<&'c PropertyEncoding>,
    /// The schemas of the part that is sent and of that which is read.
    schemas: (Option<SchemaId>, Option<SchemaId>),
    /// How the parts of the whole are encoded that is sent.
    level: Encodings<'c>,
}

impl<'c> Comparison<'c> {
    /// Reports fields and parts that the sender writes in a way that the receiver does not read.
    pub(super) fn encodings(
        &mut self,
        index: usize,
        place: &Place,
        flow: Flow,
        (old, new): (&'c MediaType, &'c MediaType),
    ) {
        let (sender, receiver) = if flow.is_to_api() {
            (old, new)
        } else {
            (new, old)
        };
        let whole = Whole {
            place,
            spans: (old.span, new.span),
            is_multipart: is_multipart(&old.name) && is_multipart(&new.name),
            way: Vec::new(),
        };
        let levels = (Encodings::of(sender), Encodings::of(receiver));
        self.encodings_of(index, &whole, flow, levels);
    }

    fn encodings_of(
        &mut self,
        index: usize,
        whole: &Whole<'_, 'c>,
        flow: Flow,
        (sender, receiver): (Encodings<'c>, Encodings<'c>),
    ) {
        let (sending, receiving) = (flow.sender, flow.sender.other());
        for key in Key::of(&sender, &receiver) {
            // Of a part that is new or gone, the schemas tell.
            if !self.may_have(sending, &sender, &key) || !self.may_have(receiving, &receiver, &key)
            {
                continue;
            }
            let part = Part {
                whole,
                key: &key,
                sent: sender.get(&key),
                read: receiver.get(&key),
                schemas: (
                    self.part_schema(sending, &sender, &key),
                    self.part_schema(receiving, &receiver, &key),
                ),
                level: sender,
            };
            if whole.is_multipart {
                self.part_headers(index, &part, flow);
            }
            if let Some((kind, what, witness)) = self.difference(index, &part, flow) {
                let operation = self.pairs[index].name.clone();
                let field = whole.words("field", &key);
                self.add(
                    Some(&operation),
                    Found {
                        kind,
                        rule: "encoding-changed",
                        message: format!("{}: {field} {what}", describe(whole.place)),
                        base: Some(whole.spans.0),
                        revision: Some(whole.spans.1),
                        witness,
                    },
                );
            }
            if whole.is_multipart && whole.way.len() < MOST_DEPTH {
                let mut way = whole.way.clone();
                way.push((key.clone(), sender));
                let within = Whole {
                    way,
                    ..whole.clone()
                };
                let levels = (
                    Encodings::within(part.sent, part.schemas.0),
                    Encodings::within(part.read, part.schemas.1),
                );
                self.encodings_of(index, &within, flow, levels);
            }
        }
    }

    /// Returns how a field is written otherwise than it is read, with a message that shows it.
    fn difference(
        &self,
        index: usize,
        part: &Part<'_, 'c>,
        flow: Flow,
    ) -> Option<(Kind, String, Option<Witness>)> {
        if let Some((what, media)) = self.unread_type(part, flow) {
            let message = json!({ "part": part.whole.json(part.key), "media_type": &media });
            let shown = Shown {
                way: part.whole.keys(part.key),
                media: Some(media),
                header: None,
            };
            let command = self.request_with(index, part, flow, &shown);
            let witness = command.unwrap_or_else(|| Witness::Message(message.to_string()));
            return Some((Kind::Breaking, what, Some(witness)));
        }
        let written = |encoding: Option<&PropertyEncoding>| {
            let style = encoding.and_then(|one| one.style).unwrap_or(Style::Form);
            let explode = encoding.and_then(|one| one.explode);
            (style, explode.unwrap_or(style == Style::Form))
        };
        let schema = part.schemas.0;
        if written(part.sent) == written(part.read) || self.is_flat(flow.sender, schema) {
            return None;
        }
        let name = match part.key {
            Key::Name(name) => name.as_str(),
            Key::At(_) | Key::Rest(_) => "",
        };
        let text = |encoding, value: &Value| {
            let pairs = encoding::in_form(encoding, name, value);
            pairs.map(|pairs| pairs.join("&"))
        };
        let found = self.written_otherwise((flow.sender, schema), flow, |value| {
            (text(part.sent, value), text(part.read, value))
        });
        let kind = found.as_ref().map_or(Kind::Undecided, |_| Kind::Breaking);
        let witness = found.map(|found| self.field(index, part, flow, (&found.value, found.text)));
        Some((kind, style_words(kind).to_owned(), witness))
    }

    /// Returns a message with a field that is written otherwise than it is read.
    fn field(
        &self,
        index: usize,
        part: &Part<'_, 'c>,
        flow: Flow,
        (value, text): (&Value, Option<String>),
    ) -> Witness {
        let written = text.clone().map_or_else(|| value.clone(), Value::from);
        if let Some(body) = self.body_with(flow, part, value)
            && let Some(witness @ Witness::Request(_)) =
                self.message(index, part.whole.place, &body)
        {
            return witness;
        }
        let pair = &self.pairs[index];
        let message = match part.whole.place {
            _ if part.whole.is_multipart => {
                json!({ "part": part.whole.json(part.key), "body": written })
            }
            Place::ResponseBody(status, media) => {
                json!({ "status": status, "media_type": media, "body": written })
            }
            Place::RequestBody(media) if pair.is_reversed => {
                json!({ "webhook": pair.name, "media_type": media, "body": written })
            }
            Place::RequestBody(media) => {
                let request = format!("{} {}", pair.base.method.as_str(), pair.base.path);
                json!({ "request": request, "media_type": media, "body": written })
            }
            Place::Parameter(_) | Place::Header(..) | Place::PartHeader(_) => {
                json!({ "body": written })
            }
        };
        Witness::Message(message.to_string())
    }

    /// Returns how a part is of a media type that is not read, and this media type.
    fn unread_type(&self, part: &Part<'_, 'c>, flow: Flow) -> Option<(String, String)> {
        let types = |encoding: Option<&PropertyEncoding>| -> Option<Vec<String>> {
            let listed = encoding?.content_type.as_ref()?;
            Some(listed.split(',').map(|one| one.trim().to_owned()).collect())
        };
        let (sent, read) = (types(part.sent), types(part.read));
        let defaults = |side: Side, schema| {
            if part.whole.is_multipart {
                self.defaults_of(side, schema)
            } else {
                // A field without a media type is written by its style.
                vec![parts::DEFAULTS.to_vec()]
            }
        };
        let usual = defaults(flow.sender.other(), part.schemas.1).concat();
        let is_read = |name: &str| match &read {
            Some(read) => read.iter().any(|range| covers(range, name).is_some()),
            None => usual.iter().any(|range| covers(range, name).is_some()),
        };
        if let Some(sent) = sent {
            let name = sent.iter().find(|name| !is_read(name))?;
            let shown = unread(name, is_read).unwrap_or_else(|| name.clone());
            return Some((format!("may no longer be `{name}`"), shown));
        }
        read.as_ref()?;
        // Which of the media types for a kind of values it is depends on the tool.
        let kinds = defaults(flow.sender, part.schemas.0);
        let kind = kinds
            .iter()
            .find(|kind| !kind.iter().any(|name| is_read(name)))?;
        let shown = kind.last()?;
        Some((
            "may no longer be of its default media type".to_owned(),
            (*shown).to_owned(),
        ))
    }
}

/// Returns whether the parts of a body have headers.
pub(super) fn is_multipart(name: &str) -> bool {
    let name = name.as_bytes();
    name.len() > 10 && name[..10].eq_ignore_ascii_case(b"multipart/")
}
