//! What `cargo xtask serve` prints, typed as it stands.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::cluster::binaries::lookup_binary;
use crate::support::cluster::free_port;
use crate::support::{eventually, leave_out, servers};

use super::{Machine, PROGRAM, ROOT};

/// Sends a request as curl does for the words after its name. Returns the status and the body.
async fn curl(line: &str) -> (u16, String) {
    let words = shlex::split(line).expect("a line of a shell");
    let http = reqwest::Client::new();
    let mut request = http.get(words.last().expect("the last word of curl is the URL"));
    for pair in words.windows(2) {
        match (pair[0].as_str(), pair[1].as_str()) {
            ("-H", header) => {
                let (name, value) = header.split_once(": ").expect("a header");
                request = request.header(name, value);
            }
            ("-d", body) => {
                let url = words.last().expect("the URL");
                request = http
                    .post(url)
                    .body(body.to_owned())
                    .headers(request.build().expect("a request").headers().clone());
            }
            _ => {}
        }
    }
    let response = request.send().await.expect("the demo responds");
    (
        response.status().as_u16(),
        response.text().await.expect("a body"),
    )
}

/// Prepares a demo in a folder, and returns what it is served with, at free ports.
fn prepare(folder: &Path) -> (launch::Service, launch::Addresses) {
    // As servers want it, which run as other users.
    fs::set_permissions(folder, Permissions::from_mode(0o711)).expect("the test owns it");
    let root = Path::new(ROOT);
    let service = launch::Service::with_program(PROGRAM.into(), root, folder.join("demo"));
    let addresses = launch::Addresses {
        listen: ([127, 0, 0, 1], free_port()).into(),
        management_listen: ([127, 0, 0, 1], free_port()).into(),
    };
    (service.expect("the demo is prepared"), addresses)
}

/// Returns what is printed for a demo with programs of PostgreSQL, and the command that serves it.
fn announce(
    (service, addresses): &(launch::Service, launch::Addresses),
    programs: &[PathBuf],
) -> (String, Command) {
    let mut printed = Vec::new();
    let serve = launch::announce(service, *addresses, programs, &mut printed);
    let printed = String::from_utf8(printed).expect("it prints text");
    (printed, serve.expect("it is printed"))
}

#[tokio::test]
async fn the_demo_prints_its_page_and_three_calls_that_work() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let demo = prepare(folder.path());
    let (printed, mut serve) = announce(&demo, &[]);
    let mut machine = Machine::new();
    machine.service = Some(serve.spawn().expect("the program starts"));
    let page = printed.lines().find_map(|line| line.strip_prefix("docs "));
    let page = page.expect("it prints the link").trim();
    let http = reqwest::Client::new();
    let body = eventually(async || http.get(page).send().await.ok()?.text().await.ok()).await;
    assert!(body.expect("the demo starts").contains("swagger"), "{page}");
    let calls: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("curl -H"))
        .collect();
    assert_eq!(calls.len(), 3, "{printed}");
    for call in calls {
        let (status, body) = curl(call).await;
        assert_eq!(status, 200, "{call}: {body}");
    }
    // The line of the load balancer, without its comment.
    let line = printed.lines().find(|line| line.starts_with("curl http"));
    let line = line.expect("it prints the URL of a load balancer");
    let url = line.split_whitespace().nth(1).expect("a URL");
    let mut names = std::collections::BTreeSet::new();
    let both = eventually(async || {
        let name = http.get(url).header("connection", "close").send().await;
        names.insert(name.ok()?.text().await.ok()?);
        (names.len() == 2).then_some(())
    });
    let both = both.await;
    assert!(both.is_some(), "{line} has reached {names:?}");
    assert_eq!(names.into_iter().collect::<String>(), "hello-1\nhello-2\n");
    // With programs too, the database that was created stays simulated, and nobody can connect to it.
    let Some(programs) = servers::binaries(folder.path(), "17") else {
        return;
    };
    for printed in [printed, announce(&demo, &[programs]).0] {
        assert!(
            printed.contains("Postgres databases are simulated"),
            "{printed}"
        );
        assert!(!printed.contains("psql"), "{printed}");
    }
}

/// The servers of a demo, which are ended when this is dropped.
struct Ended(PathBuf);

impl Drop for Ended {
    fn drop(&mut self) {
        servers::end(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_prints_how_to_connect_where_databases_run() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().expect("a folder can be made");
    // Not that of a database which is created without one.
    let Some(programs) = servers::binaries(folder.path(), "18") else {
        return;
    };
    let demo = prepare(folder.path());
    let (printed, mut serve) = announce(&demo, &[programs]);
    let _ended = Ended(folder.path().join("demo/stratus.db-postgres"));
    let mut machine = Machine::new();
    serve.env("STRATUS_LOCAL_FIRST_UID", servers::first_user().to_string());
    machine.service = Some(serve.spawn().expect("the program starts"));
    let line = |start: &str| {
        let line = printed.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("no line begins with {start}: {printed}"))
    };
    line("Postgres databases are servers on this machine");
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(
        printed.contains("WARNING: they are not isolated"),
        !is_root,
        "{printed}"
    );
    let create = printed.lines().find(|line| line.contains(" -d "));
    let create = create.expect("it prints how to create a database");
    let url = create.split_whitespace().last().expect("a URL");
    let http = reqwest::Client::new();
    let starts = eventually(async || http.get(url).send().await.ok());
    starts.await.expect("the demo starts");
    let (status, body) = curl(create).await;
    assert_eq!(status, 200, "{create}: {body}");
    let (_, view) = line("psql").split_once("$(").expect("it asks the service");
    let (view, _) = view
        .split_once(" | grep")
        .expect("it takes the string alone");
    let made = eventually(async || {
        let made: serde_json::Value = serde_json::from_str(&curl(view).await.1).ok()?;
        made["connection_string"].is_string().then_some(made)
    });
    let made = made.await.expect("the database runs");
    let client = servers::connect(&made)
        .await
        .expect("its owner can connect");
    client.query_one("SELECT 1", &[]).await.expect("it answers");
    // The line as it stands, with a query in place of a terminal.
    let (Some(psql), Some(_)) = (lookup_binary("psql"), lookup_binary("curl")) else {
        leave_out("psql or curl is not installed");
        return;
    };
    let (command, _) = line("psql").split_once("    #").expect("it has a comment");
    let command = format!("{command} --no-psqlrc --tuples-only --command 'SELECT 40 + 2'");
    let folder = psql.parent().expect("it is in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::env::split_paths(&path).chain([folder]));
    let typed = Command::new("sh")
        .args(["-c", &command])
        .env("PATH", path.expect("folders without a colon"))
        .output()
        .expect("there is a shell");
    let [said, wrong] =
        [&typed.stdout, &typed.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(said.trim(), "42", "{command}: {wrong}");
}
