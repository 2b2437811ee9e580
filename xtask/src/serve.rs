//! `cargo xtask serve`: builds `stratusd` and serves the demo inventory.
//!
//! `launch` does this without compiling this crate; here are its help and its wrong arguments.

use std::io::Write;
use std::net::SocketAddr;

use launch::Addresses;

use crate::Exit;

/// Build stratusd and serve a demo: an SQLite file under target/, a token, and three calls to paste
///
/// Postgres databases are servers on this machine if PostgreSQL 16, 17 or 18 is installed, such as by
/// `cargo xtask postgres`, and simulated otherwise. Without root they are not isolated from each other,
/// which is said. Load balancers forward connections, on Linux. Machines
/// and networks are recorded; the command that makes them real, which needs root, is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Serve the API at this address
    #[arg(long, value_name = "ADDRESS", default_value_t = Addresses::default().listen)]
    listen: SocketAddr,
    /// Serve health and metrics at this address
    #[arg(long, value_name = "ADDRESS", default_value_t = Addresses::default().management_listen)]
    management_listen: SocketAddr,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let addresses = Addresses {
        listen: arguments.listen,
        management_listen: arguments.management_listen,
    };
    Err(launch::serve(addresses, out))
}
