//! A request to the gateway, and what is known of it.

use api_server::server::RequestId;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use tokio::time::Instant;

use super::headers::REQUEST_ID;
use super::keys::Key;
use super::path::Route;
use crate::serve::known_method;
use crate::world::World;

/// The number of characters of the id of a request that has none.
const ID_LENGTH: usize = 22;

/// A request to the gateway without its body, and what is known of it so far.
pub(super) struct Exchange {
    pub(super) since: Instant,
    pub(super) request_id: HeaderValue,
    pub(super) parts: Parts,
    pub(super) route: Route,
    /// The key, once it is checked.
    pub(super) key: Option<Key>,
}

impl Exchange {
    /// Creates the exchange that begins with a request. `forwards` is whether there is an upstream.
    pub(super) fn new(parts: Parts, forwards: bool, world: &World) -> Self {
        Self {
            since: Instant::now(),
            request_id: request_id(&parts, world),
            route: Route::of(&parts.uri, forwards),
            parts,
            key: None,
        }
    }

    /// Returns the id of the request.
    pub(super) fn id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }

    /// Returns the size of the head of the request, in bytes: method, target, names and values of
    /// headers.
    pub(super) fn head_size(&self) -> usize {
        let Parts {
            method,
            uri,
            headers,
            ..
        } = &self.parts;
        let target = uri.path_and_query().map_or(0, |it| it.as_str().len());
        let sizes = headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len());
        method.as_str().len() + target + sizes.sum::<usize>()
    }

    /// Writes a line of the access log.
    pub(super) fn log(&self, status: StatusCode) {
        let micros = u32::try_from(self.since.elapsed().as_micros()).unwrap_or(u32::MAX);
        let key = self.key.as_ref();
        tracing::info!(
            target: "stratusd::access",
            operation = "gateway",
            method = known_method(&self.parts.method),
            route = self.route.name(),
            status = status.as_u16(),
            duration_ms = f64::from(micros) / 1000.0,
            request_id = self.id(),
            project = key.map(|key| key.project.as_str()),
            key = key.map(|key| key.id.as_str()),
            "responded"
        );
    }
}

/// Returns the id of a request: the one that its caller has chosen, or another one.
fn request_id(parts: &Parts, world: &World) -> HeaderValue {
    let chosen = parts.headers.get(REQUEST_ID);
    let chosen = chosen.filter(|id| id.to_str().is_ok_and(|id| RequestId::new(id).is_some()));
    chosen.cloned().unwrap_or_else(|| {
        let id = world.letters_and_digits(ID_LENGTH);
        HeaderValue::try_from(id).expect("letters and digits are a header")
    })
}
