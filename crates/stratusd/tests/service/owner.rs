//! What an owner does with the generated client, who then uses what was made: a database is connected
//! to, and a load balancer answers, before and after the service is killed.

use api_client::Client;
use api_client::prelude::*;
use api_types::{
    LoadBalancerAttachVm, LoadBalancerCreate, Postgres, PostgresCreate, PostgresFirewallRuleCreate,
    PostgresHaType, PostgresResetSuperuserPassword, PostgresState, PostgresUpdate,
};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::balancing::{Cloud, DST, Net, SRC, Vm, a_second, ask as ask_vm};
use crate::support::inventory::SHOP;
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

fn client(base: &str, token: &str) -> Client {
    let client = Client::builder(base).bearer(token).build();
    client.expect("a client can be made")
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

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_used_from_its_creation_to_its_deletion() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let shop = client(&service.base, &servers.token);
    let size = "hobby-1".try_into().expect("it is a size");
    let storage = 16.try_into().expect("it is a storage size");
    orders!(shop, postgres_create)
        .body(PostgresCreate::new(size, storage))
        .send()
        .await
        .expect("the database is created");
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
    let service = servers.serve(&[]);
    let shop = client(&service.base, &servers.token);
    let made = running(&shop, |now| now.vm_size.to_string() == "standard-2").await;
    let connections = ask(&made, "SHOW max_connections").await;
    assert_eq!(connections.as_deref(), Some("100"));
    let quorum = "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'quorum'";
    let both = eventually(async || ask(&made, quorum).await.filter(|count| count == "2"));
    both.await.expect("there are two standbys");
    note(&made, "resized").await;

    // The primary is killed.
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
    kill_process(primary, Signal::KILL).expect("it runs");
    note(&made, "failed-over").await;

    // Another password, which is the only one from then on.
    let password = "Another-Passw0rd".try_into().expect("it is a password");
    orders!(shop, postgres_reset_superuser_password)
        .body(PostgresResetSuperuserPassword::new(password))
        .send()
        .await
        .expect("the password is reset");
    let before = made;
    let refused = eventually(async || connect(&before).await.err());
    refused.await.expect("the password before is refused");
    let made = running(&shop, |_| true).await;
    let all = eventually(async || ask(&made, NOTES).await).await;
    assert_eq!(all.as_deref(), Some("created resized failed-over"));

    // Nobody may connect, and then this machine again.
    let rules = orders!(shop, postgres_firewall_rule_list).send().await;
    for rule in &rules.expect("the rules are listed").items {
        orders!(shop, postgres_firewall_rule_delete)
            .firewall_rule_id(rule.id.clone())
            .send()
            .await
            .expect("the rule is deleted");
    }
    let refused = eventually(async || connect(&made).await.err());
    refused.await.expect("nobody may connect");
    let cidr = "127.0.0.0/8".try_into().expect("it is a network");
    orders!(shop, postgres_firewall_rule_create)
        .body(PostgresFirewallRuleCreate::new(cidr))
        .send()
        .await
        .expect("the rule is created");
    note(&made, "let-in").await;

    orders!(shop, postgres_delete)
        .send()
        .await
        .expect("the database is deleted");
    let gone = eventually(async || servers.ids().is_empty().then_some(()));
    gone.await.expect("nothing is left of it");
    assert!(connect(&made).await.is_err(), "it is still there");
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
