//! The database that each simulation begins with: an inventory and a few tokens. It is made once, as
//! the command line makes it, and copied.

use std::path::Path;
use std::sync::Arc;

use diesel::sql_types::Text;
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use stratusd::domain::quota::Quotas;
use stratusd::inventory::{Apply, Inventory, Mode};
use stratusd::issue::{Issue, Issued, find_project};
use stratusd::storage::{DatabaseLocation, SILENCE, Store, StoreConfig};
use stratusd::world::World;

use crate::ground::START;

/// The id of the project.
pub const PROJECT: &str = "pjj99grz61ddttq24cf6gc6atm";
/// The path of the location.
pub const PLACE: &str = "/location/eu-central-h1";
/// The path of a location that has nothing.
pub const ELSEWHERE: &str = "/location/us-east-a2";
/// The names of the load balancers.
pub const BALANCERS: [&str; 2] = ["one", "two"];
/// The quotas, with what the inventory has.
pub const QUOTAS: Quotas = Quotas {
    vms: 10,
    load_balancers: 10,
    postgres_databases: 4,
    private_subnets: 6,
    firewalls: 10,
    inference_api_keys: 4,
};

/// A database file, and what callers know of it.
pub struct Template {
    pub bytes: Vec<u8>,
    /// A token for everything.
    pub full: String,
    pub read_only: String,
    /// A token that is revoked at some time.
    pub revocable: String,
    pub revocable_id: String,
    /// A token that expires.
    pub expiring: String,
    pub expires_at: i64,
    /// The ids of virtual machines that callers attach.
    pub vms: Vec<String>,
    /// The id of a virtual machine that nobody attaches.
    pub stray: String,
}

const INVENTORY: &str = "
locations: [{ name: eu-central-h1 }, { name: us-east-a2 }]
projects:
  - name: shop
    id: pjj99grz61ddttq24cf6gc6atm
    vms:
      - { name: app-1, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-2, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-3, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: stray, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
    firewalls: [{ name: web, location: eu-central-h1 }]
    private_subnets: [{ name: backend, location: eu-central-h1, firewalls: [web] }]
    load_balancers:
      - { name: one, location: eu-central-h1, subnet: backend, src_port: 443, dst_port: 80, health_check_endpoint: /up }
      - { name: two, location: eu-central-h1, subnet: backend, src_port: 443, dst_port: 80, health_check_endpoint: /up }
";

#[derive(QueryableByName)]
struct Vm {
    #[diesel(sql_type = Text)]
    id: String,
}

impl Template {
    /// Makes the database in a folder.
    pub fn make(folder: &Path) -> Arc<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime starts");
        let file = folder.join("template.db");
        let mut random = StdRng::seed_from_u64(1);
        let mut seed = [0; 32];
        random.fill_bytes(&mut seed);
        let random = std::sync::Mutex::new(random);
        let world = World::new(
            || START,
            move |bytes| random.lock().expect("nobody panics").fill_bytes(bytes),
        );
        let expires_at = START + 12_000;
        let [full, read_only, revocable, expiring] =
            runtime.block_on(fill(&file, &world, expires_at));
        let mut connection =
            SqliteConnection::establish(&file.display().to_string()).expect("the file opens");
        let mut vms: Vec<Vm> = diesel::sql_query("SELECT id FROM vm ORDER BY name")
            .load(&mut connection)
            .expect("it can be read");
        drop(connection);
        let stray = vms.pop().expect("there are four").id;
        Arc::new(Self {
            bytes: std::fs::read(&file).expect("the file can be read"),
            full: full.token,
            read_only: read_only.token,
            revocable_id: revocable.id,
            revocable: revocable.token,
            expiring: expiring.token,
            expires_at,
            vms: vms.into_iter().map(|vm| vm.id).collect(),
            stray,
        })
    }
}

async fn fill(file: &Path, world: &World, expires_at: i64) -> [Issued; 4] {
    let config = StoreConfig {
        database: DatabaseLocation::Sqlite(file.to_owned()),
        connections: 1,
        patience: std::time::Duration::from_secs(10),
        silence: SILENCE,
        lock_wait: std::time::Duration::from_secs(10),
        world: world.clone(),
    };
    let store = Store::open(&config).await.expect("the database opens");
    let inventory = Inventory::read("inventory.yaml".as_ref(), INVENTORY.as_bytes())
        .expect("the inventory is valid");
    let mode = Mode {
        is_dry_run: false,
        prunes: false,
    };
    let apply = Apply {
        inventory,
        mode,
        world: world.clone(),
        quotas: QUOTAS,
    };
    store.change(apply).await.expect("the inventory is applied");
    let project = find_project(&store, "shop")
        .await
        .expect("the inventory has the project");
    let issue = async |read_only, expires_at| {
        let issue = Issue {
            project: project.clone(),
            read_only,
            expires_at,
            description: String::new(),
            world: world.clone(),
        };
        store.change(issue).await.expect("the token is issued")
    };
    let issued = [
        issue(false, None).await,
        issue(true, None).await,
        issue(false, None).await,
        issue(false, Some(expires_at)).await,
    ];
    store.close().await;
    issued
}
