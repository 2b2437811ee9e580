//! Creates beside each other and beside `stratusd apply` on PostgreSQL: none exceeds a quota, and
//! none keeps another project waiting. On SQLite one transaction runs at a time.
//!
//! A session of the test holds a lock on a table, at which transactions stop on their way. So they
//! are known to run at the same time.

use std::collections::BTreeSet;
use std::process::Output;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinHandle;

use super::PLACE;
use super::quotas::callers;
use crate::support::caller::Caller;
use crate::support::cluster::{HERE, Session};
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, PATIENCE};

/// The number of subnets that the shop has by [`two_projects`].
const BEFORE: usize = 3;
/// Returns the condition that a transaction waits for the quota of another one.
fn waits_for_a_quota() -> String {
    format!("EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND {HERE})")
}

/// A status, the type of its error, and the header `Retry-After`.
type Ended = (u16, String, Option<String>);

/// Begins to create private subnets, all at once.
fn begin_creates(caller: &Caller, count: usize, name: &str) -> Vec<JoinHandle<Ended>> {
    let create = |number| {
        let (caller, path) = (
            caller.clone(),
            format!("{PLACE}/private-subnet/{name}-{number}"),
        );
        tokio::spawn(async move {
            let sent = caller.send(Method::POST, &path, None).await;
            let response = sent.expect("the service responds");
            let status = response.status().as_u16();
            let wait = response.headers().get("retry-after");
            let wait = wait.map(|wait| wait.to_str().expect("it is text").to_owned());
            let body: serde_json::Value = response.json().await.expect("the body is JSON");
            let kind = body["error"]["type"].as_str().unwrap_or_default();
            (status, kind.to_owned(), wait)
        })
    };
    (0..count).map(create).collect()
}

/// Waits for creates, and returns how many were made. The others met a lock or the quota.
async fn made(creating: Vec<JoinHandle<Ended>>) -> usize {
    let mut made = 0;
    for create in creating {
        let (status, kind, _) = create.await.expect("it runs");
        match (status, &*kind) {
            (200, _) => made += 1,
            (503, "Unavailable") | (403, "QuotaExceeded") => {}
            other => panic!("{other:?}"),
        }
    }
    made
}

/// Creates private subnets until there is no room for more, and returns how many were made.
async fn fill(caller: &Caller) -> usize {
    for number in 0.. {
        let path = format!("{PLACE}/private-subnet/last-{number}");
        let response = caller.post_nothing(&path).await;
        match response.error() {
            _ if response.status == 200 => {}
            (403, "QuotaExceeded") => return number,
            _ => panic!("{}", response.body),
        }
    }
    unreachable!("a quota is finite")
}

/// Begins to apply an inventory, and waits until it stops at a table that the session has locked.
async fn begin_apply(
    home: &Arc<Home>,
    session: &mut Session,
    table: &str,
    (inventory, quotas): (String, &'static [&'static str]),
) -> JoinHandle<Output> {
    std::fs::write(home.path().join("large.yaml"), inventory).expect("the folder is writable");
    let home = Arc::clone(home);
    let applying = tokio::task::spawn_blocking(move || {
        home.run(&[&["apply", "large.yaml"][..], quotas].concat())
    });
    let stops = format!(
        "EXISTS (SELECT FROM pg_locks WHERE relation = '{table}'::regclass AND NOT granted AND {HERE})"
    );
    assert!(session.sees(&stops, PATIENCE).await, "it is applied");
    applying
}

/// Returns an inventory that creates subnets of the shop, and then a virtual machine of the rival.
fn subnets_and_a_vm(subnets: usize) -> String {
    let subnets = (0..subnets)
        .map(|number| format!("      - {{ name: large-{number}, location: us-east-a2 }}\n"));
    format!(
        "projects:\n  - name: shop\n    private_subnets:\n{}  - name: rival\n    vms:\n      \
         - {{ name: late, location: us-east-a2, size: standard-2, storage_size_gib: 40, unix_user: u }}\n",
        subnets.collect::<String>()
    )
}

