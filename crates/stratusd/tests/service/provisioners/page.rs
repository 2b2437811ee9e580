//! The commands of docs/provisioners.md, and those of docs/operating.md about another process.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use provisioner_types::DatabaseEvent;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::net::TcpStream;

use super::free_address;
use crate::support::{Home, eventually, leave_out};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the lines of the shell in the section of a heading.
fn lines(page: &str, heading: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("{ROOT}/docs/{page}")).expect("the page is there");
    let (_, rest) = text.split_once(heading).expect("the page has the heading");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// A line that runs until it is dropped, with all that it has started.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Returns a line as a command of the shell, with the port of the page replaced.
fn shell(home: &Home, line: &str, port: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_stratusd");
    let line = line
        .replace("8082", port)
        .replace("examples/", &format!("{ROOT}/examples/"))
        .replace("stratusd ", &format!("{program} "));
    // For the settings of the test, which are those of a service.
    let mut shell = home.command(&["serve"]);
    let variables: Vec<_> = shell
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .filter(|(name, _)| name != "STRATUS_PROVISIONER")
        .collect();
    shell = Command::new("sh");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STRATUS_")) {
        shell.env_remove(name);
    }
    shell
        .args(["-euc", &line])
        .current_dir(home.path())
        .envs(variables);
    shell.env("PORT", port).process_group(0);
    shell
}

fn succeed(home: &Home, line: &str, port: &str) {
    let output = shell(home, line, port).output().expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}{wrong}");
}

/// Starts a line, and waits for its first line of output.
fn start(home: &Home, line: &str, port: &str) -> (Running, String) {
    let mut command = shell(home, line, port);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(command.spawn().expect("there is a shell"));
    let mut first = String::new();
    let stdout = running.0.stdout.take().expect("it is piped");
    let read = BufReader::new(stdout).read_line(&mut first);
    read.expect("it prints text");
    (running, first)
}

#[test]
fn the_events_of_the_page_are_the_example_of_the_protocol() {
    let page = fs::read_to_string(format!("{ROOT}/docs/provisioners.md"));
    let page = page.expect("the page is there");
    let shown = page.split("```text\n").nth(1);
    let shown = shown.and_then(|block| block.split("```").next());
    let protocol = include_str!("../../../provisioner.yaml");
    let protocol: Value = serde_saphyr::from_str(protocol).expect("it is YAML");
    let stream = &protocol["paths"]["/provisioner/events"]["get"]["responses"]["200"];
    let examples = &stream["content"]["text/event-stream"]["examples"];
    let example = examples["changed"]["value"].as_str();
    assert_eq!(shown.map(str::trim_end), example.map(str::trim_end));
    let events = example.into_iter().flat_map(str::lines);
    let events = events.filter_map(|line| line.strip_prefix("data: "));
    let events: Result<Vec<DatabaseEvent>, _> = events.map(serde_json::from_str).collect();
    let events = events.expect("they fit the contract");
    let ids: Vec<_> = events
        .iter()
        .map(|event| event.database_ids.len())
        .collect();
    assert_eq!(ids, [0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_commands_of_the_page_work() {
    let page = lines("provisioners.md", "# Create databases");
    let [token, provisioner, check, serve] = &page[..] else {
        panic!("{page:?}");
    };
    for program in ["python3", "openssl"] {
        if Command::new(program).arg("--version").output().is_err() {
            leave_out(&format!("{program} is not installed"));
            return;
        }
    }
    let home = Home::sqlite();
    let address = free_address(Ipv4Addr::LOCALHOST);
    let (_, port) = address.split_once(':').expect("it has a port");
    succeed(&home, token, port);
    let (_provisioner, said) = start(&home, provisioner, port);
    assert_eq!(said, format!("provisioning on http://{address}\n"));
    succeed(&home, check, port);
    let (_service, said) = start(&home, serve, port);
    assert!(said.starts_with("serving http://"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_a_provisioner_of_ours_work() {
    let page = lines("operating.md", "## Databases of another process");
    let [token, provision, serve] = &page[..] else {
        panic!("{page:?}");
    };
    let home = Home::sqlite();
    let address = free_address(Ipv4Addr::LOCALHOST);
    let (_, port) = address.split_once(':').expect("it has a port");
    if Command::new("openssl").arg("version").output().is_err() {
        leave_out("openssl is not installed");
        return;
    }
    succeed(&home, token, port);
    // Real databases would need PostgreSQL, and an address that other tests do not have.
    let provision = format!(
        "{provision} --provisioner simulated --provision-listen {address} --provision-management-listen 127.0.0.1:0"
    );
    let (_provisioner, said) = start(&home, &provision, port);
    assert!(
        said.starts_with(&format!("provisioning on http://{address}, health on")),
        "{said}"
    );
    let listens = eventually(async || TcpStream::connect(&address).await.ok());
    listens.await.expect("it listens");
    let (_service, said) = start(&home, serve, port);
    assert!(said.starts_with("serving http://"), "{said}");
}
