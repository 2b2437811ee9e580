//! The databases that commands accept, and how they treat the file of SQLite.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::cluster::{Session, ask, binary};
use crate::support::inventory::{SHOP, two_projects};

on_both! {
    async fn a_database_of_a_newer_version_is_refused(home: Home) {
        home.apply(&two_projects());
        let newer = "INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')";
        if let Some(file) = home.database_url.strip_prefix("sqlite://") {
            let mut connection = SqliteConnection::establish(file).expect("the SQLite file opens");
            connection.batch_execute(newer).expect("the newer migration is recorded");
        } else {
            let mut connection = AsyncPgConnection::establish(&home.database_url).await.expect("PostgreSQL accepts a connection");
            connection.batch_execute(newer).await.expect("the newer migration is recorded");
        }
        for command in [&["serve"][..], &["token", "list", "--project", "shop"]] {
            let said = home.fail(command);
            assert!(said.contains("the database is newer than this program"), "{said}");
        }
    }

    /// As before the upgrade of the service.
    async fn an_older_database_is_not_taken_for_none(home: Home) {
        home.apply(&two_projects());
        let older = "DELETE FROM __diesel_schema_migrations WHERE version = \
                     (SELECT max(version) FROM __diesel_schema_migrations)";
        if home.database_url.starts_with("sqlite://") {
            home.open_sqlite().batch_execute(older).expect("a migration is forgotten");
        } else {
            ask(&home.database_url, older).expect("a migration is forgotten");
        }
        let said = home.fail(&["provisioner", "--provisioner", "simulated"]);
        assert!(said.contains("older"), "{said}");
    }

    async fn a_database_with_tables_of_others_is_not_migrated(home: Home) {
        let taken = "CREATE TABLE vm (theirs INTEGER)";
        if home.database_url.starts_with("sqlite://") {
            home.open_sqlite().batch_execute(taken).expect("the table is made");
        } else {
            ask(&home.database_url, taken).expect("the table is made");
        }
        std::fs::write(home.path().join("inventory.yaml"), two_projects()).expect("it is written");
        let said = home.fail(&["apply", "inventory.yaml"]);
        assert!(said.contains("the database cannot be migrated"), "{said}");
        // The name of the table, and nothing of a lock.
        assert!(said.contains("vm") && !said.contains("lock"), "{said}");
    }

    async fn a_value_that_does_not_fit_is_named_in_the_log_and_not_shown(home: Home) {
        home.apply(&two_projects());
        let damage = "UPDATE private_subnet SET net4 = 'damaged' WHERE name = 'frontend'";
        if home.database_url.starts_with("sqlite://") {
            home.open_sqlite().batch_execute(damage).expect("the rows are damaged");
        } else {
            ask(&home.database_url, damage).expect("the rows are damaged");
        }
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let refused = caller.get("/location/eu-central-h1/private-subnet/frontend").await;
        assert_eq!(refused.status, 500, "{refused:?}");
        service.terminate();
        let (_, log) = service.wait();
        let named = "the database holds a value in private_subnet.net4 that does not fit the contract";
        assert!(log.contains(named) && !log.contains("the database failed"), "{log}");
        assert!(!format!("{refused:?}{log}").contains("damaged"), "{refused:?}\n{log}");
    }
}

/// A wrong folder or a slip in the name: an empty database would say that all is well.
#[test]
fn a_command_that_reads_makes_no_database() {
    let home = Home::sqlite();
    std::fs::write(home.path().join("inventory.yaml"), two_projects()).expect("it is written");
    let before = files(&home);
    for command in [
        &["databases"][..],
        &["audit", "--project", "shop"],
        &["token", "list", "--project", "shop"],
        &["token", "issue", "--project", "shop"],
    ] {
        let said = home.fail(command);
        assert!(said.contains("there is no database"), "{command:?}: {said}");
        assert!(said.contains("--database-url"), "{command:?}: {said}");
        assert_eq!(files(&home), before, "{command:?}");
    }
    // A dry run says what would be made.
    let said = home.succeed(&["apply", "inventory.yaml", "--dry-run"]);
    assert!(said.contains("nothing was changed"), "{said}");
    assert!(said.contains("shop"), "{said}");
    assert_eq!(files(&home), before);
    home.apply(&two_projects());
    home.succeed(&["databases"]);
}

