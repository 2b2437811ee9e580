//! A service to measure: a store of either kind with projects in it, and the API over it.

use std::sync::Arc;
use std::time::Duration;

use api_server::server::{Config, Router};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use stratusd::domain::quota::Quotas;
use stratusd::inventory::{Apply, Inventory, Mode};
use stratusd::issue::{Issue, find_project};
use stratusd::operations::Context;
use stratusd::seal::Sealer;
use stratusd::storage::{Aborted, DatabaseLocation, SILENCE, Store, StoreConfig};
use stratusd::world::World;
use tower::ServiceExt;

use crate::cluster::Cluster;

/// The number of connections to the database, half of them for changes.
pub const CONNECTIONS: u32 = 32;

/// A service inside this process, called without HTTP.
pub struct Service {
    pub router: Router,
    /// The projects with their tokens, in the order of the inventory.
    pub projects: Vec<(String, String)>,
    pub database: DatabaseLocation,
    _cluster: Option<Cluster>,
    _folder: tempfile::TempDir,
}

impl Service {
    /// Creates a service over a new SQLite file, on the disk of the target folder: some systems
    /// keep temporary files in memory.
    pub async fn sqlite(inventory: &str) -> Self {
        let folder = folder();
        let database = DatabaseLocation::Sqlite(folder.path().join("stratus.db"));
        Self::over(database, None, folder, inventory).await
    }

    /// Creates a service over a new PostgreSQL, with everything durable.
    pub async fn postgres(inventory: &str) -> Self {
        // Not in memory.
        let settings = [("shared_buffers", "512MB")];
        let cluster = Cluster::start_in(&std::env::temp_dir(), &settings, &[]);
        let database = DatabaseLocation::Postgres(cluster.url());
        Self::over(database, Some(cluster), folder(), inventory).await
    }

    async fn over(
        database: DatabaseLocation,
        cluster: Option<Cluster>,
        folder: tempfile::TempDir,
        inventory: &str,
    ) -> Self {
        let world = World::real();
        let config = StoreConfig {
            database: database.clone(),
            connections: CONNECTIONS,
            patience: Duration::from_secs(10),
            silence: SILENCE,
            lock_wait: Duration::from_secs(10),
            world: world.clone(),
        };
        let store = Store::open(&config).await.expect("the database opens");
        let inventory = Inventory::read("inventory.yaml".as_ref(), inventory.as_bytes())
            .expect("the inventory is valid");
        let names: Vec<String> = inventory
            .projects
            .iter()
            .map(|project| project.name.value.clone())
            .collect();
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
        let mut projects = Vec::new();
        for name in names {
            let project = find_project(&store, &name)
                .await
                .expect("the inventory has the project");
            let id = project.id.to_string();
            let (description, world) = (String::new(), world.clone());
            let issue = Issue {
                project,
                read_only: false,
                expires_at: None,
                description,
                world,
            };
            let issued = store
                .change(issue)
                .await
                .map_err(Aborted::failure)
                .expect("the token is issued");
            projects.push((id, issued.token));
        }
        let router = stratusd::api::router(&store, &context(world), None, Config::new());
        Self {
            router,
            projects,
            database,
            _cluster: cluster,
            _folder: folder,
        }
    }

    /// Calls the service as the owner of a project.
    pub async fn call(&self, project: usize, method: &str, path: &str) -> Response {
        let (id, token) = &self.projects[project];
        let request = Request::builder()
            .method(method)
            .uri(format!("/project/{id}{path}"))
            .header("authorization", format!("Bearer {token}"))
            .body(Body::empty())
            .expect("the request is well formed");
        self.router
            .clone()
            .oneshot(request)
            .await
            .expect("a router does not fail")
    }

    /// Runs SQL directly on the database, such as to fill a table.
    pub async fn execute(&self, sqlite: &'static str, postgres: &'static str) {
        match &self.database {
            DatabaseLocation::Sqlite(file) => {
                let file = file.to_str().expect("the path is UTF-8");
                let mut connection =
                    SqliteConnection::establish(file).expect("the database can be opened");
                connection
                    .batch_execute(sqlite)
                    .expect("SQLite runs the statements");
            }
            DatabaseLocation::Postgres(url) => {
                let mut connection = AsyncPgConnection::establish(url)
                    .await
                    .expect("the database can be opened");
                connection
                    .batch_execute(postgres)
                    .await
                    .expect("PostgreSQL runs the statements");
            }
        }
    }
}

/// Returns a folder on the disk of the workspace.
pub fn folder() -> tempfile::TempDir {
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../target");
    tempfile::tempdir_in(target).expect("the workspace has a target folder")
}

/// Returns what operations need, with a key of its own.
pub fn context(world: World) -> Context {
    let sealer =
        Arc::new(Sealer::parse(&Sealer::generate_key(&world)).expect("a generated key is valid"));
    Context {
        world,
        sealer,
        service_domain: "stratus.example".to_owned(),
        quotas: QUOTAS,
        postgres_offers: stratusd::provision::Offers::default(),
        idempotency_keys: 10,
    }
}

/// Quotas that no benchmark reaches.
pub const QUOTAS: Quotas = Quotas::all(1_000_000_000);

/// An inventory of two empty projects.
pub const EMPTY: &str =
    "locations: [{ name: eu-central-h1 }]\nprojects: [{ name: small }, { name: large }]\n";

/// Fills the first project with a thousand virtual machines, and the second with a million.
pub async fn fill(service: &Service) {
    let sqlite = "
        WITH RECURSIVE n (value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < 999999)
        INSERT INTO vm SELECT p.id, printf('vm%024d', n.value), 'eu-central-h1', printf('app-%07d', n.value), NULL, 0,
            NULL, 'standard-2', 'running', 40, 'deploy'
        FROM project AS p, n WHERE p.name = 'large' OR n.value < 1000;
        INSERT INTO resource_count
            SELECT id, 'vm', 'eu-central-h1', 0, CASE name WHEN 'large' THEN 1000000 ELSE 1000 END FROM project;
        ANALYZE";
    let postgres = "
        INSERT INTO vm SELECT p.id, 'vm' || lpad(n::text, 24, '0'), 'eu-central-h1', 'app-' || lpad(n::text, 7, '0'),
            NULL, FALSE, NULL, 'standard-2', 'running', 40, 'deploy'
        FROM project AS p, generate_series(0, 999999) AS n WHERE p.name = 'large' OR n < 1000;
        INSERT INTO resource_count
            SELECT id, 'vm', 'eu-central-h1', 0, CASE name WHEN 'large' THEN 1000000 ELSE 1000 END FROM project;
        ANALYZE";
    service.execute(sqlite, postgres).await;
}
