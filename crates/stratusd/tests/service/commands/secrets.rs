//! `stratusd token` and `stratusd key`.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

use crate::on_both;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, eventually};

on_both! {
    async fn replicas_open_what_others_seal_while_keys_are_rotated(home: Home) {
        home.apply(&two_projects());
        let old = std::fs::read_to_string(home.keys()).expect("the key file exists");
        let new = home.succeed(&["key", "generate"]);
        for (name, keys) in [("old-new", format!("{old}{new}")), ("new-old", format!("{new}{old}")), ("new", new)] {
            std::fs::write(home.path().join(name), keys).expect("the folder is writable");
        }
        let token = home.token("shop", &[]);
        let replica = |keys: &str| {
            let service = home.serve(&["--encryption-keys-file", keys, "--simulate-delay", "10ms", "--simulate-jitter", "0s"]);
            let caller = Caller::new(&service.base, SHOP, &token);
            (service, caller)
        };
        // Before the rotation.
        drop(replica("keys"));
        let path = "/location/eu-central-h1/postgres/orders";
        let (restarted, caller) = replica("new-old");
        caller.post(path, serde_json::json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let made = caller.wait_for(path, |database| database["state"] == "running").await;
        drop(restarted);

        let (not_yet, caller) = replica("old-new");
        assert_eq!(caller.get(path).await.ok()["connection_string"], made["connection_string"]);
        drop(not_yet);
        let (without, caller) = replica("keys");
        assert_eq!(caller.get(path).await.error().0, 500, "the password is still sealed with the old key, which this replica does not have");
        drop(without);

        let said = home.succeed(&["key", "rotate", "--encryption-keys-file", "new-old"]);
        assert!(said.starts_with("re-encrypted 1 secrets"), "{said}");
        let (_service, caller) = replica("new");
        assert_eq!(caller.get(path).await.ok()["connection_string"], made["connection_string"]);
    }

    async fn a_token_is_revoked_by_what_is_known_of_it(home: Home) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let said = home.succeed(&["token", "revoke", &token]);
        assert_eq!(said, format!("revoked {}\n", &token[4..30]));
        for wrong in [&token, &token[..40], "Own-Passw0rd"] {
            let said = home.fail(&["token", "revoke", wrong]);
            assert!(!said.contains(&token[31..40]) && !said.contains("Passw0rd"), "{said}");
        }
        let lines = home.fail(&["token", "issue", "--project", "shop", "--description", "two\nlines"]);
        assert!(lines.contains("must not contain control characters"), "{lines}");
        let long = home.succeed(&["token", "issue", "--project", "shop", "--expires-in", "400 days"]);
        assert!(long.starts_with("pat-"));
        let key = std::fs::read_to_string(home.keys()).expect("the key file exists");
        let said = home.fail(&["key", "rotate", "--encryption-keys-file", key.trim()]);
        assert!(said.contains("encryption_keys_file is a key") && !said.contains(key.trim()), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_goes_on_after_what_it_cannot_open() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let old = std::fs::read_to_string(home.keys()).expect("the key file exists");
    let new = home.succeed(&["key", "generate"]);
    for (name, keys) in [("new-old", format!("{new}{old}")), ("new", new)] {
        std::fs::write(home.path().join(name), keys).expect("the folder is writable");
    }
    let token = home.token("shop", &[]);
    let path = |name: &str| format!("/location/eu-central-h1/postgres/{name}");
    let simulated = ["--simulate-delay", "10ms", "--simulate-jitter", "0s"];
    let service = home.serve(&simulated);
    let caller = Caller::new(&service.base, SHOP, &token);
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        let body = serde_json::json!({ "size": "standard-2", "storage_size": 64 });
        let path = path(name);
        caller.post(&path, body).await.ok();
        let running = caller.wait_for(&path, |it| it["state"] == "running");
        made.push(running.await);
    }
    drop(service);
    // The database between the others, by id.
    made.sort_by_key(|made| made["id"].as_str().map(str::to_owned));
    let damaged = made[1]["id"].as_str().expect("it is an id");
    let file = home.database_url.strip_prefix("sqlite://");
    let file = file.expect("it is a SQLite file");
    let mut store = SqliteConnection::establish(file).expect("the SQLite file opens");
    let damage = format!(
        "UPDATE postgres_database SET password = CAST(substr(password, 1, length(password) - 1) || x'00' AS BLOB) WHERE id = '{damaged}'"
    );
    store.batch_execute(&damage).expect("it can be written");

    let rotate = ["key", "rotate", "--encryption-keys-file", "new-old"];
    let output = home.run(&rotate);
    assert!(!output.status.success());
    let [said, failed] =
        [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("it is text"));
    // The certificate authority and two passwords.
    assert_eq!(said, "re-encrypted 3 secrets\n");
    let named = format!(
        "1 secrets are encrypted with a key that is not among the encryption keys, or are damaged, and were left as they are: the password of database {damaged}. "
    );
    assert!(failed.contains(&named), "{failed}");
    // What was rotated needs the old key no more.
    let service = home.serve(&[&simulated[..], &["--encryption-keys-file", "new"]].concat());
    let caller = Caller::new(&service.base, SHOP, &token);
    for made in [&made[0], &made[2]] {
        let name = made["name"].as_str().expect("it is a name");
        let now = caller.get(&path(name)).await.ok();
        assert_eq!(now["connection_string"], made["connection_string"]);
    }
}

/// Without an end, a rotation would follow for ever a service that was not restarted with the new key.
#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_ends_beside_a_service_with_the_old_key() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let old = std::fs::read_to_string(home.keys()).expect("the key file exists");
    let new = home.succeed(&["key", "generate"]);
    std::fs::write(home.path().join("new-old"), format!("{new}{old}"))
        .expect("the folder is writable");
    let token = home.token("shop", &[]);
    let service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &token);
    let resetting: Vec<_> = (0..4)
        .map(|number| {
            let caller = caller.clone();
            let path = format!("/location/eu-central-h1/postgres/database-{number}");
            tokio::spawn(async move {
                let body = serde_json::json!({ "size": "standard-2", "storage_size": 64 });
                caller.post(&path, body).await.ok();
                let reset = format!("{path}/reset-superuser-password");
                for turn in 0.. {
                    let body = serde_json::json!({ "password": format!("Own-Passw0rd-{turn}") });
                    caller.post(&reset, body).await.ok();
                }
            })
        })
        .collect();
    // A pass that no reset falls into ends it well.
    let refused = eventually(async || {
        let output = home.run(&["key", "rotate", "--encryption-keys-file", "new-old"]);
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
    });
    let refused = refused.await.expect("passes find what was encrypted again");
    assert!(
        refused.contains("a service still encrypts others with another key: restart every replica"),
        "{refused}"
    );
    for writer in resetting {
        assert!(!writer.is_finished());
        writer.abort();
    }
}

