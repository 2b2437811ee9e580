//! Compares the headers of the parts of a multipart body.

use contract::model::{Parameter, PropertyEncoding};
use contract::source::Span;
use serde_json::json;

use super::Part;
use crate::compare::bodies::describe;
use crate::compare::multipart::Shown;
use crate::compare::parameters::are_texts;
use crate::compare::written::style_words;
use crate::compare::{Comparison, Flow, Found};
use crate::finding::{Kind, Witness};

impl<'c> Comparison<'c> {
    /// Compares the headers of a part, as those of a request or response.
    pub(super) fn part_headers(&mut self, index: usize, part: &Part<'_, 'c>, flow: Flow) {
        let is_received = flow.is_to_api();
        let (old, new) = if is_received {
            (headers(part.sent), headers(part.read))
        } else {
            (headers(part.read), headers(part.sent))
        };
        let same = |list: &'c [Parameter], one: &Parameter| {
            list.iter()
                .find(|other| other.name.eq_ignore_ascii_case(&one.name))
        };
        for header in old {
            let Some(other) = same(new, header) else {
                let (kind, what) = match (is_received, header.required) {
                    (true, _) => (Kind::InformationRemoved, "is no longer read"),
                    (false, true) => (Kind::Breaking, "which was always there, is gone"),
                    (false, false) => (Kind::InformationRemoved, "is gone"),
                };
                let spans = (header.span, part.whole.spans.1);
                let change = (kind, "part-header-removed", what);
                self.add_part_header(index, part, header, (change, spans), flow);
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
            if let Some(change) = change {
                let change = (change, (header.span, other.span));
                self.add_part_header(index, part, header, change, flow);
            }
            if self.is_written_otherwise(header, other) {
                self.part_header_style(index, part, flow, (header, other));
            }
            let place = self.part_header_place(part, header, flow);
            let flow = if are_texts(header, other) {
                flow.of_text()
            } else {
                flow
            };
            self.schemas(index, place, header.schema, other.schema, flow);
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
            let spans = (part.whole.spans.0, header.span);
            self.add_part_header(index, part, header, (change, spans), flow);
        }
    }

    /// Reports a header of a part that is written in another style.
    fn part_header_style(
        &mut self,
        index: usize,
        part: &Part<'_, 'c>,
        flow: Flow,
        (old, new): (&'c Parameter, &'c Parameter),
    ) {
        let (kind, value) = self.style_of_header((old, new), flow);
        let witness = value.map(|value| {
            let headers = json!({ &new.name: &value });
            let message = json!({ "part": part.whole.json(part.key), "headers": headers });
            let command = value.as_str().and_then(|text| {
                let header = Some((old.name.clone(), text.to_owned()));
                self.request_with(index, part, flow, &shown(part, header))
            });
            command.unwrap_or_else(|| Witness::Message(message.to_string()))
        });
        let operation = self.pairs[index].name.clone();
        let message = about(part, old, style_words(kind));
        self.add(
            Some(&operation),
            Found {
                kind,
                rule: "part-header-style",
                message,
                base: Some(old.span),
                revision: Some(new.span),
                witness,
            },
        );
    }

    fn add_part_header(
        &mut self,
        index: usize,
        part: &Part<'_, 'c>,
        header: &Parameter,
        ((kind, rule, what), (base, revision)): ((Kind, &'static str, &str), (Span, Span)),
        flow: Flow,
    ) {
        let operation = self.pairs[index].name.clone();
        // What breaks is that the part lacks the header.
        let witness = (kind == Kind::Breaking).then(|| {
            let message = json!({ "part": part.whole.json(part.key), "headers": {} });
            let command = self.request_with(index, part, flow, &shown(part, None));
            command.unwrap_or_else(|| Witness::Message(message.to_string()))
        });
        self.add(
            Some(&operation),
            Found {
                kind,
                rule,
                message: about(part, header, what),
                base: Some(base),
                revision: Some(revision),
                witness,
            },
        );
    }
}

fn shown(part: &Part<'_, '_>, header: Option<(String, String)>) -> Shown {
    Shown {
        way: part.whole.keys(part.key),
        media: None,
        header,
    }
}

fn about(part: &Part<'_, '_>, header: &Parameter, what: &str) -> String {
    let place = describe(part.whole.place);
    let words = part.whole.words("part", part.key);
    format!("{place}: the header `{}` of {words} {what}", header.name)
}

fn headers(encoding: Option<&PropertyEncoding>) -> &[Parameter] {
    encoding.map_or(&[], |encoding| &encoding.headers)
}
