//! Sessions on a PostgreSQL server: how many there are, what becomes of abandoned statements, and
//! what the service sets for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::issued;
use crate::support::caller::Caller;
use crate::support::cluster::{Cluster, free_port};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, eventually};

const SUBNETS: &str = "/location/eu-central-h1/private-subnet";

/// The sessions of the service, which are all but those of psql.
const SESSIONS: &str = "SELECT count(*) FROM pg_stat_activity \
                        WHERE backend_type = 'client backend' AND application_name <> 'psql'";
/// The sessions that wait for a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

pub(super) fn count(cluster: &Cluster, sql: &str) -> usize {
    let counted = cluster.ask(sql).expect("the administrator can connect");
    counted.parse().expect("it is a number")
}

/// Two replicas have four connections each, and the server four more than that: one for the lock, one
/// for the administrator, and two for sessions of the administrator that have not quite ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_table_takes_no_more_than_the_service_s_connections() {
    const CONNECTIONS: usize = 4;
    let (_, certificate, key) = issued("localhost");
    let settings = [
        ("ssl", "on"),
        ("max_connections", "12"),
        ("superuser_reserved_connections", "0"),
    ];
    let files = [("server.crt", &*certificate), ("server.key", &*key)];
    let Some((mut home, cluster)) = Home::on_server(&settings, &files) else {
        return;
    };
    // With TLS, which a request to cancel uses too.
    home.database_url = format!("{}?sslmode=require", cluster.url());
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let connections = CONNECTIONS.to_string();
    let replicas = [(); 2].map(|()| home.serve(&["--database-connections", &connections]));
    let callers = replicas
        .each_ref()
        .map(|replica| Caller::new(&replica.base, SHOP, &token));
    callers[0]
        .post_nothing(&format!("{SUBNETS}/before"))
        .await
        .ok();
    let lock = cluster.lock("private_subnet");
    let begun = Instant::now();
    let unavailable = Arc::new(AtomicUsize::new(0));
    let mut calling = Vec::new();
    for number in 0..48 {
        let caller = callers[number % 2].clone();
        let unavailable = Arc::clone(&unavailable);
        calling.push(tokio::spawn(async move {
            // Longer than a statement may take.
            while begun.elapsed() < Duration::from_secs(12) {
                let (method, path) = match number / 2 % 2 {
                    0 => (Method::GET, format!("{SUBNETS}/before")),
                    _ => (Method::POST, format!("{SUBNETS}/n{number}")),
                };
                let call = caller.try_call(method, &path, None);
                // Half of the callers wait for the response, the others go away.
                if number < 24 {
                    let response = call.await.expect("the service responds");
                    assert_eq!(response.status, 503, "{}", response.body);
                    unavailable.fetch_add(1, Ordering::Relaxed);
                } else {
                    let _ = tokio::time::timeout(Duration::from_millis(300), call).await;
                }
            }
        }));
    }
    while calling.iter().any(|calling| !calling.is_finished()) {
        let sessions = count(&cluster, SESSIONS);
        assert!(
            sessions <= 2 * CONNECTIONS,
            "there are {sessions} sessions after {:?}",
            begun.elapsed()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for calling in calling {
        calling.await.expect("each response is as expected");
    }
    assert!(unavailable.load(Ordering::Relaxed) >= 24);
    drop(lock);
    for (number, caller) in callers.iter().enumerate() {
        let path = format!("{SUBNETS}/after-{number}");
        let works = eventually(async || {
            let made = caller.post_nothing(&path).await;
            (made.status == 200).then_some(())
        });
        works.await.expect("the service works again");
        caller.get(&format!("{SUBNETS}/before")).await.ok();
    }
    assert!(count(&cluster, SESSIONS) <= 2 * CONNECTIONS);
}

/// The data plane of load balancers has one of the connections if it is in the same process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_with_a_data_plane_has_no_more_than_its_connections() {
    const CONNECTIONS: usize = 4;
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let plane = format!("127.0.0.1:{}", free_port());
    let service = home.serve(&[
        "--database-connections",
        &CONNECTIONS.to_string(),
        "--balance",
        "on",
        "--balance-management-listen",
        &plane,
    ]);
    let caller = Caller::new(&service.base, SHOP, &token);
    let is_ready = eventually(async || {
        let ready = reqwest::get(format!("http://{plane}/readyz")).await.ok()?;
        (ready.status() == 200).then_some(())
    });
    is_ready.await.expect("the data plane reads the database");
    let mut calling = JoinSet::new();
    for number in 0..16 {
        let caller = caller.clone();
        calling.spawn(async move {
            for turn in 0..20 {
                let path = format!("{SUBNETS}/n{number}-{turn}");
                caller.post_nothing(&path).await.ok();
                caller.get(&path).await.ok();
            }
        });
    }
    let mut most = 0;
    while !calling.is_empty() {
        let sessions = count(&cluster, SESSIONS);
        assert!(sessions <= CONNECTIONS, "there are {sessions} sessions");
        most = most.max(sessions);
        if let Ok(Some(called)) =
            tokio::time::timeout(Duration::from_millis(5), calling.join_next()).await
        {
            called.expect("each response is as expected");
        }
    }
    // All of them are in use, and one of them reads for the data plane.
    assert_eq!(most, CONNECTIONS);
    // What is cut comes back, and counts until it has ended.
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE backend_type = 'client backend' AND application_name <> 'psql'";
    assert_eq!(count(&cluster, cut), CONNECTIONS);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        let _ = caller
            .try_call(Method::GET, &format!("{SUBNETS}/n0-0"), None)
            .await;
        let sessions = count(&cluster, SESSIONS);
        assert!(sessions <= CONNECTIONS, "there are {sessions} sessions");
    }
    let is_ready = eventually(async || {
        let ready = reqwest::get(format!("http://{plane}/readyz")).await.ok()?;
        (ready.status() == 200).then_some(())
    });
    is_ready
        .await
        .expect("the data plane reads the database again");
}

