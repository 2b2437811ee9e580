//! Names that only the client crate has: setters, enums of responses, constants of security
//! schemes.

use std::collections::{HashMap, HashSet};

use heck::ToShoutySnakeCase as _;

use crate::ir::{Api, Operation};
use crate::names::{identifier, unique};

/// The methods that every builder has.
pub(crate) const METHODS: [&str; 4] = ["new", "send", "stream", "clone"];

/// The modules of the crate's root, beside a module per tag.
const MODULES: [&str; 4] = ["types", "prelude", "schemes", "sealed"];

/// The methods of `ClientBuilder`, beside a method per security scheme.
pub(crate) const SETTINGS: [&str; 13] = [
    "new",
    "build",
    "connect_timeout",
    "timeout",
    "no_timeout",
    "response_limit",
    "user_agent",
    "header",
    "retries",
    "traces",
    "around",
    "http_client",
    "clone",
];

/// The names that only the client crate has.
pub(super) struct ClientNames {
    operations: HashMap<usize, OperationNames>,
    /// The name of the constant for each security scheme, in the order of [`Api::security`].
    pub(super) schemes: Vec<String>,
    /// The name of the method of `ClientBuilder` for each security scheme, in the same order.
    pub(super) credentials: Vec<String>,
    /// The names of the modules of the crate's root, in the order of [`MODULES`].
    pub(super) modules: [String; 4],
}

/// The names that the builder of an operation needs.
pub(super) struct OperationNames {
    /// The name of the setter and the field of each parameter, in the order of the parameters.
    pub(super) parameters: Vec<String>,
    /// The name of the field for the transport.
    pub(super) transport: String,
    /// The name of the field for the request body.
    pub(super) body: String,
    /// The name of the enum of the successes, used if they have bodies of several types.
    pub(super) response: String,
    /// The name of the enum of the errors, used if they have bodies of several types.
    pub(super) error: String,
}

impl ClientNames {
    /// Chooses the names for an API.
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
                let parameters = parameters(operation);
                let names = OperationNames {
                    transport: field(&parameters, "client"),
                    body: field(&parameters, "body"),
                    parameters,
                    response: unique(&mut types, format!("{}Response", operation.pascal)),
                    error: unique(&mut types, format!("{}ErrorBody", operation.pascal)),
                };
                (operation.index, names)
            })
            .collect();
        // The modules of tags are named in lowering, for all crates; where a fixed module has the
        // same name, it gives way.
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

    /// Returns the names of an operation.
    pub(super) fn of(&self, operation: &Operation) -> &OperationNames {
        &self.operations[&operation.index]
    }
}

/// Returns `name`, or `name` with a suffix if a parameter has that name.
fn field(parameters: &[String], name: &str) -> String {
    let mut taken: HashSet<String> = parameters.iter().cloned().collect();
    let name = if taken.contains(name) {
        format!("{name}_")
    } else {
        name.to_owned()
    };
    unique(&mut taken, name)
}

/// Returns the names of the parameters' setters: the parameter's own name, with a suffix if every
/// builder has a method of that name.
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
