//! `cargo xtask serve`: builds `stratusd` and serves the demo inventory.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;

use anyhow::Context as _;

use crate::Exit;
use crate::service::{Build, PROJECT, Service};
use crate::workspace;

/// Build stratusd and serve a demo: an SQLite file under target/, a token, and three calls to paste
///
/// Databases, machines and networks are simulated: the API keeps records of them, and nothing runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Serve the API at this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Serve health and metrics at this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9090")]
    management_listen: SocketAddr,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    // Fail on a port in use before printing calls that would reach another program.
    for address in [arguments.listen, arguments.management_listen] {
        TcpListener::bind(address).with_context(|| {
            format!(
                "failed to listen on {address}: choose others with --listen and --management-listen"
            )
        })?;
    }
    let service = Service::prepare(&root, root.join("target/serve"), Build::Alone)?;
    // What clients append paths to.
    let api = format!("http://{}", arguments.listen);
    let base = format!("{api}/project/{PROJECT}");
    // Databases of earlier runs still exist, so each run suggests a new name.
    let database = format!(
        "{base}/location/eu-central-h1/postgres/orders-{}",
        service.starts()?
    );
    let header = format!("-H 'Authorization: Bearer {}'", service.token);
    writeln!(
        out,
        "base URL  {api}\n\
         project   {PROJECT}\n\
         token     {}\n\
         contract  {api}/openapi.yaml\n\
         simulated databases, machines and networks: the API keeps records of them, and nothing runs\n\n\
         curl {header} '{base}/location/eu-central-h1/vm?order_column=name'\n\
         curl {header} -H 'Content-Type: application/json' -d '{{\"size\":\"standard-2\",\"storage_size\":64}}' {database}\n\
         curl {header} {database}\n",
        service.token
    )?;
    out.flush()?;
    let (listen, management) = (
        arguments.listen.to_string(),
        arguments.management_listen.to_string(),
    );
    let mut serve = service.command(&[
        "serve",
        "--listen",
        &listen,
        "--management-listen",
        &management,
    ]);
    // The service replaces this process, so that a signal to it ends the service.
    Err(serve.exec()).context("failed to start stratusd")
}
