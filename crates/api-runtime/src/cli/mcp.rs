//! `mcp`: the operations as tools of assistants, by the Model Context Protocol over the standard
//! input and output.
//!
//! `tool` says which operations are tools, `schema` what each takes, `arguments` makes a request of
//! what an assistant has given, `result` bounds what it gets, and `server` speaks the protocol.

mod access;
mod arguments;
mod names;
mod result;
mod schema;
mod server;
mod tool;
mod transport;

use clap::{Arg, ArgAction, ArgMatches, Command};
use rmcp::service::ServerInitializeError;
use rmcp::{RoleServer, ServiceExt as _};

use super::Program;
use super::argument::{Bound, argument, bound};
use super::builtin;
use super::credentials::Found;
use super::description::Description;
use super::failure::Failure;
use super::sources::Sources;
use server::Server;
use transport::Pipes;

/// The flags of this command alone.
const FLAGS: [&str; 4] = [
    access::ONLY,
    access::WRITES,
    access::SECRET_INPUTS,
    access::RESULT_BYTES,
];
/// The settings that are about the output of one call.
const OF_ONE_CALL: [&str; 3] = ["query", "save", "output"];

/// Returns the name of the command.
pub(super) fn name(description: &Description) -> &'static str {
    builtin::free_name(description, "mcp", "program-mcp")
}

/// Returns the command.
pub(super) fn command(description: &'static Description) -> Command {
    let only = Arg::new(access::ONLY)
        .long(access::ONLY)
        .value_name("TAG|OPERATION")
        .action(ArgAction::Append)
        .help("Offer only the operations of this tag, or this operation; may be repeated");
    let writes = Arg::new(access::WRITES)
        .long(access::WRITES)
        .action(ArgAction::SetTrue)
        .help("Offer the operations that change something, too");
    let inputs = Arg::new(access::SECRET_INPUTS)
        .long(access::SECRET_INPUTS)
        .action(ArgAction::SetTrue)
        .help("Let the assistant give secrets, such as a new password");
    let bytes = Arg::new(access::RESULT_BYTES)
        .long(access::RESULT_BYTES)
        .value_name("NUMBER")
        .help(format!(
            "The most bytes of a result [default: {}]",
            access::USUAL_RESULT_BYTES
        ));
    let command = Command::new(name(description))
        .about("Serve the operations as tools of an assistant, by the Model Context Protocol")
        .long_about(
            "Serve the operations as tools of an assistant, by the Model Context Protocol over the standard input and output.\n\nOnly operations that read are tools, unless you give --allow-writes. Secret properties of responses are hidden, unless you give --show-secrets: what an assistant gets, its provider gets. The program ends with its standard input.",
        )
        .args([only, writes, inputs, bytes]);
    command.args(contexts(description).map(argument))
}

/// Returns the inputs that are settings, each once.
fn contexts(description: &'static Description) -> impl Iterator<Item = Bound> {
    let operations = description.operations.iter();
    let all = operations.flat_map(move |operation| bound(description, operation));
    let mut seen = Vec::new();
    all.filter(move |bound| {
        let is_new = is_setting(*bound) && !seen.contains(&bound.flag);
        if is_new {
            seen.push(bound.flag);
        }
        is_new
    })
}

/// Returns whether an input is a setting of this command. One with the name of a flag of this command
/// is an input of its tools.
fn is_setting(bound: Bound) -> bool {
    bound.input.context && !FLAGS.contains(&bound.flag)
}

/// Serves until the standard input ends.
pub(super) fn run(
    program: &Program,
    description: &'static Description,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    // Calls run in tasks, which borrow nothing that ends before the process does.
    let matches: &'static ArgMatches = Box::leak(Box::new(matches.clone()));
    let sources = Sources::read(program, description, matches)?;
    check(&sources)?;
    let server = Server::new(sources)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::other(format!("the program cannot start: {error}")))?;
    let served = runtime.block_on(serve(server));
    // Otherwise the end of the program would wait for a read of the standard input.
    runtime.shutdown_background();
    served
}

/// Checks that the settings leave the standard input and output to the protocol.
fn check(sources: &Sources<'_>) -> Result<(), Failure> {
    let name = name(sources.description);
    let given = OF_ONE_CALL.iter().find(|flag| sources.flag(flag).is_some());
    let given = given.or(sources.has("dry-run").then_some(&"dry-run"));
    if let Some(flag) = given {
        return Err(Failure::usage(format!(
            "--{flag} is about one call, and `{name}` serves calls of an assistant: leave it out"
        )));
    }
    for at in 0..sources.description.schemes.len() {
        // What is kept is not looked for yet, since a keyring may wait for its owner.
        let set = sources.set(at)?;
        if let Some(Found::Flag(path) | Found::File(path)) = set
            && path == "-"
        {
            let scheme = sources.scheme_name(at);
            return Err(Failure::usage(format!(
                "--{scheme}-file cannot be the standard input, on which `{name}` gets requests: name a file"
            )));
        }
    }
    Ok(())
}

async fn serve(server: Server) -> Result<(), Failure> {
    let wrong = |error: String| Failure::other(format!("the protocol has failed: {error}"));
    let running = match server.serve(Pipes::new()).await {
        Ok(running) => running,
        // Nobody has asked for anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(wrong(error.to_string())),
    };
    let ended = rmcp::service::RunningService::<RoleServer, Server>::waiting(running).await;
    ended.map(drop).map_err(|error| wrong(error.to_string()))
}
