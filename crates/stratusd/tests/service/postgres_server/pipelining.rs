//! Statements that are sent together: how many messages a change takes, and what becomes of a change
//! whose last statements fail.

use serde_json::json;

use super::sessions::count;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::proxy::Proxy;

const KEYS: &str = "/inference-api-key";
const NUMBER: &str = "SELECT count(*) FROM inference_api_key";

/// A create begins, asks for the quota, inserts three rows and commits: six messages, of which each
/// would wait for the response to the one before.
#[tokio::test(flavor = "multi_thread")]
async fn a_create_takes_two_messages() {
    const CREATES: u64 = 40;
    let Some((mut home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let proxy = Proxy::start(cluster.port()).await;
    let port = |port: u16| format!(":{port}/");
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    home.database_url = cluster
        .url()
        .replace(&port(cluster.port()), &port(proxy.port()));
    // A worker and a reader.
    let service = home.serve(&["--database-connections", "2"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    // The first create prepares the statements.
    caller.post_nothing(KEYS).await.ok();
    let before = proxy.sent();
    for _ in 0..CREATES {
        caller.post_nothing(KEYS).await.ok();
    }
    let sent = proxy.sent() - before;
    // The service asks for other things as well, such as the token once a second.
    let most = CREATES * 3;
    assert!(
        (CREATES..most).contains(&sent),
        "{sent} messages for {CREATES} creates"
    );
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
