//! The commands of docs/operating.md, run as an operator types them.

mod demo;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::cluster::{binary, is_left_out};
use crate::support::inventory::SHOP;
use crate::support::servers::Servers;
use crate::support::{Home, leave_out};

const PROGRAM: &str = env!("CARGO_BIN_EXE_stratusd");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Starts of lines that are not run, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo build", "the program is built already"),
    ("sudo useradd", "it changes the machine"),
    ("sudo systemctl", "it needs systemd"),
    ("docker build", "it needs Docker"),
    ("docker run", "it needs Docker"),
];

/// Sections whose lines are not run as they stand, and the tests that do the same.
const ELSEWHERE: [(&str, &str); 4] = [
    ("Inference gateway", "gateway.rs"),
    ("Load balancers", "balancing.rs"),
    ("Databases of another process", "provisioners/page.rs"),
    ("Networks on this machine", "networks.rs"),
];

/// The heading of what the page begins with.
const START: &str = "# Operating stratusd";

/// Returns the sections of the page, each with its heading.
fn sections() -> Vec<String> {
    let path = Path::new(ROOT).join("docs/operating.md");
    let page = fs::read_to_string(path).expect("the page is there");
    page.split("\n## ").map(str::to_owned).collect()
}

/// Returns the lines of the shell of a section, of which those that end in a backslash are joined
/// with the next one.
fn lines(heading: &str) -> Vec<String> {
    let sections = sections();
    let is_it = |section: &&String| section.lines().next() == Some(heading);
    let text = sections
        .iter()
        .find(is_it)
        .expect("the page has the section");
    let blocks = text.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    let joined: String = blocks.collect::<String>().replace("\\\n", " ");
    let lines = joined.lines().filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// A clone of the repository, as far as the commands need one, on a machine of its own.
struct Machine {
    folder: TempDir,
    /// The lines that set variables.
    exports: Vec<String>,
    variables: Vec<(String, String)>,
    service: Option<Child>,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let machine = Self {
            folder,
            exports: Vec::new(),
            variables: Vec::new(),
            service: None,
        };
        let folders = [
            "target/release",
            "crates/stratusd/deploy",
            "usr/local/bin",
            "etc/systemd/system",
            "var/lib/stratus",
        ];
        for folder in folders {
            fs::create_dir_all(machine.path(folder)).expect("a folder can be made");
        }
        symlink(PROGRAM, machine.path("target/release/stratusd")).expect("a link can be made");
        let source = Path::new(ROOT).join("crates/stratusd");
        for file in [
            "demo.yaml",
            "deploy/stratusd.service",
            "deploy/stratusd-balance.service",
            "deploy/stratusd-network.service",
            "deploy/stratusd-provision.service",
            "deploy/stratus.toml",
            "deploy/provision.toml",
            "deploy/container.toml",
        ] {
            let text = fs::read_to_string(source.join(file)).expect("the file is there");
            let file = machine.path("crates/stratusd").join(file);
            fs::write(file, machine.here(&text)).expect("the folder is writable");
        }
        fs::copy(source.join("demo.yaml"), machine.path("inventory.yaml")).expect("it is there");
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Returns a text with the folders of the system replaced by those of this machine, and the
    /// names that the page uses by those of the demo.
    fn here(&self, text: &str) -> String {
        let mut text = text.replace("--project NAME", "--project demo");
        for folder in ["/etc/", "/usr/local/", "/var/lib/"] {
            let own = format!("{}{folder}", self.folder.path().display());
            text = text.replace(folder, &own);
        }
        text
    }

    /// Returns a command of the shell with the variables of this machine.
    fn shell(&self, line: &str) -> Command {
        let script = [&self.exports[..], &[line.to_owned()]].concat().join("\n");
        let mut shell = Command::new("sh");
        shell
            .args(["-euc", &script])
            .current_dir(self.folder.path());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STRATUS_")) {
            shell.env_remove(name);
        }
        // The ports that the settings name may be taken.
        for setting in ["STRATUS_LISTEN", "STRATUS_MANAGEMENT_LISTEN"] {
            shell.env(setting, "127.0.0.1:0");
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let own = self.path("target/release");
        shell.env("PATH", format!("{}:{path}", own.display()));
        shell.envs(self.variables.iter().cloned());
        shell
    }

    /// Runs a line, which has to succeed. Returns what it prints.
    fn run(&self, line: &str) -> String {
        let output = self.shell(line).output().expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts the service by a line, and waits until it serves.
    fn serve(&mut self, line: &str) {
        let mut shell = self.shell(&format!("exec {line}"));
        let mut child = shell
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let mut said = String::new();
        let stdout = child.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut said)
            .expect("it prints text");
        self.service = Some(child);
        assert!(said.starts_with("serving http://"), "{line}: {said}");
    }

    fn stop(&mut self) {
        if let Some(mut service) = self.service.take() {
            let _ = service.kill();
            let _ = service.wait();
        }
    }

    /// Runs the lines of a section that do not need another machine or PostgreSQL. Returns the
    /// others.
    fn follow(&mut self, section: &str) -> Vec<String> {
        let mut others = Vec::new();
        for line in lines(section) {
            if NOT_RUN.iter().any(|(start, _)| line.starts_with(start)) {
                continue;
            }
            // What only chooses the user or the container.
            let command = line
                .replace("--group stratus ", "")
                .replace("--project shop", "--project demo");
            let command = command
                .replace("sudo -u stratus ", "")
                .replace("sudo install", "install");
            let command = command
                .replace("docker exec stratusd ", "")
                .replace("docker exec --interactive stratusd ", "");
            let command = match command.split_once("/usr/local/bin/stratusd key") {
                Some((starter, rest)) if starter.starts_with("sudo systemd-run ") => {
                    // systemd replaces the variable, in single quotes too.
                    format!("stratusd key{rest}")
                        .replace("${CREDENTIALS_DIRECTORY}", "/etc/stratus")
                }
                _ => command,
            };
            let command = self.here(&command);
            match command.split_whitespace().next() {
                Some("export") => self.exports.push(command),
                Some("stratusd") if command.starts_with("stratusd serve") => self.serve(&command),
                Some("pg_dump" | "createdb") => others.push(command),
                _ => {
                    // To restore, stop every replica.
                    if command.starts_with("rm ") {
                        self.stop();
                    }
                    self.run(&command);
                }
            }
        }
        others
    }
}

/// Returns whether a program is installed, and prints a note if not.
fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !is_there {
        leave_out(&format!("{program} is not installed"));
    }
    is_there
}