/// The server ends a statement by itself only after nine seconds. A view of a subnet is a transaction, and
/// that of a database a single statement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_ends_when_its_caller_goes_away() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&["--database-connections", "4"]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let subnet = format!("{SUBNETS}/before");
    caller.post_nothing(&subnet).await.ok();
    let key = caller.post_nothing("/inference-api-key").await.ok();
    let key = key["id"].as_str().expect("it has an id");
    let key = format!("/inference-api-key/{key}");
    for (path, table) in [(subnet, "private_subnet"), (key, "inference_api_key")] {
        let made = caller.get(&path).await.ok();
        let lock = cluster.lock(table);
        let begun = Instant::now();
        let asked = caller.get(&path);
        let waited = tokio::time::timeout(Duration::from_secs(1), asked).await;
        assert!(waited.is_err(), "{waited:?}");
        let is_ended = eventually(async || (count(&cluster, WAITING) == 0).then_some(()));
        is_ended.await.expect("the statement ends");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(6), "{path}: it took {took:?}");
        drop(lock);
        // The request to cancel meets no other statement.
        for _ in 0..50 {
            assert_eq!(caller.get(&path).await.ok(), made);
        }
    }
    let log = cluster.log();
    assert!(!log.contains("unexpected EOF"), "{log}");
}

/// The server would log a connection that ends without a word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_closes_the_connections() {
    let Some((home, cluster)) = Home::on_server(&[("log_min_messages", "debug1")], &[]) else {
        return;
    };
    home.apply(&two_projects());
    // It only reads.
    home.succeed(&["provisioner", "--provisioner", "simulated"]);
    let service = home.serve(&["--database-connections", "4"]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let mut calling = JoinSet::new();
    for number in 0..8 {
        let caller = caller.clone();
        calling.spawn(async move {
            caller
                .post_nothing(&format!("{SUBNETS}/n{number}"))
                .await
                .ok();
            caller.get("/postgres").await.ok();
        });
    }
    while let Some(called) = calling.join_next().await {
        called.expect("each response is as expected");
    }
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well, "{log}");
    let has_ended = eventually(async || (count(&cluster, SESSIONS) == 0).then_some(()));
    has_ended.await.expect("the server ends the sessions");
    let log = cluster.log();
    assert!(log.contains("DEBUG"), "{log}");
    assert!(!log.contains("unexpected EOF"), "{log}");
}

