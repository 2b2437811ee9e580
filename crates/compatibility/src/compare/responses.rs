//! Compares responses: their statuses, headers and bodies.

use std::collections::BTreeSet;

use contract::model::{Parameter, Response, StatusKey};
use contract::source::Span;
use serde_json::json;

use super::bodies::Contents;
use super::parameters::are_texts;
use super::walk::Place;
use super::written::style_words;
use super::{Comparison, Found, OperationPair};
use crate::finding::{Kind, Witness};

impl<'c> Comparison<'c> {
    /// Compares what each side allows for each status that either of them names.
    pub(super) fn responses(&mut self, index: usize, pair: &OperationPair<'c>) {
        let (base, revision) = (&pair.base.responses, &pair.revision.responses);
        let named = base.iter().chain(revision).map(|response| response.status);
        let statuses: BTreeSet<StatusKey> = named.collect();
        for status in statuses {
            match (allowed(base, status), allowed(revision, status)) {
                (Some(old), Some(new)) => self.response(index, pair, status, (old, new)),
                (Some(old), None) if pair.is_reversed => self.untaken_status(pair, old),
                (Some(old), None) => self.removed_status(pair, old),
                (None, Some(new)) => self.new_status(pair, new),
                (None, None) => {}
            }
        }
    }

    /// Reports a status that the API no longer takes as a response to its request.
    fn untaken_status(&mut self, pair: &OperationPair<'c>, old: &'c Response) {
        let status = old.status.to_string();
        let message = format!("the status {status} is no longer accepted");
        let witness = Witness::Message(json!({ "status": status }).to_string());
        self.add(
            Some(&pair.name),
            Found {
                kind: Kind::Breaking,
                rule: "status-removed",
                message,
                base: Some(old.span),
                revision: Some(pair.revision.span),
                witness: Some(witness),
            },
        );
    }

    /// Reports a success status that is no longer sent. Errors may go: nobody waits for them.
    fn removed_status(&mut self, pair: &OperationPair<'c>, old: &'c Response) {
        let (base, revision) = (&pair.base.responses, &pair.revision.responses);
        let is_known = |new: &&Response| allowed(base, new.status).is_some();
        let successes: Vec<&Response> = revision
            .iter()
            .filter(|new| is_success(new.status))
            .collect();
        let is_replaced = !successes.is_empty() && !successes.iter().any(is_known);
        // A status that another one replaces is reported with the new one.
        if !is_success(old.status) || is_replaced {
            return;
        }
        let is_narrowed = successes
            .iter()
            .any(|new| range(new.status) == Some(old.status));
        let (kind, message) = if is_narrowed {
            let message = format!("only some statuses of {} are still sent", old.status);
            (Kind::Compatible, message)
        } else {
            let message = format!("the status {} is no longer sent", old.status);
            (Kind::SuccessStatusChanged, message)
        };
        self.add(
            Some(&pair.name),
            Found {
                kind,
                rule: "status-removed",
                message,
                base: Some(old.span),
                revision: Some(pair.revision.span),
                witness: None,
            },
        );
    }

    fn new_status(&mut self, pair: &OperationPair<'c>, new: &'c Response) {
        let base = pair.base.responses.iter();
        let before: Vec<&Response> = base.filter(|old| is_success(old.status)).collect();
        let is_changed = !pair.is_reversed && is_success(new.status) && !before.is_empty();
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
        } else if pair.is_reversed {
            format!("the status {} is accepted", new.status)
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
        status: StatusKey,
        (old, new): (&'c Response, &'c Response),
    ) {
        let (_, flow) = Self::flows(pair);
        let status = status.to_string();
        self.headers(index, pair, &status, (old, new));
        self.links(pair, &status, (old, new));
        let change = match (old.content.is_empty(), new.content.is_empty()) {
            (false, true) if pair.is_reversed => Some((
                "response-body-removed",
                format!("the body of the response {status} is no longer read"),
            )),
            (false, true) => Some((
                "response-body-removed",
                format!("the response {status} no longer has a body"),
            )),
            (true, false) if pair.is_reversed => Some((
                "response-body-required",
                format!("the response {status} must have a body"),
            )),
            _ => None,
        };
        if let Some((rule, message)) = change {
            let witness = json!({ "status": status });
            self.add(
                Some(&pair.name),
                Found {
                    kind: Kind::Breaking,
                    rule,
                    message,
                    base: Some(old.span),
                    revision: Some(new.span),
                    witness: Some(Witness::Message(witness.to_string())),
                },
            );
            return;
        }
        let place = |name: &str| Place::ResponseBody(status.clone(), name.to_owned());
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

    fn headers(
        &mut self,
        index: usize,
        pair: &OperationPair<'c>,
        status: &str,
        (old, new): (&'c Response, &'c Response),
    ) {
        let (_, flow) = Self::flows(pair);
        let same = |list: &'c [Parameter], name: &str| {
            list.iter()
                .find(|header| header.name.eq_ignore_ascii_case(name))
        };
        for header in &old.headers {
            let place = Place::Header(status.to_owned(), header.name.clone());
            if let Some(other) = same(&new.headers, &header.name) {
                self.header(pair, status, (header, other));
                let flow = if are_texts(header, other) {
                    flow.of_text()
                } else {
                    flow
                };
                self.schemas(index, place, header.schema, other.schema, flow);
            } else {
                let (kind, what) = match (pair.is_reversed, header.required) {
                    (true, _) => (Kind::InformationRemoved, "is no longer read"),
                    (false, true) => (Kind::Breaking, "which was always there, is gone"),
                    (false, false) => (Kind::InformationRemoved, "is gone"),
                };
                let spans = (header.span, new.span);
                self.add_header(pair, status, header, (kind, "header-removed", what), spans);
            }
        }
        for header in &new.headers {
            if same(&old.headers, &header.name).is_none() {
                let change = if pair.is_reversed && header.required {
                    (Kind::Breaking, "header-required", "is new and required")
                } else {
                    (Kind::Compatible, "header-added", "is new")
                };
                self.add_header(pair, status, header, change, (old.span, header.span));
            }
        }
    }

