//! A project that has all networks but one.

use diesel::connection::SimpleConnection;
use serde_json::json;

use super::sqlite::open;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

const LAST: &str = "10.77.3.64/26";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_network_of_a_project_is_found() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let taken = format!(
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 262143),
         network (i, net4) AS (SELECT i, '10.' || (i / 1024) || '.' || ((i / 4) % 256) || '.' || ((i % 4) * 64) || '/26' FROM n)
         INSERT OR IGNORE INTO private_subnet (project_id, id, location, name, net4, net6, state, is_declared)
         SELECT '{SHOP}', printf('ps%024d', i), 'eu-central-h1', 'n-' || i, net4, 'fd00:' || i, 'available', FALSE
         FROM network WHERE net4 <> '{LAST}'"
    );
    open(&home)
        .batch_execute(&taken)
        .expect("the neighbours can be inserted");
    let token = home.token("shop", &[]);
    let service = home.serve(&[]);
    let shop = Caller::new(&service.base, SHOP, &token);
    let create = |name: &str| format!("/location/eu-central-h1/private-subnet/{name}");
    let made = shop.post(&create("last"), json!({})).await.ok();
    assert_eq!(made["net4"], LAST);
    let refused = shop.post(&create("one-more"), json!({})).await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    let detail = refused.detail("name").as_str().unwrap_or_default();
    assert!(detail.contains("no free network left"), "{detail}");
}
