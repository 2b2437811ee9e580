//! Load balancers as Envoy's xDS API has them, in its JSON. Only values are put together here, and no
//! texts, so that nothing in a name or an endpoint can be more than a string.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use api_types::{HealthCheckProtocol, LoadBalancerAlgorithm};
use serde_json::{Value, json};

use super::super::check;
use super::super::connection::{HANDSHAKE, TRIES};
use super::super::declared::{Declared, Key};
use super::super::listener::BACKLOG;
use super::super::relay::CHUNK;
use super::super::shared::Timing;
use super::folder::{Folder, Resource};
use crate::domain::allowed::{Callers, Network};
use crate::settings::ProxyProtocol;

/// An address that no connection comes from.
const NOBODY: &str = "255.255.255.255";

/// Returns the name of a load balancer's resources.
pub(super) fn name((project, id): &Key) -> String {
    format!("{project}.{id}")
}

/// Returns the name of a listener.
pub(super) fn listener_name(key: &Key, address: SocketAddr) -> String {
    format!("{}.{address}", name(key))
}

/// Returns a list of resources as a file has it.
pub(super) fn list(resources: &[Value]) -> Value {
    json!({ "resources": resources })
}

/// Returns the configuration that Envoy starts with: its admin interface, the lists of resources, and
/// the maximum number of connections.
pub(super) fn bootstrap(folder: &Folder, connections: u32) -> Value {
    json!({
        "node": { "id": "stratus", "cluster": "stratus" },
        "admin": {
            "address": { "pipe": { "path": folder.socket(), "mode": 0o600 } },
            "ignore_global_conn_limit": true,
        },
        "dynamic_resources": {
            "cds_config": source(&folder.file(&Resource::Clusters)),
            "lds_config": source(&folder.file(&Resource::Listeners)),
        },
        "overload_manager": {
            "resource_monitors": [{
                "name": "envoy.resource_monitors.global_downstream_max_connections",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
                    "max_active_downstream_connections": connections,
                },
            }],
        },
    })
}

/// Returns the listener of a load balancer at an address. `secret` is the file of its certificate, if it
/// has one.
///
/// Its only filter chain is for the callers that the firewalls allow; others are closed before anything
/// is read of them. Not by the filter for that (RBAC), which decides when the caller sends something, and
/// until then would let a virtual machine that speaks first speak to anybody. Nor by the matching API,
/// by which a change of firewalls would end no connection: its matcher of networks is marked as not
/// covered by Envoy's security process.
pub(super) fn listener(
    declared: &Declared,
    address: SocketAddr,
    secret: Option<&Path>,
    timing: &Timing,
) -> Value {
    let key = declared.key();
    let name = name(&key);
    let mut chain = json!({
        "filters": [{
            "name": "envoy.filters.network.tcp_proxy",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
                "stat_prefix": name,
                "cluster": name,
                "idle_timeout": duration(timing.idle),
                "max_connect_attempts": TRIES,
                "hash_policy": [{ "source_ip": {} }],
            },
        }],
    });
    if let Callers::Of(networks) = &declared.callers.as_ref() {
        chain["filter_chain_match"] = json!({ "source_prefix_ranges": ranges(networks) });
    }
    if let Some(file) = secret {
        chain["transport_socket"] = json!({
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
                "common_tls_context": {
                    "tls_certificate_sds_secret_configs": [{ "name": name, "sds_config": source(file) }],
                },
            },
        });
        chain["transport_socket_connect_timeout"] = duration(HANDSHAKE).into();
    }
    json!({
        "@type": "type.googleapis.com/envoy.config.listener.v3.Listener",
        "name": listener_name(&key, address),
        "address": socket_address(address),
        "tcp_backlog_size": BACKLOG,
        "per_connection_buffer_limit_bytes": CHUNK,
        "filter_chains": [chain],
    })
}

/// Returns networks as Envoy has them. An empty list would be everybody, and a listener without a filter
/// chain is refused.
fn ranges(networks: &[Network]) -> Vec<Value> {
    if networks.is_empty() {
        return vec![json!({ "address_prefix": NOBODY, "prefix_len": 32 })];
    }
    let range = |it: &Network| json!({ "address_prefix": it.first(), "prefix_len": it.prefix() });
    networks.iter().map(range).collect()
}

