//! TLS: the certificate, and reloading it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::{home, send_signal, start};
use crate::support::{TLS, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_taken_without_a_restart() {
    let home = home();
    let first = home.issue().cert.pem();
    let service = home.serve(&TLS);
    assert!(
        service.base.starts_with("https://127.0.0.1:"),
        "{}",
        service.base
    );
    let url = format!(
        "{}/openapi.json",
        service.base.replace("127.0.0.1", "localhost")
    );
    assert_eq!(
        trusting(&first)
            .get(&url)
            .send()
            .await
            .expect("the client trusts the first certificate")
            .status(),
        200
    );
    let second = home.issue().cert.pem();
    let is_taken = eventually(async || trusting(&second).get(&url).send().await.ok())
        .await
        .is_some();
    assert!(is_taken, "the service does not use the new certificate");
    assert!(
        trusting(&first).get(&url).send().await.is_err(),
        "the service still uses the old certificate"
    );
    // A broken certificate does not replace the old one.
    std::fs::write(home.path().join("cert.pem"), "no certificate").expect("the folder is writable");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(
        trusting(&second)
            .get(&url)
            .send()
            .await
            .expect("the client trusts the second certificate")
            .status(),
        200
    );
    let third = home.issue().cert.pem();
    let is_taken = eventually(async || trusting(&third).get(&url).send().await.ok())
        .await
        .is_some();
    assert!(
        is_taken,
        "the service does not use the certificate that replaced the broken one"
    );
}

#[test]
fn http_2_can_be_turned_off() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let home = home();
    let certificate = home.issue().cert.der().clone();
    for (settings, chosen) in [(&[][..], &b"h2"[..]), (&["--http2", "off"], b"http/1.1")] {
        let (mut service, base) = start(&home, &[&TLS, settings].concat());
        let address = base.strip_prefix("https://").expect("it has TLS");
        // Also when the certificate is loaded again.
        for _ in 0..2 {
            let agreed = agreed(address, &certificate);
            assert_eq!(agreed.as_deref(), Some(chosen), "{settings:?}");
            send_signal(&service, Signal::HUP);
            std::thread::sleep(Duration::from_millis(300));
        }
        service.kill().expect("it runs");
        service.wait().expect("it has ended");
        // Without TLS, a caller may begin with HTTP/2. The settings of a server begin with their length.
        let service = home.serve(settings);
        let first = |base: &str| {
            let address = base.strip_prefix("http://").expect("it has no TLS");
            let mut stream = TcpStream::connect(address).expect("the service listens");
            stream.write_all(PREFACE).expect("it is open");
            let mut first = [b'H'];
            let _ = stream.read(&mut first);
            first[0]
        };
        let is_http_2 = first(&service.base) == 0;
        assert_eq!(is_http_2, chosen == b"h2", "{settings:?}");
        // The management port never has it.
        assert_eq!(first(&service.management), b'H');
    }
}

/// Returns the protocol that the service chooses if it is offered both versions of HTTP.
fn agreed(address: &str, certificate: &CertificateDer<'static>) -> Option<Vec<u8>> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("it is a certificate");
    let mut config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = [&b"h2"[..], b"http/1.1"].map(<[u8]>::to_vec).to_vec();
    let name = "localhost".try_into().expect("it is a name");
    let mut connection = ClientConnection::new(Arc::new(config), name).expect("it is a client");
    let mut stream = TcpStream::connect(address).expect("the service listens");
    while connection.is_handshaking() {
        connection
            .complete_io(&mut stream)
            .expect("the handshake succeeds");
    }
    connection.alpn_protocol().map(<[u8]>::to_vec)
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_reloads_a_certificate_whose_time_has_not_changed() {
    let home = home();
    let write = |(certificate, key): &(String, String)| {
        for (name, text) in [("cert.pem", certificate), ("key.pem", key)] {
            let path = home.path().join(name);
            std::fs::write(&path, text).expect("the folder is writable");
            let file = std::fs::File::options()
                .write(true)
                .open(&path)
                .expect("the certificate file exists");
            file.set_modified(std::time::UNIX_EPOCH)
                .expect("the test owns the file");
        }
    };
    let (first, second) = (issued(), issued());
    write(&first);
    let (mut service, base) = start(&home, &TLS);
    let url = format!("{}/openapi.json", base.replace("127.0.0.1", "localhost"));
    write(&second);
    let before = trusting(&first.0)
        .get(&url)
        .send()
        .await
        .map(|response| response.status().as_u16());
    send_signal(&service, Signal::HUP);
    let trusting_second = trusting(&second.0);
    let after = eventually(async || trusting_second.get(&url).send().await.ok()).await;
    let _ = service.kill();
    let _ = service.wait();
    assert_eq!(
        (
            before.ok(),
            after.map(|response| response.status().as_u16())
        ),
        (Some(200), Some(200))
    );
}

#[test]
fn a_key_without_a_certificate_is_refused() {
    let home = home();
    for name in ["cert.pem", "key.pem"] {
        std::fs::write(home.path().join(name), "nothing of the kind\n")
            .expect("the folder is writable");
    }
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--management-listen",
        "127.0.0.1:0",
        "--tls-key",
        "key.pem",
    ];
    let said = home.fail(&serve);
    assert!(said.contains("go together"), "{said}");
    let said = home.fail(&[&serve[..], &["--tls-certificate", "cert.pem"]].concat());
    assert!(
        said.contains("there is no certificate in PEM in cert.pem"),
        "{said}"
    );
    let said = home.fail(&[&serve[..], &["--tls-certificate", "missing.pem"]].concat());
    assert!(said.contains("failed to read missing.pem"), "{said}");
}

/// Returns a self-signed certificate and its key, in PEM.
fn issued() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
        .expect("a certificate can be made");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// Returns a client that trusts only a certificate.
fn trusting(pem: &str) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root =
        reqwest::Certificate::from_pem(pem.as_bytes()).expect("the PEM text is a certificate");
    reqwest::Client::builder()
        .tls_certs_only([root])
        .build()
        .expect("a client can be made")
}
