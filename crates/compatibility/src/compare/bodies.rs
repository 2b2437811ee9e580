//! Compares request bodies, and the media types of bodies.

use contract::model::MediaType;

use super::walk::Place;
use super::{Comparison, Flow, Found, OperationPair};
use crate::finding::Kind;

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
                    old.required && !new.required
                };
                if is_asked {
                    let message = if is_to_api {
                        "the request body has become required"
                    } else {
                        "the request body may be left out"
                    };
                    let witness = if is_to_api {
                        self.request(pair.base, None, None)
                    } else {
                        None
                    };
                    self.add(
                        Some(&pair.name),
                        Found {
                            kind: Kind::Breaking,
                            rule: "body-required",
                            message: message.to_owned(),
                            base: Some(old.span),
                            revision: Some(new.span),
                            witness,
                        },
                    );
                }
                let place = |name: &str| Place::RequestBody(name.to_owned());
                self.contents(index, pair, flow, &old.content, &new.content, &place);
            }
            (Some(old), None) => {
                let witness = if is_to_api {
                    self.example_request(pair.base)
                } else {
                    None
                };
                self.add(
                    Some(&pair.name),
                    Found {
                        kind: Kind::Breaking,
                        rule: "body-removed",
                        message: "the request no longer has a body".to_owned(),
                        base: Some(old.span),
                        revision: Some(pair.revision.span),
                        witness,
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
                let witness = if is_asked {
                    self.example_request(pair.base)
                } else {
                    None
                };
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

    /// Compares the media types of a body. A client chooses among those of a request, and asks for
    /// one of those of a response: in both cases, those that were there must stay.
    pub(super) fn contents(
        &mut self,
        index: usize,
        pair: &OperationPair<'c>,
        flow: Flow,
        base: &'c [MediaType],
        revision: &'c [MediaType],
        place: &dyn Fn(&str) -> Place,
    ) {
        for old in base {
            let Some(new) = revision.iter().find(|new| covers(&new.name, &old.name)) else {
                let place = place(&old.name);
                let witness = match place {
                    Place::RequestBody(_) if flow.is_to_api() => {
                        self.request(pair.base, Some(&old.name), None)
                    }
                    _ => None,
                };
                let message = format!("{} is gone", describe(&place));
                self.add(
                    Some(&pair.name),
                    Found {
                        kind: Kind::Breaking,
                        rule: "media-type-removed",
                        message,
                        base: Some(old.span),
                        revision: Some(pair.revision.span),
                        witness,
                    },
                );
                continue;
            };
            for (one, other) in [
                (old.schema, new.schema),
                (old.item_schema, new.item_schema),
                (old.event_data, new.event_data),
            ] {
                match (one, other) {
                    (Some(one), Some(other)) => {
                        self.schemas(index, place(&old.name), one, other, flow);
                    }
                    (None, None) => {}
                    (one, _) => {
                        // Without a schema, anything may be there.
                        let is_narrower = one.is_none() == flow.is_to_api();
                        let (kind, what) = if is_narrower {
                            (Kind::Undecided, "one side has no schema")
                        } else {
                            (Kind::Compatible, "one side has no schema")
                        };
                        let message = format!("{}: {what}", describe(&place(&old.name)));
                        self.add(
                            Some(&pair.name),
                            Found {
                                kind,
                                rule: "schema-missing",
                                message,
                                base: Some(old.span),
                                revision: Some(new.span),
                                witness: None,
                            },
                        );
                    }
                }
            }
        }
        for new in revision {
            if base.iter().any(|old| covers(&new.name, &old.name)) {
                continue;
            }
            let message = format!("{} is new", describe(&place(&new.name)));
            self.add(
                Some(&pair.name),
                Found {
                    kind: Kind::Compatible,
                    rule: "media-type-added",
                    message,
                    base: Some(pair.base.span),
                    revision: Some(new.span),
                    witness: None,
                },
            );
        }
    }
}

fn describe(place: &Place) -> String {
    match place {
        Place::RequestBody(name) => format!("the media type `{name}` of the request body"),
        Place::ResponseBody(status, name) => {
            format!("the media type `{name}` of the response {status}")
        }
        Place::Parameter(_) => "the parameter".to_owned(),
        Place::Header(status, name) => format!("the header `{name}` of the response {status}"),
    }
}

/// Returns whether a media type, which may be a range such as `image/*`, includes another one.
/// Parameters and case do not matter.
fn covers(range: &str, name: &str) -> bool {
    let essence = |name: &str| {
        let essence = name.split(';').next().unwrap_or_default();
        essence.trim().to_ascii_lowercase()
    };
    let (range, name) = (essence(range), essence(name));
    range == name
        || range == "*/*"
        || range
            .strip_suffix("/*")
            .is_some_and(|kind| name.split('/').next() == Some(kind))
}
