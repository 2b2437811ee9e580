//! Requests that call every operation of the contract, in each way that leads to other statements.

use std::convert::Infallible;

use api_server::OPERATIONS;
use api_server::server::{Method as HttpMethod, Operation};
use reqwest::Method;
use serde_json::{Value, json};
use stratusd::settings::DatabaseUrl;
use stratusd::storage::load_balancer_change::Seen;
use stratusd::storage::{
    Aborted, Change, Connection, ReadOnlyStore, SILENCE, Store, StoreConfig, balanced, lease,
    load_balancer,
};
use stratusd::world::World;

use crate::support::caller::Caller;
use crate::support::inventory::SHOP;
use crate::support::process::Service;
use crate::support::{Home, PATIENCE};

const PLACE: &str = "/location/eu-central-h1";

/// How often each request is sent: the second time finds what the first one has made.
const ROUNDS: usize = 2;

/// The settings that a service needs for them.
pub const SETTINGS: [&str; 4] = [
    "--simulate-delay",
    "100ms",
    "--gateway-listen",
    "127.0.0.1:0",
];

/// The commands by which an operator reads the audit trail.
pub const AUDITS: [&[&str]; 2] = [
    &["audit", "--since", "2020-01-01T00:00:00Z"],
    &["audit", "--project", SHOP],
];

/// Calls every operation with a token of the shop, and the gateway. The service must have the
/// projects of `two_projects`.
pub async fn send(token: &str, service: &Service) {
    let shop = Caller::new(&service.base, SHOP, token);
    let ids = Ids::read(&shop).await;
    let mut operations = OPERATIONS.to_vec();
    // What is created is then viewed.
    operations.sort_by_key(|operation| !operation.id.ends_with("_create"));
    let mut count = 0;
    for round in 0..ROUNDS {
        for operation in &operations {
            for (path, body) in requests(operation.id, round, &ids) {
                // Changes are then conditional and repeatable, which takes further statements.
                count += 1;
                let key = format!("request-{count}");
                let headers = [("idempotency-key", &*key), ("if-match", "*")];
                let method: Method = operation.method.into();
                let response = shop
                    .send_with(&headers, method, &path, body.as_ref())
                    .await
                    .expect("the service responds");
                let status = response.status();
                let body = response.text().await.expect("the body is text");
                let expected = success(operation);
                assert_eq!(status, expected, "{} {path}: {body}", operation.id);
            }
        }
    }
    check_keys(&shop, service).await;
    // The reconciler leases the new databases and prolongs and settles the leases.
    shop.wait_for(&format!("{PLACE}/postgres/new-0"), |database| {
        database["state"] == "running"
    })
    .await;
}

/// Has the gateway look up new keys, since it caches those that it has found.
async fn check_keys(shop: &Caller, service: &Service) {
    let gateway = service.gateway.as_ref().expect("the gateway is on");
    for _ in 0..ROUNDS {
        let key = shop.post_nothing("/inference-api-key").await.ok();
        let key = key["key"].as_str().expect("a new key is shown");
        let asked = reqwest::Client::new().get(format!("{gateway}/auth"));
        let response = asked.bearer_auth(key).send().await;
        assert_eq!(response.expect("the gateway responds").status(), 200);
    }
}

/// Reads load balancers as the data plane does, in the process of the test: the data plane itself would
/// listen for all neighbours.
pub async fn read_load_balancers(home: &Home) {
    let store = ReadOnlyStore::open(&config(home)).await;
    let store = store.expect("the database opens");
    for _ in 0..ROUNDS {
        let mut reader = store.snapshot().await.expect("the database can be read");
        let c = &mut reader.connection();
        let seen = Seen::load(c).await.expect("it can be read");
        let since = seen.since(c, &seen).await.expect("it can be read");
        let mut since = since.expect("the database is the same");
        since.page(c, 10).await.expect("they can be read");
        let found = balanced::keys_after(c, ("", ""), 10)
            .await
            .expect("they can be read");
        let first = found.first().expect("there are load balancers");
        let (project, id) = (&first.project_id, &first.id);
        balanced::exists(c, project, id)
            .await
            .expect("it can be read");
        balanced::lookup(c, project, id)
            .await
            .expect("it can be read");
        balanced::guarded_after(c, project, "", 10)
            .await
            .expect("they can be read");
        load_balancer::vms(c, project, id)
            .await
            .expect("they can be read");
    }
    store.close().await;
}

