//! An editor: speaks the protocol to the real process, frame by frame.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The unit in which the client counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Utf8,
    Utf16,
}

/// An editor with its server.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    pub(crate) folder: PathBuf,
    pub(crate) unit: Unit,
    next_id: i64,
    /// The open texts by name, each with its version.
    pub(crate) texts: BTreeMap<String, (i64, String)>,
    /// The last diagnostics of each URI, with their version.
    pub(crate) published: BTreeMap<String, (Option<i64>, Vec<Value>)>,
    /// The answers that nobody has taken yet.
    answers: BTreeMap<i64, Result<Value, Value>>,
    /// How often the server has asked for new lenses.
    pub(crate) refreshes: usize,
}

impl Client {
    /// Starts a server that edits the files of a folder.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, Unit::Utf16, &[])
    }

    pub(crate) fn start_with(folder: &Path, unit: Unit, arguments: &[&str]) -> Self {
        let mut client = Self::launch(folder, unit, arguments);
        let encodings = match unit {
            Unit::Utf8 => json!(["utf-8", "utf-16"]),
            Unit::Utf16 => json!(["utf-16"]),
        };
        let result = client
            .request(
                "initialize",
                &json!({
                    "processId": null,
                    "rootUri": null,
                    "capabilities": {
                        "general": {"positionEncodings": encodings},
                        "workspace": {"codeLens": {"refreshSupport": true}},
                    },
                }),
            )
            .expect("a server starts");
        let chosen = match unit {
            Unit::Utf8 => "utf-8",
            Unit::Utf16 => "utf-16",
        };
        assert_eq!(result["capabilities"]["positionEncoding"], chosen);
        client.notify("initialized", &json!({}));
        client
    }

    /// Starts the process without a handshake.
    pub(crate) fn launch(folder: &Path, unit: Unit, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg("lsp")
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take();
        let output = child.stdout.take().expect("the output is a pipe");
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = frame(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            input,
            messages,
            folder: folder.canonicalize().expect("the folder exists"),
            unit,
            next_id: 0,
            texts: BTreeMap::new(),
            published: BTreeMap::new(),
            answers: BTreeMap::new(),
            refreshes: 0,
        }
    }

    pub(crate) fn uri(&self, name: &str) -> String {
        format!("file://{}/{name}", self.folder.display())
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let input = self.input.as_mut().expect("the input is open");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        input.flush().expect("the server reads");
    }

    pub(crate) fn notify(&mut self, method: &str, parameters: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": parameters}));
    }

    /// Sends a request and waits for the answer: the result, or the code and words of an error.
    pub(crate) fn request(&mut self, method: &str, parameters: &Value) -> Result<Value, Value> {
        let id = self.ask(method, parameters);
        self.answer(id)
    }

    /// Sends a request and returns its id.
    pub(crate) fn ask(&mut self, method: &str, parameters: &Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}));
        id
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&mut self, id: i64) -> Result<Value, Value> {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            self.next();
        }
    }

    /// Takes the next message, and keeps what it tells.
    fn next(&mut self) {
        let message = self.messages.recv_timeout(PATIENCE);
        let message = message.expect("the server answers in time");
        match message["method"].as_str() {
            Some("textDocument/publishDiagnostics") => {
                let parameters = &message["params"];
                let uri = parameters["uri"].as_str().expect("a URI").to_owned();
                let version = parameters["version"].as_i64();
                let found = parameters["diagnostics"].as_array();
                let found = found.expect("a list of diagnostics").clone();
                self.published.insert(uri, (version, found));
            }
            Some("workspace/codeLens/refresh") => self.refreshes += 1,
            Some(_) => {}
            None => {
                let id = message["id"].as_i64().expect("an id");
                let answer = match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
                self.answers.insert(id, answer);
            }
        }
    }

    pub(crate) fn open(&mut self, name: &str, text: &str) {
        self.texts.insert(name.to_owned(), (1, text.to_owned()));
        let uri = self.uri(name);
        self.notify(
            "textDocument/didOpen",
            &json!({"textDocument": {
                "uri": uri, "languageId": "yaml", "version": 1, "text": text,
            }}),
        );
    }

    pub(crate) fn close(&mut self, name: &str) {
        self.texts.remove(name);
        let uri = self.uri(name);
        self.notify(
            "textDocument/didClose",
            &json!({"textDocument": {"uri": uri}}),
        );
    }

    /// Replaces the text between two offsets, as an editor does on a keystroke.
    pub(crate) fn edit(&mut self, name: &str, start: usize, end: usize, with: &str) {
        let unit = self.unit;
        let uri = self.uri(name);
        let (version, text) = self.texts.get_mut(name).expect("the file is open");
        let range = json!({
            "start": position(text, start, unit),
            "end": position(text, end, unit),
        });
        text.replace_range(start..end, with);
        *version += 1;
        let parameters = json!({
            "textDocument": {"uri": uri, "version": *version},
            "contentChanges": [{"range": range, "text": with}],
        });
        self.notify("textDocument/didChange", &parameters);
    }

    /// Types a text at an offset, character by character.
    pub(crate) fn type_at(&mut self, name: &str, mut offset: usize, typed: &str) {
        for one in typed.chars() {
            let one = one.to_string();
            self.edit(name, offset, offset, &one);
            offset += one.len();
        }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        &self.texts[name].1
    }

    /// Returns the offset of a part of an open text.
    pub(crate) fn find(&self, name: &str, part: &str) -> usize {
        let text = self.text(name);
        text.find(part)
            .unwrap_or_else(|| panic!("{part} in {text}"))
    }

    /// Waits for the diagnostics of an open text as it is.
    pub(crate) fn settled(&mut self, name: &str) -> Vec<Value> {
        let uri = self.uri(name);
        let version = self.texts[name].0;
        loop {
            if let Some((Some(seen), found)) = self.published.get(&uri)
                && *seen == version
            {
                return found.clone();
            }
            self.next();
        }
    }

    /// Waits for the diagnostics of a file that fulfil a condition.
    pub(crate) fn until(&mut self, name: &str, is_done: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let uri = self.uri(name);
        loop {
            if let Some((_, found)) = self.published.get(&uri)
                && is_done(found)
            {
                return found.clone();
            }
            self.next();
        }
    }

    /// Waits until the server has asked for new lenses once more.
    pub(crate) fn refreshed(&mut self) {
        let before = self.refreshes;
        while self.refreshes == before {
            self.next();
        }
    }

    /// Returns the parameters of a request about an offset of an open text.
    pub(crate) fn at(&self, name: &str, offset: usize) -> Value {
        json!({
            "textDocument": {"uri": self.uri(name)},
            "position": position(self.text(name), offset, self.unit),
        })
    }

    /// Ends the session as an editor should, and returns the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.request("shutdown", &Value::Null).expect("an answer");
        self.notify("exit", &Value::Null);
        self.input = None;
        self.child.wait().expect("the server ends").code()
    }

    /// Goes away without a word, and returns the exit code.
    pub(crate) fn vanish(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed leaves no process behind.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a frame, or returns `None` at the end.
fn frame(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().expect("a length");
        }
    }
    let mut bytes = vec![0; length];
    output.read_exact(&mut bytes).ok()?;
    Some(serde_json::from_slice(&bytes).expect("a frame is JSON"))
}

