//! Runs the program as cargo does: `cargo stratus lint` is `cargo-stratus stratus lint`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

fn stratus(arguments: &[&str]) -> (i32, String) {
    stratus_in(Path::new(env!("CARGO_TARGET_TMPDIR")), arguments)
}

fn stratus_in(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-stratus"))
        .args(arguments)
        .current_dir(folder)
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("the program runs");
    let printed = String::from_utf8([stderr, stdout].concat()).expect("it prints text");
    (status.code().expect("it ends without a signal"), printed)
}

#[test]
fn help_and_messages_name_the_command_that_was_typed() {
    let (code, printed) = stratus(&["stratus", "--help"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("Usage: cargo stratus <COMMAND>"),
        "{printed}"
    );
    for command in [
        "codegen", "lint", "diff", "overlay", "lsp", "mock", "preview",
    ] {
        assert!(printed.contains(&format!("\n  {command} ")), "{printed}");
        let (code, printed) = stratus(&["stratus", command, "--help"]);
        assert_eq!(code, 0, "{printed}");
        let usage = format!("Usage: cargo stratus {command} ");
        assert!(printed.contains(&usage), "{printed}");
        assert!(!printed.contains("xtask"), "{printed}");
    }
    let contract = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../xtask/tests/documents/pets.yaml"
    );
    let arguments = [
        "codegen",
        "--check",
        "--contract",
        contract,
        "--out",
        "none",
    ];
    let (code, printed) = stratus(&[&["stratus"], &arguments[..]].concat());
    assert_eq!(code, 4, "{printed}");
    assert!(
        printed.contains("\n    cargo stratus codegen --contract "),
        "{printed}"
    );
}

#[test]
fn the_program_can_be_called_without_cargo() {
    let (code, printed) = stratus(&["lint", "--explain", "unknown-keyword"]);
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = stratus(&["--version"]);
    assert_eq!(
        (code, printed.trim_end()),
        (0, concat!("cargo stratus ", env!("CARGO_PKG_VERSION")))
    );
}

#[test]
fn nothing_is_said_about_progress_where_nobody_looks() {
    let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml");
    let (_, printed) = stratus(&[
        "codegen",
        "--check",
        "--contract",
        contract,
        "--out",
        "none",
    ]);
    assert!(!printed.contains('\r') && !printed.contains('\u{1b}'));
}

#[cfg(unix)]
#[test]
fn a_mock_says_where_it_is_and_what_it_is_and_ends_at_a_signal() {
    let contract = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../xtask/tests/documents/pets.yaml"
    );
    for signal in [Signal::TERM, Signal::INT] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-stratus"))
            .args(["stratus", "mock", contract, "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let printed = program.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(printed).lines();
        let mut line = || lines.next().expect("a line").expect("text");
        let (first, second) = (line(), line());
        let address = first.strip_prefix("http://").expect("a URL");
        let (address, words) = address.split_once(' ').expect("words");
        assert!(words.starts_with("is a mock of "), "{first}");
        assert!(second.contains("nothing is kept"), "{second}");
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream
            .write_all(b"GET /nothing HTTP/1.0\r\nhost: x\r\n\r\n")
            .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it responds");
        assert!(response.starts_with("HTTP/1.0 404 "), "{response}");
        kill_process(Pid::from_child(&program), signal).expect("the program is alive");
        let ended = program.wait().expect("it ends");
        assert_eq!(ended.code(), Some(0), "{signal:?}");
    }
    for wrong in [["--delay", "61s"], ["--delay", "1"], ["--fail", "2"]] {
        let (code, printed) = stratus(&["stratus", "mock", contract, wrong[0], wrong[1]]);
        assert_eq!(code, 2, "{printed}");
    }
}

