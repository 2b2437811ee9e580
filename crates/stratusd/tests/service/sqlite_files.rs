//! The files of an SQLite database while the service runs: deleted, replaced, linked, and on a disk
//! that fails.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::json;

use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const SUBNETS: &str = "/location/eu-central-h1/private-subnet";

/// A service with a database that has a subnet.
async fn started() -> (Home, PathBuf, Service, Caller) {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    caller.post_nothing(&format!("{SUBNETS}/before")).await.ok();
    caller.get(&format!("{SUBNETS}/before")).await.ok();
    let file = home.path().join("stratus.db");
    (home, file, service, caller)
}

async fn readiness(service: &Service) -> u16 {
    let ready = reqwest::get(format!("{}/readyz", service.management)).await;
    ready.expect("the service responds").status().as_u16()
}

/// Asserts that no change is acknowledged any more, and that the service says so.
async fn is_out_of_order(service: &Service, caller: &Caller) {
    for number in 0..8 {
        let path = format!("{SUBNETS}/late-{number}");
        let response = caller.post_nothing(&path).await;
        assert_eq!(response.error(), (503, "Unavailable"), "{}", response.body);
    }
    is_unready(service).await;
}

async fn is_unready(service: &Service) {
    let unready = eventually(async || (readiness(service).await == 503).then_some(()));
    unready.await.expect("the service is not ready");
}