/// Returns the position of an offset, counted from the start of the text character by character.
pub(crate) fn position(text: &str, offset: usize, unit: Unit) -> Value {
    let (mut line, mut character) = (0, 0);
    let mut before = None;
    for (at, one) in text.char_indices() {
        if at >= offset {
            break;
        }
        let next = text[at + one.len_utf8()..].chars().next();
        if one == '\n' || one == '\r' && next != Some('\n') {
            (line, character) = (line + 1, 0);
        } else {
            character += match unit {
                Unit::Utf8 => one.len_utf8(),
                Unit::Utf16 => one.len_utf16(),
            };
        }
        before = Some(one);
    }
    // Between a carriage return and its line feed there is no position: the line ends before.
    if before == Some('\r') && text[offset..].starts_with('\n') {
        character -= 1;
    }
    json!({"line": line, "character": character})
}

/// Returns the offset of a position, by trying every one.
pub(crate) fn offset(text: &str, at: &Value, unit: Unit) -> usize {
    (0..=text.len())
        .filter(|offset| text.is_char_boundary(*offset))
        .find(|offset| position(text, *offset, unit) == *at)
        .unwrap_or_else(|| panic!("{at} is no position of the text"))
}

/// Returns the text of a range.
pub(crate) fn slice<'t>(text: &'t str, range: &Value, unit: Unit) -> &'t str {
    &text[offset(text, &range["start"], unit)..offset(text, &range["end"], unit)]
}
