//! Load balancers with a certificate of the service's authority.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::Home;
use crate::support::balancing::{Cloud, Net, SRC, Vm, ask_on, is_listening, states};
use crate::support::caller::Caller;
use crate::support::inventory::SHOP;

/// A client that trusts only the service's authority, and expects the host name of a load balancer.
#[derive(Clone)]
pub struct Trusting {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Trusting {
    /// Creates a client of a load balancer. The authority's certificate is that of the databases.
    pub async fn of(cloud: &Cloud, name: &str) -> Self {
        let place = "/location/eu-central-h1";
        let body = json!({ "size": "hobby-1", "storage_size": 16 });
        // Another test of the same cloud may have made it.
        let _ = cloud.shop.post(&format!("{place}/postgres/db"), body).await;
        let path = format!("{place}/postgres/db");
        let database = cloud
            .shop
            .wait_for(&path, |database| !database["ca_certificates"].is_null())
            .await;
        let pem = database["ca_certificates"].as_str().unwrap_or_default();
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(pem.as_bytes()).expect("it is PEM");
        roots.add(root).expect("it is a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has these versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let path = format!("{place}/load-balancer/{name}");
        let hostname = cloud.shop.get(&path).await.ok()["hostname"].clone();
        Self {
            connector: TlsConnector::from(Arc::new(config)),
            name: named(hostname.as_str().unwrap_or_default()),
        }
    }

    /// Returns this client, which expects another host name.
    pub fn expecting(&self, name: &str) -> Self {
        Self {
            connector: self.connector.clone(),
            name: named(name),
        }
    }

    pub async fn connect(&self, address: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(address).await?;
        self.connector.connect(self.name.clone(), stream).await
    }

    /// Returns the server's certificate.
    pub fn certificate(stream: &TlsStream<TcpStream>) -> Vec<u8> {
        let (_, connection) = stream.get_ref();
        let chain = connection.peer_certificates().unwrap_or_default();
        chain
            .first()
            .map(|first| first.to_vec())
            .unwrap_or_default()
    }
}

fn named(name: &str) -> ServerName<'static> {
    name.to_owned().try_into().expect("it is a host name")
}

fn secure() -> String {
    format!(
        "name: secure, src_port: {SRC}, health_check_endpoint: /up, health_check_protocol: tcp, stack: ipv4, cert_enabled: true, vms: [vm-1]"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_the_authority_is_for_the_host_name() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let inventory = net.inventory(1, &[&secure()]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("secure", 1).await;
    let trusting = Trusting::of(&cloud, "secure").await;
    let mut stream = trusting
        .connect(address)
        .await
        .expect("the certificate is trusted");
    assert_eq!(ask_on(&mut stream).await.expect("vm-1 responds"), "vm-1");
    let other = trusting
        .expecting("other.stratus.example")
        .connect(address)
        .await;
    let error = other
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(error.contains("not valid for name"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_keys_only_load_balancers_with_a_certificate_do_not_listen() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let plain = super::web("round_robin", "vm-2");
    let home = Home::sqlite();
    home.apply(&net.inventory(2, &[&secure(), &plain]));
    let service = home.serve(&[]);
    let plane = home.balance_without_keys(&["--balance-addresses", &net.pool()]);
    let shop = Caller::new(&service.base, SHOP, "");
    let cloud = Cloud {
        home,
        service,
        plane,
        shop,
    };
    let status = cloud
        .wait_for("secure", |status| states(status, "up").len() == 1)
        .await;
    let problem = status["listeners"][0]["problem"]
        .as_str()
        .unwrap_or_default();
    assert!(problem.contains("needs the encryption keys"), "{status}");
    let status = cloud.wait_for("web", is_listening).await;
    assert_eq!(states(&status, "up"), ["vm-2"]);
    cloud.plane.terminate();
    let (succeeded, log) = cloud.plane.wait();
    assert!(
        succeeded && log.contains("no encryption keys are set"),
        "{log}"
    );
}
