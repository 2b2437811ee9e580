//! Compares the links of responses.

use std::collections::BTreeMap;

use contract::model::{Contract, Location, Operation, PathPart, Response};
use serde_json::{Map, Value};

use super::{Comparison, Found, OperationPair};
use crate::finding::Kind;

impl Comparison<'_> {
    /// Reports links of a response that are gone, new, or lead elsewhere. Clients follow them to
    /// the next request.
    pub(super) fn links(
        &mut self,
        pair: &OperationPair<'_>,
        status: &str,
        (old, new): (&Response, &Response),
    ) {
        let (one, other) = (links(self.base(), old), links(self.revision(), new));
        let names: Vec<&String> = one.keys().chain(other.keys()).collect();
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                continue;
            }
            let (kind, rule, what) = match (one.get(*name), other.get(*name)) {
                (Some(_), None) => (Kind::InformationRemoved, "link-removed", "is gone"),
                (None, Some(_)) => (Kind::Compatible, "link-added", "is new"),
                (Some(one), Some(other)) if one != other => {
                    let what = "leads elsewhere, or with other values";
                    (Kind::MeaningChanged, "link-changed", what)
                }
                _ => continue,
            };
            self.add(
                Some(&pair.name),
                Found {
                    kind,
                    rule,
                    message: format!("the link `{name}` of the response {status} {what}"),
                    base: Some(old.span),
                    revision: Some(new.span),
                    witness: None,
                },
            );
        }
    }
}

/// Returns the links of a response by name, without what is only for people. The operation that a
/// link leads to is written as its method and path, however the document names it.
fn links(contract: &Contract, response: &Response) -> BTreeMap<String, Value> {
    let pointer = format!("{}/links", response.pointer);
    let Some(Value::Object(links)) = contract.document.part(&pointer) else {
        return BTreeMap::new();
    };
    let links = links.into_iter().filter_map(|(name, link)| {
        let Value::Object(mut link) = followed(contract, link) else {
            return None;
        };
        link.remove("description");
        link.retain(|key, _| !key.starts_with("x-"));
        name_target(contract, &mut link);
        Some((name, Value::Object(link)))
    });
    links.collect()
}

/// Returns the link that a reference leads to.
fn followed(contract: &Contract, link: Value) -> Value {
    let reference = link.get("$ref").and_then(Value::as_str);
    let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
    let target = pointer.and_then(|pointer| contract.document.part(pointer));
    target.unwrap_or(link)
}

fn name_target(contract: &Contract, link: &mut Map<String, Value>) {
    let id = link.get("operationId").and_then(Value::as_str);
    let reference = link.get("operationRef").and_then(Value::as_str);
    let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
    let mut operations = contract.operations.iter();
    let target = operations.find(|operation| {
        id == Some(operation.id.as_str()) || pointer == Some(operation.pointer.as_str())
    });
    if let Some(target) = target {
        link.remove("operationId");
        link.remove("operationRef");
        // As in `operations::is_same`, the names of path parameters do not matter.
        let path: String = target
            .segments
            .iter()
            .map(|part| match part {
                PathPart::Literal(text) => text.as_str(),
                PathPart::Parameter(_) => "{}",
            })
            .collect();
        let name = format!("{} {path}", target.method.as_str());
        link.insert("operation".to_owned(), name.into());
        name_parameters(target, link);
    }
}

/// Names the parameters of a link in one way: by their place, and those of the path by their number,
/// since nobody sees the names of these on the wire.
fn name_parameters(target: &Operation, link: &mut Map<String, Value>) {
    let Some(Value::Object(parameters)) = link.get_mut("parameters") else {
        return;
    };
    let templates = target.segments.iter().filter_map(|part| match part {
        PathPart::Parameter(name) => Some(name.as_str()),
        PathPart::Literal(_) => None,
    });
    let templates: Vec<&str> = templates.collect();
    let named = std::mem::take(parameters)
        .into_iter()
        .map(|(written, value)| {
            let place = |at: Location| match at {
                Location::Path => "path",
                Location::Query => "query",
                Location::Header => "header",
                Location::Cookie => "cookie",
            };
            let known = target.parameters.iter().find(|parameter| {
                let qualified = written.strip_prefix(place(parameter.location));
                parameter.name == written
                    || qualified.and_then(|rest| rest.strip_prefix('.')) == Some(&parameter.name)
            });
            let Some(known) = known else {
                return (written, value);
            };
            let number = templates.iter().position(|name| *name == known.name);
            let name = match number.filter(|_| known.location == Location::Path) {
                Some(number) => format!("path {number}"),
                None => format!("{} {}", place(known.location), known.name),
            };
            (name, value)
        });
    *parameters = named.collect();
}