/// With two connections for changes, and many creates that wait for the inventory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inventory_delays_only_creates_of_its_project() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let home = Arc::new(home);
    home.apply(&two_projects());
    let services = [home.serve(&["--database-connections", "4"])];
    let shop = callers(&home, &services, "shop", SHOP).remove(0);
    let rival = callers(&home, &services, "rival", RIVAL).remove(0);
    rival
        .post_nothing(&format!("{PLACE}/private-subnet/first"))
        .await
        .ok();
    let mut session = Session::with_locked(&home.database_url, "vm", "SHARE");
    let inventory = (subnets_and_a_vm(20), &[][..]);
    let applying = begin_apply(&home, &mut session, "vm", inventory).await;
    let creating = begin_creates(&shop, 40, "waiting");
    assert!(session.sees(&waits_for_a_quota(), PATIENCE).await);
    // All of it while the creates wait, which they do for 5 seconds.
    for number in 0..5 {
        let begun = Instant::now();
        let path = format!("{PLACE}/private-subnet/quick-{number}");
        rival.post_nothing(&path).await.ok();
        let took = begun.elapsed();
        assert!(
            took < Duration::from_secs(1),
            "the rival waits for {took:?}"
        );
    }
    // What needs no lock does not wait for the creates that do.
    let web = format!("{PLACE}/load-balancer/web");
    let update = json!({ "algorithm": "round_robin", "src_port": 1, "dst_port": 2,
        "health_check_endpoint": "/", "vms": [] });
    shop.patch(&web, update).await.ok();
    assert!(
        !creating.iter().any(JoinHandle::is_finished),
        "the creates of the shop wait meanwhile"
    );
    for create in creating {
        let ended = create.await.expect("it runs");
        let expected = (503, "Unavailable".to_owned(), Some("1".to_owned()));
        assert_eq!(ended, expected);
    }
    drop(session);
    let applied = applying.await.expect("it runs");
    assert!(applied.status.success(), "{applied:?}");
    shop.post_nothing(&format!("{PLACE}/private-subnet/after"))
        .await
        .ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inventory_holds_the_quota_of_what_it_prunes() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let home = Arc::new(home);
    home.apply(&two_projects());
    let services = [home.serve(&[])];
    let shop = callers(&home, &services, "shop", SHOP).remove(0);
    let mut session = Session::with_locked(&home.database_url, "private_subnet", "SHARE");
    let nothing = "projects: [{ name: shop }, { name: rival }]\n".to_owned();
    let inventory = (nothing, &["--prune"][..]);
    let applying = begin_apply(&home, &mut session, "private_subnet", inventory).await;
    let creating = begin_creates(&shop, 1, "waiting");
    assert!(session.sees(&waits_for_a_quota(), PATIENCE).await);
    drop(session);
    let applied = applying.await.expect("it runs");
    assert!(applied.status.success(), "{applied:?}");
    assert_eq!(made(creating).await, 1);
    let subnets = shop.get(&format!("{PLACE}/private-subnet")).await.ok();
    assert_eq!(subnets["count"], 1);
}

/// Far from the quota, where creates run beside each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creates_beside_an_inventory_never_exceed_a_quota() {
    const QUOTA: usize = 170;
    const LARGE: usize = 150;
    let Some(home) = Home::postgres() else {
        return;
    };
    let home = Arc::new(home);
    home.apply(&two_projects());
    let quotas = &["--quota-private-subnets", "170"];
    let services = [home.serve(&[&quotas[..], &["--database-connections", "16"]].concat())];
    let shop = callers(&home, &services, "shop", SHOP).remove(0);
    let mut session = Session::with_locked(&home.database_url, "vm", "SHARE");
    let inventory = (subnets_and_a_vm(LARGE), &quotas[..]);
    let applying = begin_apply(&home, &mut session, "vm", inventory).await;
    // More than there is room for, and less than there is without the inventory.
    let creating = begin_creates(&shop, 40, "beside");
    // Without the lock of the inventory, no create would wait.
    assert!(session.sees(&waits_for_a_quota(), PATIENCE).await);
    drop(session);
    let made = made(creating).await + fill(&shop).await;
    let applied = applying.await.expect("it runs");
    assert!(applied.status.success(), "{applied:?}");
    assert_eq!(BEFORE + LARGE + made, QUOTA);
}