/// Returns the cluster of a load balancer: how its virtual machines are chosen and checked. `endpoints`
/// is the file of its virtual machines, and `connections` the maximum number of open connections.
pub(super) fn cluster(
    declared: &Declared,
    endpoints: &Path,
    connections: usize,
    timing: &Timing,
) -> Value {
    let policy = match declared.row.algorithm {
        // Not a ring, in which all that remain get more points when a virtual machine goes, and so callers
        // of others.
        LoadBalancerAlgorithm::HashBased => "MAGLEV",
        // Clients accept algorithms that they do not know, but the service stores none.
        _ => "ROUND_ROBIN",
    };
    json!({
        "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
        "name": name(&declared.key()),
        "type": "EDS",
        "eds_cluster_config": { "eds_config": source(endpoints) },
        "connect_timeout": duration(timing.connect),
        "per_connection_buffer_limit_bytes": CHUNK,
        "lb_policy": policy,
        "common_lb_config": {
            // By default, all get connections if too many are down.
            "healthy_panic_threshold": { "value": 0 },
            // By default, changes of health wait for a second.
            "update_merge_window": "0s",
        },
        // By default, a virtual machine that is healthy goes on to get connections.
        "ignore_health_on_host_removal": true,
        "circuit_breakers": {
            "thresholds": [{ "max_connections": connections, "max_pending_requests": connections }],
        },
        "health_checks": [health_check(declared, timing)],
        // Health checks choose this one: by HTTPS, and without a header of the PROXY protocol.
        "transport_socket_matches": [{
            "name": "check",
            "match": { "check": true },
            "transport_socket": match declared.row.health_check_protocol {
                HealthCheckProtocol::Https => any_certificate(),
                _ => raw(),
            },
        }],
        "transport_socket": match timing.proxy_protocol {
            ProxyProtocol::Off => raw(),
            ProxyProtocol::V1 => proxy_protocol("V1"),
            ProxyProtocol::V2 => proxy_protocol("V2"),
        },
    })
}

fn health_check(declared: &Declared, timing: &Timing) -> Value {
    let every = duration(timing.check_every);
    let mut health_check = json!({
        "timeout": duration(timing.check),
        "interval": every,
        // By default, a load balancer that nobody uses is checked each minute.
        "no_traffic_interval": every,
        "healthy_threshold": timing.rise,
        "unhealthy_threshold": timing.fall,
        "reuse_connection": false,
        "transport_socket_match_criteria": { "check": true },
    });
    let (kind, check) = match declared.row.health_check_protocol {
        HealthCheckProtocol::Http | HealthCheckProtocol::Https => {
            let (host, path) = check::parts(declared.row.health_check_endpoint.as_str());
            let mut check = json!({
                "path": path,
                "expected_statuses": [{ "start": 200, "end": 400 }],
                // Otherwise one response with another status takes a virtual machine down.
                "retriable_statuses": [{ "start": 100, "end": 600 }],
            });
            if let Some(host) = host {
                check["host"] = host.into();
            }
            ("http_health_check", check)
        }
        // Clients accept protocols that they do not know, but the service stores none.
        _ => ("tcp_health_check", json!({})),
    };
    health_check[kind] = check;
    health_check
}

/// A virtual machine of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// The id, by which callers are spread.
    pub vm: String,
    pub address: SocketAddr,
    /// Whether it gets no more connections, and its open ones go on.
    pub is_detaching: bool,
}

/// Returns the virtual machines of a load balancer.
pub(super) fn endpoints(declared: &Declared, endpoints: &[Endpoint]) -> Value {
    let (host, _) = check::parts(declared.row.health_check_endpoint.as_str());
    let endpoint = |it: &Endpoint| {
        // By default, that of a health check is the name of the cluster.
        let hostname = host.clone().unwrap_or_else(|| it.address.to_string());
        json!({
            "endpoint": {
                "address": socket_address(it.address),
                "health_check_config": { "hostname": hostname },
            },
            "health_status": if it.is_detaching { "DRAINING" } else { "UNKNOWN" },
            "metadata": { "filter_metadata": { "envoy.lb": { "hash_key": it.vm } } },
        })
    };
    list(&[json!({
        "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": name(&declared.key()),
        "endpoints": [{ "lb_endpoints": endpoints.iter().map(endpoint).collect::<Vec<_>>() }],
    })])
}

/// Returns the certificate of a load balancer with its private key, both in PEM.
pub(super) fn secret(key: &Key, certificate: &str, private_key: &str) -> Value {
    list(&[json!({
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
        "name": name(key),
        "tls_certificate": {
            "certificate_chain": { "inline_string": certificate },
            "private_key": { "inline_string": private_key },
        },
    })])
}

/// Returns a file as the source of resources. Envoy reads it again when another one is moved to its
/// place.
fn source(file: &Path) -> Value {
    json!({ "resource_api_version": "V3", "path_config_source": { "path": file } })
}

fn socket_address(address: SocketAddr) -> Value {
    let ip: IpAddr = address.ip();
    json!({ "socket_address": { "address": ip, "port_value": address.port() } })
}

fn raw() -> Value {
    json!({
        "name": "envoy.transport_sockets.raw_buffer",
        "typed_config": { "@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer" },
    })
}

/// TLS that takes any certificate: those of virtual machines are usually self-signed.
fn any_certificate() -> Value {
    json!({
        "name": "envoy.transport_sockets.tls",
        "typed_config": { "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext" },
    })
}

fn proxy_protocol(version: &str) -> Value {
    json!({
        "name": "envoy.transport_sockets.upstream_proxy_protocol",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport",
            "config": { "version": version },
            "transport_socket": raw(),
        },
    })
}

/// Returns a duration as Protocol Buffers write it in JSON.
fn duration(duration: Duration) -> String {
    format!("{}.{:09}s", duration.as_secs(), duration.subsec_nanos())
}
