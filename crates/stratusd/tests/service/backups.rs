//! The drill of docs/operating.md: a backup of a running service is restored, and nothing that was
//! acknowledged before the backup is missing.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::{Value, json};

use crate::on_both;
use crate::support::caller::Caller;
use crate::support::cluster::binary;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";

on_both! {
    async fn a_backup_of_a_running_service_is_restored(home: Home) {
        let mut home = home;
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let mut service = home.serve(&["--simulate-delay", "0s", "--simulate-jitter", "0s"]);
        let caller = Caller::new(&service.base, SHOP, &token);
        let database = format!("{PLACE}/postgres/orders");
        let size = json!({ "size": "standard-2", "storage_size": 64 });
        caller.post(&database, size).await.ok();
        let running = caller.wait_for(&database, |body| body["state"] == "running").await;

        // Changes before, while and after the backup is made.
        let stop = Arc::new(AtomicBool::new(false));
        let writing = tokio::spawn(write(caller.clone(), Arc::clone(&stop)));
        let before = eventually(async || {
            let made = caller.get(&format!("{PLACE}/private-subnet/made-20")).await;
            (made.status == 200).then_some(made.body)
        });
        before.await.expect("the writer creates subnets");
        let backup = back_up(&home);
        stop.store(true, Ordering::Relaxed);
        let made = writing.await.expect("the writer ends");
        service.kill();

        restore(&mut home, &backup);
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &token);
        for (number, subnet) in made.iter().enumerate().take(21) {
            let kept = caller.get(&format!("{PLACE}/private-subnet/made-{number}")).await.ok();
            assert_eq!(&kept, subnet);
        }
        // The backup holds the password sealed, and the key file opens it.
        let restored = caller.get(&database).await.ok();
        assert_eq!(restored["connection_string"], running["connection_string"]);
        let after = format!("{PLACE}/private-subnet/after-the-restore");
        caller.post_nothing(&after).await.ok();
    }
}

/// Creates subnets until it is stopped. Returns the created subnets.
async fn write(caller: Caller, stop: Arc<AtomicBool>) -> Vec<Value> {
    let mut made = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let path = format!("{PLACE}/private-subnet/made-{}", made.len());
        made.push(caller.post_nothing(&path).await.ok());
    }
    made
}

/// Makes a backup as docs/operating.md says. Returns the path of the file.
fn back_up(home: &Home) -> String {
    let copy = home.path().join("backup").display().to_string();
    if let Some(file) = home.database_url.strip_prefix("sqlite://") {
        let mut connection = SqliteConnection::establish(file).expect("the file can be opened");
        connection
            .batch_execute(&format!("VACUUM INTO '{copy}'"))
            .expect("the backup is made");
    } else {
        run(Command::new(binary("pg_dump"))
            .args(["--format=custom", "--file", &copy])
            .arg(&home.database_url));
    }
    copy
}

/// Loses the database, and restores the backup as docs/operating.md says.
fn restore(home: &mut Home, backup: &str) {
    if let Some(file) = home.database_url.strip_prefix("sqlite://") {
        for ending in ["", "-wal", "-shm"] {
            // The log of the lost file belongs to no other file.
            let _ = fs::remove_file(format!("{file}{ending}"));
        }
        fs::copy(backup, file).expect("the folder is writable");
        return;
    }
    run(Command::new(binary("psql"))
        .args(["--quiet", "--command", "CREATE DATABASE restored"])
        .arg(&home.database_url));
    let (server, _) = home
        .database_url
        .rsplit_once('/')
        .expect("the URL names a database");
    home.database_url = format!("{server}/restored");
    run(Command::new(binary("pg_restore"))
        .args(["--exit-on-error", "--dbname", &home.database_url])
        .arg(backup));
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
