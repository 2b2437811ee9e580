//! Edits a document while `cargo stratus preview` shows it, and reads what the page reads.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long an event may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A git repository with a document whose revision `HEAD` is the base.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let pets = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../xtask/tests/documents/pets.yaml"
        );
        fs::copy(pets, folder.path().join("pets.yaml")).expect("the document can be copied");
        for arguments in [
            &["init", "--quiet"][..],
            &["add", "."],
            &["commit", "--quiet", "-m", "Begin"],
        ] {
            let status = Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
                .args(arguments)
                .current_dir(folder.path())
                .status();
            assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
        }
        Self { folder }
    }

    fn document(&self) -> PathBuf {
        self.folder.path().join("pets.yaml")
    }

    fn edit(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.document()).expect("the document can be read");
        assert!(text.contains(from), "{text}");
        fs::write(self.document(), text.replacen(from, to, 1)).expect("it can be written");
    }
}

/// A preview that runs, and the events of its page.
struct Preview {
    child: Child,
    /// Kept open: the program ends when it cannot say what it wants to.
    _said: BufReader<ChildStdout>,
    address: String,
    events: Lines<BufReader<TcpStream>>,
}

impl Preview {
    fn start(document: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-stratus"))
            .arg("preview")
            .arg(document)
            .args(["--port", "0", "--base", "HEAD"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let stdout = child.stdout.take().expect("it is piped");
        let (mut output, mut said) = (BufReader::new(stdout), String::new());
        output.read_line(&mut said).expect("it says where it is");
        let address = said
            .strip_prefix("http://")
            .and_then(|said| said.split_once("/preview/ "))
            .map(|(address, _)| address.to_owned())
            .expect("it says where the page is");
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("it can be set");
        let head = "GET /preview/judgements HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("it reads");
        let events = BufReader::new(stream).lines();
        Self {
            child,
            _said: output,
            address,
            events,
        }
    }

    /// Returns the next judgement for which a condition holds.
    fn judgement(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let line = self
                .events
                .next()
                .expect("the events go on")
                .expect("in time");
            let Some(data) = line.strip_prefix("data: ") else {
                continue;
            };
            let judgement: Value = serde_json::from_str(data).expect("an event is JSON");
            if holds(&judgement) {
                return judgement;
            }
        }
        panic!("no such judgement came in time");
    }

    /// Returns the status and the body of the response to a GET.
    fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut response = String::new();
        stream
            .read_to_string(&mut response)
            .expect("it responds with text");
        let status = response.split(' ').nth(1).expect("a status");
        let (_, body) = response.split_once("\r\n\r\n").expect("a head");
        (status.parse().expect("a number"), body.to_owned())
    }
}

impl Drop for Preview {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_compared(judgement: &Value) -> bool {
    judgement["changes"].is_object()
}

#[test]
fn each_save_renews_the_mock_the_findings_and_the_verdict() {
    let repository = Repository::new();
    let mut preview = Preview::start(&repository.document());
    let first = preview.judgement(is_compared);
    assert_eq!(first["isCurrent"], true, "{first}");
    assert_eq!(first["findings"]["errors"], 0, "{first}");
    assert_eq!(
        first["changes"]["findings"],
        serde_json::json!([]),
        "{first}"
    );
    assert_eq!(preview.get("/pets/p1").0, 200);
    let (status, page) = preview.get("/preview/");
    assert!(status == 200 && page.contains("page.js"), "{page}");
    assert_eq!(preview.get("/docs/swagger-ui-bundle.js").0, 200);

    repository.edit("/pets/{pet_id}:", "/animals/{pet_id}:");
    let renamed = preview.judgement(|judgement| {
        judgement["revision"] != first["revision"] && is_compared(judgement)
    });
    assert_eq!(renamed["isCurrent"], true, "{renamed}");
    assert_eq!(renamed["changes"]["refused"], true, "{renamed}");
    assert!(
        renamed["changes"].to_string().contains("/pets/{pet_id}"),
        "{renamed}"
    );
    assert_eq!(
        (preview.get("/pets/p1").0, preview.get("/animals/p1").0),
        (404, 200)
    );

    // While it is broken, the last revision is still served.
    repository.edit("operationId: pet_view", "operationID: pet_view");
    // The file may be read between its truncation and its text.
    let broken = preview.judgement(|judgement| {
        judgement["isCurrent"] == false
            && judgement["findings"]["findings"][0]["rule"] != "empty-document"
    });
    assert!(broken["findings"]["errors"].as_u64() > Some(0), "{broken}");
    assert_eq!(broken["findings"]["findings"][0]["line"], 9, "{broken}");
    assert_eq!(preview.get("/animals/p1").0, 200);
    repository.edit("operationID: pet_view", "operationId: animal_view");
    let mended =
        preview.judgement(|judgement| judgement["isCurrent"] == true && is_compared(judgement));
    assert_eq!(mended["findings"]["errors"], 0, "{mended}");
    assert!(preview.get("/openapi.json").1.contains("animal_view"));
}

#[test]
fn a_document_that_cannot_be_read_is_shown_as_soon_as_it_can() {
    let repository = Repository::new();
    repository.edit("openapi: 3", "openapi: 9");
    let mut preview = Preview::start(&repository.document());
    let first = preview.judgement(is_compared);
    assert_eq!(first["isCurrent"], false, "{first}");
    assert!(first["changes"]["unknown"].is_string(), "{first}");
    let (status, text) = preview.get("/pets/p1");
    assert!(status == 503 && text.contains("/preview/"), "{text}");
    repository.edit("openapi: 9", "openapi: 3");
    preview.judgement(|judgement| judgement["isCurrent"] == true);
    assert_eq!(preview.get("/pets/p1").0, 200);
}

/// Returns the processes of this machine whose parent has this id.
fn children(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("the machine has /proc");
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after = stat.rsplit(") ").next().unwrap_or_default();
        after.split(' ').nth(1) == Some(&parent.to_string())
    })
    .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn no_mock_outlives_its_preview() {
    let repository = Repository::new();
    let mut preview = Preview::start(&repository.document());
    let first = preview.judgement(is_compared);
    repository.edit("/pets/{pet_id}:", "/animals/{pet_id}:");
    // Comparing calls git, so it is over when the comparison is there.
    preview.judgement(|judgement| {
        judgement["revision"] != first["revision"] && is_compared(judgement)
    });
    let mocks = children(preview.child.id());
    assert_eq!(mocks.len(), 1, "the mocks of earlier revisions have ended");
    let id = Pid::from_child(&preview.child);
    kill_process(id, Signal::KILL).expect("it runs");
    let begun = Instant::now();
    let is_there = |id: &u32| Path::new(&format!("/proc/{id}")).exists();
    while mocks.iter().any(is_there) {
        assert!(begun.elapsed() < PATIENCE, "the mock is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}
