//! A command line made from a contract, and a server that answers with what it was sent.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A command line with its description in a folder of its own.
pub struct Program {
    folder: TempDir,
    name: &'static str,
    environment: Vec<(String, String)>,
}

/// What a command has printed, and how it ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Program {
    /// Makes a command line for a description and its schemas.
    pub fn new(name: &'static str, operations: &str, schemas: &str) -> Self {
        let folder = TempDir::new().expect("a folder can be made");
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text);
        write("operations.json", operations).expect("the file can be written");
        write("schemas.json", schemas).expect("the file can be written");
        Self {
            folder,
            name,
            environment: Vec::new(),
        }
    }

    /// Returns the program with a variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a file into the folder of the program and returns its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path: PathBuf = self.folder.path().join(name);
        fs::write(&path, bytes).expect("the file can be written");
        path.display().to_string()
    }

    /// Returns the folder of the program, which is the home of who calls it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the program, whose standard input is empty.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, "")
    }

    /// Runs the program with a standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_described"));
        self.end(command.args(arguments), input)
    }

    /// Runs a line of a shell, in the folder of the program, in which the program has its name.
    pub fn shell(&self, line: &str) -> Ended {
        let own = env!("CARGO_BIN_EXE_described");
        let script = format!("{}() {{ '{own}' \"$@\"; }}\n{line}", self.name);
        self.end(Command::new("/bin/sh").args(["-c", &script]), "")
    }

    /// Runs the program on a terminal, types `input` once it shows `prompt`, and returns what it has
    /// shown and its exit code: 128 and the signal if one has ended it, as shells say it.
    #[cfg(target_os = "linux")]
    pub fn on_terminal(&self, arguments: &[&str], prompt: &str, input: &str) -> (String, i32) {
        use rustix::termios::{LocalModes, tcgetattr};
        use std::os::unix::process::ExitStatusExt as _;
        let (screen, side) = terminal();
        let end = || side.try_clone().expect("the terminal can be opened");
        // Makes the terminal the one that `/dev/tty` is.
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_described")])
            .args(arguments);
        let mut child = self
            .own(&mut command)
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the program starts");
        drop((command, side));
        let shown = watch(&screen, prompt, input);
        let status = child.wait().expect("the program ends");
        let modes = tcgetattr(&screen).expect("it is a terminal").local_modes;
        assert!(
            modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG),
            "the terminal is left as {modes:?}"
        );
        let code = status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal));
        (shown, code.expect("it has ended"))
    }

    /// Sets the folder and the environment of a command.
    fn own<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("DESCRIBED", self.folder.path())
            .env("DESCRIBED_NAME", self.name)
            .env("HOME", self.folder.path())
            .envs(self.environment.iter().cloned())
    }

    /// Starts the program, with pipes to its standard input and output.
    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_described"));
        self.spawn(command.args(arguments))
    }

    fn spawn(&self, command: &mut Command) -> Child {
        let command = self.own(command).stdin(Stdio::piped());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    fn end(&self, command: &mut Command, input: &str) -> Ended {
        let mut child = self.spawn(command);
        let mut stdin = child.stdin.take().expect("it is piped");
        // A program that does not read its input may have ended.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("the program ends");
        Ended {
            code: output.status.code().expect("no signal ends it"),
            out: String::from_utf8(output.stdout).expect("it prints UTF-8"),
            err: String::from_utf8(output.stderr).expect("it prints UTF-8"),
        }
    }
}

/// Opens a terminal, and returns the side of who looks at it and that of programs.
#[cfg(target_os = "linux")]
fn terminal() -> (fs::File, fs::File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal is free");
    grantpt(&screen).expect("it is ours");
    unlockpt(&screen).expect("it can be opened");
    let name = ptsname(&screen, Vec::new()).expect("it has a name");
    let name = name.into_string().expect("the name is text");
    let mut open = fs::OpenOptions::new();
    let side = open.read(true).write(true).open(name);
    (screen.into(), side.expect("it can be opened"))
}

