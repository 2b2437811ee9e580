//! What the service takes for its databases, and what it says of it.

use std::path::Path;
use std::process::Command;

use diesel::connection::SimpleConnection as _;
use serde_json::json;

use super::{PLACE, create, is_running};
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::servers::{Servers, address, connect};
use crate::support::{Home, eventually, leave_out};

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

/// Returns a command that does another one without root. It may still enter all folders, since those of
/// the program may be open to root alone.
fn without_root(command: &Command) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let mut setpriv = Command::new("setpriv");
    setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    setpriv.args([
        "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search",
    ]);
    setpriv.arg(command.get_program()).args(command.get_args());
    Some(setpriv)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_root_databases_share_a_user_only_if_the_settings_say_so() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let home = &servers.home;
    if rustix::process::geteuid().is_root() {
        let given = Command::new("chown")
            .args(["-R", "65534:65534"])
            .arg(home.path())
            .status();
        assert!(given.expect("`chown` is there").success());
    }
    let settings = servers.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let run = |words: &[&str]| {
        let command = home.command(&[words, &settings[..]].concat());
        let output = home.started_by(without_root, command).output();
        let output = output.expect("the program starts");
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    };
    let wrong = "this process does not run as root, so all databases would run as its user";
    let (succeeded, said) = run(&["provisioner", "--provisioner", "local"]);
    assert!(!succeeded && said.contains(wrong), "{said}");
    let foreseen = run(&["provisioner", "--provisioner", "auto"]);
    assert!(foreseen.0, "{foreseen:?}");
    assert!(
        foreseen.1.starts_with(&format!("simulated: {wrong}")),
        "{foreseen:?}"
    );
    // Another store, since what was taken first stays.
    let other = format!("sqlite://{}", home.path().join("other.db").display());
    let auto = [
        &settings[..],
        &["--provisioner", "auto", "--database-url", &other],
    ]
    .concat();
    let service = home.serve_by(without_root, &auto);
    service.terminate();
    let (_, log) = service.wait();
    assert!(
        log.contains("simulated, not created") && log.contains(wrong),
        "{log}"
    );

    let shared = ["--local-shared-user", "on"];
    let foreseen = run(&["provisioner", "--local-shared-user", "on"]).1;
    assert!(
        foreseen.contains("the owner of one can read all others"),
        "{foreseen}"
    );
    let service = servers.serve_by(without_root, &shared);
    let made = create(&servers.caller(&service), "orders", json!({})).await;
    connect(&made).await.expect("it answers");
    service.terminate();
    let (_, log) = service.wait();
    assert!(log.contains("these databases are not isolated"), "{log}");
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
async fn what_is_not_installed_is_refused() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &servers.token);
    let flavored = json!({ "size": "hobby-1", "storage_size": 16, "flavor": "paradedb" });
    let refused = caller
        .post(&format!("{PLACE}/postgres/orders"), flavored)
        .await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    assert_eq!(
        refused.detail("flavor"),
        "is not offered here: choose standard"
    );
    // The service also finds the versions of the system.
    let is_missing =
        |version: &&str| !Path::new(&format!("/usr/lib/postgresql/{version}/bin")).exists();
    let Some(missing) = ["16", "18"].into_iter().find(is_missing) else {
        leave_out("every version of PostgreSQL is installed");
        return;
    };
    let body = json!({ "size": "hobby-1", "storage_size": 16, "version": missing });
    let refused = caller.post(&format!("{PLACE}/postgres/orders"), body).await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    let detail = refused.detail("version").as_str().unwrap_or_default();
    let offered = detail.strip_prefix("is not offered here: choose ");
    let offered = offered.unwrap_or_else(|| panic!("{detail}"));
    assert!(
        offered.contains("17") && !offered.contains(missing),
        "{detail}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_taken_is_said_without_a_change_of_the_store() {
    let home = Home::sqlite();
    let file = home.path().join("stratus.db");
    let words = ["provisioner", "--provisioner", "simulated"];
    let said = home.succeed(&words);
    assert_eq!(said, "simulated: the settings say so\n");
    assert!(!file.exists(), "a store is made");

    home.apply(&two_projects());
    let run = |sql: &str| {
        let mut store = home.open_sqlite();
        store.batch_execute(sql).expect("the statements run");
    };
    run(
        "CREATE TABLE kept AS SELECT * FROM __diesel_schema_migrations WHERE version = '0002'; \
         DELETE FROM __diesel_schema_migrations WHERE version = '0002'",
    );
    let refused = home.fail(&words);
    assert!(
        refused.contains("the database is older than this program: start `stratusd serve`"),
        "{refused}"
    );
    // Which would fail if it was migrated.
    run("INSERT INTO __diesel_schema_migrations SELECT * FROM kept");
    assert_eq!(home.succeed(&words), said);
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_have_addresses_of_their_location() {
    let Some(mut servers) = Servers::new() else {
        return;
    };
    // Two halves of the network of this test.
    let (start, _) = servers
        .network
        .rsplit_once(".0/24")
        .expect("it is a network");
    let (first, second) = (format!("{start}.0/25"), format!("{start}.128/25"));
    servers.network = format!("us-east-a2={second},{first}");
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let here = create(&caller, "orders", json!({})).await;
    let there = "/location/us-east-a2/postgres/orders";
    let body = json!({ "size": "hobby-1", "storage_size": 16 });
    caller.post(there, body.clone()).await.ok();
    let there = caller.wait_for(there, is_running).await;
    for (database, range) in [(&here, 0..=127), (&there, 128..=255)] {
        let last = address(database).octets()[3];
        assert!(range.contains(&last), "{last}");
        connect(database).await.expect("it answers");
    }
    drop(service);

    // Without a network for all others, a database elsewhere is not created, and it is said why.
    servers.network = format!("us-east-a2={second}");
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/more");
    caller.post(&path, body).await.ok();
    let wrong = "local_addresses has no network for the location eu-central-h1";
    let said = eventually(async || {
        let said = servers.home.succeed(&["databases"]);
        said.contains(wrong).then_some(())
    });
    said.await.expect("it is said why");
    let twice = ["serve", "--local-addresses", "10.0.0.0/24,10.1.0.0/24"];
    let refused = servers.home.fail(&twice);
    assert!(
        refused.contains("one network for each location"),
        "{refused}"
    );
}
