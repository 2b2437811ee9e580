//! Compares the parameters of requests.

use contract::Moment;
use contract::model::{
    Location, Operation, Parameter, ParameterEncoding, PathPart, SchemaKind, Style, Types,
};
use serde_json::json;

use super::message::webhook;
use super::walk::Place;
use super::written::style_words;
use super::{Comparison, Found, OperationPair, sunset};
use crate::finding::Kind;
use crate::pair::Side;

impl<'c> Comparison<'c> {
    pub(super) fn parameters(&mut self, index: usize, pair: &OperationPair<'c>) {
        let (base, revision) = (pair.base, pair.revision);
        for (at, old) in base.parameters.iter().enumerate() {
            match revision
                .parameters
                .iter()
                .find(|new| is_same(base, old, revision, new))
            {
                Some(new) => self.parameter(index, pair, (at, old), new),
                None => self.add_parameter(
                    pair,
                    Kind::InformationRemoved,
                    "parameter-removed",
                    format!("{} is no longer read", name(old)),
                    (Some(old), None),
                ),
            }
        }
        for new in &revision.parameters {
            if base
                .parameters
                .iter()
                .any(|old| is_same(base, old, revision, new))
            {
                continue;
            }
            let (kind, rule, what) = if new.required && !pair.is_reversed {
                (Kind::Breaking, "parameter-required", "is new and required")
            } else {
                (Kind::Compatible, "parameter-added", "is new")
            };
            let message = format!("{} {what}", name(new));
            self.add_parameter(pair, kind, rule, message, (None, Some(new)));
        }
    }

    fn parameter(
        &mut self,
        index: usize,
        pair: &OperationPair<'c>,
        (at, old): (usize, &'c Parameter),
        new: &'c Parameter,
    ) {
        let both = (Some(old), Some(new));
        // Receivers of a webhook may rely on a parameter that was always there.
        let (asked, dropped) = if pair.is_reversed {
            (old.required && !new.required, new.required && !old.required)
        } else {
            (new.required && !old.required, old.required && !new.required)
        };
        if asked {
            let message = if pair.is_reversed {
                format!("{} may be left out", name(new))
            } else {
                format!("{} has become required", name(new))
            };
            self.add_parameter(pair, Kind::Breaking, "parameter-required", message, both);
        }
        if dropped && !pair.is_reversed {
            let message = format!("{} has become optional", name(new));
            self.add_parameter(pair, Kind::Compatible, "parameter-optional", message, both);
        }
        if new.deprecated && !old.deprecated {
            let message = sunset::deprecated(&name(new), sunset_of(new));
            self.add_parameter(
                pair,
                Kind::Compatible,
                "parameter-deprecated",
                message,
                both,
            );
        } else if let Some(sunset) = sunset::changed(&name(new), sunset_of(old), sunset_of(new)) {
            self.add_parameter(pair, sunset.kind, sunset.rule, sunset.message, both);
        }
        if self.is_written_otherwise(old, new) {
            let (kind, witness) = self.style_of_parameter(pair, at, (old, new));
            let message = format!("{} {}", name(new), style_words(kind));
            self.add(
                Some(&pair.name),
                Found {
                    kind,
                    rule: "parameter-style",
                    message,
                    base: Some(old.span),
                    revision: Some(new.span),
                    witness,
                },
            );
        }
        let (mut flow, _) = Self::flows(pair);
        if are_texts(old, new) {
            flow = flow.of_text();
        }
        self.schemas(index, Place::Parameter(at), old.schema, new.schema, flow);
    }

    /// Returns whether the text of a value differs between two encodings.
    pub(super) fn is_written_otherwise(&self, old: &Parameter, new: &Parameter) -> bool {
        let (one, other) = (&old.encoding, &new.encoding);
        match (one, other) {
            (
                ParameterEncoding::Style {
                    style,
                    explode,
                    allow_reserved,
                },
                ParameterEncoding::Style {
                    style: new_style,
                    explode: new_explode,
                    allow_reserved: new_reserved,
                },
            ) => {
                // What was sent as it is would be taken for a part of the URL.
                if *allow_reserved && !new_reserved && old.location == Location::Query {
                    return true;
                }
                let is_plain =
                    |style: Style| matches!(style, Style::Simple | Style::Form | Style::Cookie);
                let types = self.types(Side::Base, old);
                let is_never = |kind| types.is_some_and(|types| !types.contains(kind));
                let is_flat = is_never(Types::OBJECT);
                if is_flat && is_never(Types::ARRAY) && is_plain(*style) && is_plain(*new_style) {
                    return false;
                }
                // An array in a path or header has commas in any case.
                if is_flat && (*style, *new_style) == (Style::Simple, Style::Simple) {
                    return false;
                }
                style != new_style || explode != new_explode
            }
            (ParameterEncoding::Content(one), ParameterEncoding::Content(other)) => one != other,
            _ => true,
        }
    }

    fn types(&self, side: Side, parameter: &Parameter) -> Option<Types> {
        let schema = self.context.pair.end(side, parameter.schema);
        match &self.context.pair.contract(side).schema(schema).kind {
            SchemaKind::Object(keywords) => keywords.types,
            SchemaKind::Bool(_) => None,
        }
    }

    fn add_parameter(
        &mut self,
        pair: &OperationPair<'c>,
        kind: Kind,
        rule: &'static str,
        message: String,
        (old, new): (Option<&Parameter>, Option<&Parameter>),
    ) {
        let witness = match kind {
            Kind::Breaking if !pair.is_reversed => Some(self.asked(pair.base)),
            Kind::Breaking => Some(webhook(pair, &json!({ "parameters": {} }))),
            _ => None,
        };
        self.add(
            Some(&pair.name),
            Found {
                kind,
                rule,
                message,
                base: old.map(|old| old.span),
                revision: new.map(|new| new.span),
                witness,
            },
        );
    }
}

/// Returns whether two parameters or headers are written as text. In a media type such as JSON, a
/// string is written otherwise than a number.
pub(super) fn are_texts(old: &Parameter, new: &Parameter) -> bool {
    let has_style =
        |parameter: &Parameter| matches!(parameter.encoding, ParameterEncoding::Style { .. });
    has_style(old) && has_style(new)
}

fn sunset_of(parameter: &Parameter) -> Option<Moment> {
    sunset::of(parameter.deprecated, &parameter.extensions)
}

/// Returns a parameter in words, such as ``the query parameter `page_size` ``.
fn name(parameter: &Parameter) -> String {
    let place = match parameter.location {
        Location::Path => "path parameter",
        Location::Query => "query parameter",
        Location::Header => "header",
        Location::Cookie => "cookie",
    };
    format!("the {place} `{}`", parameter.name)
}

/// Returns whether two parameters are read from the same place. Path parameters are identified by
/// their position.
fn is_same(base: &Operation, old: &Parameter, revision: &Operation, new: &Parameter) -> bool {
    if old.location != new.location {
        return false;
    }
    let position = |operation: &Operation, parameter: &Parameter| {
        let is_own = |part: &PathPart| *part == PathPart::Parameter(parameter.name.clone());
        operation.segments.iter().position(is_own)
    };
    match old.location {
        Location::Path => match (position(base, old), position(revision, new)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        },
        Location::Header => old.name.eq_ignore_ascii_case(&new.name),
        // The name of a whole query is in no request.
        Location::Query => {
            old.is_whole_query == new.is_whole_query && (old.is_whole_query || old.name == new.name)
        }
        Location::Cookie => old.name == new.name,
    }
}
