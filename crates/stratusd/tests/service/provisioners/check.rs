//! `stratusd check-provisioner`: it passes what keeps the rules, and finds what breaks each of them.

use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};

use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;

use super::{provision, token_file};
use crate::support::provisioner::{Fake, TOKEN};
use crate::support::{Home, eventually, leave_out};

/// The rules that can be broken without a server to connect to.
const RULES: [&str; 34] = [
    "view",
    "events",
    "no-token",
    "wrong-token",
    "unknown-path",
    "no-json",
    "missing-property",
    "wrong-type",
    "unknown-property",
    "large-body",
    "unknown-database",
    "unknown-delete",
    "lost",
    "create",
    "flavor",
    "offered-sizes",
    "create-again",
    "observe",
    "connection",
    "restrict",
    "set-password",
    "restart",
    "storage",
    "shrink",
    "window",
    "size",
    "older",
    "upgrades",
    "promote-alone",
    "promote",
    "together",
    "delete-unfinished",
    "delete",
    "delete-again",
];

/// The rules that are checked through a connection to a database.
const CONNECTED: [&str; 3] = ["password-opens", "restrict-closes", "restart-once"];

/// The rules that a simulator cannot be checked for.
const TAKEN: [&str; 5] = ["events", "lost", "flavor", "offered-sizes", "shrink"];

/// Checks a provisioner. Returns whether it passes, and what is printed.
async fn check(url: &str, more: &'static [&'static str]) -> (bool, String) {
    let home = Home::sqlite();
    let file = token_file(&home);
    let url = url.to_owned();
    let checked = spawn_blocking(move || {
        let settings = ["check-provisioner", &url, "--provisioner-token-file", &file];
        home.run(&[&settings, more].concat())
    });
    let output = checked.await.expect("it does not panic");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (
        output.status.success(),
        said + &String::from_utf8_lossy(&output.stderr),
    )
}