/// Reads by more callers at once than there were before, so that readers are opened.
async fn read_at_once(caller: &Caller) {
    let reading: Vec<_> = (0..32)
        .map(|_| {
            let caller = caller.clone();
            tokio::spawn(async move { caller.get(&format!("{SUBNETS}/before")).await.status })
        })
        .collect();
    for read in reading {
        let status = read.await.expect("it is a response");
        assert!([200, 503].contains(&status), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_file_takes_no_changes_and_is_not_created_again() {
    for ending in ["", "-wal", "-shm"] {
        let (home, file, service, caller) = started().await;
        let deleted = home.path().join(format!("stratus.db{ending}"));
        std::fs::remove_file(&deleted).expect("it is there");
        is_out_of_order(&service, &caller).await;
        read_at_once(&caller).await;
        assert_eq!(file.exists(), !ending.is_empty(), "{ending}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replaced_file_takes_no_changes() {
    let (home, file, service, caller) = started().await;
    let other = home.path().join("other.db");
    let mut connection =
        SqliteConnection::establish(&file.display().to_string()).expect("it opens");
    connection
        .batch_execute(&format!("VACUUM INTO '{}'", other.display()))
        .expect("a copy can be made");
    drop(connection);
    assert_eq!(readiness(&service).await, 200);
    let before = std::fs::read(&other).expect("it is there");
    std::fs::rename(&other, &file).expect("it can be replaced");
    is_out_of_order(&service, &caller).await;
    read_at_once(&caller).await;
    assert!(
        std::fs::read(&file).expect("it is there") == before,
        "the service has written to a file that it has not opened"
    );
    service.terminate();
    let (_, log) = service.wait();
    assert!(log.contains("was deleted or replaced"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_second_service_is_admitted_by_another_name_or_a_missing_lock() {
    let (mut home, file, service, caller) = started().await;
    for entry in std::fs::read_dir(home.path()).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        // Those of this version and of earlier ones.
        let endings = ["serve", "lock"];
        let is_lock = path
            .extension()
            .is_some_and(|ending| endings.iter().any(|it| ending == *it));
        if is_lock {
            std::fs::remove_file(path).expect("it is there");
        }
    }
    let refused = home.fail(&["serve"]);
    assert!(refused.contains("another stratusd serves it"), "{refused}");
    let moved = home.path().join("moved");
    std::fs::create_dir(&moved).expect("the folder is writable");
    let symlink = moved.join("symlink.db");
    std::os::unix::fs::symlink(&file, &symlink).expect("the folder is writable");
    home.database_url = format!("sqlite://{}", symlink.display());
    let refused = home.fail(&["serve"]);
    assert!(refused.contains("another stratusd serves it"), "{refused}");
    let link = moved.join("link.db");
    std::fs::hard_link(&file, &link).expect("the folder is writable");
    home.database_url = format!("sqlite://{}", link.display());
    for command in [&["serve"][..], &["token", "list", "--project", "shop"]] {
        let refused = home.fail(command);
        assert!(refused.contains("another name (a hard link)"), "{refused}");
    }
    caller.post_nothing(&format!("{SUBNETS}/after")).await.ok();
    assert_eq!(readiness(&service).await, 200);
}

/// The system lets the service write no more than the first two MiB of a file.
///
/// If the log is full but for less than a commit, nobody knows of any change that fails whether it is made.
/// That is seldom, and other ids fill the log otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_makes_the_service_unavailable_and_not_ready() {
    for _ in 0..5 {
        if changes_are_refused_where_the_disk_fails().await {
            return;
        }
    }
    panic!("nothing was refused with 503");
}

/// Returns whether a change was refused with 503, so that it was not made.
async fn changes_are_refused_where_the_disk_fails() -> bool {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\"";
    let mut service = home.serve_by(
        |service| {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", script]).arg(service.get_program());
            shell.args(service.get_args());
            Some(shell)
        },
        &[],
    );
    let caller = Caller::new(&service.base, SHOP, &token);
    assert_eq!(readiness(&service).await, 200);
    let (mut made, mut refused) = (Vec::new(), Vec::new());
    // 500 where SQLite failed while it wrote a commit, and what it left could not be overwritten.
    let no_change = [(503, "Unavailable"), (500, "UnexpectedError")];
    // A change may succeed after one that failed: SQLite begins its log anew where it can. Once the
    // file itself is full, none does.
    let mut failures = 0;
    for number in 0..2000 {
        let path = format!("{SUBNETS}/n{number}");
        let response = caller.post_nothing(&path).await;
        if response.status == 200 {
            made.push((path, response.body));
            failures = 0;
            continue;
        }
        assert!(no_change.contains(&response.error()), "{}", response.body);
        if response.status == 503 {
            refused.push(path);
        }
        failures += 1;
        // The first failures may all be of commits whose end nobody knows.
        if failures >= 8 && !refused.is_empty() {
            break;
        }
    }
    assert!(failures >= 8, "nothing fails");
    is_unready(&service).await;
    // What was acknowledged can still be read.
    for (path, body) in made.iter().rev().take(20) {
        assert_eq!(&caller.get(path).await.ok(), body);
    }
    // So it can after a crash, and what was refused with 503 is not there.
    service.kill();
    let service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &token);
    for (path, body) in made.iter().rev().take(20) {
        assert_eq!(&caller.get(path).await.ok(), body);
    }
    for path in &refused {
        assert_eq!(caller.get(path).await.status, 404, "{path}");
    }
    !refused.is_empty()
}

/// Triggers fail each write of a probe, and callers send what changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_that_write_nothing_do_not_make_the_service_ready() {
    let (_home, file, service, caller) = started().await;
    let backend = caller
        .get("/location/eu-central-h1/private-subnet/backend")
        .await
        .ok();
    let detach = async || {
        let path = "/location/eu-central-h1/firewall/web-only/detach-subnet";
        let body = json!({ "private_subnet_id": backend["id"] });
        caller.post(path, body).await.ok();
    };
    detach().await;
    let mut connection =
        SqliteConnection::establish(&file.display().to_string()).expect("it opens");
    for event in ["INSERT", "UPDATE"] {
        let trigger = format!(
            "CREATE TRIGGER fail_{event} BEFORE {event} ON service_state \
             BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        );
        connection
            .batch_execute(&trigger)
            .expect("a trigger can be made");
    }
    let begun = Instant::now();
    loop {
        detach().await;
        if readiness(&service).await == 503 {
            break;
        }
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(10), "it is ready after {took:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// A trigger fails as SQLite does when the disk is full, which a test cannot make it be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_makes_the_service_unavailable() {
    let (_home, file, _service, caller) = started().await;
    let mut connection =
        SqliteConnection::establish(&file.display().to_string()).expect("it opens");
    for message in [
        "database or disk is full",
        "disk I/O error",
        "attempt to write a readonly database",
    ] {
        let trigger = format!(
            "DROP TRIGGER IF EXISTS fail; CREATE TRIGGER fail BEFORE INSERT ON private_subnet \
             BEGIN SELECT RAISE(ABORT, '{message}'); END"
        );
        connection
            .batch_execute(&trigger)
            .expect("a trigger can be made");
        let response = caller.post_nothing(&format!("{SUBNETS}/after")).await;
        assert_eq!(response.error(), (503, "Unavailable"), "{message}");
    }
    connection
        .batch_execute("DROP TRIGGER fail")
        .expect("it can be removed");
    caller.post_nothing(&format!("{SUBNETS}/after")).await.ok();
}