/// A change that makes a database due as an event of a provisioner does.
struct MakeDue;

impl Change for MakeDue {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        let id = "pgt10a2ct09p45wb0b42xgnrf3"
            .try_into()
            .expect("it is an id");
        Ok(lease::make_due(tx, &id, 2_000_000_000_000).await?)
    }
}

/// Makes databases due, in the process of the test: a simulator sends no events.
pub async fn make_due(home: &Home) {
    let store = Store::open(&config(home)).await;
    let store = store.expect("the database opens");
    for _ in 0..ROUNDS {
        store
            .change(MakeDue)
            .await
            .expect("the database can be written");
    }
    store.close().await;
}

/// Returns how the process of the test uses the database.
fn config(home: &Home) -> StoreConfig {
    let url: DatabaseUrl = home.database_url.parse().expect("it is valid");
    StoreConfig {
        database: url.database().expect("it names a database"),
        connections: 1,
        patience: PATIENCE,
        silence: SILENCE,
        lock_wait: PATIENCE,
        world: World::real(),
    }
}

/// Returns the status of an operation that succeeds.
pub fn success(operation: &Operation) -> u16 {
    if operation.method == HttpMethod::DELETE {
        204
    } else {
        200
    }
}

/// The ids of resources of the inventory.
pub struct Ids {
    vm: Value,
    /// A virtual machine that is attached to no load balancer and is in no subnet.
    free: Value,
    balancer: Value,
    backend: Value,
    frontend: Value,
    firewall: Value,
}

impl Ids {
    pub async fn read(shop: &Caller) -> Self {
        let get = async |path: &str| shop.get(&format!("{PLACE}/{path}")).await.ok();
        let backend = get("private-subnet/backend").await;
        Self {
            vm: get("vm?order_column=name&start_after=app-0").await["items"][0]["id"].clone(),
            free: get("vm/app-3").await["id"].clone(),
            balancer: get("load-balancer?order_column=name&start_after=w").await["items"][0]["id"]
                .clone(),
            firewall: backend["firewalls"][0]["id"].clone(),
            backend: backend["id"].clone(),
            frontend: get("private-subnet/frontend").await["id"].clone(),
        }
    }
}

/// Returns the paths and bodies to call an operation with.
pub fn requests(operation: &str, round: usize, ids: &Ids) -> Vec<(String, Option<Value>)> {
    match operation {
        "vm_list" => pages(&place("vm"), &last("vm")),
        "vm_view" => vec![
            (place("vm/app-1"), None),
            (place(&format!("vm/{}", text(&ids.vm))), None),
        ],
        "project_load_balancer_list" => pages("/load-balancer", &last("1b")),
        "project_postgres_list" => pages("/postgres", &last("pg")),
        _ if operation.starts_with("load_balancer") => of_balancers(operation, round, ids),
        "project_private_subnet_list" => pages("/private-subnet", &last("ps")),
        _ if operation.starts_with("private_subnet") => of_subnets(operation, round, ids),
        _ if operation.starts_with("firewall") => of_firewalls(operation, round, ids),
        _ if operation.starts_with("postgres") => of_databases(operation, round),
        _ => of_keys(operation, round),
    }
}

