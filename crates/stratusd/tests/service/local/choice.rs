//! What the service takes for its databases, and what it says of it.

use serde_json::json;

use super::{PLACE, create};
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::servers::Servers;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_first_stays() {
    let Some(servers) = Servers::new() else {
        return;
    };
    drop(servers.serve(&[]));
    // Without its programs, the databases of this store cannot run.
    let home = &servers.home;
    let auto = [
        "serve",
        "--provisioner",
        "auto",
        "--local-addresses",
        "203.0.113.0/24",
    ];
    let refused = home.fail(&auto);
    assert!(
        refused.contains("its databases run on this machine, which is not possible now"),
        "{refused}"
    );
    let local = [
        "serve",
        "--provisioner",
        "local",
        "--local-addresses",
        "203.0.113.0/24",
    ];
    let refused = home.fail(&local);
    assert!(
        refused.contains("the databases cannot run on this machine"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_simulated_is_said() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let reasons = [
        (["--provisioner", "simulated"], "the settings say so"),
        (["--provisioner", "auto"], "simulated, not created"),
    ];
    for (provisioner, reason) in reasons {
        let settings = ["--simulate-delay", "10ms", "--simulate-jitter", "0s"];
        let service = home.serve(&[&settings[..], &provisioner].concat());
        service.terminate();
        let (succeeded, log) = service.wait();
        assert!(succeeded, "{log}");
        assert!(
            log.contains(reason) && log.contains("simulated, not created"),
            "{log}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_that_exist_keep_their_provisioner() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    create(&servers.caller(&service), "orders", json!({})).await;
    drop(service);
    let simulated = servers.home.fail(&["serve", "--provisioner", "simulated"]);
    let wrong = "provisioner = simulated is not that of the databases that exist";
    assert!(simulated.contains(wrong), "{simulated}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_not_installed_is_refused() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &servers.token);
    let body = json!({ "size": "hobby-1", "storage_size": 16, "version": "16" });
    let refused = caller.post(&format!("{PLACE}/postgres/orders"), body).await;
    if refused.status == 200 {
        eprintln!("skipped: PostgreSQL 16 is installed too");
        return;
    }
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    let detail = refused.detail("version").as_str().unwrap_or_default();
    assert!(
        detail.starts_with("is not offered here: choose 17"),
        "{detail}"
    );
}
