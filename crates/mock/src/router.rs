//! A mock of a contract as a service: checks each request, and makes up its response.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api_runtime::Schemas;
use api_runtime::server::{
    self, Blueprint, Call, Config, ContractTexts, ListedResponse, Origins, Rejected, Rejection,
    RejectionKind, RequestHead, Response, Route, RouteFuture, RouteResult,
};
use codegen::ir::{self, Api};
use contract::Contract;
use contract::model::Formats;

use crate::faults::Failures;
use crate::kept::Kept;
use crate::refuse::Refusals;
use crate::request::{Reading, Wanted};
use crate::respond::Fitting;
use crate::types::Types;
use crate::values::Values;
use crate::{credentials, describe, respond};

/// How a mock responds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// The seed of everything that is made up.
    pub seed: u64,
    /// How long each response of an operation is held back, at most
    /// [`LONGEST_DELAY`](crate::bounds::LONGEST_DELAY).
    pub delay: Duration,
    /// How often responses fail.
    pub failures: Option<Failures>,
    /// Whether what callers create is kept until they delete it, or the mock ends.
    pub is_stateful: bool,
}

/// A mock of a contract.
///
/// Its descriptions of operations live until the process ends, as those of generated servers do, so
/// a program should make one mock of each contract.
pub struct Mock {
    pub(crate) state: State,
}

/// What requests share.
pub(crate) struct State {
    pub(crate) api: &'static Api<'static>,
    pub(crate) values: Values,
    pub(crate) types: &'static Types,
    pub(crate) settings: Settings,
    pub(crate) kept: Option<Kept>,
    served: HashMap<&'static str, Served>,
    /// The number of requests so far, by which dynamic values and failures differ.
    requests: AtomicU64,
}

/// An operation, with what its requests hold and its responses.
pub(crate) struct Served {
    pub(crate) operation: &'static ir::Operation,
    pub(crate) wanted: Wanted,
    /// The responses, in the order of the operation.
    pub(crate) responses: Vec<Listed>,
}

/// A response of an operation, with its description for the run time.
#[derive(Clone, Copy)]
pub(crate) struct Listed {
    pub(crate) response: &'static ir::Response,
    pub(crate) described: ListedResponse,
}

impl State {
    /// Returns the operation of a call.
    ///
    /// # Errors
    ///
    /// If there is none with its id, though every route was made of one: a 500, since an empty
    /// response would look like one of the contract.
    pub(crate) fn served(&self, call: &Call) -> Result<&Served, Rejected> {
        let id = call.operation().id;
        let lost = || internal(format!("the mock has lost the operation `{id}`"));
        self.served.get(id).ok_or_else(lost)
    }

    /// Returns all operations.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &Served> {
        self.served.values()
    }
}

fn internal(message: String) -> Rejected {
    Box::new(Rejection::new(RejectionKind::Internal, message))
}

impl Mock {
    /// Makes a mock of a contract.
    #[must_use]
    pub fn new(contract: Contract, settings: Settings) -> Self {
        // The descriptions of the run time are constants in generated crates. A mock lasts as long
        // as its process, so nothing is lost.
        let contract: &'static Contract = Box::leak(Box::new(contract));
        let api: &'static Api<'static> = Box::leak(Box::new(codegen::lower(contract, "mock")));
        let bundle = contract::bundle::schema_bundle(contract).to_string().leak();
        let schemas = Schemas::new(bundle);
        let schemas: &'static Schemas = Box::leak(Box::new(match contract.formats {
            Formats::Assertion => schemas,
            Formats::Annotation => schemas.with_formats_as_annotations(),
        }));
        let types: &'static Types = Box::leak(Box::new(Types::new(api, schemas)));
        let served = api.operations.iter().map(|operation| {
            let listed = |response| Listed {
                response,
                described: describe::listed(api, response),
            };
            let served = Served {
                operation,
                wanted: Wanted::of(types, operation),
                responses: operation.responses.iter().map(listed).collect(),
            };
            (operation.id.as_str(), served)
        });
        Self {
            state: State {
                api,
                types,
                values: Values::new(contract, schemas),
                kept: settings.is_stateful.then(|| Kept::new(api)),
                settings,
                served: served.collect(),
                requests: AtomicU64::new(0),
            },
        }
    }

    /// Returns the maker of values for the contract's schemas.
    #[must_use]
    pub fn values(&self) -> Values {
        self.state.values
    }

    /// Returns a line for each collection that a stateful mock keeps.
    #[must_use]
    pub fn collections(&self) -> Vec<String> {
        let kept = self.state.kept.as_ref();
        kept.map_or_else(Vec::new, |kept| kept.collections.lines())
    }

    /// Returns the contract.
    #[must_use]
    pub fn contract(&self) -> &'static Contract {
        self.state.api.contract
    }

    /// Returns the mock as a service with a reference page. Pages of every origin may call it.
    pub fn router(self) -> axum::Router {
        let config = Config::new().requires_host().origins(Origins::any());
        self.router_with(config.docs())
    }

    /// Returns the mock as a service with other settings of the run time.
    pub fn router_with(self, config: Config) -> axum::Router {
        let api = self.state.api;
        let json = serde_json::to_string_pretty(&*api.contract.document).unwrap_or_default();
        let json: &'static str = json.leak();
        let routes = api
            .operations
            .iter()
            .map(|operation| Route::new(describe::operation(api, operation), serve));
        let contract = ContractTexts {
            json,
            // JSON is YAML too.
            yaml: api.contract.yaml.as_deref().unwrap_or(json),
        };
        let guard = describe::unknown_route(api).map(|unknown| Route::new(unknown, guard));
        server::router(Blueprint {
            render: Refusals::new(&self.state),
            app: self.state,
            routes: routes.collect(),
            guard,
            contract,
            config,
        })
    }
}

/// Serves an operation.
fn serve(state: Arc<State>, call: Call) -> RouteFuture {
    Box::pin(served(state, call))
}

async fn served(state: Arc<State>, mut call: Call) -> RouteResult {
    let served = state.served(&call)?;
    credentials::check(state.api, &served.operation.security, &call)?;
    let body = served.wanted.read(&mut call, Reading::Whole).await?;
    // Relaxed, since numbers only have to differ.
    let number = state.requests.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(state.settings.delay).await;
    let lost = || internal("the mock has lost the head of the request".to_owned());
    let head = RequestHead::current().ok_or_else(lost)?;
    let request = Fitting {
        head: &head,
        body: body.as_ref(),
        number,
    };
    call.respond(respond::respond(&state, served, &request)?)
}

/// Checks the credentials of a request for a path that the contract does not have.
fn guard(state: Arc<State>, call: Call) -> RouteFuture {
    Box::pin(async move {
        credentials::check(state.api, &state.api.contract.security, &call)?;
        Ok(Response::default())
    })
}