/// Returns the names of rules with a verdict.
fn rules<'s>(said: &'s str, verdict: &str) -> Vec<&'s str> {
    let lines = said.lines().filter_map(|line| line.strip_prefix(verdict));
    lines
        .filter_map(|line| line.trim().split(':').next())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioner_that_keeps_the_rules_passes() {
    let home = Home::sqlite();
    let provisioner = provision(&home, "127.0.0.1:0", &[]);
    let (is_kept, said) = check(&provisioner.base, &[]).await;
    assert!(is_kept, "{said}");
    // A simulator accepts databases that it has not made, and every size.
    let is_checked = |rule: &&str| !TAKEN.contains(rule);
    let all: Vec<&str> = RULES.into_iter().filter(is_checked).collect();
    assert_eq!(rules(&said, "passed "), all, "{said}");
    assert_eq!(
        rules(&said, "skipped ").len(),
        TAKEN.len() + CONNECTED.len(),
        "{said}"
    );
    let fake = Fake::start("").await;
    let (is_kept, said) = check(&fake.url, &["--no-connections"]).await;
    assert!(is_kept, "{said}");
    assert_eq!(rules(&said, "passed "), RULES, "{said}");
    assert!(!said.contains(TOKEN), "{said}");
    assert!(fake.known.databases.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioner_that_breaks_a_rule_is_found_out() {
    let checks = RULES.map(|rule| async move {
        let fake = Fake::start(rule).await;
        let (is_kept, said) = check(&fake.url, &["--no-connections", "--patience", "10s"]).await;
        (rule, is_kept, said)
    });
    for (rule, is_kept, said) in join_all(checks).await {
        assert!(!is_kept, "{rule}: {said}");
        assert!(rules(&said, "failed ").contains(&rule), "{rule}: {said}");
        assert!(said.contains("does not keep all rules"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_of_upgrades_that_cannot_be_is_found_out() {
    let offers = [
        (
            "upgrades-earlier",
            "it upgrades from 16 to 16, which is not later",
        ),
        (
            "upgrades-unknown",
            "it upgrades from 16 to 18, which is not one of its versions",
        ),
        ("upgrades-twice", "the upgrades from 16 are listed twice"),
        ("upgrades-unnamed", "from 16 to 18: it responds with 200"),
    ];
    let checks = offers.map(|(broken, wrong)| async move {
        let fake = Fake::start(broken).await;
        let (_, said) = check(&fake.url, &["--no-connections", "--patience", "10s"]).await;
        (wrong, said)
    });
    for (wrong, said) in join_all(checks).await {
        assert_eq!(rules(&said, "failed "), ["upgrades"], "{said}");
        assert!(said.contains(wrong), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_events_that_does_not_fit_is_found_out() {
    let streams = [
        (
            "events",
            "it responds with 200 and the media type `application/json`",
        ),
        (
            "events-unfit",
            "the event data: {\"ids\": []} does not fit the contract",
        ),
        ("events-silent", "no event has come after 10s"),
        ("events-open", "without a token: it has no end"),
    ];
    let checks = streams.map(|(broken, wrong)| async move {
        let fake = Fake::start(broken).await;
        let (_, said) = check(&fake.url, &["--no-connections"]).await;
        (wrong, said)
    });
    for (wrong, said) in join_all(checks).await {
        assert_eq!(rules(&said, "failed "), ["events"], "{said}");
        assert!(said.contains(wrong), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_may_be_available_only_once_it_has_a_password() {
    let fake = Fake::start("opened-by-password").await;
    let (is_kept, said) = check(&fake.url, &["--no-connections", "--patience", "5s"]).await;
    assert!(is_kept, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioner_may_postpone_steps() {
    let fake = Fake::start("busy-now-and-then").await;
    let (is_kept, said) = check(&fake.url, &["--no-connections"]).await;
    assert!(is_kept, "{said}");
    assert_eq!(rules(&said, "passed "), RULES, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioner_that_only_postpones_is_found_out() {
    let fake = Fake::start("busy").await;
    let (is_kept, said) = check(&fake.url, &["--no-connections", "--patience", "100ms"]).await;
    assert!(!is_kept, "{said}");
    for rule in ["unknown-database", "create", "delete-unfinished"] {
        assert!(rules(&said, "failed ").contains(&rule), "{rule}: {said}");
    }
    assert!(said.contains("it responds with 503: "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_service_has_recorded_is_sent_as_the_service_sends_it() {
    let fake = Fake::start("known").await;
    let (is_kept, said) = check(&fake.url, &["--no-connections", "--patience", "5s"]).await;
    assert!(!is_kept, "{said}");
    for rule in ["create-again", "observe", "restart", "size"] {
        assert!(rules(&said, "failed ").contains(&rule), "{rule}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_that_gets_no_response_is_found_out() {
    let fake = Fake::start("large-body-hangs").await;
    let more = &["--no-connections", "--provisioner-timeout", "2s"];
    let (is_kept, said) = check(&fake.url, more).await;
    assert!(!is_kept, "{said}");
    assert_eq!(rules(&said, "failed "), ["large-body"], "{said}");
    assert!(said.contains("it does not respond within 2s"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioner_may_close_the_connection_on_which_it_refused_a_large_body() {
    let fake = Fake::start("large-body-closes").await;
    let (is_kept, said) = check(&fake.url, &["--no-connections"]).await;
    assert!(is_kept, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_to_the_same_size_are_not_checked() {
    // It would break both rules.
    let fake = Fake::start("window").await;
    let more = &[
        "--no-connections",
        "--sizes",
        "standard-2",
        "standard-2",
        "--storage",
        "64",
        "64",
    ];
    let (is_kept, said) = check(&fake.url, more).await;
    assert!(is_kept, "{said}");
    for rule in ["storage", "shrink", "window", "size"] {
        assert!(rules(&said, "skipped ").contains(&rule), "{rule}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_is_interrupted_deletes_what_it_has_made() {
    let home = Home::sqlite();
    let file = token_file(&home);
    // Its creations never end.
    let fake = Fake::start("create").await;
    let mut command = home.command(&[
        "check-provisioner",
        &fake.url,
        "--provisioner-token-file",
        &file,
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let running = command.spawn().expect("it starts");
    let is_made = async || (!fake.known.databases.lock().unwrap().is_empty()).then_some(());
    eventually(is_made).await.expect("a database is made");
    kill_process(Pid::from_child(&running), Signal::INT).expect("it runs");
    let ended = spawn_blocking(move || running.wait_with_output()).await;
    let ended = ended.expect("it does not panic").expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success(), "{said}");
    assert!(
        said.contains("was interrupted: its databases are deleted"),
        "{said}"
    );
    assert!(fake.known.databases.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioner_that_does_not_respond_fails() {
    let (is_kept, said) = check("http://127.0.0.1:1", &[]).await;
    assert!(!is_kept);
    assert!(
        said.contains("there is no response: Connection refused"),
        "{said}"
    );
    assert!(!said.contains(TOKEN), "{said}");
}

/// A process that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_python_passes() {
    if Command::new("python3").arg("--version").output().is_err() {
        leave_out("python3 is not installed");
        return;
    }
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/provisioner/provisioner.py"
    );
    let address = super::free_address(Ipv4Addr::LOCALHOST);
    let (_, port) = address.split_once(':').expect("it has a port");
    let mut command = Command::new("python3");
    command.arg(script).env("PORT", port).env("TOKEN", TOKEN);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let _running = Running(command.spawn().expect("python3 starts"));
    let url = format!("http://{address}");
    let listens = eventually(async || TcpStream::connect(&address).await.ok());
    listens.await.expect("the example listens");
    let (is_kept, said) = check(&url, &[]).await;
    assert!(is_kept, "{said}");
    // It is simulated, and sends no events.
    assert_eq!(rules(&said, "passed ").len(), RULES.len() - 2, "{said}");
}
