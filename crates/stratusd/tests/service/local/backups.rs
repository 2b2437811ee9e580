//! Backups of databases that run on this machine, what is restored from them, and planned switches to
//! a standby.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::replication::{received, streaming};
use super::{PLACE, ask, create, execute, is_running, next_copy, switch_log};
use crate::support::caller::Caller;
use crate::support::servers::{Servers, connect};
use crate::support::{eventually, leave_out};

/// How long a part of the log takes to be archived.
const SECOND: Duration = Duration::from_secs(1);

const TABLE: &str = "CREATE TABLE note (text text, at timestamptz DEFAULT clock_timestamp())";
const NOTES: &str = "SELECT string_agg(text, ' ' ORDER BY at) FROM note";

/// Writes a note, and returns a time after its commit and before any later one.
async fn note(database: &Value, text: &str) -> String {
    execute(database, &format!("INSERT INTO note VALUES ('{text}')")).await;
    let now =
        "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";
    let time = ask(database, now).await.expect("it answers");
    tokio::time::sleep(Duration::from_millis(20)).await;
    time
}

/// Restores a database to a time as soon as it can be, and returns the new one once it runs.
async fn restore(caller: &Caller, from: &str, name: &str, at: &str) -> Value {
    let path = format!("{PLACE}/postgres/{from}");
    let time = |text: &str| text.parse::<jiff::Timestamp>().expect("it is a time");
    let is_possible = |database: &Value| {
        let latest = database["latest_restore_time"].as_str();
        latest.is_some_and(|latest| time(latest) >= time(at))
    };
    caller.wait_for(&path, is_possible).await;
    let body = json!({ "name": name, "restore_target": at });
    let made = caller.post(&format!("{path}/restore"), body).await.ok();
    assert_eq!(made["parent"], path);
    caller
        .wait_for(&format!("{PLACE}/postgres/{name}"), is_running)
        .await
}

/// Waits until a database has a backup, and until it can be restored to now.
async fn first_backup(caller: &Caller, name: &str) -> Value {
    let backups = caller
        .wait_for(&format!("{PLACE}/postgres/{name}/backup"), |page| {
            page["count"] != json!(0)
        })
        .await;
    // The time of a backup is rounded up to seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    backups
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_archived_is_not_promised() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    execute(&made, TABLE).await;
    first_backup(&caller, "orders").await;
    // No part of the log can be archived from this one on.
    let id = made["id"].as_str().expect("it has an id");
    let part = ask(&made, "SELECT pg_walfile_name(pg_current_wal_lsn())").await;
    let log = servers.folder().join("backups").join(id).join("log");
    let obstacle = log.join(part.expect("it answers")).with_extension("new");
    fs::create_dir(&obstacle).expect("the folder is there");
    let written = note(&made, "not archived").await;
    execute(&made, "SELECT pg_switch_wal()").await;
    // Longer than a part may wait.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let path = format!("{PLACE}/postgres/orders");
    let latest = |database: &Value| -> jiff::Timestamp {
        let text = database["latest_restore_time"]
            .as_str()
            .expect("it is known");
        text.parse().expect("it is a time")
    };
    let now = caller.get(&path).await.ok();
    let written: jiff::Timestamp = written.parse().expect("it is a time");
    assert!(latest(&now) < written, "{} for {written}", latest(&now));
    let earliest = now["earliest_restore_time"].as_str().expect("it is known");
    assert!(
        latest(&now) >= earliest.parse().expect("it is a time"),
        "{now}"
    );
    fs::remove_dir(&obstacle).expect("it is there");
    caller.wait_for(&path, |now| latest(now) > written).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_restored_to_any_time_since_its_first_backup() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&["--local-backup-every", "2s"]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    execute(&made, TABLE).await;
    let backups = first_backup(&caller, "orders").await;
    let earliest =
        &caller.get(&format!("{PLACE}/postgres/orders")).await.ok()["earliest_restore_time"];
    assert_eq!(&backups["items"][0]["last_modified"], earliest);
    let one = note(&made, "one").await;
    let two = note(&made, "two").await;
    // Until there is another backup, after which this one is still of use.
    next_copy(&servers, &made).await;
    caller
        .wait_for(&format!("{PLACE}/postgres/orders/backup"), |page| {
            page["count"].as_i64() > Some(1)
        })
        .await;
    note(&made, "three").await;

    let begun = Instant::now();
    let first = restore(&caller, "orders", "first", &one).await;
    eprintln!("restored after {:?}", begun.elapsed());
    assert_eq!(ask(&first, NOTES).await.expect("it answers"), "one");
    let second = restore(&caller, "orders", "second", &two).await;
    assert_eq!(ask(&second, NOTES).await.expect("it answers"), "one two");
    assert_eq!(
        ask(&made, NOTES).await.expect("it answers"),
        "one two three"
    );

    // Each is a database of its own: it can be written, has its own password, and is backed up too.
    let mut wrong = first.clone();
    let parts = |database: &Value| {
        let text = database["connection_string"].as_str().expect("it is known");
        let (password, host) = text.split_once('@').expect("it has a host");
        (password.to_owned(), host.to_owned())
    };
    let ((password, _), (_, host)) = (parts(&made), parts(&first));
    wrong["connection_string"] = json!(format!("{password}@{host}"));
    let Err(refused) = connect(&wrong).await else {
        panic!("the password of the other database opens this one");
    };
    let code = refused.code().map(tokio_postgres::error::SqlState::code);
    assert_eq!(code, Some("28P01"), "{refused}");
    note(&first, "four").await;
    let third = {
        first_backup(&caller, "first").await;
        let four = note(&first, "five").await;
        restore(&caller, "first", "third", &four).await
    };
    assert_eq!(
        ask(&third, NOTES).await.expect("it answers"),
        "one four five"
    );
    let in_recovery = ask(&third, "SELECT pg_is_in_recovery()::text").await;
    assert_eq!(in_recovery.expect("it answers"), "false");

    // Backups go with their database.
    for name in ["orders", "first", "second", "third"] {
        assert_eq!(
            caller
                .delete(&format!("{PLACE}/postgres/{name}"))
                .await
                .status,
            204
        );
    }
    let gone = eventually(async || servers.ids().is_empty().then_some(()));
    gone.await.expect("they are deleted");
    let left = eventually(async || servers.backups().is_empty().then_some(()));
    left.await.expect("their backups are deleted");
}