/// Returns those of an operation on load balancers.
fn of_balancers(operation: &str, round: usize, ids: &Ids) -> Vec<(String, Option<Value>)> {
    let by_id = place(&format!("load-balancer/{}", text(&ids.balancer)));
    let web = place("load-balancer/web");
    match operation {
        "load_balancer_list" => pages(&place("load-balancer"), &last("1b")),
        "load_balancer_view" => vec![(web, None), (by_id, None)],
        "load_balancer_create" => {
            let body = json!({
                "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_protocol": "tcp",
                "private_subnet_id": ids.backend,
            });
            ["new", "gone"]
                .map(|name| place(&format!("load-balancer/{name}-{round}")))
                .map(|path| (path, Some(body.clone())))
                .into()
        }
        "load_balancer_delete" => vec![(place(&format!("load-balancer/gone-{round}")), None)],
        // Updates leave only the first virtual machine.
        "load_balancer_update" => {
            let attached = json!({
                "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": [ids.vm],
            });
            vec![(web, Some(attached.clone())), (by_id, Some(attached))]
        }
        "load_balancer_attach_vm" => vec![(
            place("load-balancer/web/attach-vm"),
            Some(json!({ "vm_id": ids.free })),
        )],
        "load_balancer_detach_vm" => vec![(
            place("load-balancer/web/detach-vm"),
            Some(json!({ "vm_id": ids.vm })),
        )],
        other => panic!("add a request that calls {other}"),
    }
}

/// Returns those of an operation on private subnets.
fn of_subnets(operation: &str, round: usize, ids: &Ids) -> Vec<(String, Option<Value>)> {
    let backend = text(&ids.backend);
    match operation {
        "private_subnet_list" => pages(&place("private-subnet"), &last("ps")),
        "private_subnet_view" => vec![
            (place("private-subnet/backend"), None),
            (place(&format!("private-subnet/{backend}")), None),
        ],
        "private_subnet_create" => vec![
            (place(&format!("private-subnet/new-{round}")), None),
            (place(&format!("private-subnet/gone-{round}")), None),
            (
                place(&format!("private-subnet/guarded-{round}")),
                Some(json!({ "firewall_id": ids.firewall })),
            ),
        ],
        "private_subnet_delete" => vec![(place(&format!("private-subnet/gone-{round}")), None)],
        "private_subnet_connect" => {
            // A pair of subnets can be connected once.
            if round > 0 {
                return Vec::new();
            }
            let body = json!({ "connected-subnet-id": ids.frontend });
            vec![(place("private-subnet/backend/connect"), Some(body))]
        }
        "private_subnet_disconnect" => {
            let other = text(&ids.frontend);
            let path = format!("private-subnet/{backend}/disconnect/{other}");
            vec![(place(&path), None)]
        }
        other => panic!("add a request that calls {other}"),
    }
}

/// Returns those of an operation on firewalls.
fn of_firewalls(operation: &str, round: usize, ids: &Ids) -> Vec<(String, Option<Value>)> {
    let firewall = text(&ids.firewall);
    match operation {
        "firewall_list" => pages(&place("firewall"), &last("fw")),
        "firewall_view" => vec![
            (place("firewall/web-only"), None),
            (place(&format!("firewall/{firewall}")), None),
        ],
        "firewall_create" => {
            let body = json!({ "description": "new" });
            vec![
                (place(&format!("firewall/new-{round}")), Some(body)),
                (place(&format!("firewall/gone-{round}")), None),
            ]
        }
        "firewall_delete" => vec![(place(&format!("firewall/gone-{round}")), None)],
        "firewall_attach_subnet" => {
            let body = json!({ "private_subnet_id": ids.frontend });
            vec![(place("firewall/web-only/attach-subnet"), Some(body))]
        }
        "firewall_rule_create" => {
            let body = json!({ "cidr": format!("10.{round}.0.0/16") });
            vec![(place("firewall/web-only/firewall-rule"), Some(body))]
        }
        // The rule does not exist, which takes the same statements.
        "firewall_rule_delete" => vec![(
            place(&format!("firewall/web-only/firewall-rule/fr{:024}", 1)),
            None,
        )],
        "firewall_detach_subnet" => {
            let body = json!({ "private_subnet_id": ids.backend });
            vec![
                (place("firewall/web-only/detach-subnet"), Some(body.clone())),
                (
                    place(&format!("firewall/{firewall}/detach-subnet")),
                    Some(body),
                ),
            ]
        }
        other => panic!("add a request that calls {other}"),
    }
}