/// A trigger records what is set in the sessions that make changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_wait_for_the_disk_whatever_the_database_says() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let watch = "CREATE TABLE seen (setting TEXT); \
                 CREATE FUNCTION see() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN \
                 INSERT INTO seen SELECT name || '=' || setting FROM pg_settings WHERE name IN \
                 ('synchronous_commit', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'); \
                 RETURN NULL; END $$; \
                 CREATE TRIGGER see AFTER INSERT ON private_subnet FOR EACH STATEMENT EXECUTE FUNCTION see()";
    cluster.ask(watch).expect("the trigger is made");
    for (number, (set, pinned)) in [
        ("off", "on"),
        ("local", "on"),
        ("remote_write", "on"),
        ("on", "on"),
        ("remote_apply", "remote_apply"),
    ]
    .into_iter()
    .enumerate()
    {
        let set = format!(
            "ALTER DATABASE postgres SET synchronous_commit = {set}; \
             ALTER DATABASE postgres SET statement_timeout = '20min'; TRUNCATE seen"
        );
        cluster.ask(&set).expect("the database can be changed");
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &token);
        caller
            .post_nothing(&format!("{SUBNETS}/n{number}"))
            .await
            .ok();
        let seen = cluster
            .ask("SELECT string_agg(setting, ' ' ORDER BY setting) FROM seen")
            .expect("it can be read");
        let (idle, rest) = seen.split_once(" lock_timeout=").expect("it is set");
        let (locks, rest) = rest.split_once(' ').expect("more is set");
        assert_eq!(idle, "idle_in_transaction_session_timeout=11000");
        // Less than the limit if the statements before this one took long.
        let locks: u32 = locks.parse().expect("it is a number of milliseconds");
        assert!((1..=250).contains(&locks), "{seen}");
        assert_eq!(
            rest,
            format!("statement_timeout=11000 synchronous_commit={pinned}")
        );
        service.terminate();
        let (is_well, log) = service.wait();
        assert!(is_well && !log.contains("fsync"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_wait_for_its_disk_is_reported() {
    let Some((home, _cluster)) =
        Home::on_server(&[("fsync", "off"), ("full_page_writes", "off")], &[])
    else {
        return;
    };
    let service = home.serve(&[]);
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well);
    for name in ["fsync", "full_page_writes"] {
        let words = format!("the database server has {name} off");
        assert_eq!(log.matches(&words).count(), 1, "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_of_statements_are_never_logged() {
    let Some((home, _cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&[
        "--log",
        "info,tokio_postgres=trace,tokio_postgres::query=trace",
    ]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    caller
        .post_nothing(&format!("{SUBNETS}/findable"))
        .await
        .ok();
    caller.get(&format!("{SUBNETS}/findable")).await.ok();
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well && log.contains("preparing query"), "{log}");
    assert!(!log.contains("findable"), "{log}");
}

/// While tokens cannot be read, no response says whether an id exists: a wrong secret is looked up
/// like an unknown id, also while the token with the right one is cached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_secret_is_looked_up_like_an_unknown_id() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&[]);
    let token = home.token("shop", &[]);
    let caller = |token: &str| Caller::new(&service.base, SHOP, token);
    let (id, secret) = token.rsplit_once('-').expect("it has a secret");
    let turned: String = secret.chars().rev().collect();
    let unknown = format!("pat-{}-{secret}", "pt".to_owned() + &"z".repeat(24));
    let wrong = [format!("{id}-{turned}"), unknown];
    for token in &wrong {
        assert_eq!(caller(token).get("/postgres").await.status, 401);
    }
    let right = caller(&token);
    right.get("/postgres").await.ok();
    let _lock = cluster.lock("token");
    // Cached for a second, of which the lock has taken a part.
    let cached = right.get("/vm").await.status;
    for token in &wrong {
        let caller = caller(token);
        let asked = caller.get("/postgres");
        let asked = tokio::time::timeout(Duration::from_secs(1), asked).await;
        assert!(
            asked.is_err(),
            "{asked:?}, while a good token gets {cached}"
        );
    }
}

/// As while another server takes over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_changes_makes_the_service_not_ready() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let subnet = format!("{SUBNETS}/before");
    let made = caller.post_nothing(&subnet).await.ok();
    let is_ready = async |expected: u16| {
        eventually(async || {
            let ready = reqwest::get(format!("{}/readyz", service.management)).await;
            (ready.expect("the service responds").status() == expected).then_some(())
        })
        .await
        .unwrap_or_else(|| panic!("readiness does not become {expected}"));
    };
    is_ready(200).await;
    for (setting, status) in [("on", 503), ("off", 200)] {
        let set = format!("ALTER SYSTEM SET default_transaction_read_only = {setting}");
        for statement in [&*set, "SELECT pg_reload_conf()"] {
            cluster.ask(statement).expect("the administrator can");
        }
        is_ready(status).await;
        let response = caller
            .post_nothing(&format!("{SUBNETS}/after-{setting}"))
            .await;
        assert_eq!(response.status, status, "{}", response.body);
        assert_eq!(caller.get(&subnet).await.ok(), made);
    }
}

/// A connection is established only once the server can read the table of users.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_go_away_while_they_connect_leave_no_more_backends() {
    const CONNECTIONS: usize = 4;
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let service = home.serve(&["--database-connections", &CONNECTIONS.to_string()]);
    let caller = Caller::new(&service.base, SHOP, &token);
    caller.get("/postgres").await.ok();
    let mut lock = cluster.lock("pg_authid");
    lock.ask(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
    let goes_away = async || {
        let sent = caller.get("/postgres");
        tokio::time::timeout(Duration::from_millis(150), sent).await
    };
    // The service may still use a connection whose end it has not read, and responds with 503.
    let waits = async || goes_away().await.is_err().then_some(());
    eventually(waits).await.expect("it has no connection left");
    let mut most = 0;
    for _ in 0..20 {
        let sent = goes_away().await;
        assert!(sent.is_err(), "it has no connection: {sent:?}");
        most = most.max(cluster.busy_backends());
    }
    assert!((1..=CONNECTIONS).contains(&most), "{most} backends");
    drop(lock);
    let again = async || (caller.get("/postgres").await.status == 200).then_some(());
    eventually(again).await.expect("it connects again");
}

/// A standby that is waited for and does not exist.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_waits_for_the_standbys_that_the_first_one_waited_for() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let service = home.serve(&["--simulate-delay", "1h"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    caller.get("/postgres").await.ok();
    wait_for(&cluster, "missing").await;
    let create = || {
        let key = [("idempotency-key", "the-same")];
        let caller = caller.clone();
        async move {
            let path = format!("{SUBNETS}/repeated");
            let sent = caller.send_with(&key, Method::POST, &path, None).await;
            let sent = sent.expect("the service responds");
            let is_replayed = sent.headers().contains_key("idempotency-replayed");
            (sent.status().as_u16(), is_replayed)
        }
    };
    assert_eq!(create().await.0, 500, "nobody knows whether it is made");
    // It is made on this server alone, once its commit is cancelled.
    let path = format!("{SUBNETS}/repeated");
    let is_made = async || (caller.get(&path).await.status == 200).then_some(());
    eventually(is_made).await.expect("it is made");
    let repeated = tokio::spawn(create());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!repeated.is_finished(), "{:?}", repeated.await);
    wait_for(&cluster, "").await;
    assert_eq!(repeated.await.expect("it runs"), (200, true));
}

/// As above, without a key: the second request finds everything as it asks for, and writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_changes_nothing_waits_for_the_standbys_too() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let service = home.serve(&["--simulate-delay", "1h"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    let backend = "/location/eu-central-h1/private-subnet/backend";
    let subnet = caller.get(backend).await.ok();
    wait_for(&cluster, "missing").await;
    let detach = || {
        let (caller, body) = (caller.clone(), json!({ "private_subnet_id": subnet["id"] }));
        async move {
            let path = "/location/eu-central-h1/firewall/web-only/detach-subnet";
            caller.post(path, body).await.status
        }
    };
    assert_eq!(detach().await, 500, "nobody knows whether it is made");
    // It is made on this server alone, once its commit is cancelled.
    let is_made = async || {
        let firewalls = &caller.get(backend).await.ok()["firewalls"];
        (firewalls == &json!([])).then_some(())
    };
    eventually(is_made).await.expect("it is made");
    let repeated = tokio::spawn(detach());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!repeated.is_finished(), "{:?}", repeated.await);
    wait_for(&cluster, "").await;
    assert_eq!(repeated.await.expect("it runs"), 200);
}

/// Sets the standbys that commits wait for.
async fn wait_for(cluster: &Cluster, standbys: &str) {
    let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{standbys}'");
    cluster.ask(&set).expect("the administrator may do so");
    cluster.ask("SELECT pg_reload_conf()").expect("it reloads");
    // Its processes read the setting at some moment after that.
    tokio::time::sleep(Duration::from_secs(1)).await;
}