#[test]
fn the_first_start_the_audit_trail_and_the_backup_are_as_the_page_says() {
    if !has("sqlite3") {
        return;
    }
    let mut machine = Machine::new();
    assert_eq!(machine.follow(START), [""; 0]);
    assert_eq!(machine.follow("Audit trail"), [""; 0]);
    // Done after the backup, which does not have it.
    let others = machine.follow("Back up and restore");
    assert_eq!(others.len(), 2, "{others:?}");
    assert_eq!(
        machine
            .run("stratusd token list --project demo")
            .lines()
            .count(),
        1
    );
    restore_on_postgres(machine, &others);
}

/// Makes a backup on PostgreSQL and restores it.
fn restore_on_postgres(mut machine: Machine, lines: &[String]) {
    let Some(home) = Home::postgres() else {
        return;
    };
    let url = &home.database_url;
    let server = reqwest::Url::parse(url).expect("it is a URL");
    let programs = binary("pg_dump");
    let programs = programs.parent().expect("a file has a folder").display();
    let path = std::env::var("PATH").unwrap_or_default();
    machine
        .exports
        .push(format!("export STRATUS_DATABASE_URL='{url}'"));
    machine.variables = vec![
        ("URL".to_owned(), url.clone()),
        (
            "PGHOST".to_owned(),
            server.host_str().unwrap_or_default().to_owned(),
        ),
        (
            "PGPORT".to_owned(),
            server.port().unwrap_or(5432).to_string(),
        ),
        ("PGUSER".to_owned(), server.username().to_owned()),
        (
            "PGPASSWORD".to_owned(),
            server.password().unwrap_or_default().to_owned(),
        ),
        (
            "PATH".to_owned(),
            format!(
                "{}:{programs}:{path}",
                machine.path("target/release").display()
            ),
        ),
    ];
    machine.run("stratusd apply inventory.yaml && stratusd token issue --project demo");
    for line in lines {
        machine.run(line);
    }
    let (server, _) = url.rsplit_once('/').expect("the URL names a database");
    machine
        .exports
        .push(format!("export STRATUS_DATABASE_URL='{server}/restored'"));
    assert_eq!(
        machine
            .run("stratusd token list --project demo")
            .lines()
            .count(),
        1
    );
}