/// Returns those of an operation on databases.
fn of_databases(operation: &str, round: usize) -> Vec<(String, Option<Value>)> {
    match operation {
        "postgres_create" => {
            let body = json!({ "size": "standard-2", "storage_size": 64, "ha_type": "async" });
            ["new", "gone"]
                .map(|name| place(&format!("postgres/{name}-{round}")))
                .map(|path| (path, Some(body.clone())))
                .into()
        }
        "postgres_delete" => vec![(place(&format!("postgres/gone-{round}")), None)],
        "postgres_view" => vec![
            (place(&format!("postgres/new-{round}")), None),
            (place(&format!("postgres/pg{:024}", 2)), None),
        ],
        "postgres_update" => {
            let tags = json!([{ "key": "round", "value": round.to_string() }]);
            vec![(
                place(&format!("postgres/new-{round}")),
                Some(json!({ "tags": tags })),
            )]
        }
        "postgres_list" => pages(&place("postgres"), &last("pg")),
        "postgres_restart" => vec![(place(&format!("postgres/new-{round}/restart")), None)],
        "postgres_promote" => vec![(place(&format!("postgres/new-{round}/promote")), None)],
        "postgres_backup_list" => vec![(place(&format!("postgres/new-{round}/backup")), None)],
        "postgres_restore" => {
            let body = json!({ "name": format!("again-{round}"), "restore_target": "2026-03-02T17:30:00Z" });
            // A database of the seed, which has backups.
            vec![(place(&format!("postgres/pg{:024}/restore", 2)), Some(body))]
        }
        "postgres_set_maintenance_window" => {
            let body = json!({ "maintenance_window_start_at": 3 });
            let path = format!("postgres/new-{round}/set-maintenance-window");
            vec![(place(&path), Some(body))]
        }
        "postgres_firewall_rule_list" => {
            vec![(place(&format!("postgres/new-{round}/firewall-rule")), None)]
        }
        "postgres_firewall_rule_create" => {
            let path = format!("postgres/new-{round}/firewall-rule");
            vec![(place(&path), Some(json!({ "cidr": "10.0.0.0/8" })))]
        }
        // The rule does not exist, which takes all statements but the write of a create.
        "postgres_firewall_rule_delete" => {
            let path = format!("postgres/new-{round}/firewall-rule/pf{:024}", 1);
            vec![(place(&path), None)]
        }
        "postgres_reset_superuser_password" => {
            let body = json!({ "password": "Abcdefgh1234" });
            let path = format!("postgres/new-{round}/reset-superuser-password");
            vec![(place(&path), Some(body))]
        }
        other => panic!("add a request that calls {other}"),
    }
}

/// Returns those of an operation on inference keys.
fn of_keys(operation: &str, round: usize) -> Vec<(String, Option<Value>)> {
    match operation {
        "inference_api_key_create" => vec![("/inference-api-key".to_owned(), None)],
        "inference_api_key_list" => {
            let mut pages = pages("/inference-api-key", &last("ak"));
            pages.retain(|(path, _)| !path.contains("order_column=name"));
            pages
        }
        // Neighbours; what is deleted was there, if there are enough of them.
        "inference_api_key_view" => vec![(format!("/inference-api-key/ak{:024}", 2), None)],
        "inference_api_key_delete" => {
            vec![(format!("/inference-api-key/ak{:024}", round + 3), None)]
        }
        other => panic!("add a request that calls {other}"),
    }
}

fn text(id: &Value) -> String {
    id.as_str().expect("it is an id").to_owned()
}

fn place(path: &str) -> String {
    format!("{PLACE}/{path}")
}

/// Returns the requests for pages of a list, in each order.
fn pages(list: &str, id: &str) -> Vec<(String, Option<Value>)> {
    vec![
        (list.to_owned(), None),
        (format!("{list}?page_size=10&start_after={id}"), None),
        (format!("{list}?order_column=name&page_size=10"), None),
        (format!("{list}?order_column=name&start_after=n-5"), None),
        (format!("{list}?order_column=name&start_after=zzzz"), None),
    ]
}

/// Returns the id of a neighbour near the end.
fn last(kind: &str) -> String {
    format!("{kind}000000000000000000004900")
}
