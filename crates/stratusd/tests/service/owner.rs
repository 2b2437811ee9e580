//! What an owner does with the generated client, who then uses what was made: a database is connected
//! to, and a load balancer answers, before and after the service is killed in the middle of changes.

use std::net::SocketAddr;

use api_client::Client;
use api_client::prelude::*;
use api_types::{
    FirewallAttachSubnet, FirewallRuleCreate, LoadBalancerAttachVm, LoadBalancerCreate,
    LoadBalancerDetachVm, LoadBalancerUpdate, Postgres, PostgresCreate, PostgresFirewallRuleCreate,
    PostgresHaType, PostgresResetSuperuserPassword, PostgresState, PostgresUpdate,
};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::balancing::tls::Trusting;
use crate::support::balancing::{Cloud, DST, Net, SRC, Vm, a_second, ask as ask_vm, ask_on};
use crate::support::caller::Caller;
use crate::support::inventory::SHOP;
use crate::support::process::Service;
use crate::support::servers::{Servers, connect};
use crate::support::{Home, eventually};

const LOCATION: &str = "eu-central-h1";

/// Makes a call of the generated client for the database `orders`.
macro_rules! orders {
    ($client:expr, $call:ident) => {
        $client
            .$call()
            .project_id(SHOP)
            .location(LOCATION)
            .postgres_database_reference("orders")
    };
}

/// Makes a call of the generated client for the load balancer `web`.
macro_rules! web {
    ($client:expr, $call:ident) => {
        $client
            .$call()
            .project_id(SHOP)
            .location(LOCATION)
            .load_balancer_reference("web")
    };
}

/// Makes a call of the generated client for the firewall `offices`.
macro_rules! offices {
    ($client:expr, $call:ident) => {
        $client
            .$call()
            .project_id(SHOP)
            .location(LOCATION)
            .firewall_reference("offices")
    };
}

fn client(base: &str, token: &str) -> Client {
    let client = Client::builder(base).bearer(token).build();
    client.expect("a client can be made")
}

/// Starts a service, before or after another one was killed, and returns it with a client.
fn again(servers: &Servers) -> (Service, Client) {
    let service = servers.serve(&[]);
    let shop = client(&service.base, &servers.token);
    (service, shop)
}

/// Waits until the database runs and is as it should be.
async fn running(client: &Client, is_right: impl Fn(&Postgres) -> bool) -> Value {
    let there = eventually(async || {
        let now = orders!(client, postgres_view)
            .send()
            .await
            .ok()?
            .into_inner();
        let is_up = now.state == PostgresState::Running && now.connection_string.is_some();
        (is_up && is_right(&now)).then_some(now)
    });
    let there = there.await.expect("the database comes to its state");
    serde_json::to_value(there).expect("it is JSON")
}

async fn ask(database: &Value, query: &str) -> Option<String> {
    let client = connect(database).await.ok()?;
    let row = client.query_one(query, &[]).await.ok()?;
    Some(row.get(0))
}

const NOTES: &str = "SELECT string_agg(text, ' ' ORDER BY at) FROM note";

async fn note(database: &Value, text: &str) {
    let insert = format!("INSERT INTO note VALUES ('{text}')");
    let written = eventually(async || {
        let client = connect(database).await.ok()?;
        client.batch_execute(&insert).await.ok()
    });
    written.await.expect("the owner can write");
}

/// Lets nobody connect to the database, and then this machine again. Kills the service after each change.
async fn restricted(
    servers: &Servers,
    made: &Value,
    mut service: Service,
    shop: &Client,
) -> (Service, Client) {
    let rules = orders!(shop, postgres_firewall_rule_list).send().await;
    for rule in &rules.expect("the rules are listed").items {
        orders!(shop, postgres_firewall_rule_delete)
            .firewall_rule_id(rule.id.clone())
            .send()
            .await
            .expect("the rule is deleted");
    }
    service.kill();
    let (mut service, shop) = again(servers);
    let refused = eventually(async || connect(made).await.err());
    refused.await.expect("nobody may connect");
    let cidr = "127.0.0.0/8".try_into().expect("it is a network");
    orders!(shop, postgres_firewall_rule_create)
        .body(PostgresFirewallRuleCreate::new(cidr))
        .send()
        .await
        .expect("the rule is created");
    service.kill();
    again(servers)
}

