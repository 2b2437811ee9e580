//! What Envoy says of itself: which addresses it listens on, and the state of each virtual machine.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use serde::Deserialize;

use super::admin::Admin;

/// What Envoy has said.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The virtual machines of each cluster.
    clusters: HashMap<String, HashMap<SocketAddr, Host>>,
    /// The names of the listeners that are open.
    listeners: HashSet<String>,
    /// Why listeners are not as the file has them, by name.
    errors: HashMap<String, String>,
}

/// A virtual machine as Envoy sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Host {
    pub is_up: bool,
    pub connections: usize,
}

impl Seen {
    /// Asks Envoy. `listeners` are the names of those that it should have.
    ///
    /// # Errors
    ///
    /// If it does not respond.
    pub(super) async fn ask(admin: &Admin, listeners: &HashSet<String>) -> Result<Self> {
        let clusters: Clusters = admin.ask("/clusters?format=json").await?;
        let open: Listeners = admin.ask("/listeners?format=json").await?;
        let open = open.listener_statuses.into_iter().map(|it| it.name);
        let mut seen = Self {
            clusters: clusters
                .cluster_statuses
                .into_iter()
                .map(ClusterStatus::into_hosts)
                .collect(),
            listeners: open.collect(),
            errors: HashMap::new(),
        };
        // Not in each round: the response has the whole configuration of each listener.
        if !listeners.is_subset(&seen.listeners) {
            let dump: Dump = admin
                .ask("/config_dump?resource=dynamic_listeners&mask=name,error_state.details")
                .await?;
            let errors = dump.configs.into_iter();
            let errors = errors.filter_map(|it| Some((it.name, it.error_state?.details)));
            seen.errors.extend(errors);
        }
        Ok(seen)
    }

    /// Returns whether Envoy has a cluster.
    pub(super) fn has_cluster(&self, name: &str) -> bool {
        self.clusters.contains_key(name)
    }

    /// Returns what Envoy sees of a virtual machine, or `None` if it does not have it.
    pub(super) fn host(&self, cluster: &str, address: SocketAddr) -> Option<Host> {
        self.clusters.get(cluster)?.get(&address).copied()
    }

    /// Returns whether Envoy listens.
    pub(super) fn has_listener(&self, name: &str) -> bool {
        self.listeners.contains(name)
    }

    /// Returns why Envoy does not listen, if it says so.
    pub(super) fn error(&self, listener: &str) -> Option<&str> {
        self.errors.get(listener).map(String::as_str)
    }
}

/// The page `/clusters`. Fields that have the value zero are left out there.
#[derive(Debug, Deserialize)]
struct Clusters {
    #[serde(default)]
    cluster_statuses: Vec<ClusterStatus>,
}

#[derive(Debug, Deserialize)]
struct ClusterStatus {
    name: String,
    #[serde(default)]
    host_statuses: Vec<HostStatus>,
}

#[derive(Debug, Deserialize)]
struct HostStatus {
    address: Address,
    #[serde(default)]
    stats: Vec<Stat>,
    #[serde(default)]
    health_status: HealthStatus,
}

#[derive(Debug, Deserialize)]
struct Address {
    socket_address: Option<SocketAddress>,
}

#[derive(Debug, Deserialize)]
struct SocketAddress {
    address: IpAddr,
    port_value: u16,
}

#[derive(Debug, Deserialize)]
struct Stat {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HealthStatus {
    failed_active_health_check: bool,
    pending_active_hc: bool,
    #[serde(rename = "eds_health_status")]
    declared: String,
}

impl ClusterStatus {
    fn into_hosts(self) -> (String, HashMap<SocketAddr, Host>) {
        let hosts = self.host_statuses.into_iter().filter_map(|host| {
            let SocketAddress {
                address,
                port_value,
            } = host.address.socket_address?;
            let health = host.health_status;
            let mut stats = host.stats.iter();
            let connections = stats.find(|stat| stat.name == "cx_active");
            let host = Host {
                is_up: !health.failed_active_health_check
                    && !health.pending_active_hc
                    && matches!(&*health.declared, "" | "UNKNOWN" | "HEALTHY"),
                connections: connections.map_or(0, |it| it.value.parse().unwrap_or_default()),
            };
            Some((SocketAddr::new(address, port_value), host))
        });
        (self.name, hosts.collect())
    }
}

/// The page `/listeners`.
#[derive(Debug, Deserialize)]
struct Listeners {
    #[serde(default)]
    listener_statuses: Vec<ListenerStatus>,
}

#[derive(Debug, Deserialize)]
struct ListenerStatus {
    name: String,
}

/// The page `/config_dump` of listeners.
#[derive(Debug, Deserialize)]
struct Dump {
    #[serde(default)]
    configs: Vec<DumpedListener>,
}

#[derive(Debug, Deserialize)]
struct DumpedListener {
    #[serde(default)]
    name: String,
    error_state: Option<ErrorState>,
}

#[derive(Debug, Deserialize)]
struct ErrorState {
    #[serde(default)]
    details: String,
}

/// The page `/server_info`: how Envoy was started.
#[derive(Debug, Deserialize)]
pub(super) struct ServerInfo {
    pub version: String,
    pub command_line_options: Options,
}

#[derive(Debug, Deserialize)]
pub(super) struct Options {
    /// How long connections go on when what they were accepted by is gone, such as `60s`.
    pub drain_time: String,
}
