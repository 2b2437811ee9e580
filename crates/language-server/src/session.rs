//! A session: takes messages, keeps the open texts, and hands everything else to threads.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeLensOptions, CompletionOptions,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    InitializeParams, InitializeResult, PublishDiagnosticsParams, RenameOptions, Save,
    ServerCapabilities, ServerInfo, TextDocumentSync, TextDocumentSyncKind,
    TextDocumentSyncOptions, Uri, WorkspaceFolders,
};
use lsp_server::{
    Connection, ErrorCode, Message, Notification, ProtocolError, RequestId, Response,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::position::Encoding;
use crate::results::{Refusal, result};
use crate::texts::{Buffer, Texts};
use crate::world::{World, held};
use crate::{Settings, diagnostics, lens, uri};

/// How long the texts must rest before diagnostics are made.
const PAUSE: Duration = Duration::from_millis(100);

/// How long the texts must rest before they are compared with the base revision.
const LONG_PAUSE: Duration = Duration::from_millis(400);

/// The maximum number of requests that wait for a response.
const MOST_WAITING: usize = 256;

/// The stack size in bytes of the threads that read documents, which may nest as deep as the reader
/// allows.
const STACK_BYTES: usize = 64 << 20;

/// The reasons why a session fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The editor broke the protocol.
    #[error("the editor broke the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// The editor ended without the request `shutdown`.
    #[error("the editor ended the session without `shutdown`")]
    NoShutdown,
    /// Reading from the editor or writing to it failed.
    #[error("failed to talk to the editor: {0}")]
    Transport(#[source] io::Error),
    /// The system has no thread left.
    #[error("failed to start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// Serves an editor over a connection until it says that it is done.
///
/// # Errors
///
/// Returns an error if the editor breaks the protocol, or closes the connection without `shutdown`.
pub fn serve(connection: &Connection, settings: Settings) -> Result<(), Error> {
    let (id, parameters) = connection.initialize_start()?;
    // What a server does not understand of a client, it does without.
    let parameters: InitializeParams = serde_json::from_value(parameters).unwrap_or_default();
    let client = &parameters.capabilities;
    let offered = client.general.as_ref();
    let offered = offered.and_then(|general| general.position_encodings.as_deref());
    let encoding = Encoding::choose(offered);
    let refreshes = client
        .workspace
        .as_ref()
        .and_then(|workspace| workspace.code_lens.as_ref()?.refresh_support);
    let has_base = settings.base.is_some();
    let result = InitializeResult {
        capabilities: capabilities(encoding, has_base),
        server_info: Some(ServerInfo {
            name: diagnostics::SOURCE.to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    };
    let result = serde_json::to_value(result).unwrap_or_default();
    connection.initialize_finish(id, result)?;
    let session = Session {
        world: World::new(encoding, settings, folders(&parameters)),
        connection,
        current: Mutex::default(),
        changed: Condvar::new(),
        waiting: Mutex::default(),
    };
    let (requests, taken) = mpsc::sync_channel(MOST_WAITING);
    thread::scope(|scope| {
        let session = &session;
        let served = (|| {
            spawn(scope, move || session.answer(&taken))?;
            spawn(scope, move || session.publish())?;
            if has_base {
                spawn(scope, move || session.judge(refreshes.unwrap_or_default()))?;
            }
            session.listen(&requests)
        })();
        // After an error too, or the scope would wait for its threads without end.
        session.stop();
        drop(requests);
        served
    })
}

fn spawn<'s>(scope: &'s Scope<'s, '_>, work: impl FnOnce() + Send + 's) -> Result<(), Error> {
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let spawned = thread.spawn_scoped(scope, work);
    spawned.map(drop).map_err(Error::Thread)
}

fn capabilities(encoding: Encoding, has_base: bool) -> ServerCapabilities {
    let triggers = ["\"", "'", "#", "/", ":", " ", "-"];
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSync::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::Incremental),
            save: Some(Save::Bool(true)),
            ..TextDocumentSyncOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(triggers.map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(true.into()),
        definition_provider: Some(true.into()),
        references_provider: Some(true.into()),
        document_symbol_provider: Some(true.into()),
        code_action_provider: Some(
            CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QuickFix]),
                ..CodeActionOptions::default()
            }
            .into(),
        ),
        code_lens_provider: has_base.then(CodeLensOptions::default),
        rename_provider: Some(
            RenameOptions {
                prepare_provider: Some(true),
                ..RenameOptions::default()
            }
            .into(),
        ),
        ..ServerCapabilities::default()
    }
}

/// Returns the folders that the editor has open.
#[expect(deprecated, reason = "older clients send nothing else")]
fn folders(parameters: &InitializeParams) -> Vec<PathBuf> {
    let listed = &parameters.workspace_folders_initialize_params;
    match &listed.workspace_folders {
        Some(WorkspaceFolders::WorkspaceFolderList(folders)) => folders
            .iter()
            .map(|folder| uri::path(&folder.uri))
            .collect(),
        Some(WorkspaceFolders::Null) | None => parameters.root_uri.iter().map(uri::path).collect(),
    }
}

