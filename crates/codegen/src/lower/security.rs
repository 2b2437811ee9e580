//! The security schemes that operations use.

use std::collections::HashSet;

use contract::Contract;

use crate::ir::SecurityScheme;
use crate::names;

/// Returns the security schemes that some operation or the document as a whole requires.
pub(super) fn security_schemes(contract: &Contract) -> Vec<SecurityScheme> {
    let used: HashSet<&str> = contract
        .operations
        .iter()
        .flat_map(|operation| &operation.security)
        .chain(&contract.security)
        .flat_map(|requirement| &requirement.schemes)
        .map(|(name, _)| name.as_str())
        .collect();
    let schemes: Vec<_> = contract
        .security_schemes
        .iter()
        .filter(|(name, _)| used.contains(name.as_str()))
        .collect();
    let wanted: Vec<_> = schemes
        .iter()
        .map(|(name, _)| (name.as_str(), names::snake(name)))
        .collect();
    let names = names::unique_all(&mut HashSet::new(), &wanted);
    schemes
        .into_iter()
        .zip(names)
        .map(|((wire, scheme), name)| SecurityScheme {
            wire: wire.clone(),
            name: names::identifier(&name),
            kind: scheme.kind.clone(),
            description: scheme.description.clone(),
        })
        .collect()
}
