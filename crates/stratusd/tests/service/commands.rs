//! The operator's commands: inventories, plans, settings.

use insta::{assert_json_snapshot, assert_snapshot};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

on_both! {
    async fn an_inventory_is_applied_once_and_changes_nothing_twice(home: Home) {
        let plan = home.path().join("inventory.yaml");
        std::fs::write(&plan, two_projects()).expect("the folder is writable");
        let planned = home.succeed(&["apply", "--dry-run", "inventory.yaml"]);
        assert!(planned.ends_with("35 to create, 0 to update, 0 to delete: planned, nothing was changed\n"), "{planned}");
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
        assert!(kept.contains("  project shop: vm eu-central-h1/app-1 (not in the inventory, kept without --prune)"), "{kept}");
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
        assert_eq!(home.apply(&two_projects()), "0 to create, 0 to update, 0 to delete: applied\n");
        let vm = serde_json::json!({ "vm_id": caller.get("/location/eu-central-h1/vm").await.ok()["items"][0]["id"] });
        assert_eq!(caller.post(&format!("{web}/detach-vm"), vm).await.ok(), changed);
    }

    async fn a_database_of_a_newer_version_is_refused(home: Home) {
        home.apply(&two_projects());
        if let Some(file) = home.database_url.strip_prefix("sqlite://") {
            let connection = rusqlite::Connection::open(file).expect("it opens");
            connection.pragma_update(None, "user_version", 9999).expect("it is written");
        } else {
            use sqlx::{Connection, Executor};
            let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                         VALUES (9999, 'of tomorrow', TRUE, 'x', 0)";
            let mut connection = sqlx::PgConnection::connect(&home.database_url).await.expect("it opens");
            connection.execute(newer).await.expect("it is written");
        }
        for command in [&["serve"][..], &["token", "list", "--project", "shop"]] {
            let said = home.fail(command);
            assert!(said.contains("the database is newer than this program"), "{said}");
        }
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
    ];
    let told: Vec<String> = cases.into_iter().map(said).collect();
    let missing = home.fail(&["apply", "missing.yaml"]);
    assert_snapshot!("wrong_inventories", format!("{}\n{missing}", told.join("\n")));
}

#[test]
fn the_schema_of_inventories_is_published() {
    let home = Home::sqlite();
    let schema: serde_json::Value = serde_json::from_str(&home.succeed(&["schema"])).expect("it is JSON");
    assert_json_snapshot!("inventory_schema", schema);
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/inventory.schema.json");
    let published = std::fs::read_to_string(published).expect("the schema is beside the crate");
    assert_eq!(published, format!("{schema:#}\n"), "run `stratusd schema > crates/stratusd/inventory.schema.json`");
    // Another judge of the schema and of an inventory.
    let validator = jsonschema::draft202012::new(&schema).expect("it is a schema");
    assert!(validator.is_valid(&serde_json::json!({ "locations": [{ "name": "here" }], "projects": [] })));
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
            "postgres://me:hidden@db/stratus?password=hidden",
        ])
        .env("STRATUS_LISTEN", "127.0.0.1:2")
        .env("STRATUS_SERVICE_DOMAIN", "b.example")
        .env("STRATUS_ENCRYPTION_KEYS", "a secret")
        .env("STRATUS_ENCRYPTION_KEYS_FILE", "keys")
        .output()
        .expect("the program starts");
    let said = String::from_utf8(output.stdout).expect("it is text");
    assert!(!said.contains("hidden") && !said.contains("a secret"), "{said}");
    assert_snapshot!("settings", said);
    said.parse::<toml::Table>().expect("what is printed is a file of settings");
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
        fails(config, "listn = \"x\"\n").split(';').next().expect("something is said").to_owned() + "\n",
        fails(config, "listen = \"x\"\n"),
        fails(config, "listen = [1]\n"),
        fails(config, "database_url = \"postgres://me:hidden@db\n"),
        fails(&["serve", "--database-url", "mysql://me:hidden@db/x"], ""),
        fails(&["serve", "--idle-timeout", "soon"], ""),
        fails(&["serve", "--listen", "127.0.0.1:0", "--management-listen", "256.0.0.1:1"], ""),
    ];
    let keyless = home.command(&["serve"]).env_remove("STRATUS_ENCRYPTION_KEYS_FILE").output().expect("it starts");
    told.push(String::from_utf8_lossy(&keyless.stderr).into_owned());
    std::fs::write(home.keys(), "not a key\n").expect("the folder is writable");
    told.push(home.fail(&["serve"]));
    let told = told.join("\n");
    assert!(!told.contains("hidden"), "{told}");
    assert_snapshot!("wrong_settings", told);
}

#[test]
fn help_says_what_there_is() {
    let home = Home::sqlite();
    for command in ["", "serve", "apply", "token issue", "key rotate"] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        assert_snapshot!(format!("help {command}").trim().replace(' ', "_"), home.succeed(&arguments));
    }
}
