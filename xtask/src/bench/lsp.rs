//! Measures how long an editor waits for the language server.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

/// The number of times that each request is sent.
const RUNS: usize = 9;

/// Prints a table of times for `openapi.yaml`, for `nexus.json` of the folder that `STRATUS_CORPUS`
/// names, if it names one, and for further documents.
pub(super) fn run(root: &Path, more: &[PathBuf], out: &mut dyn Write) -> anyhow::Result<()> {
    let build = launch::cargo()
        .args(["build", "--quiet", "--release", "--package", "xtask"])
        .current_dir(root)
        .status();
    if !build.context("failed to start cargo")?.success() {
        bail!("the language server does not compile: its errors are above");
    }
    let mut documents = vec![root.join("openapi.yaml")];
    match env::var_os("STRATUS_CORPUS")
        .map(PathBuf::from)
        .filter(|folder| folder.is_dir())
    {
        Some(corpus) => documents.push(corpus.join("nexus.json")),
        None => writeln!(out, "skipped: STRATUS_CORPUS names no folder")?,
    }
    documents.extend(more.iter().cloned());
    writeln!(out, "\n### The language server, median of {RUNS}\n")?;
    writeln!(
        out,
        "| document | size | open to diagnostics | edit to diagnostics | completion after an edit | definition | hover | memory |"
    )?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- | --- | --- |")?;
    for document in documents {
        let row = measure(root, &document)
            .with_context(|| format!("failed to measure {}", document.display()))?;
        writeln!(out, "{row}")?;
        out.flush()?;
    }
    Ok(())
}

fn measure(root: &Path, document: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(document)?;
    let mut editor = Editor::start(root, document)?;
    let start = Instant::now();
    editor.open(&text)?;
    editor.diagnostics()?;
    let opened = start.elapsed();
    // A letter in the title, which changes no structure.
    let title = text.find("title").context("there is no title")?;
    let line = text[..title].matches('\n').count();
    let column = text[..title].len() - text[..title].rfind('\n').map_or(0, |at| at + 1);
    let (mut edited, mut completed, mut defined, mut hovered) = (vec![], vec![], vec![], vec![]);
    let reference = text.find("\"$ref\"").or_else(|| text.find("$ref"));
    let reference = reference.context("there is no reference")?;
    let at = text[reference..].find("#/").map_or(0, |at| reference + at);
    for _ in 0..RUNS {
        let position = json!({"line": line, "character": column});
        let start = Instant::now();
        editor.edit(&position, "x")?;
        editor.request("textDocument/completion", &position)?;
        completed.push(start.elapsed());
        editor.diagnostics()?;
        edited.push(start.elapsed());
        // The letters before may have moved the reference along its line.
        let moved = editor.version - 1;
        let line = text[..at].matches('\n').count();
        let column = text[..at].len() - text[..at].rfind('\n').map_or(0, |at| at + 1);
        let same_line = line == position["line"];
        let column = column + if same_line { moved } else { 0 };
        let position = json!({"line": line, "character": column + 2});
        for (method, times) in [
            ("textDocument/definition", &mut defined),
            ("textDocument/hover", &mut hovered),
        ] {
            let start = Instant::now();
            editor.request(method, &position)?;
            times.push(start.elapsed());
        }
    }
    let memory = editor.memory();
    editor.end()?;
    let name = document.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!(
        "| {name} | {} KiB | {} | {} | {} | {} | {} | {memory} |",
        text.len() / 1024,
        shown(opened),
        shown(median(edited)),
        shown(median(completed)),
        shown(median(defined)),
        shown(median(hovered)),
    ))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// An editor with one document.
struct Editor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    uri: String,
    version: usize,
    next_id: usize,
}

impl Editor {
    fn start(root: &Path, document: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(root.join("target/release/xtask"))
            .args(["lsp", "--foreign"])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start the language server")?;
        let input = child.stdin.take().context("there is no input")?;
        let output = child.stdout.take().context("there is no output")?;
        let path = document.canonicalize()?;
        let mut editor = Self {
            child,
            input,
            output: BufReader::new(output),
            uri: format!("file://{}", path.display()),
            version: 0,
            next_id: 0,
        };
        let capabilities = json!({"general": {"positionEncodings": ["utf-8"]}});
        let parameters = json!({"processId": null, "rootUri": null, "capabilities": capabilities});
        editor.ask("initialize", &parameters)?;
        editor.send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}))?;
        Ok(editor)
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.input.flush()?;
        Ok(())
    }

    fn open(&mut self, text: &str) -> anyhow::Result<()> {
        self.version = 1;
        let document = json!({
            "uri": self.uri, "languageId": "yaml", "version": 1, "text": text,
        });
        self.send(&json!({
            "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document},
        }))
    }

    fn edit(&mut self, position: &Value, text: &str) -> anyhow::Result<()> {
        self.version += 1;
        let range = json!({"start": position, "end": position});
        self.send(&json!({
            "jsonrpc": "2.0",
            "method": "textDocument/didChange",
            "params": {
                "textDocument": {"uri": self.uri, "version": self.version},
                "contentChanges": [{"range": range, "text": text}],
            },
        }))
    }

    fn request(&mut self, method: &str, position: &Value) -> anyhow::Result<()> {
        let parameters = json!({"textDocument": {"uri": self.uri}, "position": position});
        self.ask(method, &parameters)
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> anyhow::Result<()> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({
            "jsonrpc": "2.0", "id": id, "method": method, "params": parameters,
        }))?;
        while self.next()?["id"] != id {}
        Ok(())
    }

    /// Waits for the diagnostics of the text as it is.
    fn diagnostics(&mut self) -> anyhow::Result<()> {
        loop {
            let message = self.next()?;
            let parameters = &message["params"];
            if parameters["uri"] == self.uri.as_str() && parameters["version"] == self.version {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> anyhow::Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the language server has ended");
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.parse()?;
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Returns the peak memory of the server, where the system tells it.
    fn memory(&self) -> String {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).unwrap_or_default();
        let peak = status.lines().find_map(|line| {
            let rest = line.strip_prefix("VmHWM:")?.trim();
            rest.strip_suffix(" kB")?.parse::<u64>().ok()
        });
        peak.map_or_else(
            || "unknown".to_owned(),
            |peak| format!("{} MiB", peak / 1024),
        )
    }

    fn end(mut self) -> anyhow::Result<()> {
        self.ask("shutdown", &Value::Null)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "exit"}))?;
        self.child.wait()?;
        Ok(())
    }
}
