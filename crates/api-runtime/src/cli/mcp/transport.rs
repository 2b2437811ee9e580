//! The standard input and output as the pipes of the protocol: each message is a line of JSON.
//!
//! Reading is ours and not the library's, which says nothing to a client whose message is too long
//! or a batch.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, JsonRpcMessage, ProtocolVersion, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Stdin, Stdout};
use tokio::sync::{Mutex, Semaphore};

/// The maximum number of bytes of a message that is received. A longer one is refused.
const MOST_BYTES: usize = 16 << 20;
/// The maximum number of messages of a batch. A larger one is refused.
const MOST_MESSAGES: usize = 64;
/// The messages that may wait until the client reads them. While so many do, no further request is
/// read: a client that sends and does not read takes no memory here.
const MOST_UNREAD: usize = 64;

type Received = RxJsonRpcMessage<RoleServer>;

/// The standard input and output.
pub(super) struct Pipes {
    input: BufReader<Stdin>,
    /// The bytes of the next line that have been read so far.
    line: Vec<u8>,
    /// Whether the rest of a line is skipped.
    is_skipped: bool,
    /// The messages of a line that are still to be received.
    messages: VecDeque<Received>,
    /// Whether the version of the protocol has batches.
    has_batches: bool,
    output: Arc<Mutex<Stdout>>,
    unread: Arc<Semaphore>,
}

impl Pipes {
    pub(super) fn new() -> Self {
        Self {
            input: BufReader::new(tokio::io::stdin()),
            line: Vec::new(),
            is_skipped: false,
            messages: VecDeque::new(),
            has_batches: false,
            output: Arc::new(Mutex::new(tokio::io::stdout())),
            unread: Arc::new(Semaphore::new(MOST_UNREAD)),
        }
    }

    /// Reads until a line ends, and returns whether it is whole; too long a line is not. Returns `None`
    /// at the end of the input.
    ///
    /// The library drops this future when anything else happens. What has been read is kept in `line`
    /// before the next wait, so nothing is lost.
    async fn read(&mut self) -> Option<bool> {
        loop {
            let piece = self.input.fill_buf().await.ok()?;
            if piece.is_empty() {
                return None;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(piece.len(), |end| end + 1);
            if self.line.len() + taken > MOST_BYTES {
                self.is_skipped = true;
                self.line = Vec::new();
            }
            if !self.is_skipped {
                self.line.extend_from_slice(&piece[..taken]);
            }
            self.input.consume(taken);
            if end.is_some() {
                return Some(!std::mem::take(&mut self.is_skipped));
            }
        }
    }

    /// Adds the messages of a line, and refuses what is none.
    fn add(&mut self, line: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            // To refuse what is no JSON would go on for ever with a client that does the same.
            return;
        };
        let Value::Array(values) = value else {
            return self.add_one(value);
        };
        if !self.has_batches {
            let version = ProtocolVersion::V_2025_03_26;
            self.refuse(
                &Value::Null,
                &format!("batches are a part of version {version} of the protocol alone: send each message in a line of its own"),
            );
        } else if values.is_empty() || values.len() > MOST_MESSAGES {
            let problem = format!("a batch must have from 1 to {MOST_MESSAGES} messages");
            self.refuse(&Value::Null, &problem);
        } else {
            for value in values {
                self.add_one(value);
            }
        }
    }

    fn add_one(&mut self, value: Value) {
        let id = value.get("id").cloned().unwrap_or_default();
        let is_notification = id.is_null() && value.get("method").is_some();
        match serde_json::from_value(value) {
            Ok(message) => self.messages.push_back(message),
            // Clients send notifications of newer versions, and of other protocols.
            Err(_) if is_notification => {}
            Err(_) => self.refuse(&id, "this is no message of the protocol"),
        }
    }

    /// Sends the error of a message that is not received.
    fn refuse(&self, id: &Value, problem: &str) {
        let error = json!({"code": ErrorCode::INVALID_REQUEST, "message": problem});
        let message = json!({"jsonrpc": "2.0", "id": id, "error": error});
        tokio::spawn(self.write(message.to_string().into_bytes()));
    }

    fn write(&self, mut message: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        // Calls that run already may be more than have a place, and are not made to wait for one.
        let place = Arc::clone(&self.unread).try_acquire_owned().ok();
        message.push(b'\n');
        async move {
            let mut output = output.lock().await;
            output.write_all(&message).await?;
            output.flush().await?;
            drop(place);
            Ok(())
        }
    }
}

impl Transport<RoleServer> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(result) = &response.result
        {
            self.has_batches = result.protocol_version == ProtocolVersion::V_2025_03_26;
        }
        let written = serde_json::to_vec(&message).map_err(io::Error::from);
        let written = written.map(|message| self.write(message));
        async move { written?.await }
    }

    async fn receive(&mut self) -> Option<Received> {
        loop {
            // Only waits until there is a place: `write` takes it.
            drop(self.unread.acquire().await.ok()?);
            if let Some(message) = self.messages.pop_front() {
                return Some(message);
            }
            if self.read().await? {
                let line = std::mem::take(&mut self.line);
                self.add(&line);
            } else {
                let problem = format!("a message has at most {MOST_BYTES} bytes");
                self.refuse(&Value::Null, &problem);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}
