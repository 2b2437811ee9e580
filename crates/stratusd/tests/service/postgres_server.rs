//! Connections to a PostgreSQL server: TLS as in libpq, and a server that stops and starts again.

mod freezes;
mod hosts;
mod identity;
mod network;
mod pipelining;
mod runs;
mod sessions;
mod turns;
mod waits;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use stratusd::settings::DatabaseUrl;
use stratusd::storage::StoreConfig;
use stratusd::world::World;

use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

/// Returns the settings of a store whose statements may take `patience`.
fn config(url: &str, patience: Duration) -> StoreConfig {
    let url: DatabaseUrl = url.parse().expect("the URL is valid");
    StoreConfig {
        database: url.database().expect("the URL names a database"),
        connections: 2,
        patience,
        silence: Duration::from_secs(4),
        lock_wait: Duration::from_millis(250),
        world: World::real(),
    }
}

/// Returns the certificate of an authority, and a server certificate and its key, all in PEM.
fn issued(host: &str) -> (String, String, String) {
    let mut authority = CertificateParams::new([]).expect("an authority needs no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("a key can be made");
    let root = authority
        .self_signed(&authority_key)
        .expect("the authority signs its own certificate");
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key can be made");
    let server =
        CertificateParams::new([host.to_owned()]).expect("the host is a name for a certificate");
    let server = server
        .signed_by(&key, &issuer)
        .expect("the authority signs the server's certificate");
    (root.pem(), server.pem(), key.serialize_pem())
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "one case per meaning of sslmode")]
async fn a_servers_certificate_is_judged_as_libpq_says() {
    let (root, certificate, key) = issued("localhost");
    let files = [("server.crt", &*certificate), ("server.key", &*key)];
    let Some((mut home, cluster)) = Home::on_server(&[("ssl", "on")], &files) else {
        return;
    };
    std::fs::write(home.path().join("root.pem"), &root).expect("the folder is writable");
    std::fs::write(home.path().join("other.pem"), issued("localhost").0)
        .expect("the folder is writable");
    let by_number = cluster.url();
    let by_name = by_number.replace("127.0.0.1", "localhost");
    let mut outcome = |url: &str, query: &str| {
        home.database_url = format!("{url}?{query}");
        let mut command = home.command(&["token", "list", "--project", "nobody"]);
        let output = command
            .env("SSL_CERT_FILE", home.path().join("other.pem"))
            .output()
            .expect("the program starts");
        let said = String::from_utf8(output.stderr).expect("the program prints text");
        // A command that gets as far as looking for the project has connected.
        if said.contains("there is no project") {
            "connected".to_owned()
        } else {
            said
        }
    };
    let second_of_two = by_number.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1");
    // The kernel accepts connections to this port, but nothing responds.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let silent_host = silent
        .local_addr()
        .expect("the listener has an address")
        .to_string();
    let second_of_silent = by_number.replace("127.0.0.1", &format!("{silent_host},127.0.0.1"));
    for good in [
        (
            &second_of_two,
            "sslmode=verify-ca&sslrootcert=root.pem&target_session_attrs=read-write",
        ),
        (
            &second_of_silent,
            "sslmode=verify-ca&sslrootcert=root.pem&load_balance_hosts=disable",
        ),
        (&second_of_two, "sslmode=require&load_balance_hosts=random"),
        (&by_name, "sslmode=verify-full&sslrootcert=root.pem"),
        (&by_number, "sslmode=verify-ca&sslrootcert=root.pem"),
        (&by_number, "sslmode=require&sslrootcert=root.pem"),
        (&by_number, "sslmode=require"),
        (&by_number, "sslmode=prefer"),
        (&by_number, "sslmode=disable"),
    ] {
        assert_eq!(outcome(good.0, good.1), "connected", "{good:?}");
    }
    let port = by_number
        .rsplit_once(':')
        .and_then(|(_, rest)| rest.split_once('/'))
        .expect("the URL has a port")
        .0;
    let by_address = "postgres://stratus@/postgres".to_owned();
    let socket = format!(
        "host=/run/postgresql&hostaddr=127.0.0.1&port={port}&sslmode=verify-full&sslrootcert=other.pem"
    );
    let address =
        format!("hostaddr=127.0.0.1&port={port}&sslmode=verify-full&sslrootcert=other.pem");
    let by_password = by_number.replace("stratus@", "stratus:pass?word@");
    for (url, query, why) in [
        // A question mark in the password does not start the options.
        (
            &by_password,
            "sslmode=verify-full&sslrootcert=root.pem",
            "not valid for name",
        ),
        (
            &by_number,
            "sslmode=verify-full&sslrootcert=root.pem",
            "not valid for name",
        ),
        (
            &by_name,
            "sslmode=verify-full&sslrootcert=other.pem",
            "invalid peer certificate",
        ),
        (
            &by_name,
            "sslmode=verify-ca&sslrootcert=other.pem",
            "invalid peer certificate",
        ),
        (
            &by_name,
            "sslmode=require&sslrootcert=other.pem",
            "invalid peer certificate",
        ),
        // The authorities that the system trusts (here another one) have not issued the
        // certificate.
        (&by_name, "sslmode=verify-full", "invalid peer certificate"),
        // An address takes precedence over the folder of a socket.
        (&by_address, &socket, "error performing TLS handshake"),
        (&by_address, &address, "error performing TLS handshake"),
        (&by_address, "sslmode=verify-full", "it names no host"),
        (
            &by_address.replace('@', "@a,b"),
            "hostaddr=127.0.0.1",
            "do not belong together",
        ),
        (
            &by_name,
            "sslmode=verify-full&sslrootcert=missing.pem",
            "failed to read missing.pem",
        ),
        (
            &by_name,
            "sslmode=verify-full&sslrootcert=keys",
            "there is no certificate in keys",
        ),
        (
            &by_name,
            "sslmode=allow",
            "sslmode must be one of disable, prefer, require, verify-ca, verify-full",
        ),
        (
            &by_name,
            "sslcert=root.pem",
            "sslcert and sslkey must be given together",
        ),
    ] {
        let said = outcome(url, query);
        assert!(said.contains(why), "{query}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_not_spoken_to_where_tls_is_asked_for() {
    let Some((mut home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.database_url = format!("{}?sslmode=require", cluster.url());
    assert!(
        home.fail(&["token", "list", "--project", "nobody"])
            .contains("server does not support TLS")
    );
    home.database_url = format!("{}?sslmode=prefer", cluster.url());
    assert!(
        home.fail(&["token", "list", "--project", "nobody"])
            .contains("there is no project")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_is_used_again() {
    let Some((home, mut cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&["--log-format", "json"]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let subnet = |name: &str| format!("/location/eu-central-h1/private-subnet/{name}");
    let made = caller.post_nothing(&subnet("before")).await.ok();
    cluster.stop();
    // The token is cached for a second. After that, it is the first thing that cannot be read.
    for _ in 0..2 {
        assert_eq!(caller.get(&subnet("before")).await.error().0, 503);
        assert_eq!(
            caller.post_nothing(&subnet("meanwhile")).await.error().0,
            503
        );
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
    let ready = reqwest::get(format!("{}/readyz", service.management))
        .await
        .expect("the service responds");
    assert_eq!(ready.status(), 503);
    cluster.start_again();
    let start = Instant::now();
    while reqwest::get(format!("{}/readyz", service.management))
        .await
        .expect("the service responds")
        .status()
        != 200
    {
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "the service does not find its database again"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Each connection notices on its own, so the test tries more than one.
    for number in 0..20 {
        assert_eq!(caller.get(&subnet("before")).await.ok(), made);
        caller
            .post_nothing(&subnet(&format!("after-{number}")))
            .await
            .ok();
    }
    service.terminate();
    let (is_well, log) = service.wait();
    // With its causes, down to the error of the system.
    assert!(
        is_well && log.contains("the database cannot be reached") && log.contains("os error"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_made_once() {
    let Some((home, cluster)) = Home::on_server(
        &[("log_connections", "on"), ("log_disconnections", "on")],
        &[],
    ) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let before = cluster.log().matches("connection authorized").count();
    let service = home.serve(&["--database-connections", "4"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    let subnet = "/location/eu-central-h1/private-subnet/shared";
    let made = caller.post_nothing(subnet).await.ok();
    for _ in 0..50 {
        assert_eq!(caller.get(subnet).await.ok(), made);
        caller.get("/postgres").await.ok();
    }
    service.terminate();
    assert!(service.wait().0);
    let log = cluster.log();
    // One more connection has run the migrations.
    let of_service = log.matches("connection authorized").count() - before;
    assert!(
        (3..=5).contains(&of_service),
        "{of_service} connections were made:\n{log}"
    );
    assert!(
        !log.contains("unexpected EOF"),
        "a connection ended without a message to PostgreSQL:\n{log}"
    );
    assert!(
        !log.contains("already a transaction in progress"),
        "a reader left its transaction open:\n{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_given_up() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&["--shutdown-timeout", "3s"]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    caller
        .post_nothing("/location/eu-central-h1/private-subnet/before")
        .await
        .ok();
    cluster.signal("STOP");
    let begun = Instant::now();
    let asked: Vec<_> = (0..12)
        .map(|number| {
            let caller = caller.clone();
            tokio::spawn(async move {
                if number % 2 == 0 {
                    caller
                        .get("/location/eu-central-h1/private-subnet/before")
                        .await
                        .error()
                        .0
                } else {
                    caller
                        .post_nothing(&format!("/location/eu-central-h1/private-subnet/n{number}"))
                        .await
                        .error()
                        .0
                }
            })
        })
        .collect();
    for response in asked {
        assert_eq!(
            response.await.expect("the calling task does not panic"),
            503
        );
    }
    assert!(
        begun.elapsed() < Duration::from_secs(45),
        "the requests took {:?}",
        begun.elapsed()
    );
    let begun = Instant::now();
    service.terminate();
    assert!(service.wait().0);
    assert!(
        begun.elapsed() < Duration::from_mins(1),
        "the requests took {:?}",
        begun.elapsed()
    );
    cluster.signal("CONT");
}

#[test]
fn a_server_is_asked_whether_it_accepts_writes() {
    const CONNECTED: &str = "there is no project";
    let Some((mut home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let url = home.database_url.clone();
    let mut outcome = |wanted: &str| {
        home.database_url = format!("{url}?target_session_attrs={wanted}");
        let output = home
            .command(&["token", "list", "--project", "nobody"])
            .output();
        let output = output.expect("the program starts");
        String::from_utf8(output.stderr).expect("the program prints text")
    };
    for (wanted, said) in [
        ("any", CONNECTED),
        ("read-write", CONNECTED),
        ("read-only", "the database accepts writes"),
    ] {
        let outcome = outcome(wanted);
        assert!(outcome.contains(said), "{wanted}: {outcome}");
    }
    cluster
        .ask("ALTER DATABASE postgres SET default_transaction_read_only = on")
        .expect("the administrator may alter a database");
    let outcome = outcome("read-write");
    assert!(
        outcome.contains("the database does not accept writes"),
        "{outcome}"
    );
}
