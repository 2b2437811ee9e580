//! What is said about properties that only one of two schemas has, or that can no longer be set.

use contract::model::Keywords;

use super::super::shape::Declared;
use super::super::{Comparison, Found, describe, sunset};
use super::Key;
use crate::finding::Kind;

impl Comparison<'_> {
    /// Returns findings about properties that only one of two schemas has.
    pub(super) fn properties(&self, key: Key, is_contained: bool) -> Vec<Found> {
        let (old, new) = (self.base(), self.revision());
        let (one, other) = (Declared::of(old, key.base), Declared::of(new, key.revision));
        let name = describe::name(new, key.revision);
        let is_to_api = key.flow.is_to_api();
        let mut out = Vec::new();
        for (property, ids) in &one.properties {
            let span = ids.first().map(|id| old.schema(*id).span);
            let Some(others) = other.properties.get(property) else {
                let found = Found {
                    base: span,
                    ..self.found(key, Kind::InformationRemoved, "", String::new())
                };
                // A closed schema refuses the property, and a required one is missed: both are
                // found by the search.
                let is_known = !other.properties.is_empty() || !other.is_open;
                if is_to_api && !other.is_closed && is_known {
                    out.push(Found {
                        rule: "request-property-removed",
                        message: format!("{name}: the property `{property}` is no longer read"),
                        ..found
                    });
                } else if !is_to_api && !one.required.contains(property) {
                    out.push(Found {
                        rule: "response-property-removed",
                        message: format!("{name}: the property `{property}` is no longer sent"),
                        ..found
                    });
                }
                continue;
            };
            let ends = (
                sunset::of_schemas(old, ids),
                sunset::of_schemas(new, others),
            );
            let what = format!("{name}: the property `{property}`");
            if let Some(sunset) = sunset::changed(&what, ends.0, ends.1) {
                out.push(Found {
                    base: span,
                    revision: others.first().map(|id| new.schema(*id).span),
                    ..self.found(key, sunset.kind, sunset.rule, sunset.message)
                });
            }
            let becomes = |is_one: &dyn Fn(&Keywords) -> bool| {
                others.iter().any(|id| new.is_marked(*id, is_one))
                    && !ids.iter().any(|id| old.is_marked(*id, is_one))
            };
            // The search misses a required property that is no longer sent.
            let is_optional =
                !one.required.contains(property) && !other.required.contains(property);
            if !is_to_api && is_optional && becomes(&|keywords| keywords.write_only) {
                out.push(Found {
                    base: span,
                    revision: others.first().map(|id| new.schema(*id).span),
                    ..self.found(
                        key,
                        Kind::InformationRemoved,
                        "response-property-removed",
                        format!("{name}: the property `{property}` is no longer sent"),
                    )
                });
            }
            if is_to_api && becomes(&|keywords| keywords.read_only) {
                let message = format!("{name}: the property `{property}` has become read-only");
                out.push(Found {
                    base: span,
                    revision: others.first().map(|id| new.schema(*id).span),
                    ..self.found(
                        key,
                        Kind::PropertyBecameReadOnly,
                        "property-became-read-only",
                        message,
                    )
                });
            }
        }
        if !is_contained {
            return out;
        }
        for (property, ids) in &other.properties {
            if one.properties.contains_key(property) || one.properties.is_empty() {
                continue;
            }
            let (rule, what) = if is_to_api {
                ("request-property-added", "can be sent")
            } else {
                ("response-property-added", "is sent")
            };
            let message = format!("{name}: the new property `{property}` {what}");
            out.push(Found {
                revision: ids.first().map(|id| new.schema(*id).span),
                ..self.found(key, Kind::Compatible, rule, message)
            });
        }
        out
    }
}
