//! Groups of operations.

use std::collections::HashSet;

use contract::Contract;

use crate::ir::{CrateNames, Tag};
use crate::names;

/// What operations without a tag are grouped under.
const UNTAGGED: &str = "untagged";

/// Every group that has an operation, declared order first.
pub(super) fn tags(contract: &Contract, crates: &CrateNames) -> Vec<Tag> {
    let used: HashSet<Option<&str>> = contract
        .operations
        .iter()
        .map(|operation| operation.tag.as_deref())
        .collect();
    let declared = contract
        .tags
        .iter()
        .filter(|tag| used.contains(&Some(tag.name.as_str())))
        .map(|tag| (Some(tag.name.clone()), tag.description.clone()));
    let untagged = used.contains(&None).then_some((None, None));
    let groups: Vec<(Option<String>, Option<String>)> = declared.chain(untagged).collect();
    let unique = |mut taken: HashSet<String>, name: fn(&str) -> String| {
        let words = groups
            .iter()
            .map(|(name, _)| name.as_deref().unwrap_or(UNTAGGED));
        names::unique_all(
            &mut taken,
            &words.map(|words| (words, name(words))).collect::<Vec<_>>(),
        )
    };
    let modules = unique([crates.krate("types")].into(), names::module);
    // The router has a trait `Api` of its own; a tag cannot take it, since its name is never empty.
    let servers = unique(HashSet::new(), names::server_trait);
    let clients = unique(HashSet::new(), names::client_trait);
    let names = modules.into_iter().zip(servers.into_iter().zip(clients));
    let tags = groups
        .iter()
        .cloned()
        .zip(names)
        .map(|((name, description), (module, traits))| Tag {
            feature: module.trim_end_matches('_').to_owned()
                + if module.ends_with('_') {
                    "-operations"
                } else {
                    ""
                },
            server_trait: traits.0,
            client_trait: traits.1,
            module,
            name,
            description,
        });
    tags.collect()
}
