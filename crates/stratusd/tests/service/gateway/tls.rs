//! TLS to the upstream and of the gateway.

use std::net::SocketAddr;
use std::process::Command;

use axum_server::tls_rustls::RustlsConfig;

use super::upstream::Upstream;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, TLS};

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_of_the_gateway_speak_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let home = Home::sqlite();
    home.apply(&two_projects());
    let issued = home.issue();
    let (certificate, key) = (issued.cert.pem(), issued.signing_key.serialize_pem());
    let config = RustlsConfig::from_pem(certificate.clone().into(), key.into()).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.set_nonblocking(true).expect("it can be set");
    let port = listener.local_addr().expect("it has an address").port();
    let (upstream, router) = Upstream::at(format!("https://localhost:{port}"));
    let server = axum_server::from_tcp_rustls(listener, config.expect("the pair is valid"));
    tokio::spawn(
        server
            .expect("it listens")
            .serve(router.into_make_service()),
    );

    let gateway = [
        "--gateway-listen",
        "127.0.0.1:0",
        "--gateway-upstream",
        &upstream.url,
    ];
    let settings = [&gateway[..], &TLS].concat();
    // Whether the system trusts the upstream's certificate decides.
    for (authorities, status) in [
        ("cert.pem", 200),
        ("/etc/ssl/certs/ca-certificates.crt", 502),
    ] {
        if !home.path().join(authorities).exists() {
            continue;
        }
        let trusting = |command: &Command| {
            let mut starter = Command::new("env");
            starter.arg(format!("SSL_CERT_FILE={authorities}"));
            starter.arg(command.get_program()).args(command.get_args());
            Some(starter)
        };
        let service = home.serve_by(trusting, &settings);
        let api: SocketAddr = service.base["https://".len()..]
            .parse()
            .expect("an address");
        let root = reqwest::Certificate::from_pem(certificate.as_bytes());
        let http = reqwest::Client::builder()
            .tls_certs_only([root.expect("it is a certificate")])
            .build()
            .expect("the settings are valid");
        let token = home.token("shop", &[]);
        let base = format!("https://localhost:{}", api.port());
        let made = http
            .post(format!("{base}/project/{SHOP}/inference-api-key"))
            .bearer_auth(&token)
            .send()
            .await
            .expect("the service responds");
        let made: serde_json::Value = made.json().await.expect("it is JSON");
        let gateway = service.gateway.as_ref().expect("the gateway is on");
        assert!(gateway.starts_with("https://"), "{gateway}");
        let url = format!("{}/v1/models", gateway.replace("127.0.0.1", "localhost"));
        let secret = made["key"].as_str().expect("a new key is shown");
        let response = http.get(url).bearer_auth(secret).send().await;
        assert_eq!(response.expect("the gateway responds").status(), status);
    }
    assert_eq!(upstream.arrived().len(), 1);
}
