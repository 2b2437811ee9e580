//! A client of the Model Context Protocol in lines of JSON, which checks each line by a schema of our
//! own and not by the library that the program uses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Program;

/// How long a message is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the protocol says about a message of a server: JSON-RPC 2.0, with a result or an error for a
/// request.
fn message() -> Value {
    json!({
        "type": "object",
        "required": ["jsonrpc", "id"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["integer", "null"]},
            "result": {"type": "object"},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
            },
        },
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
        "additionalProperties": false,
    })
}

/// What the protocol says about the result of `initialize`.
pub fn handshake() -> Value {
    json!({
        "type": "object",
        "required": ["protocolVersion", "capabilities", "serverInfo"],
        "properties": {
            "protocolVersion": {"type": "string", "format": "date"},
            "capabilities": {"type": "object", "properties": {"tools": {"type": "object"}}},
            "serverInfo": {
                "type": "object",
                "required": ["name", "version"],
                "properties": {"name": {"type": "string"}, "version": {"type": "string"}},
            },
            "instructions": {"type": "string"},
        },
    })
}

/// What the protocol says about the result of `tools/list`.
pub fn listing() -> Value {
    let hint = json!({"type": "boolean"});
    json!({
        "type": "object",
        "required": ["tools"],
        "properties": {
            "nextCursor": {"type": "string"},
            "tools": {"type": "array", "items": {
                "type": "object",
                "required": ["name", "inputSchema"],
                "properties": {
                    // What the APIs of language models take.
                    "name": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"},
                    "title": {"type": "string"},
                    "description": {"type": "string"},
                    "inputSchema": {
                        "type": "object",
                        "required": ["type"],
                        "properties": {
                            "type": {"const": "object"},
                            "properties": {"propertyNames": {"pattern": "^[a-zA-Z0-9_.-]{1,64}$"}},
                        },
                    },
                    "annotations": {"type": "object", "properties": {
                        "readOnlyHint": hint, "destructiveHint": hint, "idempotentHint": hint,
                    }},
                },
            }},
        },
    })
}

/// What the protocol says about the result of `tools/call`.
fn called() -> Value {
    json!({
        "type": "object",
        "required": ["content"],
        "properties": {
            "isError": {"type": "boolean"},
            "structuredContent": {"type": "object"},
            "content": {"type": "array", "items": {
                "type": "object",
                "required": ["type", "text"],
                "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
            }},
        },
    })
}

/// Fails unless a value fits a schema.
#[track_caller]
pub fn check(schema: &Value, value: &Value) {
    let validator = jsonschema::draft202012::options().should_validate_formats(true);
    let validator = validator.build(schema).expect("the schema is right");
    if let Err(error) = validator.validate(value) {
        panic!("{error}: {value:#}");
    }
}

/// A program that serves, and what it has written.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    last: i64,
}

impl Client {
    /// Starts the program, and shakes hands.
    pub fn start(program: &Program, arguments: &[&str]) -> Self {
        let mut client = Self::silent(program, "mcp", arguments);
        let result = client.shake_hands();
        check(&handshake(), &result);
        client
    }

    /// Starts the program, whose command has a name.
    pub fn silent(program: &Program, command: &str, arguments: &[&str]) -> Self {
        let mut child = program.start(&[&[command], arguments].concat());
        let stdout = child.stdout.take().expect("it is piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.expect("it is UTF-8");
                let read = serde_json::from_str::<Value>(&line);
                let read = read.unwrap_or_else(|error| panic!("{error}: {line}"));
                if send.send(read).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            last: 0,
        }
    }

    /// Shakes hands, and returns the result of `initialize`.
    pub fn shake_hands(&mut self) -> Value {
        self.shake_hands_in("2025-06-18")
    }

    /// Shakes hands in a version of the protocol, and returns the result of `initialize`.
    pub fn shake_hands_in(&mut self, version: &str) -> Value {
        let client = json!({"name": "test", "version": "1"});
        let parameters =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let result = self.request("initialize", &parameters)["result"].take();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        result
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    /// Sends a line.
    pub fn send_text(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").expect("the program reads");
    }

    /// Sends a request, and returns its id.
    pub fn begin(&mut self, method: &str, parameters: &Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}));
        id
    }

    /// Sends a call of a tool, and returns its id.
    pub fn begin_call(&mut self, name: &str, arguments: &Value) -> i64 {
        self.begin("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// Returns the next message, or `None` if there is none for a time.
    pub fn next_within(&self, time: Duration) -> Option<Value> {
        let next = match self.lines.recv_timeout(time) {
            Ok(next) => next,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => panic!("the program has ended"),
        };
        check(&message(), &next);
        Some(next)
    }

    /// Returns the next message.
    #[track_caller]
    pub fn next(&self) -> Value {
        self.next_within(PATIENCE).expect("there is a message")
    }

    /// Sends a request, and returns its response.
    #[track_caller]
    pub fn request(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.begin(method, parameters);
        let response = self.next();
        assert_eq!(response["id"], json!(id), "{response:#}");
        response
    }

    /// Returns the tools.
    #[track_caller]
    pub fn tools(&mut self) -> Vec<Value> {
        let result = self.request("tools/list", &json!({}))["result"].take();
        check(&listing(), &result);
        assert_eq!(result.get("nextCursor"), None, "there is one page");
        result["tools"].as_array().expect("it is a list").clone()
    }

    /// Returns the tool with a name.
    #[track_caller]
    pub fn tool(&mut self, name: &str) -> Value {
        let tools = self.tools();
        let mut tools = tools.into_iter();
        tools
            .find(|tool| tool["name"] == name)
            .expect("it is a tool")
    }

    /// Calls a tool, and returns its result.
    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let parameters = json!({"name": name, "arguments": arguments});
        let result = self.request("tools/call", &parameters)["result"].take();
        check(&called(), &result);
        result
    }

    /// Calls a tool that succeeds, and returns the texts of its result.
    #[track_caller]
    pub fn ok(&mut self, name: &str, arguments: &Value) -> Vec<String> {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], json!(false), "{result:#}");
        texts(&result)
    }

    /// Calls a tool that fails, and returns what it says.
    #[track_caller]
    pub fn failed(&mut self, name: &str, arguments: &Value) -> String {
        let result = self.call(name, arguments);
        assert_eq!(result["isError"], json!(true), "{result:#}");
        texts(&result).join("\n")
    }

    /// Ends the standard input, and returns the exit code, what the program has still written, and its
    /// standard error.
    pub fn end(mut self) -> (i32, Vec<Value>, String) {
        drop(self.stdin.take());
        let mut error = String::new();
        let mut stderr = self.child.stderr.take().expect("it is piped");
        stderr.read_to_string(&mut error).expect("it is UTF-8");
        let status = self.child.wait().expect("the program ends");
        let rest = self.lines.iter().collect();
        (status.code().expect("no signal ends it"), rest, error)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the texts of a result.
pub fn texts(result: &Value) -> Vec<String> {
    let content = result["content"].as_array().expect("it is a list").iter();
    let texts = content.filter_map(|block| block["text"].as_str());
    texts.map(str::to_owned).collect()
}
