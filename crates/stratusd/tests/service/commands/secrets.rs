//! `stratusd token` and `stratusd key`.

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

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
