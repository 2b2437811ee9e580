//! Quotas: what a project may have of each kind.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::PLACE;
use crate::on_both;
use crate::provisioning::failed_steps;
use crate::support::caller::Caller;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

/// Returns the inventory of [`two_projects`], with quotas of the shop.
fn with_quotas(quotas: &str) -> String {
    let name = format!("id: {SHOP}\n");
    two_projects().replacen(&name, &format!("{name}    quotas: {{ {quotas} }}\n"), 1)
}

pub(super) fn callers(home: &Home, services: &[Service], project: &str, id: &str) -> Vec<Caller> {
    let token = home.token(project, &[]);
    services
        .iter()
        .map(|service| Caller::new(&service.base, id, &token))
        .collect()
}

on_both! {
    async fn a_subnet_has_at_most_100_connections(home: Home) {
        home.apply(&two_projects());
        let services = [home.serve(&[])];
        let shop = callers(&home, &services, "shop", SHOP).remove(0);
        let path = |name: &str| format!("{PLACE}/private-subnet/{name}");
        let mut ids = Vec::new();
        for number in 0..103 {
            let made = shop.post_nothing(&path(&format!("n{number}"))).await.ok();
            ids.push(made["id"].as_str().unwrap().to_owned());
        }
        let connect = async |from: &str, to: &str| {
            shop.post(&path(&format!("{from}/connect")), json!({ "connected-subnet-id": to })).await
        };
        // Its id is the lower one in some of its connections, and the higher one in others.
        let (hub, others) = ids.split_first().unwrap();
        for (number, id) in others[..98].iter().enumerate() {
            let made = if number % 2 == 0 { connect("n0", id).await } else { connect(id, hub).await };
            made.ok();
        }
        // Of four at the same time, two fit.
        let four = join_all(others[98..].iter().map(|id| connect("n0", id))).await;
        let mut statuses: Vec<_> = four.iter().map(|response| response.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 400, 400], "{four:?}");
        let refused = four.iter().find(|response| response.status == 400).unwrap();
        assert_eq!(refused.error(), (400, "InvalidRequest"));
        let wrong = "cannot be connected: the subnet of the path has 100 connections, and may have 100";
        assert_eq!(refused.detail("connected-subnet-id"), wrong);
        // From the other end it is the same subnet that has too many.
        let last = &others[98..].iter().zip(&four).find(|(_, response)| response.status == 400).unwrap().0;
        let refused = connect(last, hub).await;
        assert_eq!(refused.detail("connected-subnet-id"), "cannot be connected: the subnet has 100 connections, and may have 100");
        shop.post_nothing(&path(&format!("n0/disconnect/{}", others[0]))).await.ok();
        connect(last, hub).await.ok();
    }

    async fn creates_stop_at_the_quota(home: Home) {
        home.apply(&with_quotas("postgres_databases: 1, private_subnets: 4"));
        let quotas = ["--quota-postgres-databases", "2", "--quota-firewalls", "3", "--quota-inference-api-keys", "0"];
        let services = [home.serve(&[&["--simulate-delay", "1h"][..], &quotas].concat())];
        let shop = callers(&home, &services, "shop", SHOP).remove(0);
        let rival = callers(&home, &services, "rival", RIVAL).remove(0);
        let database = json!({ "size": "standard-2", "storage_size": 64 });
        let create = async |caller: &Caller, name: &str| {
            caller.post(&format!("{PLACE}/postgres/{name}"), database.clone()).await
        };
        create(&shop, "one").await.ok();
        let refused = create(&shop, "two").await;
        assert_eq!(refused.error(), (403, "QuotaExceeded"));
        let message = refused.body["error"]["message"].as_str().unwrap();
        assert!(message.contains("Postgres databases") && message.contains("it has 1 and may have 1"), "{message}");
        // The name and the values are judged before the quota, and nothing was created.
        assert_eq!(create(&shop, "one").await.error(), (400, "InvalidRequest"));
        assert_eq!(shop.get("/postgres").await.ok()["count"], 1);
        // The other project has the quota of the settings.
        create(&rival, "one").await.ok();
        create(&rival, "two").await.ok();
        assert_eq!(create(&rival, "three").await.error(), (403, "QuotaExceeded"));
        // The inventory has three subnets and two firewalls. A subnet without a firewall makes one.
        shop.post_nothing(&format!("{PLACE}/private-subnet/a")).await.ok();
        let refused = shop.post_nothing(&format!("{PLACE}/private-subnet/b")).await;
        assert_eq!(refused.error(), (403, "QuotaExceeded"));
        assert!(refused.body.to_string().contains("private subnets"), "{}", refused.body);
        rival.post_nothing(&format!("{PLACE}/private-subnet/a")).await.ok();
        let refused = rival.post_nothing(&format!("{PLACE}/private-subnet/b")).await;
        assert_eq!(refused.error(), (403, "QuotaExceeded"));
        assert!(refused.body.to_string().contains("quota of firewalls"), "{}", refused.body);
        assert_eq!(shop.post_nothing("/inference-api-key").await.error(), (403, "QuotaExceeded"));
        // A larger quota counts at once; one below what the project has only refuses creates.
        home.apply(&with_quotas("postgres_databases: 2, private_subnets: 0"));
        create(&shop, "two").await.ok();
        let refused = shop.post_nothing(&format!("{PLACE}/private-subnet/b")).await;
        assert!(refused.body.to_string().contains("it has 4 and may have 0"), "{}", refused.body);
        shop.get(&format!("{PLACE}/private-subnet/a")).await.ok();
        // Without its own quotas, the project has those of the settings again.
        let applied = home.apply(&two_projects());
        assert!(applied.contains("the quota of private subnets is the one of the settings"), "{applied}");
        assert_eq!(create(&shop, "three").await.error(), (403, "QuotaExceeded"));
        shop.patch(&format!("{PLACE}/postgres/one"), json!({ "tags": [] })).await.ok();
    }

    async fn a_database_counts_until_it_is_gone(home: Home) {
        home.apply(&with_quotas("postgres_databases: 1"));
        let services = [home.serve(&["--simulate-failures", "100"])];
        let shop = callers(&home, &services, "shop", SHOP).remove(0);
        let path = format!("{PLACE}/postgres/one");
        let database = json!({ "size": "standard-2", "storage_size": 64 });
        shop.post(&path, database.clone()).await.ok();
        // The provisioner knows it from here on, and fails to delete it.
        let is_begun = eventually(async || (failed_steps(&services[0]).await > 0).then_some(()));
        is_begun.await.expect("the creation fails");
        let deleted = shop.try_call(Method::DELETE, &path, None).await;
        assert_eq!(deleted.expect("the service responds").status, 204);
        assert_eq!(shop.post(&path, database.clone()).await.error(), (403, "QuotaExceeded"));
        assert_eq!(shop.get("/postgres").await.ok()["items"][0]["state"], "deleting");
        drop(services);
        let service = home.serve(&[]);
        let shop = shop.at(&service.base, SHOP);
        shop.wait_for("/postgres", |page| page["count"] == 0).await;
        shop.post(&path, database).await.ok();
    }

    async fn creates_at_the_same_time_never_exceed_a_quota(home: Home) {
        home.apply(&two_projects());
        // PostgreSQL lets creates run beside each other while the use is further from the quota than
        // it has connections, which are 100 by default: the second quota is crossed from there.
        for (quota, kind) in [(10, "inference-api-keys"), (130, "private-subnets")] {
            let setting = format!("--quota-{kind}");
            let settings = [&*setting, &*quota.to_string(), "--database-connections", "16"].map(str::to_owned);
            let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
            let replicas = if home.database_url.starts_with("postgres") { 3 } else { 1 };
            let services: Vec<Service> = (0..replicas).map(|_| home.serve(&settings)).collect();
            let callers = callers(&home, &services, "shop", SHOP);
            let before = if kind == "private-subnets" { 3 } else { 0 };
            let mut made = before;
            for round in 0..6 {
                let calls = (0..40).zip(callers.iter().cycle()).map(|(number, caller)| async move {
                    match kind {
                        "private-subnets" => {
                            caller.post_nothing(&format!("{PLACE}/private-subnet/of-{round}-{number}")).await
                        }
                        _ => caller.post_nothing("/inference-api-key").await,
                    }
                });
                for response in join_all(calls).await {
                    match response.status {
                        200 => made += 1,
                        409 => {}
                        _ => assert_eq!(response.error(), (403, "QuotaExceeded"), "{}", response.body),
                    }
                }
                assert!(made <= quota, "{made} of {quota} {kind}");
            }
            assert_eq!(made, quota, "{kind}");
        }
    }

    async fn an_inventory_beyond_a_quota_changes_nothing(home: Home) {
        home.apply("projects: []\n");
        let file = home.path().join("inventory.yaml");
        for (quotas, message) in [
            ("vms: 3", "project shop would have 4 virtual machines, and its quota is 3"),
            ("firewalls: 1", "project shop would have 2 firewalls, and its quota is 1"),
            ("private_subnets: 2", "project shop would have 3 private subnets, and its quota is 2"),
            ("load_balancers: 0", "project shop would have 2 load balancers, and its quota is 0"),
        ] {
            std::fs::write(&file, with_quotas(quotas)).expect("the folder is writable");
            for command in [&["apply", "inventory.yaml"][..], &["apply", "--dry-run", "inventory.yaml"]] {
                let said = home.fail(command);
                assert!(said.contains(message), "{said}");
            }
        }
        let said = home.fail(&["apply", "inventory.yaml", "--quota-vms", "1"]);
        assert!(said.contains("quota is 1") || said.contains("quota is 0"), "{said}");
        std::fs::write(&file, with_quotas("vms: -1")).expect("the folder is writable");
        let said = home.fail(&["apply", "inventory.yaml"]);
        assert!(said.contains("must be a number from 0 to 1000000000"), "{said}");
        // Nothing was created before.
        let applied = home.apply(&with_quotas("vms: 4"));
        assert!(applied.contains("+ project shop with the id"), "{applied}");
        // A quota below what the project has is no error, and the next run changes nothing.
        let applied = home.apply(&with_quotas("vms: 1"));
        assert!(applied.contains("~ project shop: the quota of virtual machines is 1"), "{applied}");
        let applied = home.apply(&with_quotas("vms: 1"));
        assert!(applied.contains("0 to create, 0 to update, 0 to delete"), "{applied}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_older_service_has_created_is_counted() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let services = [home.serve(&[])];
    let shop = callers(&home, &services, "shop", SHOP).remove(0);
    shop.post_nothing("/inference-api-key").await.ok();
    let [mut service] = services;
    service.kill();
    // As before the migration that counts these kinds.
    let file = home
        .database_url
        .strip_prefix("sqlite://")
        .expect("it is a file");
    let mut database = SqliteConnection::establish(file).expect("it opens");
    let older = "DROP TABLE project_quota; DELETE FROM __diesel_schema_migrations WHERE version = '0002'; \
                 DELETE FROM resource_count WHERE kind NOT IN ('vm', 'load_balancer', 'postgres')";
    database.batch_execute(older).expect("it is done");
    drop(database);
    let quotas = [
        "--quota-inference-api-keys",
        "1",
        "--quota-private-subnets",
        "3",
    ];
    let services = [home.serve(&quotas)];
    let shop = callers(&home, &services, "shop", SHOP).remove(0);
    let subnet = format!("{PLACE}/private-subnet/a");
    for (path, usage) in [
        ("/inference-api-key", "it has 1 and may have 1"),
        (&*subnet, "it has 3 and may have 3"),
    ] {
        let refused = shop.post_nothing(path).await;
        assert_eq!(refused.error(), (403, "QuotaExceeded"));
        assert!(refused.body.to_string().contains(usage), "{}", refused.body);
    }
}