/// Gives the database a later version, which only the operator can ask for, and kills the service meanwhile.
async fn upgraded(servers: &Servers, made: &Value, mut service: Service) -> (Service, Client) {
    servers.upgrade(made, "18");
    service.kill();
    let (service, shop) = again(servers);
    let now = running(&shop, |now| now.version.to_string() == "18").await;
    assert_eq!(now["connection_string"], made["connection_string"]);
    let version = eventually(async || ask(made, "SHOW server_version_num").await).await;
    assert!(version.is_some_and(|version| version.starts_with("18")));
    note(made, "upgraded").await;
    let all = "created resized failed-over let-in upgraded";
    assert_eq!(ask(made, NOTES).await.as_deref(), Some(all));
    (service, shop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_used_from_its_creation_to_its_deletion() {
    let upgradable = Servers::upgradable();
    let is_upgradable = upgradable.is_some();
    let Some(servers) = upgradable.or_else(Servers::new) else {
        return;
    };
    let (mut service, shop) = again(&servers);
    let size = "hobby-1".try_into().expect("it is a size");
    let storage = 16.try_into().expect("it is a storage size");
    let mut wanted = PostgresCreate::new(size, storage);
    if is_upgradable {
        wanted.version = "16".into();
    }
    orders!(shop, postgres_create)
        .body(wanted)
        .send()
        .await
        .expect("the database is created");
    // Before it runs, or just after.
    service.kill();
    let (service, shop) = again(&servers);
    let made = running(&shop, |_| true).await;
    let table = "CREATE TABLE note (text text, at timestamptz DEFAULT clock_timestamp())";
    let owner = connect(&made).await.expect("the owner can connect");
    owner
        .batch_execute(table)
        .await
        .expect("the owner can write");
    note(&made, "created").await;

    // Another size and a standby, and the service is killed in the middle.
    let mut update = PostgresUpdate::new();
    update.ha_type = Some(PostgresHaType::Sync);
    update.size = Some("standard-2".try_into().expect("it is a size"));
    update.storage_size = Some(64.try_into().expect("it is a storage size"));
    orders!(shop, postgres_update)
        .body(update)
        .send()
        .await
        .expect("the database is changed");
    drop(service);
    let (mut service, shop) = again(&servers);
    let made = running(&shop, |now| now.vm_size.to_string() == "standard-2").await;
    let connections = ask(&made, "SHOW max_connections").await;
    assert_eq!(connections.as_deref(), Some("100"));
    let quorum = "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'quorum'";
    let both = eventually(async || ask(&made, quorum).await.filter(|count| count == "2"));
    both.await.expect("there are two standbys");
    note(&made, "resized").await;

    // The primary is killed, and the service with it.
    let id = made["id"].as_str().expect("it has an id");
    let commits_wait = eventually(async || {
        let record = servers
            .folder()
            .join("databases")
            .join(id)
            .join("record.json");
        let record: Value = serde_json::from_slice(&std::fs::read(record).ok()?).ok()?;
        (record["commits_wait"] == true).then_some(())
    });
    commits_wait.await.expect("commits wait for a standby");
    let primary = servers.pid(id).expect("it runs");
    service.kill();
    kill_process(primary, Signal::KILL).expect("it runs");
    let (mut service, shop) = again(&servers);
    note(&made, "failed-over").await;

    // Another password, which is the only one from then on.
    let password = "Another-Passw0rd".try_into().expect("it is a password");
    orders!(shop, postgres_reset_superuser_password)
        .body(PostgresResetSuperuserPassword::new(password))
        .send()
        .await
        .expect("the password is reset");
    service.kill();
    let (service, shop) = again(&servers);
    let before = made;
    let refused = eventually(async || connect(&before).await.err());
    refused.await.expect("the password before is refused");
    let made = running(&shop, |_| true).await;
    let all = eventually(async || ask(&made, NOTES).await).await;
    assert_eq!(all.as_deref(), Some("created resized failed-over"));

    let (mut service, mut shop) = restricted(&servers, &made, service, &shop).await;
    note(&made, "let-in").await;

    if is_upgradable {
        (service, shop) = upgraded(&servers, &made, service).await;
    }
    orders!(shop, postgres_delete)
        .send()
        .await
        .expect("the database is deleted");
    service.kill();
    let _service = servers.serve(&[]);
    let left = || [servers.ids(), servers.backups(), servers.addresses()].concat();
    let gone = eventually(async || left().is_empty().then_some(()));
    assert!(gone.await.is_some(), "this is left of it: {:?}", left());
    assert!(connect(&made).await.is_err(), "it is still there");
}

/// Starts the service of a cloud again, and returns a client.
fn serve_again(cloud: &mut Cloud, token: &str) -> Client {
    let settings = ["--simulate-delay", "0s", "--simulate-jitter", "0s"];
    cloud.service = cloud.home.serve(&settings);
    cloud.shop = Caller::new(&cloud.service.base, SHOP, token);
    client(&cloud.service.base, token)
}

/// Returns what a load balancer responds with on a connection of its own, over TLS if a client is given.
async fn ask_by(client: Option<&Trusting>, web: SocketAddr) -> Option<String> {
    let Some(client) = client else {
        return ask_vm(web).await.ok();
    };
    ask_on(&mut client.connect(web).await.ok()?).await.ok()
}

/// Waits until only one virtual machine responds, or nobody.
async fn only(client: Option<&Trusting>, web: SocketAddr, vm: Option<&str>) {
    let is_so = eventually(async || {
        for _ in 0..4 {
            (ask_by(client, web).await.as_deref() == vm).then_some(())?;
        }
        Some(())
    });
    is_so.await.unwrap_or_else(|| panic!("{web} is not {vm:?}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_certificates_and_machines_of_a_load_balancer_hold_after_kills() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let balancer = format!(
        "name: web, src_port: {SRC}, health_check_endpoint: /up, health_check_protocol: http, stack: ipv4, vms: [vm-1, vm-2]"
    );
    let mut cloud = Cloud::start(Home::sqlite(), net, &net.inventory(2, &[&balancer]), &[]);
    let token = cloud.home.token("shop", &[]);
    let shop = client(&cloud.service.base, &token);
    let address = cloud.address("web", 2).await;
    let now = web!(shop, load_balancer_view).send().await;
    let vms = now.expect("the load balancer is found").into_inner().vms;
    let vm = |name: &str| {
        let vm = vms.iter().find(|vm| vm.name.as_str() == name);
        vm.expect("the virtual machine is attached")
            .id
            .as_str()
            .to_owned()
    };
    let (one, two) = (vm("vm-1"), vm("vm-2"));

    // One virtual machine is detached, and the service is killed at once.
    let id = one.as_str().try_into().expect("it is an id");
    let detached = web!(shop, load_balancer_detach_vm).body(LoadBalancerDetachVm::new(id));
    detached
        .send()
        .await
        .expect("the virtual machine is detached");
    cloud.service.kill();
    only(None, address, Some("vm-2")).await;
    let shop = serve_again(&mut cloud, &token);

    // A certificate, another algorithm and another virtual machine.
    let body = json!({
        "algorithm": "hash_based", "src_port": SRC, "dst_port": DST, "health_check_endpoint": "/up",
        "cert_enabled": true, "vms": [one],
    });
    let body: LoadBalancerUpdate = serde_json::from_value(body).expect("it fits the contract");
    let updated = web!(shop, load_balancer_update).body(body).send().await;
    let updated = updated.expect("the load balancer is updated").into_inner();
    assert_eq!(updated.vms.len(), 1, "{two} is still attached");
    let trusting = Trusting::of(&cloud, "web").await;
    cloud.service.kill();
    cloud.plane.kill();
    cloud.plane = Cloud::plane(&cloud.home, net, &[]);
    let shop = serve_again(&mut cloud, &token);
    only(Some(&trusting), address, Some("vm-1")).await;
    assert!(ask_vm(address).await.is_err(), "it responds without TLS");

    // A firewall lets nobody in, a rule does, and not after it is deleted.
    let subnet = shop
        .private_subnet_view()
        .project_id(SHOP)
        .location(LOCATION)
        .private_subnet_reference("backend")
        .send()
        .await
        .expect("the private subnet is found");
    let subnet = subnet.id.as_str().try_into().expect("it is an id");
    offices!(shop, firewall_create)
        .send()
        .await
        .expect("the firewall is created");
    offices!(shop, firewall_attach_subnet)
        .body(FirewallAttachSubnet::new(subnet))
        .send()
        .await
        .expect("the firewall is attached");
    cloud.service.kill();
    only(Some(&trusting), address, None).await;
    let shop = serve_again(&mut cloud, &token);
    let rule = json!({ "cidr": "127.0.0.0/8", "port_range": SRC.to_string() });
    let rule: FirewallRuleCreate = serde_json::from_value(rule).expect("it fits the contract");
    let rule = offices!(shop, firewall_rule_create).body(rule).send().await;
    let rule = rule.expect("the rule is created").into_inner();
    only(Some(&trusting), address, Some("vm-1")).await;
    let deleted = offices!(shop, firewall_rule_delete).firewall_rule_id(rule.id);
    deleted.send().await.expect("the rule is deleted");
    cloud.service.kill();
    only(Some(&trusting), address, None).await;
    let shop = serve_again(&mut cloud, &token);
    offices!(shop, firewall_delete)
        .send()
        .await
        .expect("the firewall is deleted");
    only(Some(&trusting), address, Some("vm-1")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_balancer_is_used_from_its_creation_to_its_deletion() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let mut cloud = Cloud::start(Home::sqlite(), net, &net.inventory(2, &[]), &[]);
    let token = cloud.home.token("shop", &[]);
    let shop = client(&cloud.service.base, &token);
    let subnet = shop
        .private_subnet_view()
        .project_id(SHOP)
        .location(LOCATION)
        .private_subnet_reference("backend")
        .send()
        .await
        .expect("the private subnet is found");
    let body = json!({
        "algorithm": "round_robin", "src_port": SRC, "dst_port": DST, "stack": "ipv4",
        "health_check_protocol": "http", "private_subnet_id": subnet.id,
    });
    let body: LoadBalancerCreate = serde_json::from_value(body).expect("it fits the contract");
    web!(shop, load_balancer_create)
        .body(body)
        .send()
        .await
        .expect("the load balancer is created");
    cloud.service.kill();
    let shop = serve_again(&mut cloud, &token);
    for name in ["vm-1", "vm-2"] {
        let vm = shop
            .vm_view()
            .project_id(SHOP)
            .location(LOCATION)
            .vm_reference(name)
            .send()
            .await
            .expect("the virtual machine is found");
        let id = vm.id.as_str().try_into().expect("it is an id");
        web!(shop, load_balancer_attach_vm)
            .body(LoadBalancerAttachVm::new(id))
            .send()
            .await
            .expect("the virtual machine is attached");
    }
    let web = cloud.address("web", 2).await;
    let mut seen = [ask_vm(web).await, ask_vm(web).await].map(|name| name.expect("it answers"));
    seen.sort();
    assert_eq!(seen, ["vm-1", "vm-2"]);

    // The API is killed, and nobody who is balanced notices; then the data plane is.
    cloud.service.kill();
    ask_vm(web).await.expect("it answers without the API");
    cloud.plane.kill();
    cloud.plane = Cloud::plane(&cloud.home, net, &[]);
    assert_eq!(cloud.address("web", 2).await, web, "its address changes");
    ask_vm(web).await.expect("it answers again");
    cloud.service = cloud.home.serve(&[]);
    let shop = client(&cloud.service.base, &token);
    web!(shop, load_balancer_delete)
        .send()
        .await
        .expect("the load balancer is deleted");
    a_second().await;
    assert!(ask_vm(web).await.is_err(), "it still listens");
}