/// Returns the keys of the copies of a database.
fn copies(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).expect("the folder is there");
    let names = files.map(|file| file.expect("it can be read").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_ahead_stops_no_copies() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&["--local-backup-every", "2s"]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    execute(&made, TABLE).await;
    first_backup(&caller, "orders").await;
    // As if it had been made by a clock that was a year ahead.
    let id = made["id"].as_str().expect("it has an id");
    let folder = servers.folder().join("backups").join(id).join("base");
    let first = copies(&folder).pop_first().expect("there is one");
    let ahead = format!("2{}", &first[1..].replacen('0', "1", 1));
    let record = fs::read(folder.join(format!("{first}.json"))).expect("it is there");
    let mut record: Value = serde_json::from_slice(&record).expect("it is JSON");
    let ended_at = record["ended_at"].as_i64().expect("it is a time");
    record["ended_at"] = json!(ended_at + 365 * 24 * 60 * 60);
    let tar = |key: &str| folder.join(format!("{key}.tar.gz"));
    fs::rename(tar(&first), tar(&ahead)).expect("it is there");
    fs::write(folder.join(format!("{ahead}.json")), record.to_string()).expect("it can be written");
    fs::remove_file(folder.join(format!("{first}.json"))).expect("it is there");

    // Another copy is made, also if nothing changes: this one is of no use for times.
    let another = eventually(async || (copies(&folder).len() > 1).then_some(()));
    another.await.expect("there is another copy");
    let path = format!("{PLACE}/postgres/orders");
    caller
        .wait_for(&path, |now| now["earliest_restore_time"].is_string())
        .await;
    // Changes are copied, and the database can be restored to a time after that.
    for round in 0..2 {
        let before = copies(&folder);
        note(&made, &format!("{round}")).await;
        let another = eventually(async || {
            switch_log(&made, SECOND).await;
            (!copies(&folder).is_subset(&before)).then_some(())
        });
        another.await.expect("there is another copy");
    }
    first_backup(&caller, "orders").await;
    let at = note(&made, "last").await;
    let restored = restore(&caller, "orders", "restored", &at).await;
    assert_eq!(ask(&restored, NOTES).await.expect("it answers"), "0 1 last");
    // Later copies have greater keys, and all are listed, page by page.
    let all = copies(&folder);
    assert_eq!(all.first(), Some(&ahead));
    let list = format!("{PLACE}/postgres/orders/backup");
    caller
        .wait_for(&list, |page| {
            page["count"]
                .as_u64()
                .is_some_and(|count| count >= all.len() as u64)
        })
        .await;
    let mut listed = BTreeSet::new();
    let mut path = format!("{list}?page_size=1");
    while let Some(item) = caller.get(&path).await.ok()["items"].get(0) {
        let key = item["key"].as_str().expect("it has a key");
        path = format!("{list}?page_size=1&start_after={key}");
        listed.insert(key.to_owned());
    }
    assert!(listed.is_superset(&all), "{listed:?} for {all:?}");
    // The oldest in the log goes first.
    let gone = async || {
        switch_log(&made, SECOND).await;
        (!copies(&folder).contains(&ahead)).then_some(())
    };
    eventually(gone).await.expect("it is pruned");
    assert!(copies(&folder).len() > 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_restored_over_a_change_of_its_primary() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({ "ha_type": "async" })).await;
    execute(&made, TABLE).await;
    first_backup(&caller, "orders").await;
    streaming(&made, 1).await;
    note(&made, "before").await;
    received(&made).await;
    let pid = servers.pid(made["id"].as_str().expect("it has an id"));
    kill_process(pid.expect("it runs"), Signal::KILL).expect("it runs");
    let again = async || {
        ask(&made, NOTES)
            .await
            .ok()
            .filter(|notes| notes == "before")
    };
    eventually(again).await.expect("the standby takes over");
    let after = note(&made, "after").await;
    note(&made, "later").await;
    let restored = restore(&caller, "orders", "again", &after).await;
    assert_eq!(
        ask(&restored, NOTES).await.expect("it answers"),
        "before after"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planned_switch_loses_nothing() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&["--local-backup-every", "1s"]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    let made = create(&caller, "orders", json!({ "ha_type": "async" })).await;
    execute(&made, TABLE).await;
    let primary = "SELECT split_part(current_setting('data_directory'), '/', -2)";
    let mut at = ask(&made, primary).await.expect("it answers");
    for round in 0..2 {
        // Callers that write all the time, and remember what was acknowledged.
        let is_over = Arc::new(AtomicBool::new(false));
        let writers = (0..4).map(|writer| {
            let (made, is_over) = (made.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut done = Vec::new();
                for number in 0.. {
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    let Ok(client) = connect(&made).await else {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                        continue;
                    };
                    let text = format!("{round}-{writer}-{number}");
                    if client
                        .execute("INSERT INTO note VALUES ($1)", &[&text])
                        .await
                        .is_ok()
                    {
                        done.push(text);
                    }
                }
                done
            })
        });
        let writers: Vec<_> = writers.collect();
        caller.post_nothing(&format!("{path}/promote")).await.ok();
        let begun = Instant::now();
        let before = at.clone();
        let switched =
            eventually(async || ask(&made, primary).await.ok().filter(|now| *now != before));
        at = switched.await.expect("a standby takes over");
        eprintln!("switched after {:?}", begun.elapsed());
        is_over.store(true, Ordering::SeqCst);
        let mut acknowledged = 0;
        for writer in writers {
            for text in writer.await.expect("it does not panic") {
                let found = format!("SELECT count(*)::text FROM note WHERE text = '{text}'");
                assert_eq!(
                    ask(&made, &found).await.expect("it answers"),
                    "1",
                    "{text} is lost"
                );
                acknowledged += 1;
            }
        }
        assert!(acknowledged > 0, "nothing was written");
        let now = caller.wait_for(&path, is_running).await;
        assert_eq!(now["connection_string"], made["connection_string"]);
        // The primary before is a standby now.
        streaming(&made, 1).await;
    }

    // Copies of earlier primaries are of use as long as the histories of the switches are there.
    let folder = servers.folder().join("backups");
    let folder = folder.join(made["id"].as_str().expect("it has an id"));
    // Files are removed before a copy, so those of the first one are seen by the second one.
    for _ in 0..2 {
        next_copy(&servers, &made).await;
    }
    for timeline in 2..4 {
        let history = format!("log/{timeline:08}.history.gz");
        assert!(folder.join(&history).exists(), "{history} is gone");
    }
}

