//! Settings of the gateway: what has no effect is refused, and the credential is never shown.

use crate::support::Home;

const UPSTREAM: &str = "gateway_upstream = \"http://localhost:8000\"\n";

#[test]
fn a_setting_without_effect_is_refused() {
    let home = Home::sqlite();
    let fails = |text: &str| {
        std::fs::write(home.path().join("stratus.toml"), text).expect("the folder is writable");
        home.fail(&["config", "--config", "stratus.toml"])
    };
    for (upstream, text, words) in [
        (
            "",
            "gateway_key_requests = 3",
            "gateway_key_requests has no effect without gateway_upstream or gateway_listen",
        ),
        (
            "",
            "gateway_upstream_key = \"hidden\"",
            "gateway_upstream_key has no effect without",
        ),
        (
            "gateway_listen = \"127.0.0.1:1\"\n",
            "gateway_body_limit = 2048",
            "gateway_body_limit has no effect without gateway_upstream, since nothing is forwarded",
        ),
        (
            "gateway_listen = \"127.0.0.1:1\"\n",
            "gateway_upstream_key_file = \"key\"",
            "gateway_upstream_key_file has no effect",
        ),
        (
            UPSTREAM,
            "gateway_key_rate_burst = 3",
            "gateway_key_rate_burst has no effect without gateway_key_rate_limit",
        ),
        (
            UPSTREAM,
            "gateway_project_rate_burst = 3",
            "gateway_project_rate_burst has no effect without gateway_project_rate_limit",
        ),
        (
            UPSTREAM,
            "gateway_key_rate_limit = 3\ngateway_project_rate_limit = 2",
            "gateway_key_rate_limit has no effect above",
        ),
        (
            UPSTREAM,
            "gateway_key_requests = 3\ngateway_project_requests = 2",
            "gateway_key_requests has no effect above",
        ),
        (
            UPSTREAM,
            "gateway_upstream_key = \"hidden\"\ngateway_upstream_key_file = \"key\"",
            "are both set",
        ),
        (
            "",
            "gateway_upstream = \"http://me:hidden@localhost\"",
            "must be an HTTP URL without user",
        ),
        (
            "",
            "gateway_upstream = \"http://localhost/?key=hidden\"",
            "must be an HTTP URL without user",
        ),
        (
            "",
            "gateway_upstream = \"localhost:8000\"",
            "must be an HTTP URL without user",
        ),
        (
            "",
            "gateway_upstream = \"ftp://localhost\"",
            "must be an HTTP URL without user",
        ),
        (
            "",
            "gateway_upstream = \"http://localhost/v1#hidden\"",
            "must be an HTTP URL without user",
        ),
    ] {
        let printed = fails(&format!("{upstream}{text}\n"));
        assert!(
            printed.contains(words) && !printed.contains("hidden"),
            "{text}: {printed}"
        );
    }
}

#[test]
fn a_limit_of_projects_may_be_below_the_default_of_keys() {
    let home = Home::sqlite();
    let text = format!("{UPSTREAM}gateway_project_requests = 2\n");
    std::fs::write(home.path().join("stratus.toml"), text).expect("the folder is writable");
    let printed = home.succeed(&["config", "--config", "stratus.toml"]);
    assert!(
        printed.contains("gateway_upstream = \"http://localhost:8000/v1\" # file"),
        "{printed}"
    );
}

#[test]
fn the_credential_of_the_upstream_is_never_shown() {
    let home = Home::sqlite();
    let upstream = ["--gateway-upstream", "http://localhost:8000"];
    let run = |command: &str, key: &str| {
        let arguments = [&[command][..], &upstream].concat();
        let mut command = home.command(&arguments);
        command
            .env("STRATUS_GATEWAY_UPSTREAM_KEY", key)
            .output()
            .expect("it starts")
    };
    let shown = run("config", "hidden");
    assert!(shown.status.success());
    let shown = String::from_utf8(shown.stdout).expect("it is text");
    let line = "gateway_upstream_key = \"[redacted]\" # environment\n";
    assert!(shown.contains(line) && !shown.contains("hidden"), "{shown}");
    for key in ["hidden\nhidden", "hidden key", "hiddén"] {
        let refused = run("serve", key);
        let refused = String::from_utf8(refused.stderr).expect("it is text");
        assert!(refused.contains("must be one line of ASCII"), "{refused}");
        assert!(!refused.contains("hidd"), "{refused}");
    }
    let missing = [
        &["serve"][..],
        &upstream,
        &["--gateway-upstream-key-file", "missing"],
    ]
    .concat();
    let refused = home.fail(&missing);
    assert!(refused.contains("failed to read missing"), "{refused}");
}
