//! The settings of provisioners in another process.

use std::fs;

use crate::support::{Home, TLS};

#[test]
fn settings_that_cannot_work_are_refused_with_what_to_do() {
    let home = Home::sqlite();
    fs::write(home.path().join("short"), "too-short").expect("the folder is writable");
    fs::write(
        home.path().join("two"),
        "0123456789abcdef\n0123456789abcdeg\n",
    )
    .expect("it is writable");
    let (http, url) = (["--provisioner", "http"], "https://databases.example");
    let with_url = [&["serve"], &http[..], &["--provisioner-url", url]].concat();
    for (arguments, wrong) in [
        (
            vec!["serve", "--provisioner", "http"],
            "needs provisioner_url",
        ),
        (with_url.clone(), "set provisioner_token_file"),
        (
            vec!["serve", "--provisioner-url", url],
            "has no effect without provisioner = \"http\"",
        ),
        (
            vec!["config", "--provisioner-timeout", "1s"],
            "has no effect without provisioner = \"http\"",
        ),
        (
            [&with_url[..], &["--provisioner-token-file", "none"]].concat(),
            "failed to read none",
        ),
        (
            [&with_url[..], &["--provisioner-token-file", "short"]].concat(),
            "16 to 256 visible characters",
        ),
        (
            [&with_url[..], &["--provisioner-token-file", "two"]].concat(),
            "more than one token",
        ),
        (
            [
                &with_url[..],
                &[
                    "--provisioner-token-file",
                    "two",
                    "--provisioner-token",
                    "0123456789abcdef",
                ],
            ]
            .concat(),
            "are both set",
        ),
        (
            [
                &with_url[..],
                &[
                    "--provisioner-token",
                    "0123456789abcdef",
                    "--provisioner-ca-file",
                    "short",
                ],
            ]
            .concat(),
            "no certificate in PEM in short",
        ),
        (vec!["provision"], "--provision-token-file FILE"),
        (
            vec!["provision", "--provision-token-file", "short"],
            "16 to 256 visible characters",
        ),
        (
            vec![
                "provision",
                "--provision-token-file",
                "two",
                "--provisioner",
                "http",
            ],
            "this command is the other process",
        ),
        (
            vec![
                "provision",
                "--provision-token-file",
                "two",
                "--tls-key",
                "short",
            ],
            "go together",
        ),
        (
            vec!["check-provisioner", "--provisioner-token-file", "two"],
            "there is no URL",
        ),
    ] {
        let failed = home.fail(&arguments);
        assert!(failed.contains(wrong), "{arguments:?}: {failed}");
        assert!(
            !failed.contains("too-short") && !failed.contains("0123456789abcdef"),
            "{failed}"
        );
    }
}

#[test]
fn a_provisioner_that_others_reach_without_tls_says_so() {
    let home = Home::sqlite();
    fs::write(home.path().join("token"), "0123456789abcdef\n").expect("the folder is writable");
    home.issue();
    for (address, more, is_warned) in [
        ("127.0.0.1:0", &[][..], false),
        ("0.0.0.0:0", &[], true),
        ("0.0.0.0:0", &TLS, false),
    ] {
        let arguments = [
            "--provisioner",
            "simulated",
            "--provision-token-file",
            "token",
            "--provision-listen",
            address,
            "--provision-management-listen",
            "127.0.0.1:0",
        ];
        let provisioner = home.provision(&[&arguments[..], more].concat());
        provisioner.terminate();
        let (is_well, log) = provisioner.wait();
        let warned = log.contains("passwords of databases are received without TLS");
        assert!(is_well && warned == is_warned, "{address} {more:?}: {log}");
    }
}

#[test]
fn a_url_is_https_or_of_this_machine() {
    let home = Home::sqlite();
    let config = |url: &str| {
        let arguments = ["config", "--provisioner", "http", "--provisioner-url", url];
        home.run(&[&arguments[..], &["--provisioner-token", "0123456789abcdef"]].concat())
    };
    for (url, shown) in [
        (
            "https://Databases.example:8082/",
            "https://databases.example:8082",
        ),
        (
            "https://databases.example/stratus/",
            "https://databases.example/stratus",
        ),
        ("http://127.0.0.1:8082", "http://127.0.0.1:8082"),
        ("http://127.3.2.1", "http://127.3.2.1"),
        ("http://[::1]:1", "http://[::1]:1"),
        ("http://localhost:8082", "http://localhost:8082"),
    ] {
        let output = config(url);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            said.contains(&format!("provisioner_url = \"{shown}\" # flag")),
            "{url}: {said}"
        );
        assert!(!said.contains("0123456789abcdef"), "{said}");
    }
    for (url, wrong) in [
        (
            "http://databases.example:8082",
            "must be https, since passwords",
        ),
        ("http://10.0.0.1", "must be https, since passwords"),
        ("http://localhost.example", "must be https, since passwords"),
        (
            "https://user:secret@databases.example",
            "must be an https URL without user",
        ),
        (
            "https://databases.example?token=secret",
            "must be an https URL without user",
        ),
        (
            "https://databases.example#x",
            "must be an https URL without user",
        ),
        (
            "ftp://databases.example",
            "must be an https URL without user",
        ),
        ("databases.example", "must be an https URL without user"),
    ] {
        let output = config(url);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(wrong),
            "{url}: {said}"
        );
    }
}
