//! Compares how the fields of forms and the parts of multipart bodies are written, and the headers of
//! these parts.

use contract::model::{MediaType, Parameter, PropertyEncoding, SchemaId, SchemaKind, Style};
use contract::source::Span;
use serde_json::json;

use super::bodies::{covers, describe, unread};
use super::walk::Place;
use super::{Comparison, Flow, Found};
use crate::finding::{Kind, Witness};
use crate::pair::Side;

/// The media types that a part without `contentType` may have, by the kind of its property.
const DEFAULTS: [&str; 3] = ["application/json", "application/octet-stream", "text/plain"];

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
        let added = receiver
            .encoding
            .keys()
            .filter(|name| !sender.encoding.contains_key(*name));
        let names: Vec<&String> = sender.encoding.keys().chain(added).collect();
        for name in names {
            let (sent, read) = (sender.encoding.get(name), receiver.encoding.get(name));
            let has_part = |side, media: &MediaType| self.may_have(side, media.schema, name);
            // Of a part that is new or gone, the schemas tell.
            if is_multipart(old)
                && is_multipart(new)
                && has_part(Side::Base, old)
                && has_part(Side::Revision, new)
            {
                let (before, after) = if flow.is_to_api() {
                    (sent, read)
                } else {
                    (read, sent)
                };
                let spans = (old.span, new.span);
                let part = Part { place, name, spans };
                self.part_headers(index, &part, flow, (headers(before), headers(after)));
            }
            let Some((what, shown)) = difference(sent, read) else {
                continue;
            };
            // No command is written for a multipart body, so the part stands alone.
            let witness = shown.map(|media| {
                Witness::Message(json!({ "part": name, "media_type": media }).to_string())
            });
            let operation = self.pairs[index].name.clone();
            self.add(
                Some(&operation),
                Found {
                    kind: Kind::Breaking,
                    rule: "encoding-changed",
                    message: format!("{}: the field `{name}` {what}", describe(place)),
                    base: Some(old.span),
                    revision: Some(new.span),
                    witness,
                },
            );
        }
    }
}

/// A part of a multipart body.
struct Part<'p> {
    place: &'p Place,
    name: &'p str,
    /// The spans of the media type before and after the change.
    spans: (Span, Span),
}

