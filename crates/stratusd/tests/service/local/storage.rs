//! A database whose storage is full.

use serde_json::json;

use super::{PLACE, ask, create, is_running};
use crate::provisioning::steps;
use crate::support::eventually;
use crate::support::servers::{Servers, connect};

#[tokio::test(flavor = "multi_thread")]
async fn a_full_database_is_read_only_until_it_grows() {
    let Some(servers) = Servers::new() else {
        return;
    };
    // 16 GiB are 128 MiB of this disk; a new cluster takes about 40, and its log up to 80 more.
    let service = servers.serve(&["--local-bytes-per-gib", "8388608"]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    let client = connect(&made).await.expect("the owner can connect");
    let fill = "CREATE TABLE filling AS SELECT repeat(n::text, 1000) AS text, n \
                FROM generate_series(1, 10) AS n; \
                ALTER TABLE filling ALTER COLUMN text SET STORAGE EXTERNAL; \
                INSERT INTO filling SELECT repeat('x', 1000000), n FROM generate_series(11, 60) AS n";
    client
        .batch_execute(fill)
        .await
        .expect("the owner can write");
    let refused = eventually(async || {
        let insert = "INSERT INTO filling VALUES ('more', 0)";
        client.batch_execute(insert).await.err()
    });
    let refused = refused.await.expect("it turns read-only");
    let code = refused.code().map(tokio_postgres::error::SqlState::code);
    assert_eq!(code, Some("25006"), "{refused}");
    // Operators see it, while the database answers as before.
    let told = eventually(async || {
        let told = servers.home.succeed(&["databases"]);
        told.contains("orders (").then_some(told)
    });
    let told = told.await.expect("it is among those to look at");
    assert!(told.contains(": running, its storage is "), "{told}");
    assert!(steps(&service, "nearly_full").await > 0);
    let read = ask(&made, "SELECT count(*)::text FROM filling").await;
    assert!(
        read.expect("it can be read")
            .parse::<u32>()
            .expect("a number")
            >= 60
    );

    // Shrinking is refused, since the data would not fit: what the API sees is what is used.
    let path = format!("{PLACE}/postgres/orders");
    caller
        .patch(&path, json!({ "storage_size": 32 }))
        .await
        .ok();
    caller
        .wait_for(&path, |now| {
            is_running(now) && now["storage_size_gib"] == 32
        })
        .await;
    let grown = eventually(async || {
        let insert = "INSERT INTO filling VALUES ('more', 0)";
        client.batch_execute(insert).await.ok()
    });
    grown.await.expect("it can be written again");
    let is_well = async || {
        servers
            .home
            .succeed(&["databases"])
            .is_empty()
            .then_some(())
    };
    eventually(is_well).await.expect("it has room");
    let refused = caller.patch(&path, json!({ "storage_size": 16 })).await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
}
