//! `cargo xtask serve`: a service for a newcomer, with something of everything in it.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;

use anyhow::Context as _;

use crate::exit::Exit;
use crate::service::{Build, PROJECT, Service};
use crate::workspace;

/// Build stratusd and serve a demo: an SQLite file under target/, a token, and three calls to paste
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where the API is served
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where health and metrics are served
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9090")]
    management_listen: SocketAddr,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let root = workspace::root()?;
    // A taken port is told before anything is printed that would not work.
    for address in [arguments.listen, arguments.management_listen] {
        TcpListener::bind(address).with_context(|| {
            format!(
                "failed to listen on {address}: choose others with --listen and --management-listen"
            )
        })?;
    }
    let service = Service::prepare(&root, root.join("target/serve"), Build::Alone)?;
    let base = format!("http://{}/project/{PROJECT}", arguments.listen);
    // What earlier starts have made is there still.
    let database = format!(
        "{base}/location/eu-central-h1/postgres/orders-{}",
        service.starts()?
    );
    let header = format!("-H 'Authorization: Bearer {}'", service.token);
    writeln!(
        out,
        "base URL  {base}\n\
         token     {}\n\n\
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
    // The service takes this process's place, so that whoever stops one stops the other.
    Err(serve.exec()).context("failed to start stratusd")
}