/// Near the quota, with room for one more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_creates_with_room_for_one_one_is_refused() {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&two_projects());
    let quota = ["--quota-private-subnets", "4"];
    let services: [Service; 3] = std::array::from_fn(|_| home.serve(&quota));
    let shop = callers(&home, &services, "shop", SHOP);
    let mut session = Session::with_locked(&home.database_url, "private_subnet", "SHARE");
    let creating = shop
        .iter()
        .enumerate()
        .flat_map(|(number, shop)| begin_creates(shop, 4, &format!("of-{number}")));
    let creating = creating.collect();
    // Without the lock of the quota, both would wait before the insert, and then both insert.
    let both_wait = format!("(SELECT count(*) FROM pg_locks WHERE NOT granted AND {HERE}) >= 2");
    assert!(session.sees(&both_wait, PATIENCE).await);
    drop(session);
    assert_eq!(made(creating).await + fill(&shop[0]).await, 1);
}

/// The inventory has written to the counts that the creates write to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creates_wait_for_the_quota_of_an_inventory_and_not_for_its_rows() {
    const LARGE: usize = 96;
    let Some(home) = Home::postgres() else {
        return;
    };
    let home = Arc::new(home);
    home.apply(&two_projects());
    // Near the quota, where a create has the lock for itself.
    let quotas = &["--quota-private-subnets", "103"];
    let services = [home.serve(quotas)];
    let shop = callers(&home, &services, "shop", SHOP).remove(0);
    let subnets = (0..LARGE)
        .map(|number| format!("      - {{ name: large-{number}, location: eu-central-h1 }}\n"));
    let inventory = format!(
        "projects:\n  - name: shop\n    private_subnets:\n{}    load_balancers:\n      \
         - {{ name: late, location: eu-central-h1, subnet: large-0, src_port: 1, dst_port: 2, health_check_endpoint: / }}\n",
        subnets.collect::<String>()
    );
    let mut session = Session::with_locked(&home.database_url, "load_balancer", "SHARE");
    let inventory = (inventory, &quotas[..]);
    let applying = begin_apply(&home, &mut session, "load_balancer", inventory).await;
    let creating = begin_creates(&shop, 8, "near");
    assert!(session.sees(&waits_for_a_quota(), PATIENCE).await);
    // A create that held the quota and waited for a row would be waited for by an inventory that
    // took the lock of the quota after it has written.
    let mut waits = BTreeSet::new();
    let waits_for = format!(
        "SELECT COALESCE(string_agg(DISTINCT locktype, ' '), '') FROM pg_locks \
         WHERE NOT granted AND {HERE} AND relation IS DISTINCT FROM 'load_balancer'::regclass"
    );
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        waits.insert(session.ask(&waits_for));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    waits.remove("");
    assert_eq!(waits, BTreeSet::from(["advisory".to_owned()]));
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(session.ask(deadlocks), "0");
    drop(session);
    made(creating).await;
    let applied = applying.await.expect("it runs");
    assert!(applied.status.success(), "{applied:?}");
}

/// Of what both delete, each counts only what it has deleted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_inventory_counts_nothing_that_a_caller_has_deleted_meanwhile() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let home = Arc::new(home);
    home.apply(&two_projects());
    let services = [home.serve(&[])];
    let shop = callers(&home, &services, "shop", SHOP).remove(0);
    let list = format!("{PLACE}/load-balancer");
    // In the order in which they are removed.
    let [first, second] = ["api", "web"].map(|name| format!("{list}/{name}"));
    let id = shop.get(&first).await.ok()["id"].clone();
    let id = id.as_str().expect("it has an id");
    let mut session = Session::with_locked(&home.database_url, "location", "ACCESS SHARE");
    session.ask(&format!(
        "SELECT id FROM load_balancer WHERE id = '{id}' FOR UPDATE"
    ));
    let fewer = two_projects();
    let fewer: Vec<&str> = fewer
        .lines()
        .filter(|line| !line.contains("health_check_endpoint"))
        .collect();
    let fewer = fewer
        .join("\n")
        .replace("    load_balancers:", "    load_balancers: []");
    std::fs::write(home.path().join("fewer.yaml"), fewer).expect("the folder is writable");
    let applying = {
        let home = Arc::clone(&home);
        tokio::task::spawn_blocking(move || home.run(&["apply", "--prune", "fewer.yaml"]))
    };
    let waits = "EXISTS (SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted)";
    assert!(
        session.sees(waits, PATIENCE).await,
        "it waits for the first one"
    );
    assert_eq!(shop.delete(&second).await.status, 204);
    drop(session);
    let applied = applying.await.expect("it runs");
    assert!(applied.status.success(), "{applied:?}");
    let after = shop.get(&list).await.ok();
    assert_eq!(
        (&after["count"], &after["items"]),
        (&json!(0), &json!([])),
        "{after}"
    );
}
