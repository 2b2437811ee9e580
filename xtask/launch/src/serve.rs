//! `cargo xtask serve`: builds `stratusd` and serves the demo inventory.

use std::convert::Infallible;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use crate::service::{Build, PROJECT, Service};

/// The addresses that the demo is served at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The address of the API.
    pub listen: SocketAddr,
    /// The address of health and metrics.
    pub management_listen: SocketAddr,
}

impl Default for Addresses {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 8080).into(),
            management_listen: (Ipv4Addr::LOCALHOST, 9090).into(),
        }
    }
}

impl Addresses {
    /// Reads the arguments of `cargo xtask`. Returns `None` if they are not `serve` with valid
    /// options alone.
    #[must_use]
    pub fn of_arguments(arguments: &[OsString]) -> Option<Self> {
        let words: Option<Vec<&str>> = arguments.iter().map(|word| word.to_str()).collect();
        let words = words?;
        let (&"serve", mut rest) = words.split_first()? else {
            return None;
        };
        let mut addresses = Self::default();
        while let Some((word, after)) = rest.split_first() {
            let (option, value, after) = match word.split_once('=') {
                Some((option, value)) => (option, value, after),
                None => (*word, *after.first()?, &after[1..]),
            };
            let address = match option {
                "--listen" => &mut addresses.listen,
                "--management-listen" => &mut addresses.management_listen,
                _ => return None,
            };
            *address = value.parse().ok()?;
            rest = after;
        }
        Some(addresses)
    }
}

/// Builds the service, prints how to call it, and replaces this process by it. Returns the error if
/// one of these fails.
pub fn serve(addresses: Addresses, out: &mut dyn Write) -> anyhow::Error {
    let Err(error) = try_serve(addresses, out);
    error
}

fn try_serve(arguments: Addresses, out: &mut dyn Write) -> anyhow::Result<Infallible> {
    // Cargo compiles this program where it runs it.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root
        .canonicalize()
        .with_context(|| format!("failed to find the workspace {}", root.display()))?;
    // Fail on a port in use before printing calls that would reach another program.
    for address in [arguments.listen, arguments.management_listen] {
        TcpListener::bind(address).with_context(|| {
            format!(
                "failed to listen on {address}: choose others with --listen and --management-listen"
            )
        })?;
    }
    let service = Service::prepare(&root, root.join("target/serve"), Build::Alone)?;
    let mut serve = announce(&service, arguments, &programs(&root), out)?;
    writeln!(out, "{LEFT_OUT}\n")?;
    out.flush()?;
    // The service replaces this process, so that a signal to it ends the service.
    Err(serve.exec()).context("failed to start stratusd")
}

/// Returns the folders with the programs of PostgreSQL 16 to 18: those that `cargo xtask postgres` has
/// installed, and those of Debian's packages.
fn programs(root: &Path) -> Vec<PathBuf> {
    let folders = ["16", "17", "18"].into_iter().flat_map(|version| {
        // Those with `pg_upgrade` first.
        let upgraded = format!("target/postgres/upgrade/{version}/bin");
        let ours = format!("target/postgres/node_modules/postgres-{version}/native/bin");
        let systems = PathBuf::from(format!("/usr/lib/postgresql/{version}/bin"));
        [root.join(upgraded), root.join(ours), systems]
    });
    folders
        .filter(|folder| folder.join("initdb").is_file())
        .collect()
}

/// What creates the Postgres databases of a demo.
#[derive(Debug)]
enum Databases {
    /// Servers on this machine.
    Local {
        /// The version of PostgreSQL that the printed call asks for.
        version: String,
        /// Whether each has a user of the operating system of its own.
        is_isolated: bool,
    },
    /// A simulator.
    Simulated {
        /// Why no servers run.
        reason: String,
    },
}

