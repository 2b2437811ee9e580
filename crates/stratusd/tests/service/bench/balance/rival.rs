//! Load balancers of others, as processes.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tokio::net::TcpStream;

use super::VMS;
use crate::support::balancing::{DST, Net, SRC};
use crate::support::eventually;

/// Where Debian has HAProxy.
pub(super) const HAPROXY: &str = "/usr/sbin/haproxy";
/// The variable that names the load balancer on Pingora, if it is to be measured.
const PINGORA: &str = "STRATUS_BENCH_PINGORA";

/// The bounds of HAProxy.
pub(super) const GLOBAL: &str = "    maxconn 4000\n    nbthread 2\n";
/// What all its load balancers have.
pub(super) const DEFAULTS: &str = "defaults\n    mode tcp\n    timeout connect 2s\n    timeout client 10m\n    \
                                   timeout server 10m\n";

/// Returns the virtual machines as HAProxy's configuration has them.
pub(super) fn haproxy_servers(net: Net) -> String {
    let servers = (1..=VMS).map(|number| {
        format!(
            "    server vm-{number} {}:{DST} check inter 5s\n",
            net.vm(number)
        )
    });
    servers.collect()
}

/// Another load balancer with the same virtual machines.
pub(super) struct Rival {
    pub(super) name: &'static str,
    pub(super) child: Child,
    pub(super) address: SocketAddr,
}

impl Rival {
    /// Starts HAProxy. Returns `None` if it is not installed.
    pub(super) async fn haproxy(folder: &Path, net: Net) -> Option<Self> {
        if !Path::new(HAPROXY).exists() {
            println!("skipped: HAProxy is not installed");
            return None;
        }
        let address = SocketAddr::from((net.vm(100), SRC));
        let config = format!(
            "global\n{GLOBAL}{DEFAULTS}listen web\n    bind {address}\n    balance roundrobin\n{}",
            haproxy_servers(net)
        );
        let file = folder.join("haproxy.cfg");
        fs::write(&file, config).expect("the folder is writable");
        let mut command = Command::new(HAPROXY);
        command.args(["-db", "-f"]).arg(&file);
        Some(Self::start("HAProxy", command, address).await)
    }

    /// Starts the load balancer on Pingora. Returns `None` if it is not to be measured.
    pub(super) async fn pingora(net: Net) -> Option<Self> {
        let Some(program) = env::var_os(PINGORA) else {
            println!("skipped: {PINGORA} does not name the load balancer on Pingora");
            return None;
        };
        let address = SocketAddr::from((net.vm(101), SRC));
        let mut command = Command::new(program);
        command.arg(address.to_string());
        command.args((1..=VMS).map(|number| SocketAddr::from((net.vm(number), DST)).to_string()));
        Some(Self::start("Pingora", command, address).await)
    }

    pub(super) async fn start(
        name: &'static str,
        mut command: Command,
        address: SocketAddr,
    ) -> Self {
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn();
        // Ended also if it does not listen.
        let rival = Self {
            name,
            child: child.unwrap_or_else(|error| panic!("{name} does not start: {error}")),
            address,
        };
        let listens = async || TcpStream::connect(address).await.ok();
        let listening = eventually(listens).await;
        listening.unwrap_or_else(|| panic!("{name} does not listen"));
        rival
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
