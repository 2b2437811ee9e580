//! Compares the links of responses.

use std::collections::BTreeMap;

use contract::model::{Contract, Response};
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
    let declared = contract.document.pointer(&response.pointer);
    let links = declared.and_then(|declared| declared.get("links"));
    let Some(Value::Object(links)) = links else {
        return BTreeMap::new();
    };
    let links = links.iter().filter_map(|(name, link)| {
        let Value::Object(link) = followed(contract, link) else {
            return None;
        };
        let mut link = link.clone();
        link.remove("description");
        link.retain(|key, _| !key.starts_with("x-"));
        name_target(contract, &mut link);
        Some((name.clone(), Value::Object(link)))
    });
    links.collect()
}

/// Returns the link that a reference leads to.
fn followed<'c>(contract: &'c Contract, link: &'c Value) -> &'c Value {
    let reference = link.get("$ref").and_then(Value::as_str);
    let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
    let target = pointer.and_then(|pointer| contract.document.pointer(pointer));
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
        let name = format!("{} {}", target.method.as_str(), target.path);
        link.insert("operation".to_owned(), name.into());
    }
}
