//! Compares what pages say that a command prints with what it prints.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns a block of text of a page, counted from 0.
fn block(page: &str, number: usize) -> String {
    let text = fs::read_to_string(Path::new(ROOT).join(page)).expect("the page can be read");
    let block = text.split("```text\n").skip(1).nth(number);
    let block = block.and_then(|block| block.split("```").next());
    block.expect("the page has the block").to_owned()
}

/// Replaces the numbers of lines in a message, which change with each line of the contract.
fn without_lines(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let gutter = line.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == ' ');
        if gutter.starts_with('|') {
            return gutter.to_owned();
        }
        match line.trim_start().strip_prefix("--> ") {
            Some(place) => place
                .split(':')
                .filter(|part| part.parse::<u32>().is_err())
                .collect(),
            None => line.trim_start().to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns what `diff` prints about two versions of a document, of which the first one is on
/// `origin/main`.
fn diff(before: &str, after: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let git = |arguments: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(arguments)
            .current_dir(folder.path())
            .status();
        assert!(status.expect("git is there").success(), "git {arguments:?}");
    };
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("it can be written");
    };
    write(
        "contract.toml",
        "[[contract]]\ndocument = \"openapi.yaml\"\nname = \"api\"\nout = \"crates\"\n",
    );
    write("openapi.yaml", before);
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=The document"]);
    git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    write("openapi.yaml", after);
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-stratus"))
        .args(["stratus", "diff"])
        .current_dir(folder.path())
        .output()
        .expect("the program runs");
    let printed = [output.stdout, output.stderr].concat();
    String::from_utf8(printed).expect("it prints text")
}

/// Asserts that a page shows a part of what was printed.
fn assert_shown(page: &str, number: usize, printed: &str) {
    let shown = without_lines(&block(page, number));
    let printed = without_lines(printed);
    assert!(
        printed.contains(&shown),
        "{page} shows\n\n{shown}\n\nand this is printed:\n\n{printed}"
    );
}

#[test]
fn a_finding_looks_as_its_page_shows() {
    let before = fs::read_to_string(Path::new(ROOT).join("openapi.yaml"));
    let before = before.expect("the contract can be read");
    let (start, port) = before.split_once("\n    Port:\n").expect("it has ports");
    let port = port.replacen("maximum: 65535", "maximum: 60000", 1);
    let after = format!("{start}\n    Port:\n{port}");
    assert_shown("docs/diff.md", 0, &diff(&before, &after));
}

#[test]
fn a_finding_in_rust_looks_as_its_page_shows() {
    let before = r##"
openapi: 3.1.0
info: { title: Machines, version: 1.0.0 }
paths:
  /vm:
    get:
      operationId: vm_view
      tags: [vm]
      responses:
        "200":
          description: A machine.
          content: { application/json: { schema: { $ref: "#/components/schemas/Vm" } } }
components:
  schemas:
    Vm:
      type: object
      properties: { fooBar: { type: integer, format: int32 } }
"##;
    let after = before.replace("{ fooBar:", "{ foo_bar: { type: string }, fooBar:");
    assert_shown("docs/diff.md", 1, &diff(before, &after));
}

/// A server that answers each request with opening hours that do not fit the document.
fn wrong_hours() -> String {
    const BODY: &str = r#"[{"date":"2026-03-02","open":7,"close":"17:00"}]"#;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a caller comes");
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).expect("it has a request");
            let response = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{BODY}",
                BODY.len()
            );
            stream.write_all(response.as_bytes()).expect("it reads");
        }
    });
    format!("http://{address}")
}

#[test]
fn a_violation_looks_as_its_page_shows() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documents/museum.yaml");
    let mut mock = Command::new(env!("CARGO_BIN_EXE_cargo-stratus"))
        .args(["stratus", "mock", document, "--port", "0", "--proxy"])
        .arg(wrong_hours())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(mock.stdout.take().expect("it is piped")).lines();
    let first = lines.next().expect("it says where it is").expect("text");
    let address = first.split("http://").nth(1).expect("a URL");
    let end = address.find(|end: char| end == '/' || end.is_whitespace());
    let address = &address[..end.unwrap_or(address.len())];
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "GET /museum-hours HTTP/1.0\r\nhost: {address}\r\n\r\n"
    )
    .expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it responds");
    let mut said = BufReader::new(mock.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says what is wrong");
    mock.kill().expect("it runs");
    mock.wait().expect("it ends");
    assert_shown("docs/mock.md", 0, &line);
}
