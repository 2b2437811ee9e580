//! The groups of operations, each with a module, a feature and two traits.

use std::collections::HashSet;

use contract::Contract;

use crate::ir::{CrateNames, Tag};
use crate::names;

/// The name of the group of operations without a tag.
const UNTAGGED: &str = "untagged";

/// Returns every group that has an operation: the tags in the declared order, then the operations
/// without one.
pub(super) fn tags(contract: &Contract, crates: &CrateNames) -> Vec<Tag> {
    let used: HashSet<Option<&str>> = contract
        .operations
        .iter()
        .map(|operation| operation.tag())
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
    // The router's trait is called `Api`. No tag's trait can be, since something always stands
    // before `Api`.
    let servers = unique(HashSet::new(), names::server_trait);
    let clients = unique(HashSet::new(), names::client_trait);
    let files = files(&modules, crates);
    let modules = modules.into_iter().zip(files);
    let names = modules.into_iter().zip(servers.into_iter().zip(clients));
    let tags =
        groups
            .iter()
            .cloned()
            .zip(names)
            .map(|((name, description), ((module, file), traits))| Tag {
                file,
                feature: feature_name(&module),
                server_trait: traits.0,
                client_trait: traits.1,
                module,
                name,
                description,
            });
    tags.collect()
}

/// Returns the name of the file of each module, which is the module's own name if every system can hold
/// that.
fn files(modules: &[String], crates: &CrateNames) -> Vec<String> {
    let is_plain = |module: &&String| names::is_portable(module);
    let mut taken: HashSet<String> = modules.iter().filter(is_plain).cloned().collect();
    taken.insert(crates.krate("types"));
    let files = modules.iter().map(|module| {
        if names::is_portable(module) {
            module.clone()
        } else {
            names::unique(&mut taken, names::file(module))
        }
    });
    files.collect()
}

/// Returns the name of the feature of a module, which is the module's own name if that is free.
///
/// A module's name ends in `_` where the plain one is a keyword or is reserved, such as `default`,
/// which is a feature of every crate.
fn feature_name(module: &str) -> String {
    match module.strip_suffix('_') {
        Some(_) => format!("{}-operations", module.trim_end_matches('_')),
        None => module.to_owned(),
    }
}