/// Reads what a terminal shows until its programs have ended, and types `input` after `prompt`.
#[cfg(target_os = "linux")]
fn watch(mut screen: &fs::File, prompt: &str, input: &str) -> String {
    use std::io::Read as _;
    let (mut shown, mut is_typed) = (Vec::new(), false);
    let mut piece = [0; 1024];
    // At the end of the last program, reading fails.
    while let Ok(read @ 1..) = screen.read(&mut piece) {
        shown.extend_from_slice(&piece[..read]);
        if !is_typed && String::from_utf8_lossy(&shown).contains(prompt) {
            screen.write_all(input.as_bytes()).expect("it can be typed");
            is_typed = true;
        }
    }
    String::from_utf8(shown).expect("it is UTF-8")
}

impl Ended {
    /// Returns the output of a command that has succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// Returns the output of a command that has succeeded, as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        let out = self.ok();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Returns the error of a command that has failed with an exit code.
    #[track_caller]
    pub fn failed(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        self.err
    }
}

/// A request that the server has got.
#[derive(Debug, Clone)]
pub struct Got {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Got {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The requests that a server has got.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<Got>>>);

impl Log {
    /// Returns the last request.
    pub fn last(&self) -> Got {
        let got = self.0.lock().expect("nothing panics");
        got.last().expect("there was a request").clone()
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.0.lock().expect("nothing panics").len()
    }
}

/// Serves the museum on a free port, in a thread that ends with the test. Returns its URL and what
/// it gets.
pub fn serve() -> (String, Log) {
    let log = Log::default();
    let own = log.clone();
    let router = axum::Router::new().fallback(move |request: Request| {
        let log = own.clone();
        async move { answer(&log, request).await }
    });
    (serve_router(router), log)
}

/// Serves a router on a free port, in a thread that ends with the test.
pub fn serve_router(router: axum::Router) -> String {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
            let listener = listener.expect("a port is free");
            let address = listener.local_addr().expect("it has an address");
            send.send(address).expect("the test waits for it");
            axum::serve(listener, router).await
        })
    });
    format!("http://{}", receive.recv().expect("the server starts"))
}

async fn answer(log: &Log, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.expect("the body is small");
    let text =
        |value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter();
    let got = Got {
        line: format!("{} {}", head.method, head.uri),
        headers: headers
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let calls = {
        let mut all = log.0.lock().expect("nothing panics");
        all.push(got);
        all.len()
    };
    respond(head.uri.path(), head.uri.query().unwrap_or_default(), calls)
}

/// Returns the response of the museum. `calls` is the number of requests so far.
fn respond(path: &str, query: &str, calls: usize) -> Response {
    let json = |value: Value| axum::Json(value).into_response();
    let thing = |name: &str, state: &str| json!({"name": name, "state": state, "note": "\u{1b}[31m\u{9b}red", "code": "s3cret"});
    match path {
        "/halls/north/things" => {
            let names = ["amphora", "bust", "coin"];
            let after = query
                .split('&')
                .find_map(|pair| pair.strip_prefix("after="));
            let page = names
                .iter()
                .filter(|name| after.is_none_or(|after| **name > after))
                .take(2);
            let things: Vec<Value> = page.map(|name| thing(name, "shown")).collect();
            json(json!({"things": things, "count": 3}))
        }
        "/halls/north/things/slow" => {
            json(thing("slow", if calls < 2 { "moving" } else { "shown" }))
        }
        "/halls/north/things/gone" => json(thing("gone", "lost")),
        "/halls/north/things/stuck" => json(thing("stuck", "moving")),
        "/visitors" => {
            let body = Body::from("{\"name\":\"Ada\"}\n{\"name\":\"Bob\"}\n");
            ([("content-type", "application/jsonl")], body).into_response()
        }
        "/picture" => (
            [("content-type", "application/octet-stream")],
            vec![0_u8, 1, 65],
        )
            .into_response(),
        _ => match path
            .strip_prefix("/fail/")
            .and_then(|status| status.parse::<u16>().ok())
        {
            Some(status) => {
                let status = axum::http::StatusCode::from_u16(status).expect("a status");
                let error = json!({"error": {"code": status.as_u16(), "message": "no \u{1b}[31mway", "details": {"name": "must be shorter"}}});
                (status, [("x-request-id", "r-1")], axum::Json(error)).into_response()
            }
            None if path.contains("/things/") => json(thing("vase", "shown")),
            None => "done\n".into_response(),
        },
    }
}
