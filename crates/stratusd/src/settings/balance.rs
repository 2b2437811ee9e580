//! The settings of the data plane of load balancers.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};

use super::network::HttpPorts;
use super::number::{Connections, Threshold};
use super::text::{FilePath, ListenAddress, ProxyProtocol};
use super::{AddressPool, Duration, Lifetime, Origin, Setting, SettingsFile};

settings! {
    /// The setting of `stratusd balance` that `stratusd balancers` needs too.
    BalanceManagementSettings, from BalanceManagementArguments:
    /// The address to serve health checks, metrics and `stratusd balancers` on. Do not make it public.
    balance_management_listen("STRATUS_BALANCE_MANAGEMENT_LISTEN", "ADDRESS"): ListenAddress = "127.0.0.1:9091";
}

settings! {
    /// The settings of `stratusd balance`.
    BalanceSettings, from BalanceArguments:
    /// What forwards the connections: `own`, this process itself, or `envoy`, an Envoy beside it, for which it writes the configuration.
    balance_engine("STRATUS_BALANCE_ENGINE", "ENGINE"): BalanceEngine = "own";
    /// Envoy: the folder of its configuration, which no other process writes. Envoy starts with `bootstrap.json` there.
    balance_envoy_folder("STRATUS_BALANCE_ENVOY_FOLDER", "FOLDER"): FilePath;
    /// The IPv4 addresses of load balancers, as a network. Each load balancer gets one of its own.
    balance_addresses("STRATUS_BALANCE_ADDRESSES", "NETWORK"): AddressPool = "127.1.0.0/16";
    /// The IPv6 addresses of load balancers, as a network. If they are fewer than load balancers, some share one. Without it, load balancers do not listen on IPv6.
    balance_addresses_v6("STRATUS_BALANCE_ADDRESSES_V6", "NETWORK"): AddressPool;
    /// The file in which the addresses of load balancers are kept over restarts.
    balance_state("STRATUS_BALANCE_STATE", "FILE"): FilePath = "balance.json";
    /// The maximum number of open connections of all load balancers. Further connections are closed at once.
    balance_connections("STRATUS_BALANCE_CONNECTIONS", "COUNT"): Connections = "20000";
    /// The maximum number of open connections of all load balancers of one project.
    balance_connections_project("STRATUS_BALANCE_CONNECTIONS_PROJECT", "COUNT"): Connections = "5000";
    /// The maximum number of open connections of one load balancer.
    balance_connections_each("STRATUS_BALANCE_CONNECTIONS_EACH", "COUNT"): Connections = "5000";
    /// The maximum number of addresses of all load balancers together that are listened on.
    balance_listeners("STRATUS_BALANCE_LISTENERS", "COUNT"): Connections = "10000";
    /// How long a virtual machine may take to accept a connection, before the next one is tried.
    balance_connect_timeout("STRATUS_BALANCE_CONNECT_TIMEOUT", "DURATION"): Duration<10> = "2s";
    /// How long nothing may be sent on a connection in either direction, before it is closed.
    balance_idle_timeout("STRATUS_BALANCE_IDLE_TIMEOUT", "DURATION"): Duration<100> = "10m";
    /// How long the connections of a detached virtual machine, and all of them after a signal to stop, may go on.
    balance_drain_timeout("STRATUS_BALANCE_DRAIN_TIMEOUT", "DURATION"): Duration = "60s";
    /// The pause between two health checks of a virtual machine.
    balance_check_every("STRATUS_BALANCE_CHECK_EVERY", "DURATION"): Duration<50> = "5s";
    /// How long a health check may take.
    balance_check_timeout("STRATUS_BALANCE_CHECK_TIMEOUT", "DURATION"): Duration<10> = "2s";
    /// How many health checks in a row must succeed until a virtual machine that was down is up.
    balance_check_rise("STRATUS_BALANCE_CHECK_RISE", "COUNT"): Threshold = "2";
    /// How many health checks in a row must fail until a virtual machine that was up is down.
    balance_check_fall("STRATUS_BALANCE_CHECK_FALL", "COUNT"): Threshold = "3";
    /// What a virtual machine is sent before the bytes of a caller, to know the caller's address: `v1` or `v2` of the PROXY protocol, or `off`.
    balance_proxy_protocol("STRATUS_BALANCE_PROXY_PROTOCOL", "VERSION"): ProxyProtocol = "off";
    /// How long the certificate of a load balancer is valid. It is renewed after two thirds of this.
    balance_certificate_lifetime("STRATUS_BALANCE_CERTIFICATE_LIFETIME", "DURATION"): Lifetime = "90d";
    /// The ports, separated by commas, at which HTTP servers respond with the names of attached virtual machines whose public address is a loopback address, for demonstrations. None if not set.
    balance_http_ports("STRATUS_BALANCE_HTTP_PORTS", "PORTS"): HttpPorts;
}

/// What forwards the connections of load balancers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalanceEngine {
    /// This process itself.
    Own,
    /// An Envoy, which reads the files that this process writes.
    Envoy,
}

impl FromStr for BalanceEngine {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "own" => Ok(Self::Own),
            "envoy" => Ok(Self::Envoy),
            _ => Err("must be `own` or `envoy`"),
        }
    }
}

impl fmt::Display for BalanceEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "own",
            Self::Envoy => "envoy",
        })
    }
}

impl BalanceSettings {
    /// Checks what the types of the settings do not check.
    ///
    /// # Errors
    ///
    /// If a network is of the wrong version of IP, a setting is missing, or a setting has no effect.
    pub fn ensure_complete(&self) -> Result<()> {
        if !self.balance_addresses.is_ipv4() {
            bail!("balance_addresses must be a network of IPv4, such as 127.1.0.0/16");
        }
        if self.balance_addresses_v6.is_some_and(|it| it.is_ipv4()) {
            bail!("balance_addresses_v6 must be a network of IPv6, such as fd00:1::/64");
        }
        let is_set = |name| {
            let mut all = self.all().iter();
            all.any(|it| it.name == name && it.origin != Origin::Default)
        };
        match (self.balance_engine, &self.balance_envoy_folder) {
            (BalanceEngine::Envoy, None) => bail!(
                "balance_engine = \"envoy\" needs balance_envoy_folder: set it to a folder that this process makes"
            ),
            (BalanceEngine::Own, Some(_)) => bail!(
                "balance_envoy_folder has no effect without balance_engine = \"envoy\": set both or remove it"
            ),
            (BalanceEngine::Envoy, Some(_)) => {
                if is_set("balance_connections_project") {
                    bail!(
                        "balance_connections_project has no effect with balance_engine = \"envoy\", which has no limit \
                         for all load balancers of a project: remove it, and lower balance_connections_each"
                    );
                }
                return Ok(());
            }
            (BalanceEngine::Own, None) => {}
        }
        // The default may be above what an operator sets for projects.
        if is_set("balance_connections_each")
            && self.balance_connections_each.get() > self.balance_connections_project.get()
        {
            bail!(
                "balance_connections_each has no effect above balance_connections_project: lower the first or raise \
                 the second"
            );
        }
        Ok(())
    }
}
