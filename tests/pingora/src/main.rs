//! A load balancer of TCP on Pingora, which `cargo xtask bench balance --pingora` measures beside ours.
//!
//! It does what ours and HAProxy do in that benchmark: with two threads, it gives each connection to
//! the next of its virtual machines that is up, copies bytes in both directions, and checks every
//! five seconds whether they accept connections.
//!
//! `pingora 127.0.0.1:8000 127.0.0.2:80 127.0.0.3:80` listens at the first address, and spreads
//! connections over the others.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pingora_core::apps::ServerApp;
use pingora_core::connectors::TransportConnector;
use pingora_core::listeners::{DEFAULT_L4_READ_BUFFER_SIZE, L4BufferSettings, ListenerConfig};
use pingora_core::protocols::Stream;
use pingora_core::server::configuration::ServerConf;
use pingora_core::server::{Server, ShutdownWatch};
use pingora_core::services::background::background_service;
use pingora_core::services::listening::Service;
use pingora_core::upstreams::peer::BasicPeer;
use pingora_load_balancing::LoadBalancer;
use pingora_load_balancing::health_check::TcpHealthCheck;
use pingora_load_balancing::selection::RoundRobin;

/// As many as the others have in the benchmark.
const THREADS: usize = 2;
/// How often virtual machines are checked, as by the others.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// How many virtual machines are looked at for one that is up.
const MOST_TRIED: usize = 256;
/// How many bytes are read at once. Pingora puts a buffer of this size before each connection, through
/// which only smaller reads go: with this size, bytes are copied as seldom as it allows.
const CHUNK: usize = DEFAULT_L4_READ_BUFFER_SIZE;

/// Gives each connection to a virtual machine.
struct Relay {
    vms: Arc<LoadBalancer<RoundRobin>>,
    connector: TransportConnector,
}

#[async_trait]
impl ServerApp for Relay {
    async fn process_new(
        self: &Arc<Self>,
        mut caller: Stream,
        _: &ShutdownWatch,
    ) -> Option<Stream> {
        let Some(vm) = self.vms.select(b"", MOST_TRIED) else {
            eprintln!("no virtual machine is up");
            return None;
        };
        let peer = BasicPeer::new(&vm.addr.to_string());
        match self.connector.new_stream(&peer).await {
            Ok(mut vm) => {
                // A caller that goes away without an end is none of our errors.
                let _ =
                    tokio::io::copy_bidirectional_with_sizes(&mut caller, &mut vm, CHUNK, CHUNK)
                        .await;
            }
            Err(error) => eprintln!("{}: {error}", vm.addr),
        }
        None
    }
}

fn main() -> io::Result<()> {
    let mut addresses = std::env::args().skip(1);
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why.to_owned());
    let listener = addresses
        .next()
        .ok_or_else(|| wrong("name the address to listen at, and those of virtual machines"))?;
    let mut vms = LoadBalancer::try_from_iter(addresses)?;
    vms.set_health_check(TcpHealthCheck::new());
    vms.health_check_frequency = Some(CHECK_EVERY);
    let conf = ServerConf {
        threads: THREADS,
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let checks = background_service("health checks", vms);
    let relay = Relay {
        vms: checks.task(),
        connector: TransportConnector::new(None),
    };
    let mut service = Service::new("relay".to_owned(), relay);
    let endpoint = ListenerConfig::tcp(listener).l4_buffer(L4BufferSettings::unbuffered());
    service.add_listener(endpoint);
    server.add_service(checks);
    server.add_service(service);
    server.run_forever()
}