impl Databases {
    /// Asks the program what it takes with these settings.
    fn of(service: &Service, settings: &[(&str, OsString)]) -> anyhow::Result<Self> {
        let said = service.output_with(&["provisioner", "--format", "json"], settings)?;
        let said: Value = serde_json::from_str(&said).context("it is not JSON")?;
        if said["provisioner"] != "local" {
            let reason = said["reason"].as_str();
            return Ok(Self::Simulated {
                reason: reason.unwrap_or("its settings say so").to_owned(),
            });
        }
        let versions = said["versions"].as_array().cloned().unwrap_or_default();
        let versions: Vec<&str> = versions.iter().filter_map(Value::as_str).collect();
        // That of a database which is created without one, if it is there.
        let version = versions.iter().find(|version| **version == DEFAULT_VERSION);
        let version = version.or(versions.last()).context("no version is named")?;
        Ok(Self::Local {
            version: (*version).to_owned(),
            is_isolated: said["isolated"] == true,
        })
    }

    /// Says what is real of them.
    fn describe(&self) -> String {
        match self {
            Self::Local { is_isolated, .. } => format!(
                "Postgres databases are servers on this machine{}\n{STOP}",
                if *is_isolated {
                    ", each as a user of its own"
                } else {
                    UNISOLATED
                }
            ),
            Self::Simulated { reason } => {
                format!("Postgres databases are simulated: {reason}\n{MAKE_REAL}")
            }
        }
    }
}

/// Prints how to call a service of the demo, and returns the command that serves it, with Postgres
/// databases that are servers on this machine if there are `programs` for them, and they can run.
///
/// # Errors
///
/// Returns an error if the service's tokens cannot be listed, or `out` cannot be written.
pub fn announce(
    service: &Service,
    addresses: Addresses,
    programs: &[PathBuf],
    out: &mut dyn Write,
) -> anyhow::Result<Command> {
    let settings = databases(programs)?;
    let databases = Databases::of(service, &settings)?;
    let version = match &databases {
        Databases::Local { version, .. } => version,
        Databases::Simulated { .. } => DEFAULT_VERSION,
    };
    // What clients append paths to.
    let api = format!("http://{}", addresses.listen);
    let base = format!("{api}/project/{PROJECT}");
    // Databases of earlier runs still exist, so each run suggests a new name.
    let database = format!(
        "{base}/location/eu-central-h1/postgres/orders-{}",
        service.starts()?
    );
    let header = format!("-H 'Authorization: Bearer {}'", service.token);
    writeln!(
        out,
        "base URL  {api}\n\
         project   {PROJECT}\n\
         token     {}\n\
         contract  {api}/openapi.yaml\n\
         docs      {api}/docs/\n\
         {}\n{RECORDED}\n{BALANCED}\n\n\
         curl {header} '{base}/location/eu-central-h1/vm?order_column=name'\n\
         curl {header} -H 'Content-Type: application/json' -d '{{\"size\":\"standard-2\",\"storage_size\":64,\"version\":\"{version}\"}}' {database}\n\
         curl {header} {database}\n",
        service.token,
        databases.describe()
    )?;
    if let Databases::Local { .. } = databases {
        writeln!(
            out,
            "psql \"$(curl -s {header} {database} | grep -o 'postgres://[^\"]*')\"    # a few seconds after it is created\n"
        )?;
    }
    if BALANCES {
        writeln!(
            out,
            "curl {BALANCER}    # the load balancer `hello`: hello-1 and hello-2 by turns\n"
        )?;
    }
    writeln!(out, "{}\n", networks(service))?;
    out.flush()?;
    let (listen, management) = (
        addresses.listen.to_string(),
        addresses.management_listen.to_string(),
    );
    let mut serve = service.command(&[
        "serve",
        "--listen",
        &listen,
        "--management-listen",
        &management,
    ]);
    if BALANCES {
        serve
            .env("STRATUS_BALANCE", "on")
            .env("STRATUS_BALANCE_ADDRESSES", "127.1.0.1/32")
            .env("STRATUS_BALANCE_HTTP_PORTS", "8080")
            // Few enough for the usual limit of open files.
            .env("STRATUS_BALANCE_CONNECTIONS", "400")
            .env("STRATUS_BALANCE_CONNECTIONS_PROJECT", "200")
            .env("STRATUS_BALANCE_CONNECTIONS_EACH", "200")
            .env("STRATUS_BALANCE_LISTENERS", "100")
            .env("STRATUS_BALANCE_STATE", service.file("balance.json"))
            // Any free port, since another data plane may use the default one.
            .env("STRATUS_BALANCE_MANAGEMENT_LISTEN", "127.0.0.1:0");
    }
    serve.envs(settings);
    Ok(serve)
}

