//! Compares request bodies, and the media types of bodies.

use std::collections::BTreeSet;

use contract::model::{MediaType, SchemaId};
use contract::source::Span;
use serde_json::json;

use super::message::{Given, outline, quoted, webhook};
use super::walk::Place;
use super::{Comparison, Flow, Found, OperationPair, encoding, events};
use crate::containment::Containment;
use crate::finding::{Kind, Witness};
use crate::pair::Side;

/// The media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// The media types of a body, with the span of what has them.
#[derive(Clone, Copy)]
pub(super) struct Contents<'c> {
    pub(super) content: &'c [MediaType],
    pub(super) span: Span,
}

impl<'c> Comparison<'c> {
    pub(super) fn request_body(&mut self, index: usize, pair: &OperationPair<'c>) {
        let (flow, _) = Self::flows(pair);
        let is_to_api = flow.is_to_api();
        match (&pair.base.request_body, &pair.revision.request_body) {
            (None, None) => {}
            (Some(old), Some(new)) => {
                let is_asked = if is_to_api {
                    new.required && !old.required
                } else {
                    // Receivers of a webhook may rely on a body that was always there.
                    old.required && !new.required
                };
                if is_asked {
                    let message = if is_to_api {
                        "the request body has become required"
                    } else {
                        "the request body may be left out"
                    };
                    let witness = if is_to_api {
                        let request = self.request(pair.base, None, Given::Nothing);
                        request.unwrap_or_else(|| outline(pair.base))
                    } else {
                        webhook(pair, &json!({}))
                    };
                    self.add(
                        Some(&pair.name),
                        Found {
                            kind: Kind::Breaking,
                            rule: "body-required",
                            message: message.to_owned(),
                            base: Some(old.span),
                            revision: Some(new.span),
                            witness: Some(witness),
                        },
                    );
                }
                let place = |name: &str| Place::RequestBody(name.to_owned());
                let before = Contents {
                    content: &old.content,
                    span: old.span,
                };
                let after = Contents {
                    content: &new.content,
                    span: new.span,
                };
                self.contents(index, pair, flow, (before, after), &place);
            }
            (Some(old), None) => {
                let witness = if is_to_api {
                    self.asked(pair.base)
                } else {
                    webhook(pair, &json!({}))
                };
                self.add(
                    Some(&pair.name),
                    Found {
                        kind: Kind::Breaking,
                        rule: "body-removed",
                        message: "the request no longer has a body".to_owned(),
                        base: Some(old.span),
                        revision: Some(pair.revision.span),
                        witness: Some(witness),
                    },
                );
            }
            (None, Some(new)) => {
                let is_asked = is_to_api && new.required;
                let (kind, what) = if is_asked {
                    (
                        Kind::Breaking,
                        "the request has a new body, which is required",
                    )
                } else {
                    (Kind::Compatible, "the request may have a body")
                };
                let witness = is_asked.then(|| self.asked(pair.base));
                self.add(
                    Some(&pair.name),
                    Found {
                        kind,
                        rule: "body-added",
                        message: what.to_owned(),
                        base: Some(pair.base.span),
                        revision: Some(new.span),
                        witness,
                    },
                );
            }
        }
    }

    /// Compares what each side allows for each media type that either of them names. A client
    /// chooses among those of a request, and asks for one of those of a response: in both cases,
    /// those that were there must stay. It must understand all those of a webhook.
    pub(super) fn contents(
        &mut self,
        index: usize,
        pair: &OperationPair<'c>,
        flow: Flow,
        (before, after): (Contents<'c>, Contents<'c>),
        place: &dyn Fn(&str) -> Place,
    ) {
        let (base, revision) = (before.content, after.content);
        let mut compared = BTreeSet::new();
        for media in base.iter().chain(revision) {
            let old = best(base, &media.name);
            let new = best(revision, &media.name);
            let place = place(&media.name);
            match (old, new) {
                (Some(old), Some(new)) => {
                    // Several names can lead to the same pair, as all those of one range do.
                    if compared.insert((old.name.as_str(), new.name.as_str())) {
                        self.content(index, &place, flow, old, new);
                    }
                }
                (Some(old), None) => self.removed_content(pair, flow, &place, old, after),
                (None, Some(new)) => {
                    // A client that gets a webhook cannot ask for a media type, and one that asks
                    // for a media type may get another one of its range.
                    let is_sent = !flow.is_to_api();
                    let is_pushed = is_sent && matches!(place, Place::RequestBody(_));
                    let is_wider = is_sent
                        && base.iter().any(|old| {
                            best(revision, &old.name).is_some_and(|best| best.name == new.name)
                        });
                    let kind = if is_pushed || is_wider {
                        Kind::Breaking
                    } else {
                        Kind::Compatible
                    };
                    self.added_content(pair, &place, (before, new), kind);
                }
                (None, None) => {}
            }
        }
    }

