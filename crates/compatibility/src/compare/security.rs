//! Compares what requests must prove: security schemes and their scopes.

use contract::model::{Contract, SecurityRequirement};
use contract::source::Span;

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
            let witness = Some(self.asked(pair.base));
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

fn kind<'c>(contract: &'c Contract, name: &str) -> Option<&'c contract::model::SecurityKind> {
    contract
        .security_schemes
        .get(name)
        .map(|scheme| &scheme.kind)
}
