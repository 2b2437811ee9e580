//! TLS: the certificate, and reloading it.

use rustix::process::Signal;
use std::time::Duration;

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
