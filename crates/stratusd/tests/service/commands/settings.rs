//! Settings: `stratusd config`, and the errors of wrong settings.

use insta::assert_snapshot;

use crate::support::Home;

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
    let said = String::from_utf8(output.stdout).expect("stdout is UTF-8");
    assert!(
        !said.contains("hidden") && !said.contains("a secret"),
        "{said}"
    );
    assert_snapshot!("settings", said);
    said.parse::<toml::Table>()
        .expect("the printed settings are TOML");
}

#[test]
fn processes_of_one_machine_have_addresses_of_their_own() {
    let home = Home::sqlite();
    let said = home.succeed(&["config"]);
    let addresses = said.lines().filter_map(|line| {
        let (name, value) = line.split_once(" = ")?;
        let address = value.strip_suffix(" # default")?;
        name.ends_with("listen").then_some(address)
    });
    // That of the gateway if only its upstream is set.
    let mut addresses: Vec<&str> = addresses.chain(["\"127.0.0.1:8081\""]).collect();
    addresses.sort_unstable();
    let count = addresses.len();
    addresses.dedup();
    assert_eq!(addresses.len(), count, "two are the same: {said}");
    assert!(count >= 7, "{addresses:?}");
}

#[test]
fn wrong_settings_are_reported_without_their_secrets() {
    let home = Home::sqlite();
    let file = home.path().join("stratus.toml");
    let fails = |arguments: &[&str], text: &str| {
        std::fs::write(&file, text).expect("the folder is writable");
        home.fail(arguments)
    };
    let config = &["config", "--config", "stratus.toml"];
    let mut printed = vec![
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
        fails(config, "database_connections = 1\n"),
        fails(config, "database_connections = 2\nbalance = \"on\"\n"),
        fails(config, "reconcile_lease = \"61m\"\n"),
        fails(config, "audit_retention = \"59m\"\n"),
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
        .expect("stratusd starts");
    printed.push(String::from_utf8_lossy(&keyless.stderr).into_owned());
    std::fs::write(home.keys(), "not a key\n").expect("the folder is writable");
    printed.push(home.fail(&["serve"]));
    let printed = printed.join("\n");
    assert!(!printed.contains("hidden"), "{printed}");
    assert_snapshot!("wrong_settings", printed);
}

#[test]
fn an_error_names_the_flag_or_the_variable_that_gave_the_value() {
    let home = Home::sqlite();
    let fails = |arguments: &[&str]| {
        let output = home
            .command(arguments)
            .env("STRATUS_IDLE_TIMEOUT", "soon")
            .output()
            .expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("stderr is UTF-8")
    };
    let printed = fails(&["serve"]);
    assert!(
        printed.starts_with("error: invalid value 'soon' for 'STRATUS_IDLE_TIMEOUT': "),
        "{printed}"
    );
    for flag in [&["--idle-timeout", "later"][..], &["--idle-timeout=later"]] {
        let printed = fails(&[&["serve"], flag].concat());
        assert!(
            printed.starts_with("error: invalid value 'later' for '--idle-timeout <DURATION>': "),
            "{printed}"
        );
    }
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
        // The parser would take everything after the first `@` for a host name.
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
fn errors_about_a_database_url_do_not_contain_its_values() {
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
fn shipped_settings_are_not_overridden_by_the_unit_or_the_image() {
    let home = Home::sqlite();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let database = "database_url = \"sqlite:///var/lib/stratus/stratus.db\" # file";
    let provisioner = "provisioner = \"local\" # file";
    let (installed, of_provision) = ("/etc/stratus/stratus.toml", "/etc/stratus/provision.toml");
    for (settings, line, around, path) in [
        (
            "stratus.toml",
            database,
            "deploy/stratusd.service",
            installed,
        ),
        (
            "stratus.toml",
            database,
            "deploy/stratusd-balance.service",
            installed,
        ),
        (
            "provision.toml",
            provisioner,
            "deploy/stratusd-provision.service",
            of_provision,
        ),
        ("container.toml", database, "../../Dockerfile", installed),
    ] {
        let (name, _) = line.split_once(' ').expect("it has a name");
        let variable = format!("STRATUS_{}", name.to_uppercase());
        let mut command = home.command(&["config"]);
        let output = command
            .env_remove(&variable)
            .env("STRATUS_CONFIG", root.join("deploy").join(settings))
            .output();
        let said =
            String::from_utf8(output.expect("the program starts").stdout).expect("it is text");
        assert!(said.lines().any(|said| said == line), "{said}");
        let around =
            std::fs::read_to_string(root.join(around)).expect("the file of the deployment exists");
        assert!(around.contains(path), "{around}");
        assert!(
            !around.contains(&variable),
            "a variable would count before the file:\n{around}"
        );
    }
}