impl<'c> Comparison<'c> {
    /// Compares the headers of a part, as those of a request or response.
    fn part_headers(
        &mut self,
        index: usize,
        part: &Part<'_>,
        flow: Flow,
        (old, new): (&'c [Parameter], &'c [Parameter]),
    ) {
        let same = |list: &'c [Parameter], one: &Parameter| {
            list.iter()
                .find(|other| other.name.eq_ignore_ascii_case(&one.name))
        };
        let is_received = flow.is_to_api();
        for header in old {
            let Some(other) = same(new, header) else {
                let (kind, what) = match (is_received, header.required) {
                    (true, _) => (Kind::InformationRemoved, "is no longer read"),
                    (false, true) => (Kind::Breaking, "which was always there, is gone"),
                    (false, false) => (Kind::InformationRemoved, "is gone"),
                };
                let spans = (header.span, part.spans.1);
                self.add_part_header(
                    index,
                    part,
                    header,
                    (kind, "part-header-removed", what),
                    spans,
                );
                continue;
            };
            let change = match (is_received, header.required, other.required) {
                (true, false, true) => Some((
                    Kind::Breaking,
                    "part-header-required",
                    "has become required",
                )),
                (false, true, false) => {
                    Some((Kind::Breaking, "part-header-optional", "may be missing"))
                }
                (true, true, false) => Some((
                    Kind::Compatible,
                    "part-header-optional",
                    "has become optional",
                )),
                _ => None,
            };
            let style = self.is_written_otherwise(header, other).then_some((
                Kind::Breaking,
                "part-header-style",
                "is written in another style",
            ));
            for change in change.into_iter().chain(style) {
                self.add_part_header(index, part, header, change, (header.span, other.span));
            }
            if !is_received || !self.is_text_of_any_kind(header, other) {
                self.schemas(index, Place::PartHeader, header.schema, other.schema, flow);
            }
        }
        for header in new.iter().filter(|header| same(old, header).is_none()) {
            let change = if is_received && header.required {
                (
                    Kind::Breaking,
                    "part-header-required",
                    "is new and required",
                )
            } else {
                (Kind::Compatible, "part-header-added", "is new")
            };
            self.add_part_header(index, part, header, change, (part.spans.0, header.span));
        }
    }

    /// Returns whether the values of a schema may have a property, unless it lists others alone.
    fn may_have(&self, side: Side, id: Option<SchemaId>, name: &str) -> bool {
        let Some(id) = id else { return true };
        let contract = self.context.pair.contract(side);
        match &contract.schema(self.context.pair.end(side, id)).kind {
            SchemaKind::Object(keywords) => {
                let is_composed = keywords.reference.is_some()
                    || !keywords.all_of.is_empty()
                    || !keywords.any_of.is_empty()
                    || !keywords.one_of.is_empty()
                    || !keywords.pattern_properties.is_empty();
                let is_listed = || match keywords.properties.get(name) {
                    Some(id) => !matches!(contract.schema(*id).kind, SchemaKind::Bool(false)),
                    None => false,
                };
                is_composed || keywords.properties.is_empty() || is_listed()
            }
            SchemaKind::Bool(_) => true,
        }
    }

    fn add_part_header(
        &mut self,
        index: usize,
        part: &Part<'_>,
        header: &Parameter,
        (kind, rule, what): (Kind, &'static str, &str),
        (base, revision): (Span, Span),
    ) {
        let place = describe(part.place);
        let operation = self.pairs[index].name.clone();
        // No command is written for a multipart body, so the part stands alone.
        let is_missing = kind == Kind::Breaking && rule != "part-header-style";
        let witness = is_missing
            .then(|| Witness::Message(json!({ "part": part.name, "headers": {} }).to_string()));
        self.add(
            Some(&operation),
            Found {
                kind,
                rule,
                message: format!(
                    "{place}: the header `{}` of the part `{}` {what}",
                    header.name, part.name
                ),
                base: Some(base),
                revision: Some(revision),
                witness,
            },
        );
    }
}

fn headers(encoding: Option<&PropertyEncoding>) -> &[Parameter] {
    encoding.map_or(&[], |encoding| &encoding.headers)
}

/// Returns whether the parts of a body have headers.
fn is_multipart(media: &MediaType) -> bool {
    let name = media.name.as_bytes();
    name.len() > 10 && name[..10].eq_ignore_ascii_case(b"multipart/")
}

/// Returns how a field is written otherwise than it is read, and a media type that is not read, if one
/// is known.
fn difference(
    sent: Option<&PropertyEncoding>,
    read: Option<&PropertyEncoding>,
) -> Option<(String, Option<String>)> {
    let types = |encoding: Option<&PropertyEncoding>| -> Option<Vec<String>> {
        let listed = encoding?.content_type.as_ref()?;
        Some(listed.split(',').map(|one| one.trim().to_owned()).collect())
    };
    let (one, other) = (types(sent), types(read));
    let is_read = |name: &str| match &other {
        Some(other) => other.iter().any(|range| covers(range, name).is_some()),
        None => DEFAULTS.contains(&name),
    };
    match &one {
        Some(one) => {
            if let Some(name) = one.iter().find(|name| !is_read(name)) {
                let what = format!("may no longer be `{name}`");
                return Some((what, unread(name, is_read)));
            }
        }
        // Which of the defaults it is depends on the schema.
        None if !DEFAULTS.iter().any(|name| is_read(name)) => {
            return Some(("may no longer be its default media type".to_owned(), None));
        }
        None => {}
    }
    let written = |encoding: Option<&PropertyEncoding>| {
        let style = encoding.and_then(|one| one.style).unwrap_or(Style::Form);
        let explode = encoding.and_then(|one| one.explode);
        (style, explode.unwrap_or(style == Style::Form))
    };
    (written(sent) != written(read)).then(|| ("is written in another style".to_owned(), None))
}