#[test]
fn the_commands_for_systemd_and_containers_are_as_the_page_says() {
    let mut machine = Machine::new();
    assert_eq!(machine.follow("systemd"), [""; 0]);
    machine.run("test -x usr/local/bin/stratusd");

    let mut machine = Machine::new();
    let settings = machine.path("crates/stratusd/deploy/container.toml");
    let key = machine.run("stratusd key generate");
    machine.variables = vec![
        ("STRATUS_CONFIG".to_owned(), settings.display().to_string()),
        ("STRATUS_ENCRYPTION_KEYS".to_owned(), key.trim().to_owned()),
    ];
    assert_eq!(machine.follow("Containers"), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_for_databases_on_this_machine_are_as_the_page_says() {
    let lines = lines("Databases on this machine");
    let [serve, place, create, connect, restore] = &lines[..] else {
        panic!("{lines:?}");
    };
    // Their programs, addresses and ports are those of the test.
    assert_eq!(serve, "stratusd serve --provisioner local");
    if is_left_out() {
        return;
    }
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let path = "/location/eu-central-h1/postgres/orders";
    let variables = [
        ("TOKEN", servers.token.clone()),
        ("PROJECT", SHOP.to_owned()),
    ];
    let place = place.replace("http://127.0.0.1:8080", &service.base);
    let psql = binary("psql");
    let programs = psql.parent().expect("a file has a folder").display();
    let run = |line: &str| {
        let mut shell = Command::new("sh");
        shell
            .args(["-euc", &format!("{place}\n{line}")])
            .envs(variables.clone());
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{path}:{programs}"));
        let output = shell.stdin(Stdio::null()).output();
        let output = output.expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
    };
    run(create);
    let caller = servers.caller(&service);
    let is_known = |database: &serde_json::Value| database["connection_string"].is_string();
    let made = caller.wait_for(path, is_known).await;
    run(connect);
    // Its folders and its time are those of the test.
    let is_backed_up = |now: &serde_json::Value| now["earliest_restore_time"].is_string();
    let now = caller.wait_for(path, is_backed_up).await;
    let id = made["id"].as_str().expect("it has an id");
    let backups = servers.folder().join("backups").join(id);
    let into = servers.home.path().join("restored");
    let until = now["earliest_restore_time"].as_str().expect("it is known");
    let line = restore
        .replace(
            "stratusd restore-database ",
            &format!("{PROGRAM} restore-database "),
        )
        .replace(
            "/var/backups/stratus/pgt10a2ct09p45wb0b42xgnrf3",
            &backups.display().to_string(),
        )
        .replace("/tmp/orders", &into.display().to_string())
        .replace("2026-03-02T17:30:00Z", until);
    run(&line);
    assert!(into.join("data/PG_VERSION").exists());
}

/// Returns a default as `stratusd config` prints it, in the units that it has, or `None` if there is none.
fn printed(default: &str) -> Option<String> {
    let default = default.replace(',', "");
    let number = |text: &str| text.parse::<u64>().expect("it is a number");
    match default.split_once(' ') {
        None if default == "none" => None,
        None => Some(default),
        Some((count, "KiB")) => Some((number(count) << 10).to_string()),
        Some((count, "MiB")) => Some((number(count) << 20).to_string()),
        Some((count, "s")) => Some(format!("{count}s")),
        Some((count, "min")) => Some(format!("{}s", number(count) * 60)),
        Some((count, "d")) => Some(format!("{count}d")),
        Some((_, unit)) => panic!("no unit of a default: {unit}"),
    }
}

#[test]
fn the_defaults_in_the_tables_are_those_of_the_settings() {
    let home = Home::sqlite();
    let output = Command::new(PROGRAM)
        .arg("config")
        .current_dir(home.path())
        .env_clear()
        .output()
        .expect("the program starts");
    let config = String::from_utf8(output.stdout).expect("it is text");
    let known = |setting: &str| {
        let start = format!("{setting} = \"");
        let line = config.lines().find_map(|line| line.strip_prefix(&start));
        let value = line.map(|rest| rest.strip_suffix("\" # default").expect("it is a default"));
        let is_unset = config.contains(&format!("# {setting} is not set\n"));
        assert!(value.is_some() != is_unset, "there is no setting {setting}");
        value.map(str::to_owned)
    };
    let page = sections().join("\n## ");
    let mut compared = 0;
    let mut columns: Option<(usize, usize)> = None;
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let at = |name: &str| cells.iter().position(|cell| *cell == name);
        if !line.starts_with('|') {
            columns = None;
        } else if let (Some(setting), Some(default)) = (at("setting"), at("default")) {
            columns = Some((setting, default));
        } else if let Some((setting, default)) = columns
            && cells[setting].starts_with('`')
            && !cells[default].starts_with('[')
        {
            let settings: Vec<&str> = cells[setting].split(", ").collect();
            let mut defaults: Vec<&str> = cells[default].split(", ").collect();
            // One that all of them have.
            if let [one] = defaults[..] {
                defaults = vec![one; settings.len()];
            }
            assert_eq!(settings.len(), defaults.len(), "{line}");
            for (setting, default) in settings.iter().zip(defaults) {
                let setting = setting.trim_matches('`');
                assert_eq!(known(setting), printed(default), "{setting}");
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "the page has {compared} defaults");
}

#[test]
fn every_line_of_the_page_is_in_a_section_that_is_run() {
    let run = [
        START,
        "Audit trail",
        "Back up and restore",
        "Databases on this machine",
        "systemd",
        "Containers",
    ];
    let tests = Path::new(ROOT).join("crates/stratusd/tests/service");
    for (_, file) in ELSEWHERE {
        assert!(tests.join(file).exists(), "{file} is gone");
    }
    let run = run.into_iter().chain(ELSEWHERE.map(|(heading, _)| heading));
    let run: Vec<&str> = run.collect();
    let run: Vec<String> = run.iter().flat_map(|heading| lines(heading)).collect();
    let sections = sections();
    let headings = sections.iter().filter_map(|section| section.lines().next());
    assert_eq!(headings.flat_map(lines).count(), run.len());
    for (start, why) in NOT_RUN {
        let is_there = run.iter().any(|line| line.starts_with(start));
        assert!(is_there, "no line begins with `{start}` ({why})");
    }
}
