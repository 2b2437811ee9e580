//! Names that only the client has: setters, enums of several responses, constants of security schemes.

use std::collections::{HashMap, HashSet};

use heck::ToShoutySnakeCase as _;

use crate::ir::{Api, Operation};
use crate::names::{identifier, unique};

/// The methods that every builder has.
pub(crate) const METHODS: [&str; 4] = ["new", "send", "stream", "clone"];

/// The modules of the crate's root beside those of tags.
const MODULES: [&str; 4] = ["types", "prelude", "schemes", "sealed"];

/// The methods of the client's builder beside those of security schemes.
pub(crate) const SETTINGS: [&str; 10] = [
    "new",
    "build",
    "connect_timeout",
    "timeout",
    "no_timeout",
    "user_agent",
    "header",
    "retries",
    "http_client",
    "clone",
];

/// Names that only the client has.
pub(super) struct ClientNames {
    operations: HashMap<usize, OperationNames>,
    /// A constant for each security scheme.
    pub(super) schemes: Vec<String>,
    /// A method for each security scheme.
    pub(super) credentials: Vec<String>,
    /// The modules of the crate's root: types, prelude, constants of security schemes, what seals the traits.
    pub(super) modules: [String; 4],
}

/// The names of an operation.
pub(super) struct OperationNames {
    /// The setter, and field, of each parameter.
    pub(super) parameters: Vec<String>,
    /// The enum of its successes, should they be several.
    pub(super) response: String,
    /// The enum of its errors, should they be several.
    pub(super) error: String,
}

impl ClientNames {
    pub(super) fn new(api: &Api<'_>) -> Self {
        let mut types: HashSet<String> = api
            .operations
            .iter()
            .map(|operation| operation.pascal.clone())
            .collect();
        types.extend(api.tags.iter().map(|tag| tag.client_trait.clone()));
        let operations = api
            .operations
            .iter()
            .map(|operation| {
                let names = OperationNames {
                    parameters: parameters(operation),
                    response: unique(&mut types, format!("{}Response", operation.pascal)),
                    error: unique(&mut types, format!("{}ErrorBody", operation.pascal)),
                };
                (operation.index, names)
            })
            .collect();
        let mut modules: HashSet<String> = api.tags.iter().map(|tag| tag.module.clone()).collect();
        let mut schemes = HashSet::new();
        let mut credentials: HashSet<String> = SETTINGS.map(str::to_owned).into();
        let bare = |name: &str| name.trim_start_matches("r#").to_owned();
        Self {
            operations,
            schemes: api
                .security
                .iter()
                .map(|scheme| unique(&mut schemes, bare(&scheme.name).to_shouty_snake_case()))
                .collect(),
            credentials: api
                .security
                .iter()
                .map(|scheme| identifier(&unique(&mut credentials, bare(&scheme.name))))
                .collect(),
            modules: MODULES.map(|name| unique(&mut modules, name.to_owned())),
        }
    }

    /// The names of an operation.
    pub(super) fn of(&self, operation: &Operation) -> &OperationNames {
        &self.operations[&operation.index]
    }
}

/// A parameter keeps its name unless a builder has a method of that name.
fn parameters(operation: &Operation) -> Vec<String> {
    let mut taken: HashSet<String> = operation
        .parameters
        .iter()
        .map(|parameter| parameter.name.clone())
        .collect();
    operation
        .parameters
        .iter()
        .map(|parameter| {
            if METHODS.contains(&parameter.name.as_str()) {
                unique(&mut taken, format!("{}_", parameter.name))
            } else {
                parameter.name.clone()
            }
        })
        .collect()
}