/// The owner of a database can run programs as the user of its server.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_cannot_change_the_backups() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    first_backup(&caller, "orders").await;
    let folder = servers
        .folder()
        .join("backups")
        .join(made["id"].as_str().expect("it has an id"));
    // Settings of the command line cannot be changed.
    let command = "SHOW archive_command";
    let before = ask(&made, command).await.expect("it answers");
    for statement in [
        "ALTER SYSTEM SET archive_command = 'false'",
        "SELECT pg_reload_conf()",
    ] {
        execute(&made, statement).await;
    }
    assert_eq!(ask(&made, command).await.expect("it answers"), before);
    if !rustix::process::geteuid().is_root() {
        leave_out("the servers run as the user of the service, since this is not root");
        return;
    }
    let files = |of: &str| {
        let entries = fs::read_dir(folder.join(of)).expect("it is there");
        let names = entries.map(|entry| entry.expect("it is an entry").file_name());
        names
            .map(|name| name.into_string().expect("it is text"))
            .collect::<Vec<_>>()
    };
    let (base, log) = (files("base"), files("log"));
    for attempt in [
        "ls base".to_owned(),
        "ls log".to_owned(),
        "touch base/new".to_owned(),
        "touch log/new".to_owned(),
        format!("cat base/{}", base[0]),
        format!("cat log/{}", log[0]),
        format!("rm base/{}", base[0]),
        format!("rm log/{}", log[0]),
    ] {
        let (program, path) = attempt.split_once(' ').expect("it has a path");
        let run = format!(
            "COPY (SELECT WHERE false) TO PROGRAM '{program} {}'",
            folder.join(path).display()
        );
        let client = connect(&made).await.expect("the owner can connect");
        assert!(client.batch_execute(&run).await.is_err(), "{attempt}");
    }
    for name in &base {
        assert!(folder.join("base").join(name).exists(), "{name} is gone");
    }
    assert!(folder.join("log").join(&log[0]).exists(), "the log is gone");
}

