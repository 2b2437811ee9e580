//! Compares responses: their statuses, headers and bodies.

use contract::model::{Parameter, Response, StatusKey};
use serde_json::json;

use super::walk::Place;
use super::{Comparison, Flow, Found, OperationPair};
use crate::finding::{Kind, Witness};

impl<'c> Comparison<'c> {
    pub(super) fn responses(&mut self, index: usize, pair: &OperationPair<'c>) {
        let (base, revision) = (&pair.base.responses, &pair.revision.responses);
        for new in revision {
            match allowed(base, new.status) {
                Some(old) => self.response(index, pair, old, new),
                None => self.new_status(pair, new),
            }
        }
        for old in base.iter().filter(|old| is_success(old.status)) {
            if allowed(revision, old.status).is_some() {
                continue;
            }
            let is_last = !revision
                .iter()
                .any(|new| is_success(new.status) && allowed(base, new.status).is_some());
            // A status that another one replaces is reported with the new one.
            let is_replaced = revision
                .iter()
                .any(|new| is_success(new.status) && allowed(base, new.status).is_none());
            if is_last && is_replaced {
                continue;
            }
            self.add(
                Some(&pair.name),
                Found {
                    kind: if is_last {
                        Kind::SuccessStatusChanged
                    } else {
                        Kind::Compatible
                    },
                    rule: "status-removed",
                    message: format!("the status {} is no longer sent", old.status),
                    base: Some(old.span),
                    revision: Some(pair.revision.span),
                    witness: None,
                },
            );
        }
    }

    fn new_status(&mut self, pair: &OperationPair<'c>, new: &'c Response) {
        let base = pair.base.responses.iter();
        let before: Vec<&Response> = base.filter(|old| is_success(old.status)).collect();
        let is_changed = is_success(new.status) && !before.is_empty();
        let (kind, rule) = if is_changed {
            (Kind::SuccessStatusChanged, "success-status-changed")
        } else {
            (Kind::Compatible, "status-added")
        };
        let known: Vec<String> = before.iter().map(|old| old.status.to_string()).collect();
        let message = if is_changed {
            format!(
                "the success status {} is new: clients expect {}",
                new.status,
                known.join(", ")
            )
        } else {
            format!("the status {} is new", new.status)
        };
        let witness = is_changed
            .then(|| Witness::Message(json!({ "status": new.status.to_string() }).to_string()));
        self.add(
            Some(&pair.name),
            Found {
                kind,
                rule,
                message,
                base: before.first().map(|old| old.span),
                revision: Some(new.span),
                witness,
            },
        );
    }

    fn response(
        &mut self,
        index: usize,
        pair: &OperationPair<'c>,
        old: &'c Response,
        new: &'c Response,
    ) {
        let (_, flow) = Self::flows(pair);
        let status = new.status.to_string();
        self.headers(index, pair, flow, old, new);
        if !old.content.is_empty() && new.content.is_empty() {
            let witness = json!({ "status": status });
            self.add(
                Some(&pair.name),
                Found {
                    kind: Kind::Breaking,
                    rule: "response-body-removed",
                    message: format!("the response {status} no longer has a body"),
                    base: Some(old.span),
                    revision: Some(new.span),
                    witness: Some(Witness::Message(witness.to_string())),
                },
            );
            return;
        }
        let place = |name: &str| Place::ResponseBody(status.clone(), name.to_owned());
        self.contents(index, pair, flow, &old.content, &new.content, &place);
    }

    fn headers(
        &mut self,
        index: usize,
        pair: &OperationPair<'c>,
        flow: Flow,
        old: &'c Response,
        new: &'c Response,
    ) {
        let same = |list: &'c [Parameter], name: &str| {
            list.iter()
                .find(|header| header.name.eq_ignore_ascii_case(name))
        };
        let status = new.status.to_string();
        for header in &old.headers {
            let name = &header.name;
            let Some(other) = same(&new.headers, name) else {
                let (kind, what) = if header.required && !pair.is_reversed {
                    (Kind::Breaking, "which was always there, is gone")
                } else {
                    (Kind::InformationRemoved, "is gone")
                };
                self.add(
                    Some(&pair.name),
                    Found {
                        kind,
                        rule: "header-removed",
                        message: format!("the header `{name}` of the response {status} {what}"),
                        base: Some(header.span),
                        revision: Some(new.span),
                        witness: None,
                    },
                );
                continue;
            };
            if header.required && !other.required && !pair.is_reversed {
                self.add(
                    Some(&pair.name),
                    Found {
                        kind: Kind::Breaking,
                        rule: "header-optional",
                        message: format!(
                            "the header `{name}` of the response {status} may be missing"
                        ),
                        base: Some(header.span),
                        revision: Some(other.span),
                        witness: None,
                    },
                );
            }
            let place = Place::Header(status.clone(), name.clone());
            self.schemas(index, place, header.schema, other.schema, flow);
        }
        for header in &new.headers {
            if same(&old.headers, &header.name).is_none() {
                self.add(
                    Some(&pair.name),
                    Found {
                        kind: Kind::Compatible,
                        rule: "header-added",
                        message: format!(
                            "the header `{}` of the response {status} is new",
                            header.name
                        ),
                        base: Some(old.span),
                        revision: Some(header.span),
                        witness: None,
                    },
                );
            }
        }
    }
}

/// Returns the response that a list has for a status: its own, that of its range, or the default.
fn allowed(responses: &[Response], status: StatusKey) -> Option<&Response> {
    let find = |key: StatusKey| responses.iter().find(|response| response.status == key);
    let range = match status {
        StatusKey::Code(code) => u8::try_from(code / 100).ok().map(StatusKey::Range),
        StatusKey::Range(_) | StatusKey::Default => None,
    };
    find(status)
        .or_else(|| range.and_then(find))
        .or_else(|| find(StatusKey::Default))
}

fn is_success(status: StatusKey) -> bool {
    match status {
        StatusKey::Code(code) => (200..300).contains(&code),
        StatusKey::Range(digit) => digit == 2,
        StatusKey::Default => false,
    }
}
