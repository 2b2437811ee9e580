//! The call of an operation: what is sent, and how often.

use std::io::{self, Write as _};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::failure::{CallError, Failure};
use super::input::{self, Arguments};
use super::saved::Saved;
use super::settings::Settings;
use super::{curl, output, pages, request};
use crate::client::{self, ByteStream, ResponseValue, Transport};

/// The maximum size in bytes of a response body that is read into memory. A body that `--save`
/// writes into a file may have any size.
const MOST_BYTES: usize = 64 << 20;
/// The maximum size in bytes of the body of an error response. A larger body is ignored.
const MOST_ERROR_BYTES: usize = 1 << 20;
/// The pause between two calls of `--wait`.
const PAUSE: Duration = Duration::from_secs(2);
/// The seconds that `--wait` waits, unless `--wait-timeout` says otherwise.
const WAIT_TIMEOUT: f64 = 600.0;

/// Calls the operation of a command and prints what it returns.
pub(super) async fn call(settings: &Settings<'_>) -> Result<(), Failure> {
    output::check(settings)?;
    let arguments = input::read(settings)?;
    let transport = settings.transport()?;
    if settings.sources.has("dry-run") {
        return dry_run(settings, &transport, &arguments);
    }
    if settings.sources.has("all") {
        return pages::all(settings, &transport, arguments).await;
    }
    if settings.sources.has("wait") {
        return wait(settings, &transport, &arguments).await;
    }
    // Before the request, which may make something whose secret is shown this once.
    let path = settings.sources.flag("save");
    let saved = path.map(|path| Saved::open(path)).transpose()?;
    let reply = send(settings, &transport, &arguments).await?;
    match saved {
        Some(saved) => saved.write(reply.into_inner()).await,
        None => output::print(settings, reply).await,
    }
}

/// Prints the request.
fn dry_run(
    settings: &Settings<'_>,
    transport: &Transport,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let call = transport.call(&settings.operation.id, &settings.operation.path);
    let request = request::request(call, settings.operation, arguments)?.build();
    let request = request.map_err(|error| Failure::usage(error.without_url().to_string()))?;
    writeln!(io::stdout(), "{}", curl::command(settings, &request))
        .map_err(|error| Failure::output(&error))
}

/// Sends the request.
pub(super) async fn send(
    settings: &Settings<'_>,
    transport: &Transport,
    arguments: &Arguments,
) -> Result<ResponseValue<ByteStream>, Failure> {
    let operation = settings.operation;
    let call = transport.call(&operation.id, &operation.path);
    let request = request::request(call, operation, arguments)?;
    let sent = call.send::<Value>(request, settings.security).await;
    let checked = match sent {
        Ok(received) => checked(client::stream(received)).await,
        Err(error) => Err(error),
    };
    checked.map_err(|error| Failure::call(&error, settings))
}

/// Returns a response that is a success, or else its error with what the body says.
async fn checked(reply: ResponseValue<ByteStream>) -> Result<ResponseValue<ByteStream>, CallError> {
    if reply.status().is_success() {
        return Ok(reply);
    }
    let mut body = None;
    let reply = client::map(reply, |stream| body = Some(stream));
    // What has arrived says more than that the rest has not.
    let bytes = match body {
        Some(body) => read(body, MOST_ERROR_BYTES)
            .await
            .ok()
            .flatten()
            .unwrap_or_default(),
        None => Bytes::new(),
    };
    let said = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Err(CallError::listed(client::map(reply, |()| said)))
}

/// Reads a body into memory. Returns `None` if it has more bytes than `most`.
pub(super) async fn read(
    mut body: ByteStream,
    most: usize,
) -> Result<Option<Bytes>, client::Error> {
    let mut whole = BytesMut::new();
    while let Some(piece) = body.try_next().await? {
        if piece.len() > most - whole.len() {
            return Ok(None);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Some(whole.freeze()))
}

/// Reads a body into memory.
pub(super) async fn body(reply: ResponseValue<ByteStream>) -> Result<Bytes, Failure> {
    match read(reply.into_inner(), MOST_BYTES).await {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Failure::other(format!(
            "the response has more than {MOST_BYTES} bytes; write it into a file with --save"
        ))),
        Err(error) => Err(Failure::transport(format!(
            "the response ended early: {error}"
        ))),
    }
}

/// Repeats the call until the property that `x-wait` marks has one of the values that it names.
async fn wait(
    settings: &Settings<'_>,
    transport: &Transport,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let Some(wait) = &settings.operation.wait else {
        return Ok(());
    };
    let limit = settings.sources.seconds("wait-timeout", WAIT_TIMEOUT)?;
    let begun = Instant::now();
    loop {
        let reply = send(settings, transport, arguments).await?;
        let status = reply.status();
        let bytes = body(reply).await?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|_| Failure::other("the response is not JSON"))?;
        let now = value.get(&wait.property).map(text).unwrap_or_default();
        if wait.until.contains(&now) {
            return output::value(settings, status, value);
        }
        let shown = super::table::visible(&now);
        if wait.failed.contains(&now) {
            output::value(settings, status, value)?;
            return Err(Failure::waited(format!(
                "`{}` is `{shown}`, after which it becomes nothing else",
                wait.property
            )));
        }
        if begun.elapsed() + PAUSE > limit {
            return Err(Failure::waited(format!(
                "`{}` is still `{shown}`; wait longer with --wait-timeout SECONDS",
                wait.property
            )));
        }
        sleep(PAUSE).await;
    }
}

/// Returns a value as the text that `x-wait` names it by.
fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