    fn added_content(
        &mut self,
        pair: &OperationPair<'c>,
        place: &Place,
        (before, new): (Contents<'c>, &'c MediaType),
        kind: Kind,
    ) {
        let witness = (kind == Kind::Breaking).then(|| {
            let is_known = |name: &str| best(before.content, name).is_some();
            in_media_type(pair, place, &new.name, is_known)
        });
        let (rule, what) = if kind == Kind::Compatible {
            ("media-type-added", "is new")
        } else {
            (
                "media-type-widened",
                "is new: clients may get what they do not expect",
            )
        };
        self.add(
            Some(&pair.name),
            Found {
                kind,
                rule,
                message: format!("{} {what}", describe(place)),
                base: Some(before.span),
                revision: Some(new.span),
                witness,
            },
        );
    }

    /// Reports a media type that is gone. One that is sent may become a narrower one.
    fn removed_content(
        &mut self,
        pair: &OperationPair<'c>,
        flow: Flow,
        place: &Place,
        old: &'c MediaType,
        after: Contents<'c>,
    ) {
        let is_narrowed = after
            .content
            .iter()
            .any(|new| covers(&old.name, &new.name).is_some());
        // A part of the old range is what old clients expect.
        if is_narrowed && !flow.is_to_api() {
            return;
        }
        let is_read = |name: &str| best(after.content, name).is_some();
        let (kind, witness) = match (place, flow.is_to_api()) {
            (Place::RequestBody(_), true) => {
                let witness = self.request(pair.base, Some(&old.name), Given::Nothing);
                // A body such as XML is not written, and its media type alone is refused.
                let alone = || in_media_type(pair, place, &old.name, is_read);
                (Kind::Breaking, Some(witness.unwrap_or_else(alone)))
            }
            // A client that gets a webhook has not asked for the media type.
            (Place::RequestBody(_), false) => (Kind::Compatible, None),
            (Place::ResponseBody(status, _), false) => {
                (Kind::Breaking, Some(self.without(pair, status, old, after)))
            }
            _ => {
                let witness = in_media_type(pair, place, &old.name, is_read);
                (Kind::Breaking, Some(witness))
            }
        };
        self.add(
            Some(&pair.name),
            Found {
                kind,
                rule: "media-type-removed",
                message: format!("{} is gone", describe(place)),
                base: Some(old.span),
                revision: Some(after.span),
                witness,
            },
        );
    }

    /// Returns what shows that responses no longer have a media type: a request that asks for it, or,
    /// where a success is not what the response is about, a response in another media type.
    fn without(
        &self,
        pair: &OperationPair<'c>,
        status: &str,
        old: &MediaType,
        after: Contents<'c>,
    ) -> Witness {
        let asked = self.example_request(pair.base);
        if let Some(Witness::Request(command)) = asked
            && status.starts_with('2')
            && let Some(line) = encoding::header("Accept", &old.name)
        {
            return Witness::Request(format!("{command} -H {}", quoted(&line)));
        }
        let new = after.content.first().map(|media| media.name.as_str());
        Witness::Message(json!({ "status": status, "media_type": new }).to_string())
    }

