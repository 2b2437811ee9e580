//! Routes: operations, each with the function that serves it.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use axum::response::Response;

use super::call::Call;
use super::operation::Operation;
use super::rejection::Rejected;

/// The result of a route: the handler's response, or a rejection.
pub type RouteResult = Result<Response, Rejected>;

/// The future of a route.
pub type RouteFuture = Pin<Box<dyn Future<Output = RouteResult> + Send>>;

/// What handlers share: the implementation of the API, and of its security.
#[derive(Debug)]
pub struct App<A, S> {
    /// The implementation of the API.
    pub api: A,
    /// The check of credentials.
    pub security: S,
}

/// An operation and the function that serves it.
pub struct Route<T> {
    pub(super) operation: &'static Operation,
    pub(super) serve: fn(Arc<T>, Call) -> RouteFuture,
}

impl<T> Route<T> {
    /// Binds an operation to the function that serves it.
    pub fn new(operation: &'static Operation, serve: fn(Arc<T>, Call) -> RouteFuture) -> Self {
        Self { operation, serve }
    }

    /// Sorts routes by the order of their operations in `operations`. Of two routes for the same
    /// requests, the first serves them.
    pub fn sort(routes: &mut [Self], operations: &[&'static Operation]) {
        let address = |operation: &Operation| std::ptr::from_ref(operation).addr();
        let places = operations.iter().enumerate();
        let places: HashMap<usize, usize> = places
            .map(|(at, operation)| (address(operation), at))
            .collect();
        routes.sort_by_key(|route| places.get(&address(route.operation)).copied());
    }
}

impl Operation {
    /// Binds the operation to the function that serves it.
    pub fn route<T>(&'static self, serve: fn(Arc<T>, Call) -> RouteFuture) -> Route<T> {
        Route::new(self, serve)
    }
}

impl<T> fmt::Debug for Route<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Route").field(&self.operation.id).finish()
    }
}
