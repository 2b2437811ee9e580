//! The names of operations, of their parameters, and of responses that are components.

use std::collections::{HashMap, HashSet};

use contract::Contract;
use contract::model;

use super::status::status_name;
use crate::ir::Tag;
use crate::names;

/// Returns two names for every operation: that of its method, and the stem, with which the names of
/// its types begin.
///
/// A stem is free if none of the operation's types has the name of another one's in the module of
/// its tag. For example `VmOkBody` is the request body of an operation `vm_ok`, and the body of the
/// 200 of an operation `vm`.
pub(super) fn operation_names(
    contract: &Contract,
    tags: &[Tag],
    by_name: &HashMap<Option<&str>, usize>,
) -> Vec<(String, String)> {
    let wanted: Vec<_> = contract
        .operations
        .iter()
        .map(|operation| (operation.id.as_str(), names::operation(&operation.id)))
        .collect();
    let names = names::unique_all(&mut HashSet::new(), &wanted);
    let mut order: Vec<usize> = (0..names.len()).collect();
    // Operations whose id is their method's name choose first: another id that only becomes the
    // same name gets the number, in whichever order the two stand.
    order.sort_by_key(|at| names[*at] != contract.operations[*at].id);
    let mut stems = vec![String::new(); names.len()];
    let mut clients: HashSet<String> = tags.iter().map(|tag| tag.client_trait.clone()).collect();
    let mut servers: Vec<HashSet<String>> = tags
        .iter()
        .map(|tag| [tag.server_trait.clone()].into())
        .collect();
    for at in order {
        let operation = &contract.operations[at];
        let module = &mut servers[by_name[&operation.tag()]];
        let suffixes = type_suffixes(operation);
        let types = |stem: &str| {
            suffixes
                .iter()
                .map(|suffix| format!("{stem}{suffix}"))
                .collect::<Vec<_>>()
        };
        stems[at] = names::first_free(names::pascal(&operation.id), |stem| {
            let is_free = !types(stem).iter().any(|name| module.contains(name));
            is_free && clients.insert(stem.to_owned())
        });
        module.extend(types(&stems[at]));
    }
    names.into_iter().zip(stems).collect()
}

/// Returns the suffixes of the names of an operation's types in the server crate, such as `Body`.
/// Each name is the operation's stem followed by a suffix.
fn type_suffixes(operation: &model::Operation) -> Vec<String> {
    let mut suffixes = ["Request", "Response", "Error"].map(str::to_owned).to_vec();
    if operation
        .request_body
        .as_ref()
        .is_some_and(|body| body.content.len() > 1)
    {
        suffixes.push("Body".to_owned());
    }
    for response in operation
        .responses
        .iter()
        // The types of the others are named by their component, in a module of their own.
        .filter(|response| response.component.is_none())
    {
        let name = status_name(response.status);
        if response.content.len() > 1 {
            suffixes.push(format!("{name}Body"));
        }
        if response.content.len() > 1 || !response.headers.is_empty() {
            suffixes.push(name);
        }
    }
    suffixes
}

/// Returns the Rust name of every component response that an operation uses, by the component's
/// name. The types of all of them are in one module, so the names are unique.
pub(super) fn response_names(contract: &Contract) -> HashMap<String, String> {
    let mut several: HashMap<&str, bool> = HashMap::new();
    let mut order = Vec::new();
    for response in contract
        .operations
        .iter()
        .flat_map(|operation| &operation.responses)
    {
        if let Some(component) = response.component.as_deref()
            && several
                .insert(component, response.content.len() > 1)
                .is_none()
        {
            order.push(component);
        }
    }
    // An exact spelling keeps its name, as everywhere.
    order.sort_by_key(|component| names::pascal(component) != *component);
    let mut taken = HashSet::new();
    let mut name = |component: &str| {
        let name = names::first_free(names::pascal(component), |name| {
            let body = format!("{name}Body");
            let is_free = !(taken.contains(name) || several[component] && taken.contains(&body));
            if is_free {
                taken.insert(name.to_owned());
                taken.extend(several[component].then_some(body));
            }
            is_free
        });
        (component.to_owned(), name)
    };
    order.into_iter().map(&mut name).collect()
}

/// Returns a unique name for each parameter, none of which is in `taken`.
pub(super) fn parameter_names(parameters: &[model::Parameter], taken: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = taken.iter().map(|name| (*name).to_owned()).collect();
    let wanted: Vec<_> = parameters
        .iter()
        .map(|parameter| (parameter.name.as_str(), names::snake(&parameter.name)))
        .collect();
    names::unique_all(&mut taken, &wanted)
}