    /// Compares the schemas of two media types.
    fn content(
        &mut self,
        index: usize,
        place: &Place,
        flow: Flow,
        old: &'c MediaType,
        new: &'c MediaType,
    ) {
        self.encodings(index, place, flow, (old, new));
        // A field with a media type of its own is written in that.
        let is_form = |media: &MediaType| {
            let mut encodings = media.encoding.values();
            parts(&media.name).0 == FORM && encodings.all(|one| one.content_type.is_none())
        };
        let flow = if is_form(old) && is_form(new) {
            flow.of_text()
        } else {
            flow
        };
        let mut pairs = vec![
            (old.schema, new.schema),
            (old.item_schema, new.item_schema),
            (old.event_data, new.event_data),
        ];
        if let (Some(one), Some(other)) = (old.item_schema, new.item_schema) {
            let before = events::contents(self.base(), one);
            let after = events::contents(self.revision(), other);
            // An event that only one side has is found with the schema of the events.
            let both = before.iter().filter_map(|(event, one)| {
                let other = after.get(event)?;
                Some((*one, *other))
            });
            pairs.extend(both);
        }
        for (one, other) in pairs {
            match (one, other) {
                (Some(one), Some(other)) => {
                    self.schemas(index, place.clone(), one, other, flow);
                }
                (None, None) => {}
                (Some(schema), None) => {
                    self.missing_schema(index, place, flow, (old, new), (Side::Base, schema));
                }
                (None, Some(schema)) => {
                    self.missing_schema(index, place, flow, (old, new), (Side::Revision, schema));
                }
            }
        }
    }

    /// Compares a media type that has a schema on one side only. Without one, anything may be there.
    fn missing_schema(
        &mut self,
        index: usize,
        place: &Place,
        flow: Flow,
        (old, new): (&'c MediaType, &'c MediaType),
        (side, schema): (Side, SchemaId),
    ) {
        let refused = if side == flow.sender {
            Containment::Contained
        } else {
            self.refused(side, schema, flow, &old.name)
        };
        let is_gone = side == Side::Base;
        let (kind, what) = match (&refused, is_gone) {
            (Containment::Contained, true) => (Kind::Compatible, "no longer has a schema"),
            (Containment::Contained, false) => (Kind::Compatible, "has a schema, and had none"),
            (Containment::Broken(_), true) => (
                Kind::Breaking,
                "no longer has a schema: clients may get what they do not expect",
            ),
            (Containment::Broken(_), false) => (
                Kind::Breaking,
                "has a schema, and had none: what could be sent is refused",
            ),
            (Containment::Undecided { .. }, _) => (
                Kind::Undecided,
                "has a schema on one side only, and whether that accepts anything is not decided",
            ),
        };
        let witness = match refused {
            Containment::Broken(value) => Some(
                self.message(index, place, &value)
                    .unwrap_or_else(|| Witness::Value(value.to_string())),
            ),
            Containment::Contained | Containment::Undecided { .. } => None,
        };
        let name = self.pairs[index].name.clone();
        self.add(
            Some(&name),
            Found {
                kind,
                rule: "schema-missing",
                message: format!("{} {what}", describe(place)),
                base: Some(old.span),
                revision: Some(new.span),
                witness,
            },
        );
    }

    /// Returns a value of a media type that a schema refuses. Bodies that are no JSON are texts or
    /// objects, of which a few are tried.
    fn refused(&self, side: Side, schema: SchemaId, flow: Flow, media: &str) -> Containment {
        let found = self.context.refused(side, schema, flow.reading);
        let (essence, _) = parts(media);
        if essence == "application/json" || essence.ends_with("+json") {
            return found;
        }
        // Only this holds for texts and objects too: a value that is refused may be of another type.
        if found == Containment::Contained {
            return found;
        }
        let is_object = essence.starts_with("multipart/") || essence == FORM;
        let values = if is_object {
            [json!({}), json!({ "a": "a" })]
        } else {
            [json!(""), json!("a")]
        };
        let mut values = values.into_iter();
        let refused =
            values.find(|value| self.context.is_valid(side, schema, value) == Some(false));
        match refused {
            Some(value) => Containment::Broken(value),
            None => Containment::Undecided {
                why: "a body that is no JSON",
                agreed: 0,
            },
        }
    }
}

