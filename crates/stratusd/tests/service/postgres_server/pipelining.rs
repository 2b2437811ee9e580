//! Statements that are sent together: how many messages a change takes, and what becomes of a change
//! whose last statements fail.

use std::time::Duration;

use serde_json::json;

use super::sessions::count;
use crate::support::caller::Caller;
use crate::support::cluster::Cluster;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::proxy::{Ending, Flow, Proxy};
use crate::support::{Home, eventually};

const KEYS: &str = "/inference-api-key";
const NUMBER: &str = "SELECT count(*) FROM inference_api_key";

/// A service with a worker and a reader, and a network between them and the server.
struct Scene {
    caller: Caller,
    proxy: Proxy,
    cluster: Cluster,
    _service: Service,
    _home: Home,
}

impl Scene {
    async fn start() -> Option<Self> {
        let (mut home, cluster) = Home::on_server(&[], &[])?;
        let proxy = Proxy::start(cluster.port()).await;
        let port = |port: u16| format!(":{port}/");
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        home.database_url = cluster
            .url()
            .replace(&port(cluster.port()), &port(proxy.port()));
        let service = home.serve(&["--database-connections", "2"]);
        Some(Self {
            caller: Caller::new(&service.base, SHOP, &token),
            proxy,
            cluster,
            _service: service,
            _home: home,
        })
    }
}

/// A create begins, asks for the quota, inserts three rows and commits: six messages, of which each
/// would wait for the response to the one before.
#[tokio::test(flavor = "multi_thread")]
async fn a_create_takes_two_messages() {
    const CREATES: usize = 40;
    let Some(scene) = Scene::start().await else {
        return;
    };
    // The first create prepares the statements.
    scene.caller.post_nothing(KEYS).await.ok();
    let mut sent = Vec::new();
    for _ in 0..CREATES {
        let before = scene.proxy.sent();
        scene.caller.post_nothing(KEYS).await.ok();
        sent.push(scene.proxy.sent() - before);
    }
    // The service asks for other things as well, such as the token once a second, but hardly beside each.
    let least = sent.iter().min().copied().unwrap_or_default();
    assert!(
        (1..=2).contains(&least),
        "messages of each create: {sent:?}"
    );
}

/// A server that was restarted, or a network that has forgotten the connection, is noticed by the first
/// message.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_first_message_is_lost_is_made_on_another_connection() {
    let Some(scene) = Scene::start().await else {
        return;
    };
    for (number, ending) in [Ending::Fin, Ending::Reset].into_iter().enumerate() {
        // By then the token is looked up again, and is known for a second.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        scene.caller.post_nothing(KEYS).await.ok();
        let before = scene.proxy.sent();
        scene.proxy.set(Flow::Held, Flow::Free);
        let caller = scene.caller.clone();
        let making = tokio::spawn(async move { caller.post_nothing(KEYS).await });
        let sent = eventually(async || (scene.proxy.sent() > before).then_some(()));
        sent.await.expect("the worker sends a message");
        scene.proxy.cut(ending);
        scene.proxy.set(Flow::Free, Flow::Free);
        making.await.expect("nobody panics").ok();
        assert_eq!(count(&scene.cluster, NUMBER), 2 * (number + 1));
    }
}

/// Until the commit, the server rolls back a change whose connection is lost, however far it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_cut_off_in_the_middle_is_made_on_another_connection() {
    const SUBNET: &str = "/location/eu-central-h1/private-subnet/cut-off";
    // The change waits for a moment at a time, and this session can look again at once.
    const ENDED: &str = "(SELECT count(pg_terminate_backend(pid)) FROM pg_locks \
                         WHERE NOT granted AND relation = 'nic'::regclass) > 0";
    let Some(scene) = Scene::start().await else {
        return;
    };
    scene.caller.post_nothing(SUBNET).await.ok();
    // The delete reads this table after it has locked the row of the subnet.
    let mut lock = scene.cluster.lock("nic");
    let caller = scene.caller.clone();
    let deleting = tokio::spawn(async move { caller.delete(SUBNET).await });
    assert!(lock.sees(ENDED, Duration::from_mins(1)).await);
    drop(lock);
    let deleted = deleting.await.expect("nobody panics");
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    assert_eq!(scene.caller.get(SUBNET).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_last_statement_fails_leaves_nothing() {
    const RULE: &str = "ALTER TABLE audit ADD CONSTRAINT fault CHECK (operation <> 'inference_api_key_create') NOT VALID";
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let service = home.serve(&["--database-connections", "2"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    let make = async || caller.post_nothing(KEYS).await;
    // The first time, the statements run one after the other.
    make().await.ok();
    make().await.ok();
    assert_eq!(count(&cluster, NUMBER), 2);
    cluster
        .ask(RULE)
        .expect("the administrator may alter a table");
    for _ in 0..20 {
        let failed = make().await;
        assert_eq!(failed.status, 500, "{}", failed.body);
        assert_eq!(count(&cluster, NUMBER), 2);
    }
    cluster
        .ask("ALTER TABLE audit DROP CONSTRAINT fault")
        .expect("the administrator may alter a table");
    make().await.ok();
    assert_eq!(count(&cluster, NUMBER), 3);
    let listed = caller.get(KEYS).await.ok();
    assert_eq!(listed["count"], json!(3));
}
