//! A server that asks the service for a certificate, as `sslcert` and `sslkey` name it.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::support::Home;

/// Signs a certificate for a name, as that of a host and of a user. Returns it and its key, both in PEM.
fn signed(issuer: &Issuer<'_, KeyPair>, name: &str) -> (String, String) {
    let key = KeyPair::generate().expect("a key can be made");
    let mut params = CertificateParams::new([name.to_owned()]).expect("it is a name");
    params.distinguished_name.push(DnType::CommonName, name);
    let certificate = params.signed_by(&key, issuer).expect("it can be signed");
    (certificate.pem(), key.serialize_pem())
}

#[test]
fn the_service_says_who_it_is_by_its_certificate() {
    let mut authority = CertificateParams::new([]).expect("an authority needs no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key can be made");
    let root = authority.self_signed(&key).expect("it signs its own");
    let root = root.pem();
    let issuer = Issuer::new(authority, key);
    let (server, server_key) = signed(&issuer, "localhost");
    let files = [
        ("server.crt", &*server),
        ("server.key", &*server_key),
        ("root.crt", &*root),
        // The user is the one that a certificate names.
        ("pg_hba.conf", "hostssl all all 127.0.0.1/32 cert\n"),
    ];
    let settings = [("ssl", "on"), ("ssl_ca_file", "root.crt")];
    let Some((mut home, cluster)) = Home::on_server(&settings, &files) else {
        return;
    };
    let write = |name: &str, text: &str| {
        fs::write(home.path().join(name), text).expect("the folder is writable");
    };
    write("root.pem", &root);
    for name in ["stratus", "somebody"] {
        let (certificate, key) = signed(&issuer, name);
        write(&format!("{name}.pem"), &certificate);
        write(&format!("{name}.key"), &key);
    }
    let url = cluster.url();
    let mut said = |identity: &str| {
        home.database_url = format!("{url}?sslmode=verify-ca&sslrootcert=root.pem{identity}");
        home.fail(&["token", "list", "--project", "nobody"])
    };
    let known = said("&sslcert=stratus.pem&sslkey=stratus.key");
    assert!(known.contains("there is no project"), "{known}");
    let nobody = said("");
    assert!(
        nobody.contains("requires a valid client certificate"),
        "{nobody}"
    );
    let another = said("&sslcert=somebody.pem&sslkey=somebody.key");
    assert!(another.contains("authentication failed"), "{another}");
    let mixed = said("&sslcert=stratus.pem&sslkey=somebody.key");
    assert!(mixed.contains("KeyMismatch"), "{mixed}");
    let missing = said("&sslcert=stratus.pem&sslkey=missing.key");
    assert!(missing.contains("failed to read missing.key"), "{missing}");
    let half = said("&sslkey=stratus.key");
    let why = "sslcert and sslkey must be given together";
    assert!(half.contains(why), "{half}");
}
