//! Compares what requests must prove: security schemes and their scopes.

use contract::model::{Contract, SecurityKind, SecurityRequirement};
use contract::source::Span;
use serde_json::{Map, Value};

use super::{Comparison, Found, OperationPair};
use crate::finding::Kind;

impl Comparison<'_> {
    /// Reports credentials that were enough and are not any more.
    pub(super) fn security(&mut self, pair: &OperationPair<'_>) {
        let (old, new) = (&pair.base.security, &pair.revision.security);
        // Without requirements, no credential is needed.
        let none = [SecurityRequirement::default()];
        let before: &[SecurityRequirement] = if old.is_empty() { &none } else { old };
        let after: &[SecurityRequirement] = if new.is_empty() { &none } else { new };
        for requirement in before {
            let is_enough = after.iter().any(|other| self.is_met(requirement, other));
            if is_enough {
                continue;
            }
            let message = match requirement.schemes.as_slice() {
                [] => "a credential is needed, and was not before".to_owned(),
                schemes => {
                    let names: Vec<String> = schemes
                        .iter()
                        .map(|(name, scopes)| match scopes.as_slice() {
                            [] => format!("`{name}`"),
                            scopes => format!("`{name}` with `{}`", scopes.join(" ")),
                        })
                        .collect();
                    format!("the credential {} is no longer enough", names.join(" and "))
                }
            };
            let witness = self.example_request(pair.base);
            let (base, revision) = self.causes(pair, requirement);
            self.add(
                Some(&pair.name),
                Found {
                    kind: Kind::Breaking,
                    rule: "security-tightened",
                    message,
                    base: Some(base),
                    revision: Some(revision),
                    witness,
                },
            );
        }
    }

    /// Returns the spans of what has changed for a requirement: those of its scheme, if both
    /// operations take their security from the document, so that the change was not made in them.
    fn causes(&self, pair: &OperationPair<'_>, requirement: &SecurityRequirement) -> (Span, Span) {
        let (base, revision) = (self.base(), self.revision());
        let own = (pair.base.span, pair.revision.span);
        let same = |one: &[SecurityRequirement], other: &[SecurityRequirement]| {
            one.iter()
                .map(|one| &one.schemes)
                .eq(other.iter().map(|one| &one.schemes))
        };
        let is_inherited = same(&pair.base.security, &base.security)
            && same(&pair.revision.security, &revision.security);
        let Some((name, _)) = requirement.schemes.first().filter(|_| is_inherited) else {
            return own;
        };
        let Some(old) = base.security_schemes.get(name) else {
            return own;
        };
        let same_name = revision.security_schemes.get(name);
        let asked = revision.security.iter().flat_map(|asked| &asked.schemes);
        let mut asked = asked.filter_map(|(name, _)| revision.security_schemes.get(name));
        match same_name.or_else(|| asked.next()) {
            Some(new) => (old.span, new.span),
            None => own,
        }
    }

    /// Reports how clients no longer get their token: flows of OAuth that are gone or have other
    /// URLs, and scopes that cannot be asked for.
    pub(super) fn flows_of_oauth(&mut self) {
        let (base, revision) = (self.base(), self.revision());
        for (name, scheme) in &base.security_schemes {
            let Some(other) = revision.security_schemes.get(name) else {
                continue;
            };
            let (old, new) = (flows(base, name), flows(revision, name));
            // A scheme of another kind is reported where it is asked for.
            if scheme.kind != SecurityKind::OAuth2 || other.kind != SecurityKind::OAuth2 {
                continue;
            }
            for message in changes(name, old.as_ref(), new.as_ref()) {
                let users = base.operations.iter().filter(|operation| {
                    let mut asked = operation.security.iter().flat_map(|asked| &asked.schemes);
                    asked.any(|(asked, _)| asked == name)
                });
                let names = users.map(|operation| {
                    let method = operation.method.as_str();
                    format!("{} ({method} {})", operation.id, operation.path)
                });
                let mut names: Vec<Option<String>> = names.map(Some).collect();
                if names.is_empty() {
                    names.push(None);
                }
                for operation in names {
                    self.add(
                        operation.as_deref(),
                        Found {
                            kind: Kind::Breaking,
                            rule: "oauth-changed",
                            message: message.clone(),
                            base: Some(scheme.span),
                            revision: Some(other.span),
                            witness: None,
                        },
                    );
                }
            }
        }
    }

    /// Returns whether credentials for one requirement meet another one. Schemes are compared by
    /// what they are, not by name.
    fn is_met(&self, held: &SecurityRequirement, asked: &SecurityRequirement) -> bool {
        let (base, revision) = (self.base(), self.revision());
        asked.schemes.iter().all(|(name, scopes)| {
            held.schemes.iter().any(|(own, own_scopes)| {
                let (one, other) = (kind(base, own), kind(revision, name));
                one.is_some()
                    && one == other
                    && scopes.iter().all(|scope| own_scopes.contains(scope))
            })
        })
    }
}

/// Returns the flows of a security scheme, in JSON.
fn flows(contract: &Contract, name: &str) -> Option<Map<String, Value>> {
    let pointer = contract::pointer::join("/components/securitySchemes", name);
    let mut scheme = contract.document.part(&pointer)?;
    if let Some(reference) = scheme.get("$ref").and_then(Value::as_str) {
        let pointer = reference.strip_prefix('#')?;
        scheme = contract.document.part(pointer)?;
    }
    match scheme.get_mut("flows")?.take() {
        Value::Object(flows) => Some(flows),
        _ => None,
    }
}

/// Returns what clients can no longer do, in words.
fn changes(
    name: &str,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
) -> Vec<String> {
    let mut out = Vec::new();
    for (flow, one) in old
        .into_iter()
        .flatten()
        .filter(|(flow, _)| !flow.starts_with("x-"))
    {
        let Some(other) = new.and_then(|new| new.get(flow)) else {
            out.push(format!("`{name}`: the flow `{flow}` of OAuth is gone"));
            continue;
        };
        for key in URLS {
            if one.get(key) != other.get(key) && one.get(key).is_some() {
                let what = match other.get(key).and_then(Value::as_str) {
                    Some(url) => format!("is `{url}` now"),
                    None => "is gone".to_owned(),
                };
                out.push(format!("`{name}`: `{key}` of the flow `{flow}` {what}"));
            }
        }
        let scopes = |flow: &Value| flow.get("scopes").and_then(Value::as_object).cloned();
        let left = scopes(other).unwrap_or_default();
        for scope in scopes(one).unwrap_or_default().keys() {
            if !left.contains_key(scope) {
                out.push(format!(
                    "`{name}`: the flow `{flow}` no longer gives the scope `{scope}`"
                ));
            }
        }
    }
    out
}

/// The URLs of a flow.
const URLS: [&str; 4] = [
    "authorizationUrl",
    "deviceAuthorizationUrl",
    "refreshUrl",
    "tokenUrl",
];

fn kind<'c>(contract: &'c Contract, name: &str) -> Option<&'c contract::model::SecurityKind> {
    contract
        .security_schemes
        .get(name)
        .map(|scheme| &scheme.kind)
}
