//! The API without a process, with a clock and random numbers that the test controls.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api_server::server::{Config, Router};
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use stratusd::domain::quota::Quotas;
use stratusd::inventory::{Apply, Inventory, Mode};
use stratusd::issue::{Issue, find_project};
use stratusd::operations::Context;
use stratusd::seal::Sealer;
use stratusd::settings::DatabaseUrl;
use stratusd::storage::{SILENCE, Store, StoreConfig};
use stratusd::world::World;
use tower::ServiceExt;

use super::Home;
use super::cluster::ask;
use super::inventory::two_projects;

/// Quotas that no test reaches.
pub const QUOTAS: Quotas = Quotas::all(1_000_000);

/// A request.
#[derive(Debug)]
pub struct BareRequest {
    pub method: &'static str,
    pub path: String,
    pub body: Option<Value>,
}

/// The status, the sorted headers, and the body of a response.
pub type BareResponse = (u16, Vec<(String, String)>, Vec<u8>);

/// A service in the process of the test, without a reconciler. Its responses are deterministic.
pub struct Bare {
    /// The folder and the database.
    pub home: Home,
    router: Router,
    /// The store.
    pub store: Store,
    /// The clock, the random numbers and the keys.
    pub context: Context,
    /// A token for the shop.
    pub token: String,
    clock: Arc<AtomicI64>,
}

impl Bare {
    pub async fn new(home: Home) -> Self {
        Self::with_keys(home, 10).await
    }

    /// Starts a service in which a project may have so many idempotency keys in use.
    pub async fn with_keys(home: Home, idempotency_keys: u32) -> Self {
        let clock = Arc::new(AtomicI64::new(1_772_000_000_000));
        let now = Arc::clone(&clock);
        let random = Mutex::new(StdRng::seed_from_u64(1));
        let world = World::new(
            move || now.load(Ordering::SeqCst),
            move |bytes| random.lock().expect("nobody panics").fill_bytes(bytes),
        );
        let url: DatabaseUrl = home
            .database_url
            .parse()
            .expect("the test's database URL is valid");
        let database = url.database().expect("the URL names a database");
        let config = StoreConfig {
            database,
            connections: 2,
            patience: Duration::from_secs(10),
            silence: SILENCE,
            lock_wait: Duration::from_secs(10),
            world: World::real(),
        };
        let store = Store::open(&config).await.expect("the database opens");
        let inventory = Inventory::read("inventory.yaml".as_ref(), two_projects().as_bytes())
            .expect("the inventory is valid");
        let mode = Mode {
            is_dry_run: false,
            prunes: false,
        };
        store
            .change(Apply {
                inventory,
                mode,
                world: world.clone(),
                quotas: QUOTAS,
            })
            .await
            .expect("the inventory is applied");
        let project = find_project(&store, "shop")
            .await
            .expect("the inventory has the project `shop`");
        let issue = Issue {
            project,
            read_only: false,
            expires_at: None,
            description: String::new(),
            world: world.clone(),
        };
        let token = store
            .change(issue)
            .await
            .expect("the token is issued")
            .token;
        let keys = std::fs::read_to_string(home.keys()).expect("the key file exists");
        let sealer = Arc::new(Sealer::parse(&keys).expect("the keys are valid"));
        let context = Context {
            world,
            sealer,
            service_domain: "stratus.example".to_owned(),
            quotas: QUOTAS,
            postgres_offers: stratusd::provision::Offers::default(),
            idempotency_keys,
        };
        let router = stratusd::api::router(&store, &context, None, Config::new());
        Self {
            home,
            router,
            store,
            context,
            token,
            clock,
        }
    }

    /// Sets the clock forward, or back if the time is negative.
    pub fn set_clock(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sends a request, a second after the last one. Returns everything in the response that the
    /// service decides.
    pub async fn call(&self, request: &BareRequest) -> BareResponse {
        self.call_with(&[], request).await
    }

    /// Moves the clock, also that of the database: PostgreSQL's own does not move, so what is
    /// stored there becomes older.
    pub fn wait(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).expect("it is not long");
        self.clock.fetch_add(milliseconds, Ordering::SeqCst);
        if self.home.database_url.starts_with("postgres") {
            self.ask(&format!(
                "UPDATE idempotency SET expires_at = expires_at - {milliseconds}; \
                 UPDATE audit SET at = at - {milliseconds}"
            ));
        }
    }

    /// Runs statements on PostgreSQL.
    pub fn ask(&self, sql: &str) -> String {
        ask(&self.home.database_url, sql).expect("the statements are valid")
    }

    /// Sends a request with further headers, as [`call`](Self::call) does.
    pub async fn call_with(&self, headers: &[(&str, &str)], request: &BareRequest) -> BareResponse {
        self.clock.fetch_add(1_000, Ordering::SeqCst);
        let body = request
            .body
            .as_ref()
            .map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let mut builder = Request::builder();
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let request = builder
            .method(request.method)
            .uri(&request.path)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .header("x-request-id", "the-same")
            .body(body)
            .expect("the request is well formed");
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("a router does not fail");
        let status = response.status().as_u16();
        let mut headers: Vec<_> = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    value.to_str().unwrap_or_default().to_owned(),
                )
            })
            .collect();
        headers.sort();
        let body = response
            .into_body()
            .collect()
            .await
            .expect("the body can be collected")
            .to_bytes()
            .to_vec();
        (status, headers, body)
    }
}
