//! The requests of a client: which tools there are, and the call of one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::access::Access;
use super::arguments;
use super::result::{Called, failed};
use super::tool::{Tool, tools};
use crate::cli::call;
use crate::cli::failure::Failure;
use crate::cli::sources::Sources;
use crate::client::Transport;

/// The calls that are sent at the same time. Further ones wait.
const MOST_SENT: usize = 16;
/// The calls that are sent or wait. Further ones fail.
const MOST_CALLS: usize = 256;
/// The bytes of the arguments of the calls that are sent or wait, as JSON. Further ones fail.
const MOST_ARGUMENT_BYTES: usize = 32 << 20;
/// The seconds after which a stream is left, unless `--timeout` says otherwise.
const STREAM_SECONDS: f64 = 30.0;
/// The time in which a stream that is left becomes a result.
const GRACE: Duration = Duration::from_secs(1);
/// The bytes of descriptions and schemas after which a page of tools ends.
const PAGE_BYTES: usize = 1 << 20;
/// The maximum number of characters of the API's description in the instructions for an assistant.
const MOST_INSTRUCTIONS: usize = 2_000;

/// The operations of an API as a server of the Model Context Protocol.
pub(super) struct Server {
    sources: Sources<'static>,
    access: Access,
    tools: Vec<Tool>,
    /// The transports, by the credentials that calls need.
    transports: Mutex<HashMap<&'static [Vec<usize>], Opening>>,
    sent: Semaphore,
    calls: Semaphore,
    arguments: Semaphore,
}

/// A transport, once its credentials are read.
type Opening = Shared<BoxFuture<'static, Result<Transport, Failure>>>;

impl Server {
    pub(super) fn new(sources: Sources<'static>) -> Result<Self, Failure> {
        let access = Access::read(&sources)?;
        Ok(Self {
            tools: tools(&sources, &access)?,
            access,
            sources,
            transports: Mutex::default(),
            sent: Semaphore::new(MOST_SENT),
            calls: Semaphore::new(MOST_CALLS),
            arguments: Semaphore::new(MOST_ARGUMENT_BYTES),
        })
    }

    /// Returns a page of tools that begins with the one at `from`.
    fn page(&self, from: usize) -> ListToolsResult {
        let schemas = self.sources.program.schemas;
        let (mut shown, mut bytes, mut next) = (Vec::new(), 0, None);
        let tools = self.tools.iter().enumerate().skip(from);
        for (at, tool) in tools.filter(|(_, tool)| tool.refused.is_none()) {
            // Asked before a tool is added, so that each page has at least one.
            if bytes > PAGE_BYTES {
                next = Some(at.to_string());
                break;
            }
            let described = tool.described(schemas, &self.access);
            bytes += serde_json::to_vec(&described).map_or(0, |written| written.len());
            shown.push(described);
        }
        let mut page = ListToolsResult::with_all_items(shown);
        page.next_cursor = next;
        page
    }

    /// Calls the operation of a tool.
    async fn call(
        &self,
        tool: &Tool,
        given: Map<String, Value>,
    ) -> Result<CallToolResult, Failure> {
        if let Some(refused) = &tool.refused {
            return Err(Failure::usage(refused));
        }
        let Ok(_call) = self.calls.try_acquire() else {
            return Err(Failure::other(format!(
                "{MOST_CALLS} calls are not done yet: call it again when some of them are"
            )));
        };
        let bytes = serde_json::to_vec(&given).map_or(0, |written| written.len());
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Ok(_arguments) = self.arguments.try_acquire_many(bytes) else {
            return Err(Failure::other(format!(
                "the arguments of the calls that are not done yet have more than {MOST_ARGUMENT_BYTES} bytes: call it again when some of them are"
            )));
        };
        let arguments = arguments::read(tool, &self.access, given)?;
        // Before the call takes one of the places, since a keyring may wait for its owner.
        let transport = self.transport(tool).await?;
        // Nobody closes the semaphore.
        let _sent = self.sent.acquire().await;
        let time = self.sources.seconds("timeout", STREAM_SECONDS)?;
        let called = Called {
            tool,
            access: &self.access,
            arguments: &arguments,
            end: Instant::now() + time,
        };
        let call = async {
            let reply = call::send(&tool.settings, &transport, &arguments).await?;
            called.result(reply).await
        };
        if !tool.settings.is_stream() {
            return call.await;
        }
        // The time-out of the transport would lose the items that have arrived.
        let result = timeout_at(called.end + GRACE, call).await;
        result.unwrap_or_else(|_| {
            Err(Failure::transport(format!(
                "there is no response after {} s; --timeout gives it more",
                time.as_secs_f64()
            )))
        })
    }

    /// Returns the transport of a tool, whose connections and credentials calls share.
    async fn transport(&self, tool: &Tool) -> Result<Transport, Failure> {
        let transport = self.opening(tool).await?;
        let timeout = if tool.settings.is_stream() {
            None
        } else {
            tool.settings.timeout()?
        };
        Ok(transport.with_timeout(timeout))
    }

    /// Returns the transport that is or becomes open.
    ///
    /// Credentials are read in another thread, since a keyring may wait for its owner. There is one such
    /// thread for the calls that need the same, also if they are cancelled.
    fn opening(&self, tool: &Tool) -> Opening {
        let mut transports = self
            .transports
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let needed = tool.operation().security.as_slice();
        let known = transports.get(needed);
        // Tried again: the owner may have unlocked the keyring since.
        let has_failed = |opening: &Opening| matches!(opening.peek(), Some(Err(_)));
        if let Some(opening) = known.filter(|opening| !has_failed(opening)) {
            return opening.clone();
        }
        let settings = tool.settings.clone();
        let reading = tokio::task::spawn_blocking(move || settings.transport());
        let opening = async {
            let read = reading.await;
            read.unwrap_or_else(|_| Err(Failure::other("the credentials cannot be read")))
        };
        let opening = opening.boxed().shared();
        transports.insert(needed, opening.clone());
        opening
    }

    /// Returns what an assistant reads before it calls anything.
    fn instructions(&self) -> String {
        let description = self.sources.description;
        let about: String = description.about.chars().take(MOST_INSTRUCTIONS).collect();
        let about = about.split("\n## ").next().unwrap_or_default().trim();
        let refused = self.tools.iter().filter(|tool| tool.refused.is_some());
        let mut words = format!("{}\n\n{about}", description.title);
        let count = refused.count();
        if count > 0 {
            words.push_str(&format!(
                "\n\nOf the {} operations, {count} are not allowed here: a call of one says which flag the person who starts this program can give to allow it.",
                self.tools.len()
            ));
        }
        words
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let program = self.sources.program;
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(program.name, program.version))
            .with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let from = cursor.map_or(Ok(0), |cursor| cursor.parse::<usize>());
        let from = from.map_err(|_| ErrorData::invalid_params("there is no such page", None))?;
        Ok(self.page(from))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut tools = self.tools.iter();
        let Some(tool) = tools.find(|tool| tool.name == request.name) else {
            let words = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(words, None));
        };
        let given = request.arguments.unwrap_or_default();
        let result = tokio::select! {
            result = self.call(tool, given) => result,
            () = context.ct.cancelled() => Err(Failure::other("the call was cancelled")),
        };
        let result = result.unwrap_or_else(|failure| failed(failure, &self.access));
        Ok(result.into())
    }
}