/// Returns the names of the files of a home.
fn files(home: &Home) -> std::collections::BTreeSet<std::ffi::OsString> {
    let files = std::fs::read_dir(home.path()).expect("the folder can be read");
    files.flatten().map(|entry| entry.file_name()).collect()
}

#[test]
fn a_database_of_postgres_without_tables_is_as_good_as_none() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let said = home.succeed(&["provisioner", "--provisioner", "simulated"]);
    assert_eq!(said, "simulated: the settings say so\n");
    home.apply(&two_projects());
}

#[test]
fn a_migration_does_not_wait_for_a_table_for_ever() {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&two_projects());
    let undone = "DELETE FROM __diesel_schema_migrations WHERE version = '0013'; DROP TABLE load_balancer_change; \
                  DROP FUNCTION stratus_load_balancer_changed, stratus_load_balancer_written, \
                  stratus_load_balancer_vm_written, stratus_vm_moved CASCADE";
    ask(&home.database_url, undone).expect("the migration can be undone");
    let held = Session::with_locked(&home.database_url, "load_balancer", "SHARE");
    let list = ["token", "list", "--project", "shop"];
    let said = home.fail(&list);
    assert!(
        said.contains("the database cannot be migrated, because another transaction holds a table"),
        "{said}"
    );
    // It tries again for a while.
    let waiting = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(3));
        drop(held);
    });
    home.succeed(&list);
    waiting.join().expect("nobody panics");
}

#[cfg(unix)]
#[test]
fn an_sqlite_file_is_for_nobody_else_to_read() {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::sqlite();
    home.apply("projects: [{ name: shop }]\n");
    let _service = home.serve(&[]);
    home.token("shop", &[]);
    for name in ["stratus.db", "stratus.db-wal", "stratus.db-shm"] {
        let file =
            std::fs::metadata(home.path().join(name)).expect("the file of the database exists");
        assert_eq!(file.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn an_sqlite_file_is_served_once_however_it_is_named() {
    let home = Home::sqlite();
    home.apply("projects: [{ name: shop }]\n");
    let _service = home.serve(&[]);
    std::os::unix::fs::symlink("stratus.db", home.path().join("link.db"))
        .expect("the folder is writable");
    for name in ["stratus.db", "./stratus.db", "link.db"] {
        let ports = [
            "--listen",
            "127.0.0.1:0",
            "--management-listen",
            "127.0.0.1:0",
        ];
        let url = format!("sqlite://{name}");
        let said = home.fail(&[&["serve", "--database-url", &url], &ports[..]].concat());
        assert!(
            said.contains("another stratusd serves it"),
            "{name}: {said}"
        );
    }
}

#[test]
fn a_postgres_database_must_hold_every_text() {
    let Some(mut home) = Home::postgres() else {
        return;
    };
    let name = format!("latin_{}", std::process::id());
    let create = format!(
        "CREATE DATABASE {name} TEMPLATE template0 ENCODING LATIN1 LC_COLLATE 'C' LC_CTYPE 'C'"
    );
    let psql = std::process::Command::new(binary("psql"))
        .args([&home.database_url, "-qc", &create])
        .status();
    assert!(psql.is_ok_and(|status| status.success()));
    let (server, _) = home
        .database_url
        .rsplit_once('/')
        .expect("the URL names a database");
    home.database_url = format!("{server}/{name}");
    let said = home.fail(&["token", "list", "--project", "shop"]);
    assert!(
        said.contains("holds texts in LATIN1, and must hold them in UTF8"),
        "{said}"
    );
}