    /// Compares what two versions of a header say beside their schemas.
    fn header(
        &mut self,
        pair: &OperationPair<'c>,
        status: &str,
        (old, new): (&'c Parameter, &'c Parameter),
    ) {
        let change = match (pair.is_reversed, old.required, new.required) {
            (false, true, false) => Some((Kind::Breaking, "header-optional", "may be missing")),
            (true, false, true) => Some((Kind::Breaking, "header-required", "is required")),
            (true, true, false) => Some((Kind::Compatible, "header-optional", "may be missing")),
            _ => None,
        };
        if let Some(change) = change {
            self.add_header(pair, status, old, change, (old.span, new.span));
        }
        if self.is_written_otherwise(old, new) {
            let (_, flow) = Self::flows(pair);
            let (kind, value) = self.style_of_header((old, new), flow);
            let witness = value.map(|value| {
                let message = json!({ "status": status, "headers": { &new.name: value } });
                Witness::Message(message.to_string())
            });
            let (name, words) = (&old.name, style_words(kind));
            self.add(
                Some(&pair.name),
                Found {
                    kind,
                    rule: "header-style",
                    message: format!("the header `{name}` of the response {status} {words}"),
                    base: Some(old.span),
                    revision: Some(new.span),
                    witness,
                },
            );
        }
    }

    fn add_header(
        &mut self,
        pair: &OperationPair<'c>,
        status: &str,
        header: &Parameter,
        (kind, rule, what): (Kind, &'static str, &str),
        (base, revision): (Span, Span),
    ) {
        let name = &header.name;
        // What breaks is a response without the header.
        let witness = (kind == Kind::Breaking)
            .then(|| Witness::Message(json!({ "status": status, "headers": {} }).to_string()));
        self.add(
            Some(&pair.name),
            Found {
                kind,
                rule,
                message: format!("the header `{name}` of the response {status} {what}"),
                base: Some(base),
                revision: Some(revision),
                witness,
            },
        );
    }
}

/// Returns the response that a list has for a status: its own, that of its range, or the default. Where
/// successes are listed, the default is the response to errors alone.
fn allowed(responses: &[Response], status: StatusKey) -> Option<&Response> {
    let find = |key: StatusKey| responses.iter().find(|response| response.status == key);
    let has_success = || responses.iter().any(|one| is_success(one.status));
    find(status)
        .or_else(|| range(status).and_then(find))
        .or_else(|| {
            let is_error = !is_success(status) || !has_success();
            is_error.then(|| find(StatusKey::Default)).flatten()
        })
}

/// Returns the range that a status is in.
fn range(status: StatusKey) -> Option<StatusKey> {
    match status {
        StatusKey::Code(code) => u8::try_from(code / 100).ok().map(StatusKey::Range),
        StatusKey::Range(_) | StatusKey::Default => None,
    }
}

/// Returns whether a status is no error. Clients act on a redirection as they do on a success.
fn is_success(status: StatusKey) -> bool {
    match status {
        StatusKey::Code(code) => code < 400,
        StatusKey::Range(digit) => digit < 4,
        StatusKey::Default => false,
    }
}
