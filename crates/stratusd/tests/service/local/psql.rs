//! The program `psql`, as an owner runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::create;
use crate::support::cluster::binaries::lookup_binary;
use crate::support::leave_out;
use crate::support::servers::{Servers, address};

/// The first version of libpq that knows addresses in certificates.
const LEAST: u32 = 15;

/// Runs a query by `psql`. Returns its output, or what it says of an error.
fn run(psql: &Path, url: &str) -> Result<String, String> {
    let query = "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let mut command = Command::new(psql);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PG")) {
        command.env_remove(name);
    }
    let output = command
        .args([url, "--no-psqlrc", "--no-password", "--tuples-only"])
        .args(["--no-align", "--command", query])
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let [said, wrong] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    if output.status.success() {
        Ok(said)
    } else {
        Err(wrong)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn psql_verifies_the_server_of_a_database() {
    let Some(psql) = lookup_binary("psql") else {
        leave_out("psql is not installed");
        return;
    };
    let version = Command::new(&psql).arg("--version").output();
    let version = String::from_utf8(version.expect("it starts").stdout).expect("it is text");
    let major = version.split_whitespace().nth(2);
    let major = major.and_then(|version| version.split('.').next()?.parse().ok());
    if major.is_none_or(|major: u32| major < LEAST) {
        leave_out(&format!("psql is older than {LEAST}: {version}"));
        return;
    }
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let made = create(&servers.caller(&service), "orders", json!({})).await;
    let authority = made["ca_certificates"].as_str().expect("it is known");
    let file = |name: &str, text: &str| {
        let path = servers.home.path().join(name);
        fs::write(&path, text).expect("the folder is writable");
        path.display().to_string()
    };
    let ours = file("ours.pem", authority);
    let other = rcgen::generate_simple_self_signed(["another".to_owned()]);
    let other = file("other.pem", &other.expect("it can be made").cert.pem());

    let url = made["connection_string"].as_str().expect("it is known");
    let strict = url.replace("sslmode=require", "sslmode=verify-full");
    assert_ne!(strict, url);
    let said = run(&psql, &format!("{strict}&sslrootcert={ours}"));
    assert_eq!(said.expect("the server is verified"), "t|TLSv1.3\n");
    let wrong = run(&psql, &format!("{strict}&sslrootcert={other}"));
    let wrong = wrong.expect_err("another authority is refused");
    assert!(wrong.contains("certificate verify failed"), "{wrong}");
    // The same server by a name that its certificate does not have.
    let host = address(&made).to_string();
    let named = strict.replace(&format!("@{host}:"), "@localhost:");
    let wrong = run(
        &psql,
        &format!("{named}&hostaddr={host}&sslrootcert={ours}"),
    );
    let wrong = wrong.expect_err("another name is refused");
    assert!(wrong.contains("does not match host name"), "{wrong}");
}
