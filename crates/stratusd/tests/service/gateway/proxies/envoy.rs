//! Envoy, with the page's filters and routes in a listener, and with its two clusters.

use std::process::Command;
use std::time::{Duration, Instant};

use super::{Kind, Proxy, Scene, Start, program};

pub(super) const KIND: Kind = Kind {
    name: "Envoy",
    programs: &["envoy"],
    installed: Some("envoy/_bin/envoy"),
    version: "--version",
    introduction: "Envoy, in the `typed_config` of an HTTP connection manager",
    command,
    without_gateway: 503,
};

fn command(start: &Start) -> Command {
    let configuration: String = start
        .configuration
        .lines()
        .map(|line| format!("              {line}\n"))
        .collect();
    let cluster = |name: &str, url: &str| {
        let (_, address) = url.split_once("http://").expect("it is HTTP");
        let (host, port) = address.rsplit_once(':').expect("it has a port");
        format!(
            "    - name: {name}
      type: STATIC
      load_assignment:
        cluster_name: {name}
        endpoints: [{{ lb_endpoints: [{{ endpoint: {{ address: {{ socket_address: {{ address: {host}, port_value: {port} }} }} }} }}] }}]
"
        )
    };
    let whole = format!(
        "static_resources:
  listeners:
    - address: {{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }}
      filter_chains:
        - filters:
          - name: envoy.filters.network.http_connection_manager
            typed_config:
              \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
              stat_prefix: inference
{configuration}  clusters:
{stratus}{model}",
        port = start.port,
        stratus = cluster("stratus", &start.scene.gateway),
        model = cluster("model", &start.scene.upstream.url),
    );
    let mut command = Command::new(start.program);
    command
        .arg("-c")
        .arg(start.write("envoy.yaml", &whole))
        .args(["--concurrency", "1", "--log-level", "error"])
        // Two of them at a time would share memory otherwise.
        .arg("--disable-hot-restart");
    command
}

/// By default a route of Envoy waits for 15 seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_waits_for_a_response_that_takes_long() {
    let Some(program) = program(KIND) else {
        return;
    };
    let scene = Scene::new(&[]).await;
    let proxy = Proxy::start(KIND, &program, &scene).await;
    let begun = Instant::now();
    let response = proxy.get("/v1/late/16000", &scene.key).await;
    assert_eq!(response.status(), 200);
    assert!(begun.elapsed() >= Duration::from_secs(16));
}
