//! The operator's commands: inventories, plans, settings.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use insta::{assert_json_snapshot, assert_snapshot};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::cluster::binary;
use crate::support::inventory::{SHOP, two_projects};

on_both! {
    async fn an_inventory_is_applied_once_and_changes_nothing_twice(home: Home) {
        let plan = home.path().join("inventory.yaml");
        std::fs::write(&plan, two_projects()).expect("the folder is writable");
        let planned = home.succeed(&["apply", "--dry-run", "inventory.yaml"]);
        assert!(planned.ends_with("35 to create, 0 to update, 0 to delete: dry run, nothing was changed\n"), "{planned}");
        let applied = home.apply(&two_projects());
        assert_eq!(applied.lines().count(), planned.lines().count());
        assert!(applied.ends_with("35 to create, 0 to update, 0 to delete: applied\n"), "{applied}");
        assert_eq!(home.apply(&two_projects()), "0 to create, 0 to update, 0 to delete: applied\n");

        let grown = two_projects().replacen("size: burstable-1", "size: standard-8", 1).replacen("rules: [", "rules: [{ cidr: 10.0.0.0/8, port_range: \"5432\" }, ", 1);
        assert_snapshot!("grown", home.apply(&grown));
    }

    async fn nothing_is_deleted_unless_asked_for(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        caller.post_nothing("/location/eu-central-h1/private-subnet/of-a-caller").await.ok();
        // Of the shop a machine and a load balancer are left.
        let smaller = "locations:\n  - name: eu-central-h1\n  - name: us-east-a2\nprojects:\n  - name: shop\n    vms:\n      - { name: app-2, location: \
             eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }\n    private_subnets:\n      \
             - { name: backend, location: eu-central-h1 }\n    load_balancers:\n      - { name: web, location: \
             eu-central-h1, subnet: backend, src_port: 443, dst_port: 8080, health_check_endpoint: /up }\n".to_string();
        let kept = home.apply(&smaller);
        assert!(kept.contains("  project shop: vm eu-central-h1/app-1: not in the inventory, kept; use --prune to remove it"), "{kept}");
        assert!(kept.ends_with(", 0 to delete: applied\n"), "{kept}");
        assert_eq!(caller.get("/location/eu-central-h1/vm").await.ok()["count"], 3);
        let pruned = home.succeed(&["apply", "--prune", "inventory.yaml"]);
        assert_snapshot!("pruned", pruned);
        assert_eq!(caller.get("/location/eu-central-h1/vm").await.ok()["count"], 1);
        assert_eq!(caller.get("/location/eu-central-h1/load-balancer").await.ok()["count"], 1);
        // What callers have made is theirs.
        caller.get("/location/eu-central-h1/private-subnet/of-a-caller").await.ok();
        assert_eq!(home.succeed(&["apply", "--prune", "inventory.yaml"]), "0 to create, 0 to update, 0 to delete: applied\n");
    }

    async fn what_the_api_has_changed_is_left_to_it(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let web = "/location/eu-central-h1/load-balancer/web";
        let body = serde_json::json!({
            "algorithm": "hash_based", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/else", "vms": [],
        });
        let changed = caller.patch(web, body).await.ok();
        assert_eq!(
            home.apply(&two_projects()),
            "  project shop: load balancer eu-central-h1/web (src_port, dst_port, health_check_endpoint, vms): \
             differs from the inventory, left unchanged\n0 to create, 0 to update, 0 to delete: applied\n"
        );
        let vm = serde_json::json!({ "vm_id": caller.get("/location/eu-central-h1/vm").await.ok()["items"][0]["id"] });
        assert_eq!(caller.post(&format!("{web}/detach-vm"), vm).await.ok(), changed);
    }

    async fn a_database_of_a_newer_version_is_refused(home: Home) {
        home.apply(&two_projects());
        let newer = "INSERT INTO __diesel_schema_migrations (version) VALUES ('9999')";
        if let Some(file) = home.database_url.strip_prefix("sqlite://") {
            let mut connection = SqliteConnection::establish(file).expect("it opens");
            connection.batch_execute(newer).expect("it is written");
        } else {
            let mut connection = AsyncPgConnection::establish(&home.database_url).await.expect("it opens");
            connection.batch_execute(newer).await.expect("it is written");
        }
        for command in [&["serve"][..], &["token", "list", "--project", "shop"]] {
            let said = home.fail(command);
            assert!(said.contains("the database is newer than this program"), "{said}");
        }
    }

    async fn a_firewall_of_another_name_guards_what_the_old_one_guarded(home: Home) {
        let inventory = |name: &str, listed: &str| {
            format!(
                "locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    firewalls: [{{ name: {name}, \
                 location: here, rules: [{{ cidr: 10.0.0.0/8, port_range: \"80\" }}] }}]\n    private_subnets: [{{ name: \
                 ours, location: here, firewalls: [{listed}] }}]\n"
            )
        };
        home.apply(&inventory("old", "old"));
        let service = home.serve(&[]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let ours = "/location/here/private-subnet/ours";
        let body = serde_json::json!({ "firewall_id": caller.get(ours).await.ok()["firewalls"][0]["id"] });
        caller.post("/location/here/private-subnet/theirs", body).await.ok();
        std::fs::write(home.path().join("inventory.yaml"), inventory("new", "new")).expect("the folder is writable");
        assert_snapshot!("another_firewall", home.succeed(&["apply", "--prune", "inventory.yaml"]));
        let subnet = caller.get(ours).await.ok();
        assert_eq!(subnet["firewalls"][0]["name"], "new");
        let nothing = "0 to create, 0 to update, 0 to delete: applied\n";
        assert_eq!(home.succeed(&["apply", "--prune", "inventory.yaml"]), nothing);
        // What the API takes away stays away, and is told.
        let detached = serde_json::json!({ "private_subnet_id": subnet["id"] });
        caller.post("/location/here/firewall/new/detach-subnet", detached).await.ok();
        let told = "  project shop: private subnet here/ours (firewalls): differs from the inventory, left unchanged\n";
        assert_eq!(home.succeed(&["apply", "inventory.yaml"]), format!("{told}{nothing}"));
        assert!(caller.get(ours).await.ok()["firewalls"].as_array().is_some_and(Vec::is_empty));
    }

    async fn networks_that_a_file_asks_for_are_given_to_no_other(home: Home) {
        // So many that some of those drawn would be among those asked for.
        let any = (0..1000).map(|number| format!("      - {{ name: any-{number}, location: here }}\n"));
        let asked = (0..1000).map(|number| {
            let (high, low) = (number / 4, number % 4 * 64);
            format!("      - {{ name: asked-{number}, location: here, net4: 10.0.{high}.{low}/26 }}\n")
        });
        let subnets: String = any.chain(asked).collect();
        let inventory = format!("locations: [{{ name: here }}]\nprojects:\n  - name: shop\n    private_subnets:\n{subnets}");
        assert!(home.apply(&inventory).ends_with("2002 to create, 0 to update, 0 to delete: applied\n"));
    }

    async fn interfaces_take_over_addresses(home: Home) {
        let nics = |nics: &str| {
            two_projects().replacen("[{ name: app-1-nic, vm: app-1, private_ipv4: 10.61.7.9 }, { name: spare }]", nics, 1)
        };
        let applied = |inventory: String, arguments: &[&str]| {
            std::fs::write(home.path().join("inventory.yaml"), inventory).expect("the folder is writable");
            home.succeed(&[&["apply", "inventory.yaml"], arguments].concat())
        };
        applied(nics("[{ name: a, private_ipv4: 10.61.7.9 }, { name: b, private_ipv4: 10.61.7.10 }, { name: c }]"), &[]);
        // The first free one, as `c` has it, is asked for by another.
        let swapped = nics("[{ name: a, private_ipv4: 10.61.7.10 }, { name: b, private_ipv4: 10.61.7.9 }, { name: c }, { name: d, private_ipv4: 10.61.7.4 }]");
        assert!(applied(swapped.clone(), &[]).contains("1 to create, 3 to update, 0 to delete: applied"));
        assert!(applied(swapped, &[]).contains("0 to create, 0 to update, 0 to delete: applied"));
        let other = nics("[{ name: e, private_ipv4: 10.61.7.10 }]");
        std::fs::write(home.path().join("inventory.yaml"), &other).expect("the folder is writable");
        let said = home.fail(&["apply", "inventory.yaml"]);
        let line = other.lines().position(|line| line.contains("10.61.7.10")).expect("it is there") + 1;
        assert!(said.contains(&format!("inventory.yaml:{line}:")), "{said}");
        assert!(said.contains("the network interface a has this address and is not in the inventory"), "{said}");
        assert!(applied(other, &["--prune"]).contains("1 to create, 0 to update, 4 to delete: applied"));
    }

    async fn locations_are_the_usual_ones_unless_given(home: Home) {
        let plan = home.apply("projects: [{ name: shop }]\n");
        for location in ["eu-central-h1", "eu-north-h1", "us-east-a2"] {
            assert!(plan.contains(&format!("+ location {location}")), "{plan}");
        }
        let caller = home.serve(&[]);
        let token = home.token("shop", &[]);
        let project = plan.split("with the id ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("it is told");
        let caller = Caller::new(&caller.base, project, &token);
        let body = serde_json::json!({ "size": "standard-2", "storage_size": 64 });
        let refused = caller.post("/location/eu-north-h1/postgres/orders", body).await;
        assert!(refused.detail("location").as_str().is_some_and(|told| told.contains("eu-central-h1 and us-east-a2")), "{}", refused.body);
    }

    async fn replicas_open_what_others_seal_while_keys_are_rotated(home: Home) {
        home.apply(&two_projects());
        let old = std::fs::read_to_string(home.keys()).expect("it is there");
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
        // Before anything is rotated.
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
        assert_eq!(caller.get(path).await.error().0, 500, "nothing was sealed with the new key");
        drop(without);

        let said = home.succeed(&["key", "rotate", "--encryption-keys-file", "new-old"]);
        assert!(said.starts_with("re-encrypted 1 secrets"), "{said}");
        let (_service, caller) = replica("new");
        assert_eq!(caller.get(path).await.ok()["connection_string"], made["connection_string"]);
    }

    async fn networks_pass_from_a_name_to_another(home: Home) {
        let named = |name: &str| {
            format!(
                "projects:\n- name: shop\n  private_subnets: [{{ name: {name}, location: eu-central-h1, net4: 10.0.0.0/26, \
                 net6: \"fd00::/64\", nics: [{{ name: a }}] }}]\n  load_balancers: [{{ name: web, location: eu-central-h1, \
                 subnet: {name}, src_port: 1, dst_port: 1, health_check_endpoint: / }}]\n"
            )
        };
        home.apply(&named("old"));
        let inventory = home.path().join("inventory.yaml");
        std::fs::write(&inventory, named("new")).expect("the folder is writable");
        let said = home.fail(&["apply", "inventory.yaml"]);
        assert!(said.contains(":3:65: project shop: private subnet eu-central-h1/new: private subnet eu-central-h1/old has 10.0.0.0/26"), "{said}");
        home.succeed(&["apply", "--prune", "inventory.yaml"]);
        let again = home.succeed(&["apply", "--prune", "inventory.yaml"]);
        assert!(again.contains("0 to create, 0 to update, 0 to delete"), "{again}");
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
        let key = std::fs::read_to_string(home.keys()).expect("it is there");
        let said = home.fail(&["key", "rotate", "--encryption-keys-file", key.trim()]);
        assert!(said.contains("encryption_keys_file is a key") && !said.contains(key.trim()), "{said}");
    }

    async fn what_cannot_be_changed_is_said(home: Home) {
        home.apply(&two_projects());
        let file = home.path().join("inventory.yaml");
        let said = |inventory: String, arguments: &[&str]| {
            std::fs::write(&file, inventory).expect("the folder is writable");
            home.fail(&[&["apply", "inventory.yaml"], arguments].concat())
        };
        let other_id = two_projects().replace(SHOP, "pj11111111111111111111111z");
        assert!(said(other_id, &[]).contains("exists with the id pjj99grz61ddttq24cf6gc6atm, which cannot change"));
        let other_net = two_projects().replacen("net4: 10.61.7.0/26", "net4: 10.61.7.64/26", 1).replacen(", private_ipv4: 10.61.7.9", "", 1);
        assert!(said(other_net, &[]).contains("has the network 10.61.7.0/26, which cannot change"));
        assert_eq!(home.apply(&two_projects()), "0 to create, 0 to update, 0 to delete: applied\n");
    }
}

#[test]
fn everything_wrong_with_an_inventory_is_told_at_once() {
    let home = Home::sqlite();
    let file = home.path().join("inventory.yaml");
    let said = |text: &str| {
        std::fs::write(&file, text).expect("the folder is writable");
        home.fail(&["apply", "inventory.yaml"])
    };
    let cases = [
        include_str!("commands/wrong.yaml"),
        "locations: []\nproject: []\n",
        "locations:\n  - name: [1]\n",
        "locations:\n  - name: a\n    name: b\n",
        "locations: [\n",
        "locations:\n  - { name: a, postgres: \"yes\" }\n",
        "locations:\n  - name: 123\n",
        "",
        "# nothing\n",
        "null\n",
        "projects: []\n---\nprojects: []\n",
        "projects:\n",
        "projects: [shop]\n",
        "projects:\n  - name: null\n",
        "projects:\n  - name: shop\n    vms: [{ name: a, location: us-east-a2, size: standard-2, storage_size_gib: many, unix_user: deploy }]\n",
        "projects:\n  - { name: a, vms: [{ name: a, location: us-east-a2, size: standard-2, storage_size_gib: 1, unix_user: deploy, ip6: \"2001:db8::2\" }] }\n  \
         - { name: b, vms: [{ name: a, location: us-east-a2, size: standard-2, storage_size_gib: 1, unix_user: deploy, ip6: \"2001:DB8:0:0::2\" }] }\n",
        "projects:\n  - name: shop\n    firewalls: [{ name: a, location: us-east-a2, rules: [{ cidr: \"::/0\", port_range: \"80\" }, { cidr: \"0::/0\", port_range: \"80..80\" }] }]\n",
        // The long form of an address that another one could be given too.
        "projects:\n  - name: shop\n    private_subnets:\n      - { name: a, location: us-east-a2, net6: \"fd61:7a0c:55e1:9200::/64\", nics: [{ name: n, private_ipv6: \"fd61:7a0c:55e1:9200:0:0:0:4\" }] }\n",
    ];
    let told: Vec<String> = cases.into_iter().map(said).collect();
    let missing = home.fail(&["apply", "missing.yaml"]);
    assert_snapshot!(
        "wrong_inventories",
        format!("{}\n{missing}", told.join("\n"))
    );
}

#[test]
fn the_schema_of_inventories_is_published() {
    let home = Home::sqlite();
    let schema: serde_json::Value =
        serde_json::from_str(&home.succeed(&["schema"])).expect("it is JSON");
    assert_json_snapshot!("inventory_schema", schema);
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/inventory.schema.json");
    let published = std::fs::read_to_string(published).expect("the schema is beside the crate");
    assert_eq!(
        published,
        format!("{schema:#}\n"),
        "run `stratusd schema > crates/stratusd/inventory.schema.json`"
    );
    // Another judge of the schema and of an inventory.
    let validator = jsonschema::draft202012::new(&schema).expect("it is a schema");
    assert!(
        validator
            .is_valid(&serde_json::json!({ "locations": [{ "name": "here" }], "projects": [] }))
    );
    assert!(!validator.is_valid(&serde_json::json!({ "locations": [{ "nam": "here" }] })));
}

#[test]
fn settings_come_from_flags_then_environment_then_file_then_defaults() {
    let home = Home::sqlite();
    let file = home.path().join("stratus.toml");
    std::fs::write(
        &file,
        "listen = \"127.0.0.1:1\"\nbody_limit = 2048\nservice_domain = \"a.example\"\nrate_limit = 7\n",
    )
    .expect("the folder is writable");
    let output = home
        .command(&[
            "config",
            "--config",
            "stratus.toml",
            "--listen",
            "127.0.0.1:3",
            "--database-url",
            "postgres://me:hidden@db/stratus?password=hidden&sslmode=verify-full&connect_timeout=3&user=me",
            "--encryption-keys-file",
            "keys",
        ])
        .env("STRATUS_LISTEN", "127.0.0.1:2")
        .env("STRATUS_SERVICE_DOMAIN", "b.example")
        .env("STRATUS_ENCRYPTION_KEYS", "a secret")
        .output()
        .expect("the program starts");
    let said = String::from_utf8(output.stdout).expect("it is text");
    assert!(
        !said.contains("hidden") && !said.contains("a secret"),
        "{said}"
    );
    assert_snapshot!("settings", said);
    said.parse::<toml::Table>()
        .expect("what is printed is a file of settings");
}

#[test]
fn wrong_settings_are_told_without_their_secrets() {
    let home = Home::sqlite();
    let file = home.path().join("stratus.toml");
    let fails = |arguments: &[&str], text: &str| {
        std::fs::write(&file, text).expect("the folder is writable");
        home.fail(arguments)
    };
    let config = &["config", "--config", "stratus.toml"];
    let mut told = vec![
        fails(config, "listn = \"x\"\n")
            .split(';')
            .next()
            .expect("something is said")
            .to_owned()
            + "\n",
        fails(config, "listen = \"x\"\n"),
        fails(config, "listen = [1]\n"),
        fails(config, "database_url = \"postgres://me:hidden@db\n"),
        fails(&["serve", "--database-url", "mysql://me:hidden@db/x"], ""),
        fails(&["serve", "--idle-timeout", "soon"], ""),
        fails(&["serve", "--header-timeout", "0s"], ""),
        fails(&["serve", "--body-timeout", "99ms"], ""),
        fails(config, "idle_timeout = \"0s\"\n"),
        fails(config, "reconcile_lease = \"999ms\"\n"),
        fails(config, "observe_every = \"0s\"\n"),
        fails(config, "shutdown_timeout = \"25h\"\n"),
        fails(config, "rate_burst = 5\n"),
        fails(config, "tls_key = \"key.pem\"\n"),
        fails(&["serve", "--rate-burst", "5"], ""),
        fails(
            &["serve", "--database-url", "sqlite://stratus.db?mode=ro"],
            "",
        ),
        fails(
            &[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--management-listen",
                "256.0.0.1:1",
            ],
            "",
        ),
    ];
    let keyless = home
        .command(&["serve"])
        .env_remove("STRATUS_ENCRYPTION_KEYS_FILE")
        .output()
        .expect("it starts");
    told.push(String::from_utf8_lossy(&keyless.stderr).into_owned());
    std::fs::write(home.keys(), "not a key\n").expect("the folder is writable");
    told.push(home.fail(&["serve"]));
    let told = told.join("\n");
    assert!(!told.contains("hidden"), "{told}");
    assert_snapshot!("wrong_settings", told);
}

#[test]
fn a_wrong_value_is_told_of_the_flag_or_of_the_variable_that_gave_it() {
    let home = Home::sqlite();
    let fails = |arguments: &[&str]| {
        let output = home
            .command(arguments)
            .env("STRATUS_IDLE_TIMEOUT", "soon")
            .output()
            .expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("it is text")
    };
    let told = fails(&["serve"]);
    assert!(
        told.starts_with("error: invalid value 'soon' for 'STRATUS_IDLE_TIMEOUT': "),
        "{told}"
    );
    for flag in [&["--idle-timeout", "later"][..], &["--idle-timeout=later"]] {
        let told = fails(&[&["serve"], flag].concat());
        assert!(
            told.starts_with("error: invalid value 'later' for '--idle-timeout <DURATION>': "),
            "{told}"
        );
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
        String::from_utf8([output.stdout, output.stderr].concat()).expect("it is text")
    };
    let (text, file) = ("STRATUS_ENCRYPTION_KEYS", "STRATUS_ENCRYPTION_KEYS_FILE");
    let key = std::fs::read_to_string(home.keys()).expect("it is there");
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
            "error: encryption_keys and encryption_keys_file are set in the same place: remove one of them\n"
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_the_end_and_no_failure() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    home.token("shop", &[]);
    for command in [
        "config",
        "schema",
        "key generate",
        "key rotate",
        "apply inventory.yaml",
        "token list --project shop",
    ] {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let output = home
            .command(&arguments)
            .stdout(writer)
            .output()
            .expect("the program starts");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{command}: {output:?}"
        );
    }
    // Any other failure is told.
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("there is such a device");
    let output = home
        .command(&["config"])
        .stdout(full)
        .output()
        .expect("the program starts");
    let said = String::from_utf8(output.stderr).expect("it is text");
    assert!(
        said.starts_with("error: failed to write to standard output: "),
        "{said}"
    );
}

#[test]
fn no_part_of_a_databases_password_is_printed() {
    let home = Home::sqlite();
    for (url, shown) in [
        (
            "postgres://me:hid#den@db/stratus",
            "postgres://me:[redacted]@db:5432/stratus",
        ),
        (
            "postgres://me:hid?den@db/stratus",
            "postgres://me:[redacted]@db:5432/stratus",
        ),
        (
            "postgres://me:hid/den@db/stratus",
            "postgres://me:[redacted]@db:5432/stratus",
        ),
        (
            "postgres://me:hid%40den:hidden@db:6000/stratus",
            "postgres://me:[redacted]@db:6000/stratus",
        ),
        (
            "postgres://db/stratus?user=me&password=hidden",
            "postgres://me:[redacted]@db:5432/stratus",
        ),
        ("postgres://:hidden@db", "postgres://:[redacted]@db:5432"),
        (
            "postgres://me%40x@a,b:6000/stratus",
            "postgres://me%40x@a:5432,b:6000/stratus",
        ),
        (
            "postgresql://[::1]/stratus?application_name=hidden",
            "postgres://[::1]:5432/stratus",
        ),
        (
            "postgres:///stratus?host=/run/postgresql",
            "postgres://%2Frun%2Fpostgresql:5432/stratus",
        ),
        (
            "postgres://me@%2Frun%2Fpostgresql/stratus",
            "postgres://me@%2Frun%2Fpostgresql:5432/stratus",
        ),
        // Whatever is behind the first `@` would be a host's name.
        ("postgres://me:hid@den@db/stratus", "[malformed]"),
        ("postgres://db/stratus?hidden=hidden", "[malformed]"),
        (
            "postgres://db.example/stratus?user=me&password=hid@den",
            "[malformed]",
        ),
    ] {
        let printed = home.succeed(&["config", "--database-url", url]);
        assert!(
            printed.starts_with(&format!("database_url = \"{shown}\" # flag\n")),
            "{url}: {printed}"
        );
        assert!(
            !printed.contains("hid") && !printed.contains("den"),
            "{url}: {printed}"
        );
    }
}

#[test]
fn what_is_wrong_with_a_databases_url_is_said_without_its_values() {
    let home = Home::sqlite();
    for (url, why) in [
        (
            "postgres://me:hidden@db/stratus?statement_timeout=5s",
            "unknown option `statement_timeout`",
        ),
        (
            "postgres://me:hidden@db/stratus?connect_timeout=hidden",
            "invalid value for option `connect_timeout`",
        ),
        (
            "postgres://me:hidden@db:hidden/stratus",
            "invalid value for option `port`",
        ),
        (
            "postgres://me:hid@den@db/stratus",
            "write `@` as %40 everywhere but before the host",
        ),
        (
            "postgres://db/stratus?password=hid&den=1",
            "it must be sqlite://FILE or postgres://USER:PASSWORD@HOST:PORT/NAME",
        ),
    ] {
        let said = home.fail(&["token", "list", "--project", "shop", "--database-url", url]);
        assert_eq!(said, format!("error: invalid database URL: {why}\n"));
    }
}

#[test]
fn the_settings_that_are_shipped_hold_unless_a_file_says_else() {
    let home = Home::sqlite();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for (settings, around) in [
        ("deploy/stratus.toml", "deploy/stratusd.service"),
        ("deploy/container.toml", "../../Dockerfile"),
    ] {
        let mut command = home.command(&["config"]);
        let output = command
            .env_remove("STRATUS_DATABASE_URL")
            .env("STRATUS_CONFIG", root.join(settings))
            .output();
        let said =
            String::from_utf8(output.expect("the program starts").stdout).expect("it is text");
        assert!(
            said.starts_with("database_url = \"sqlite:///var/lib/stratus/stratus.db\" # file\n"),
            "{said}"
        );
        let around = std::fs::read_to_string(root.join(around)).expect("it is there");
        assert!(around.contains("/etc/stratus/stratus.toml"), "{around}");
        assert!(
            !around.contains("STRATUS_DATABASE_URL"),
            "a variable would count before the file:\n{around}"
        );
    }
}

#[test]
fn help_says_what_there_is() {
    let home = Home::sqlite();
    for command in ["", "serve", "apply", "token issue", "key rotate"] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        assert_snapshot!(
            format!("help {command}").trim().replace(' ', "_"),
            home.succeed(&arguments)
        );
    }
}

#[test]
fn an_inventory_that_is_no_text_is_told_where() {
    let home = Home::sqlite();
    std::fs::write(
        home.path().join("inventory.yaml"),
        b"locations: []\nprojects: [ \xff ]\n",
    )
    .expect("it is writable");
    let said = home.fail(&["apply", "inventory.yaml"]);
    assert!(
        said.contains("inventory.yaml:2:13: must be UTF-8"),
        "{said}"
    );
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
        let file = std::fs::metadata(home.path().join(name)).expect("it is there");
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