#[cfg(unix)]
#[test]
fn a_proxy_reports_what_does_not_match_and_its_exit_code_says_so() {
    let contract = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../xtask/tests/documents/pets.yaml"
    );
    for (body, code) in [(r#"{"name":"Tom"}"#, 0), (r#"{"name":7}"#, 5)] {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let url = format!("http://{}", server.local_addr().expect("it listens"));
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().expect("a connection");
            let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
            while !lines.next().expect("a line").expect("text").is_empty() {}
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let length = body.len();
            write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").expect("it reads");
        });
        let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-stratus"))
            .args(["stratus", "mock", contract, "--port", "0", "--proxy", &url])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let printed = program.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(printed).lines();
        let mut line = || lines.next().expect("a line").expect("text");
        let (first, second) = (line(), line());
        let address = first.strip_prefix("http://").expect("a URL");
        let (address, words) = address.split_once(' ').expect("words");
        assert_eq!(words, format!("is a proxy of {url}, judged by Pets 1.0.0"));
        assert!(second.contains("forwarded all the same"), "{second}");
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream
            .write_all(b"GET /pets/tom HTTP/1.0\r\nhost: x\r\n\r\n")
            .expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it responds");
        assert!(response.ends_with(body), "{response}");
        serving.join().expect("it responds");
        kill_process(Pid::from_child(&program), Signal::INT).expect("the program is alive");
        let count = u8::from(code == 5);
        assert_eq!(
            line(),
            format!("requests: 1; violations: 0 of requests, {count} of responses")
        );
        let ended = program.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(code), "{body}");
        let found = String::from_utf8(ended.stderr).expect("text");
        let expected = if code == 5 {
            "pet_view (GET /pets/{pet_id}): response: body /name must be a string\n"
        } else {
            ""
        };
        assert_eq!(found, expected);
    }
    for wrong in [
        &["--errors"][..],
        &["--proxy", "localhost"],
        &["--proxy", "http://a.example", "--stateful"],
        &["--proxy", "http://a.example", "--fail", "1"],
    ] {
        let (code, printed) = stratus(&[&["stratus", "mock", contract], wrong].concat());
        assert_eq!(code, 2, "{printed}");
    }
}

/// Runs git in a folder, as nobody in particular.
fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
}

#[test]
fn a_repository_needs_nothing_but_its_document() {
    let repository = tempfile::tempdir().expect("a folder can be made");
    let (root, docs) = (repository.path(), repository.path().join("docs"));
    let (code, printed) = stratus_in(root, &["lint"]);
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("no openapi.yaml is here or above"),
        "{printed}"
    );

    std::fs::create_dir(&docs).expect("a folder can be made");
    let pets = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../xtask/tests/documents/pets.yaml"
    );
    let document = root.join("openapi.yaml");
    let pets = std::fs::read_to_string(pets).expect("the document is there");
    std::fs::write(&document, &pets).expect("a file can be written");
    git(root, &["init", "--quiet"]);
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "Begin"]);
    for folder in [root, &docs] {
        let (code, printed) = stratus_in(folder, &["lint"]);
        assert_eq!(code, 0, "{printed}");
    }
    let (code, printed) = stratus_in(&docs, &["codegen"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        root.join("crates/api-types/Cargo.toml").is_file(),
        "{printed}"
    );
    let (code, printed) = stratus_in(&docs, &["codegen", "--contract", "../openapi.yaml"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        docs.join("crates/api-types/Cargo.toml").is_file(),
        "{printed}"
    );
    // What is wrong with the arguments is said, though there is no workspace.
    let (code, printed) = stratus_in(&docs, &["codegen", "--contract", "none.yaml"]);
    assert_eq!(code, 1, "{printed}");
    assert!(
        printed.contains("none.yaml") && printed.contains("check the path"),
        "{printed}"
    );
    let broken = pets.replacen("operationId", "operationID", 1);
    std::fs::write(&document, broken).expect("a file can be written");
    let (code, printed) = stratus_in(&docs, &["lint"]);
    assert!(code != 0 && printed.contains("openapi.yaml:"), "{printed}");
    std::fs::write(&document, pets.replacen("/pets/", "/animals/", 1)).expect("it can be written");
    let (code, printed) = stratus_in(&docs, &["diff", "--base", "HEAD"]);
    assert_eq!(code, 5, "{printed}");
    assert!(printed.contains("/pets/{pet_id}"), "{printed}");

    // A document above the repository is not part of it.
    let inner = root.join("inner");
    std::fs::create_dir(&inner).expect("a folder can be made");
    git(&inner, &["init", "--quiet"]);
    let (code, printed) = stratus_in(&inner, &["lint"]);
    assert_eq!(code, 1, "{printed}");
}