struct Session<'c> {
    world: World,
    connection: &'c Connection,
    current: Mutex<Current>,
    changed: Condvar,
    /// The requests without a response, each with whether the client has cancelled it.
    waiting: Mutex<HashMap<RequestId, bool>>,
}

#[derive(Default)]
struct Current {
    texts: Arc<Texts>,
    is_stopping: bool,
}

/// A request with the texts that it is about.
struct Waiting {
    request: lsp_server::Request,
    texts: Arc<Texts>,
}

impl Session<'_> {
    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: impl Into<Message>) {
        // An editor that is gone needs no response; its end is noticed where messages are taken.
        let _ = self.connection.sender.send(message.into());
    }

    /// Takes messages until the editor is done.
    fn listen(&self, requests: &SyncSender<Waiting>) -> Result<(), Error> {
        let mut is_shut_down = false;
        for message in &self.connection.receiver {
            match message {
                Message::Request(request) if is_shut_down => self.send(Response::new_err(
                    request.id,
                    ErrorCode::InvalidRequest as i32,
                    "the server is shut down".to_owned(),
                )),
                Message::Request(request) if request.method == "shutdown" => {
                    is_shut_down = true;
                    self.send(Response::new_ok(request.id, ()));
                }
                Message::Request(request) => self.enqueue(request, requests),
                Message::Notification(notification) if notification.method == "exit" => break,
                Message::Notification(notification) => self.notice(notification),
                Message::Response(_) => {}
            }
        }
        if is_shut_down {
            Ok(())
        } else {
            Err(Error::NoShutdown)
        }
    }

    fn enqueue(&self, request: lsp_server::Request, requests: &SyncSender<Waiting>) {
        let id = request.id.clone();
        // Before it is sent, so that a cancellation finds it.
        held(&self.waiting).insert(id.clone(), false);
        let texts = Arc::clone(&self.current().texts);
        // This thread must not wait: the edits that come next make old requests needless.
        match requests.try_send(Waiting { request, texts }) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                held(&self.waiting).remove(&id);
                let message = format!("more than {MOST_WAITING} requests are waiting");
                let code = ErrorCode::ServerCancelled as i32;
                self.send(Response::new_err(id, code, message));
            }
        }
    }

    fn notice(&self, notification: Notification) {
        let Notification { method, params } = notification;
        match method.as_str() {
            "textDocument/didOpen" => {
                self.edit(params, |texts, opened: DidOpenTextDocumentParams| {
                    let document = opened.text_document;
                    let path = contract::identity(&uri::path(&document.uri));
                    let buffer = Buffer {
                        uri: document.uri,
                        version: document.version,
                        text: document.text.into(),
                    };
                    texts.buffers.insert(path, buffer);
                });
            }
            "textDocument/didChange" => {
                let encoding = self.world.encoding;
                self.edit(params, |texts, changed: DidChangeTextDocumentParams| {
                    let uri = &changed.text_document.text_document_identifier.uri;
                    let path = contract::identity(&uri::path(uri));
                    if let Some(buffer) = texts.buffers.get_mut(&path) {
                        buffer.edit(encoding, changed.content_changes);
                        buffer.version = changed.text_document.version;
                    }
                });
            }
            "textDocument/didClose" => {
                self.edit(params, |texts, closed: DidCloseTextDocumentParams| {
                    let path = contract::identity(&uri::path(&closed.text_document.uri));
                    texts.buffers.remove(&path);
                });
            }
            // A file may have changed on the disk, so everything is looked at again.
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.edit(params, |_, _: Value| {});
            }
            "$/cancelRequest" => {
                let id = match params.get("id") {
                    Some(Value::String(id)) => Some(RequestId::from(id.clone())),
                    Some(id) => id
                        .as_i64()
                        .and_then(|id| i32::try_from(id).ok())
                        .map(RequestId::from),
                    None => None,
                };
                let mut waiting = held(&self.waiting);
                if let Some(is_cancelled) = id.and_then(|id| waiting.get_mut(&id)) {
                    *is_cancelled = true;
                }
            }
            _ => {}
        }
    }

    /// Changes the texts, which begins a new revision.
    fn edit<P: DeserializeOwned>(&self, parameters: Value, change: impl FnOnce(&mut Texts, P)) {
        let Ok(parameters) = serde_json::from_value(parameters) else {
            return;
        };
        let mut current = self.current();
        // A request that still holds the texts keeps them as they were.
        let texts = Arc::make_mut(&mut current.texts);
        texts.revision += 1;
        change(texts, parameters);
        self.changed.notify_all();
    }

    fn stop(&self) {
        self.current().is_stopping = true;
        self.changed.notify_all();
    }

    /// Waits until the texts are others than those of revision `done` and have rested for a while.
    /// Returns `None` when the session ends.
    fn rested(&self, done: Option<u64>, pause: Duration) -> Option<Arc<Texts>> {
        let mut current = self.current();
        loop {
            if current.is_stopping {
                return None;
            }
            let revision = current.texts.revision;
            if Some(revision) == done {
                current = self
                    .changed
                    .wait(current)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.changed.wait_timeout(current, pause);
            let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            current = next;
            if timeout.timed_out() && current.texts.revision == revision && !current.is_stopping {
                return Some(Arc::clone(&current.texts));
            }
        }
    }

    /// Returns whether no edit has come since a moment of the texts.
    fn is_current(&self, texts: &Texts) -> bool {
        let current = self.current();
        current.texts.revision == texts.revision && !current.is_stopping
    }

    /// Publishes diagnostics whenever the texts rest.
    fn publish(&self) {
        let mut shown: BTreeMap<PathBuf, Uri> = BTreeMap::new();
        let mut done = None;
        while let Some(texts) = self.rested(done, PAUSE) {
            done = Some(texts.revision);
            let Some(found) = guarded(|| diagnostics::collect(&self.world, &texts)) else {
                continue;
            };
            if !self.is_current(&texts) {
                continue;
            }
            let mut cleared = std::mem::take(&mut shown);
            for (path, diagnostics) in found {
                let buffer = texts.buffers.get(&path);
                let before = cleared.remove(&path);
                // Of an open file an empty list is sent too: it shows that the server has looked.
                if diagnostics.is_empty() && before.is_none() && buffer.is_none() {
                    continue;
                }
                let uri = texts.uri(&path);
                if !diagnostics.is_empty() {
                    shown.insert(path, uri.clone());
                }
                self.notify(PublishDiagnosticsParams {
                    uri,
                    version: buffer.map(|buffer| buffer.version),
                    diagnostics,
                });
            }
            // An editor shows diagnostics until they are replaced.
            for uri in cleared.into_values() {
                self.notify(PublishDiagnosticsParams {
                    uri,
                    version: None,
                    diagnostics: Vec::new(),
                });
            }
            self.world.forget(&texts);
        }
    }

    fn notify(&self, parameters: PublishDiagnosticsParams) {
        self.send(Notification::new(
            "textDocument/publishDiagnostics".to_owned(),
            parameters,
        ));
    }

    /// Compares the contracts with the base revision whenever the texts rest for longer.
    fn judge(&self, refreshes: bool) {
        let mut done = None;
        let mut asked = 0;
        while let Some(texts) = self.rested(done, LONG_PAUSE) {
            done = Some(texts.revision);
            let changed = guarded(|| lens::judge(&self.world, &texts)).unwrap_or_default();
            if changed && refreshes {
                asked += 1;
                self.send(lsp_server::Request::new(
                    RequestId::from(format!("refresh-{asked}")),
                    "workspace/codeLens/refresh".to_owned(),
                    Value::Null,
                ));
            }
        }
    }

    /// Answers requests, one after the other.
    fn answer(&self, requests: &Receiver<Waiting>) {
        for Waiting { request, texts } in requests {
            let id = request.id.clone();
            let is_cancelled = held(&self.waiting).get(&id) == Some(&true);
            let refuse = |code: ErrorCode, message: String| {
                Response::new_err(id.clone(), code as i32, message)
            };
            let response = if is_cancelled {
                refuse(ErrorCode::RequestCanceled, "cancelled".to_owned())
            } else if request.method != "textDocument/completion" && !self.is_current(&texts) {
                // Positions in such a response would be those of a text that is gone.
                let message = "the text has changed since the request".to_owned();
                refuse(ErrorCode::ContentModified, message)
            } else {
                match guarded(|| result(&self.world, &texts, &request.method, request.params)) {
                    Some(Ok(result)) => Response::new_ok(id.clone(), result),
                    Some(Err(Refusal::Method)) => {
                        let message = format!("no method `{}`", request.method);
                        refuse(ErrorCode::MethodNotFound, message)
                    }
                    Some(Err(Refusal::Parameters(why))) => refuse(ErrorCode::InvalidParams, why),
                    Some(Err(Refusal::Refused(why))) => refuse(ErrorCode::RequestFailed, why),
                    None => refuse(ErrorCode::InternalError, FAULT.to_owned()),
                }
            };
            held(&self.waiting).remove(&id);
            self.send(response);
        }
    }
}

/// The message of the error that answers a request after a panic.
const FAULT: &str = "this is a fault of the server, please report it";

/// Calls a function. A panic of it, which is a fault of ours, must not end the session, so it only
/// has no result; its message is in the editor's log.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_has_no_result_and_goes_no_further() {
        assert_eq!(guarded(|| 1), Some(1));
        assert_eq!(guarded(|| -> i32 { panic!("a fault") }), None);
    }
}