pub(super) fn describe(place: &Place) -> String {
    match place {
        Place::RequestBody(name) => format!("the media type `{name}` of the request body"),
        Place::ResponseBody(status, name) => {
            format!("the media type `{name}` of the response {status}")
        }
        Place::Parameter(_) => "the parameter".to_owned(),
        Place::PartHeader(_) => "the header of a part".to_owned(),
        Place::Header(status, name) => format!("the header `{name}` of the response {status}"),
    }
}

/// Returns the media type that counts for a name: of those that include it, the most specific one.
pub(super) fn best<'c>(content: &'c [MediaType], name: &str) -> Option<&'c MediaType> {
    content
        .iter()
        .filter_map(|media| Some((covers(&media.name, name)?, media)))
        .max_by_key(|(rank, _)| *rank)
        .map(|(_, media)| media)
}

/// Returns how specifically a media type, which may be a range such as `image/*`, includes another
/// one, or `None` if it does not. The rank counts the parts that are named, then the parameters.
pub(super) fn covers(range: &str, name: &str) -> Option<(usize, usize)> {
    let (range, asked) = parts(range);
    let (name, known) = parts(name);
    if !asked.iter().all(|parameter| known.contains(parameter)) {
        return None;
    }
    let named = if range == name {
        2
    } else if range == "*/*" {
        0
    } else {
        let kind = range.strip_suffix("/*")?;
        (name.split('/').next() == Some(kind)).then_some(1)?
    };
    // As servers choose for `Accept` (RFC 9110, section 12.5.1): the more is named, the better.
    Some((named, asked.len()))
}

/// The kinds of media types that ranges have.
const KINDS: [&str; 9] = [
    "application",
    "audio",
    "font",
    "haptics",
    "image",
    "message",
    "model",
    "text",
    "video",
];

/// Media types to show that a range is not read.
const SHOWN: [&str; 8] = [
    "application/json",
    "application/octet-stream",
    "audio/mpeg",
    "image/png",
    "image/jpeg",
    "text/plain",
    "text/csv",
    "video/mp4",
];

/// Returns a media type of a range that is not read, if one is known. A message has no range.
pub(super) fn unread(range: &str, is_read: impl Fn(&str) -> bool) -> Option<String> {
    if !range.contains('*') {
        return Some(range.to_owned());
    }
    let shown = SHOWN.map(str::to_owned).into_iter();
    // Names that are registered for nobody, in every range.
    let others = KINDS.map(|kind| format!("{kind}/vnd.example")).into_iter();
    let mut names = shown
        .chain(others)
        .filter(|name| covers(range, name).is_some());
    names.find(|name| !is_read(name))
}

/// Returns a message that has a media type, of which a range is meant that is not known.
fn in_media_type(
    pair: &OperationPair<'_>,
    place: &Place,
    range: &str,
    is_known: impl Fn(&str) -> bool,
) -> Witness {
    let media = unread(range, is_known).unwrap_or_else(|| range.to_owned());
    match place {
        Place::ResponseBody(status, _) => {
            Witness::Message(json!({ "status": status, "media_type": media }).to_string())
        }
        _ if pair.is_reversed => webhook(pair, &json!({ "media_type": media })),
        _ => Witness::Message(json!({ "media_type": media }).to_string()),
    }
}

/// Returns a media type without parameters, and its parameters. UTF-8 is what is meant without a
/// `charset`.
fn parts(name: &str) -> (String, Vec<(String, String)>) {
    let mut parts = name.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let parameters = parts.filter_map(|part| {
        let (key, value) = part.split_once('=')?;
        let key = key.trim().to_ascii_lowercase();
        let value = value.trim().trim_matches('"').to_owned();
        // JSON is in UTF-8 anyway, and with the parameter it is no other type.
        let is_usual = key == "charset" && value.eq_ignore_ascii_case("utf-8");
        (!is_usual).then_some((key, value))
    });
    (essence, parameters.collect())
}