/// Returns the settings of Postgres databases, for these programs of PostgreSQL.
fn databases(programs: &[PathBuf]) -> anyhow::Result<Vec<(&'static str, OsString)>> {
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![
        // It takes the simulator, and says why, where they cannot run.
        ("STRATUS_PROVISIONER", "auto".into()),
        ("STRATUS_LOCAL_BINARIES", env::join_paths(programs)?),
        // All databases of a demo are of who has started it. As root, each has a user of its own anyway.
        ("STRATUS_LOCAL_SHARED_USER", "on".into()),
    ])
}

/// Returns the commands that make the machines and networks of the demo real. They are printed and not
/// run, because they need root, and add a link and routes to the machine.
fn networks(service: &Service) -> String {
    let settings = service.settings();
    let program = service.program();
    format!(
        "to have real machines, private subnets and firewalls, on Linux with iproute2 and nftables:\n\
         sudo {program} network {settings} --network-http-ports 80,8080\n\
         then each one responds, such as http://203.0.113.21/; to take all of it away: sudo {program} network --remove"
    )
}

/// Whether load balancers of the demo forward connections. Only Linux has all the loopback addresses
/// that they and their virtual machines use.
const BALANCES: bool = cfg!(target_os = "linux");
/// The URL of the load balancer `hello` of the demo inventory: the only address of its pool, and the
/// inventory's `src_port`.
const BALANCER: &str = "http://127.1.0.1:8000/";
/// What is real of the load balancers of a demo.
const BALANCED: &str = if BALANCES {
    "load balancers forward connections; HTTP servers of this demo respond in place of the machines hello-1 and hello-2"
} else {
    "load balancers are recorded, too"
};
/// What is real of the other resources of a demo.
const RECORDED: &str =
    "virtual machines, private subnets and firewalls are recorded: no machine or network is made";
/// What the service of [`Build::Alone`] lacks, and how to have it.
const LEFT_OUT: &str = "to compile sooner, this build leaves out the export of traces and provisioners in other \
                        processes, and names the first thing that is wrong with a body alone: \
                        `cargo build --release --package stratusd` leaves out nothing";
/// The version of a database that is created without one.
const DEFAULT_VERSION: &str = "17";
/// How to have real databases in place of simulated ones.
const MAKE_REAL: &str =
    "to have real ones: cargo xtask postgres, delete target/serve, and start again";
/// How to stop the servers of databases.
const STOP: &str =
    "they go on after Ctrl-C; to stop them, too: pkill -INT -f target/serve/stratus.db-postgres";
/// What is wrong with databases that all run as the user of the service.
const UNISOLATED: &str = "\nWARNING: they are not isolated, since this does not run as root: all run as your user, so the \
                          owner of one can read all others and your files";

#[cfg(test)]
mod tests {
    use super::Addresses;

    fn read(arguments: &str) -> Option<Addresses> {
        let words: Vec<_> = arguments.split(' ').map(Into::into).collect();
        Addresses::of_arguments(&words)
    }

    #[test]
    fn the_demo_is_served_without_xtask() {
        assert_eq!(read("serve"), Some(Addresses::default()));
        let chosen = Addresses {
            listen: ([127, 0, 0, 1], 1).into(),
            management_listen: ([0, 0, 0, 0], 2).into(),
        };
        for arguments in [
            "serve --listen 127.0.0.1:1 --management-listen 0.0.0.0:2",
            "serve --management-listen=0.0.0.0:2 --listen=127.0.0.1:1",
        ] {
            assert_eq!(read(arguments), Some(chosen), "{arguments}");
        }
    }

    #[test]
    fn help_mistakes_and_other_commands_are_for_xtask() {
        for arguments in [
            "",
            "codegen --check",
            "--help",
            "serve --help",
            "serve --listen",
            "serve --listen here",
            "serve --listen= 127.0.0.1:1",
            "serve 127.0.0.1:1",
            "serve --liste 127.0.0.1:1",
            "test serve",
        ] {
            assert_eq!(read(arguments), None, "{arguments}");
        }
    }
}