/// Programs that read a database's files for the service run as the user of its server, who can see
/// their variables.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_cannot_see_the_variables_of_the_service() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    // A part of the log that a program reads for as long as nobody writes into it.
    let part = "0000000100000000000000FF";
    let invent = format!("mkfifo pg_wal/{part} && touch pg_wal/archive_status/{part}.ready");
    execute(
        &made,
        &format!("COPY (SELECT WHERE false) TO PROGRAM '{invent}'"),
    )
    .await;
    let look = format!(
        "for process in /proc/[0-9]*; do \
         if tr \"\\0\" \" \" < $process/cmdline | grep -q \"^cat -- {part}\"; then \
         tr \"\\0\" \"\\n\" < $process/environ; fi; done; true"
    );
    let seen = eventually(async || {
        let client = connect(&made).await.ok()?;
        let copy =
            format!("CREATE TEMP TABLE seen (line text); COPY seen FROM PROGRAM $sh${look}$sh$");
        client.batch_execute(&copy).await.ok()?;
        let lines = client.query("SELECT line FROM seen", &[]).await.ok()?;
        let lines: Vec<String> = lines.iter().map(|row| row.get(0)).collect();
        (!lines.is_empty()).then_some(lines)
    });
    let seen = seen.await.expect("the program is there");
    let others = seen.iter().filter(|line| !line.starts_with("PATH="));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&String>::new());
}

/// The database and the service are lost, and the backups are not.
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_restores_from_the_backups_alone() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    let id = made["id"].as_str().expect("it has an id").to_owned();
    execute(&made, TABLE).await;
    first_backup(&caller, "orders").await;
    let one = note(&made, "one").await;
    note(&made, "two").await;
    let part = ask(&made, "SELECT pg_walfile_name(pg_switch_wal())").await;
    let part = format!("{}.gz", part.expect("it answers"));
    let log = servers.folder().join("backups").join(&id).join("log");
    let archived = eventually(async || log.join(&part).exists().then_some(()));
    archived.await.expect("the log is archived");
    drop(service);

    let backups = servers.folder().join("backups").join(&id);
    let backups = backups.to_str().expect("it is text");
    for (name, until, expected) in [("all", None, "one two"), ("first", Some(&*one), "one")] {
        let into = servers.home.path().join(name);
        let into = into.to_str().expect("it is text");
        let mut arguments = vec!["restore-database", backups, "--into", into];
        arguments.extend(until.iter().flat_map(|until| ["--until", until]));
        let said = servers.home.succeed(&arguments);
        assert!(said.contains("a data folder of PostgreSQL 17"), "{said}");
        assert_eq!(servers.ask_offline(Path::new(into), NOTES).await, expected);
    }
    let into = servers.home.path().join("all");
    let into = into.to_str().expect("it is text");
    let refused = servers
        .home
        .fail(&["restore-database", backups, "--into", into]);
    assert!(
        refused.contains("exists: name a folder that does not"),
        "{refused}"
    );
    let arguments = [
        "restore-database",
        backups,
        "--into",
        "new",
        "--until",
        "2020-01-01T00:00:00Z",
    ];
    let refused = servers.home.fail(&arguments);
    assert!(refused.contains("no backup"), "{refused}");
}