#[test]
fn keys_come_from_where_settings_count_most() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    std::fs::write(
        home.path().join("keys.toml"),
        "encryption_keys = \"not a key\"\n",
    )
    .expect("the folder is writable");
    std::fs::write(
        home.path().join("both.toml"),
        "encryption_keys = \"x\"\nencryption_keys_file = \"y\"\n",
    )
    .expect("the folder is writable");
    let rotate = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = home.command(&[&["key", "rotate"], arguments].concat());
        command
            .env_remove("STRATUS_ENCRYPTION_KEYS_FILE")
            .envs(environment.iter().copied());
        let output = command.output().expect("the program starts");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("the output is UTF-8")
    };
    let (text, file) = ("STRATUS_ENCRYPTION_KEYS", "STRATUS_ENCRYPTION_KEYS_FILE");
    let key = std::fs::read_to_string(home.keys()).expect("the key file exists");
    for (arguments, environment) in [
        (
            &["--encryption-keys-file", "keys"][..],
            &[(text, "not a key")][..],
        ),
        (&["--encryption-keys", key.trim()], &[(file, "missing")]),
        (&["--config", "keys.toml"], &[(file, "keys")]),
        (
            &["--config", "keys.toml", "--encryption-keys-file", "keys"],
            &[],
        ),
    ] {
        let said = rotate(arguments, environment);
        assert!(
            said.starts_with("re-encrypted 0 secrets"),
            "{arguments:?} {environment:?}: {said}"
        );
    }
    for (arguments, environment) in [
        (
            &["--encryption-keys-file", "keys", "--encryption-keys", "x"][..],
            &[][..],
        ),
        (&[], &[(text, "x"), (file, "keys")]),
        (&["--config", "both.toml"], &[]),
    ] {
        let said = rotate(arguments, environment);
        assert_eq!(
            said,
            "error: encryption_keys and encryption_keys_file are both set by flags, by variables or in the file: remove one of them\n"
        );
    }
}
