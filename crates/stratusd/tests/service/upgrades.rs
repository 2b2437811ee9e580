//! The operator's command that gives a database another major version of PostgreSQL.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::servers::Servers;

const ORDERS: &str = "/location/eu-central-h1/postgres/orders";

/// Creates a database, and returns its id once it runs.
async fn create(shop: &Caller, version: &str) -> String {
    let body = json!({ "size": "hobby-1", "storage_size": 16, "version": version });
    shop.post(ORDERS, body).await.ok();
    let is_running = |now: &Value| now["state"] == "running";
    let made = shop.wait_for(ORDERS, is_running).await;
    made["id"].as_str().expect("it has an id").to_owned()
}

/// Returns the number of upgrades in the audit trail.
fn upgrades(home: &Home) -> usize {
    let trail = home.succeed(&[
        "audit",
        "--operation",
        "postgres_upgrade",
        "--format",
        "json",
    ]);
    trail.lines().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulated_database_gets_a_later_version_and_never_an_earlier_one() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let service = home.serve(&["--simulate-delay", "0s", "--simulate-jitter", "0s"]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let id = create(&shop, "16").await;
    let upgrade = |project: &str, id: &str, to: &str| {
        let words = ["upgrade-database", id, "--project", project, "--to", to];
        let output = home.run(&words);
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    };
    let (succeeded, said) = upgrade("shop", &id, "17");
    assert!(succeeded, "{said}");
    assert_eq!(said, "the database has version 16, and is to have 17\n");
    let is_upgraded = |now: &Value| now["version"] == "17" && now["state"] == "running";
    let now = shop.wait_for(ORDERS, is_upgraded).await;
    assert_eq!(now["target_version"], "17");
    assert_eq!(upgrades(&home), 1);

    let unknown = "pg000000000000000000000000";
    for (project, id, to, wrong) in [
        (
            "shop",
            &*id,
            "16",
            "the database has version 17, and PostgreSQL cannot go back",
        ),
        ("shop", &id, "15", "--to must be 16, 17 or 18"),
        (
            "shop",
            unknown,
            "18",
            "the project has no database with this id",
        ),
        (
            "rival",
            &id,
            "18",
            "the project has no database with this id",
        ),
        ("shop", "orders", "18", "ID must be the id of a database"),
    ] {
        let (succeeded, said) = upgrade(project, id, to);
        assert!(!succeeded && said.contains(wrong), "{said}");
    }
    let (succeeded, said) = upgrade("shop", &id, "17");
    assert!(succeeded && said.contains("and keeps it"), "{said}");
    assert_eq!(upgrades(&home), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_is_taken_back_too_late_stays_and_holds_nothing_up() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let service = home.serve(&[
        "--simulate-delay",
        "8s",
        "--simulate-jitter",
        "0s",
        "--observe-every",
        "1s",
    ]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let id = create(&shop, "16").await;
    let upgrade = |to: &str| {
        home.succeed(&["upgrade-database", &id, "--project", "shop", "--to", to]);
    };
    upgrade("17");
    // An upgrade ends what can be restored.
    let now = shop.get(ORDERS).await.ok();
    let again = json!({ "name": "again", "restore_target": now["latest_restore_time"] });
    let refused = shop.post(&format!("{ORDERS}/restore"), again).await;
    assert_eq!(
        refused.detail("restore_target"),
        "cannot be restored while the database is upgraded from version 16 to 17"
    );
    // By then the provisioner is at it.
    tokio::time::sleep(Duration::from_secs(3)).await;
    upgrade("16");
    let is_upgraded = |now: &Value| now["version"] == "17" && now["state"] == "running";
    shop.wait_for(ORDERS, is_upgraded).await;
    shop.patch(ORDERS, json!({ "storage_size": 32 })).await.ok();
    let is_larger = |now: &Value| now["storage_size_gib"] == 32;
    let now = shop.wait_for(ORDERS, is_larger).await;
    assert_eq!(now["version"], "17");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_on_this_machine_is_refused_before_it_is_recorded() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let shop = servers.caller(&service);
    let id = create(&shop, "17").await;
    let words = ["upgrade-database", &id, "--project", "shop", "--to", "18"];
    let refused = servers.home.fail(&words);
    let wrong =
        "PostgreSQL 18 is not installed on this machine, or local_binaries does not name it";
    assert!(refused.contains(wrong), "{refused}");
    // The packages of npm have a server of version 18, but not what an upgrade needs.
    let programs = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../target/postgres/node_modules"
    );
    let programs = ["17", "18"].map(|version| format!("{programs}/postgres-{version}/native/bin"));
    let programs = programs.join(":");
    let words = [&words[..], &["--local-binaries", &programs]].concat();
    let refused = servers.home.fail(&words);
    let wrong = "has no `pg_upgrade`, which an upgrade needs";
    assert!(refused.contains(wrong), "{refused}");
    assert_eq!(upgrades(&servers.home), 0);
    let now = shop.get(ORDERS).await.ok();
    assert_eq!(now["target_version"], "17");
}
