//! `stratusd balancers`: asks the running data plane for the state of each load balancer, and prints
//! it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{ArgMatches, ValueEnum};
use serde_json::json;
use stratusd::balance::{BalancerStatus, VmStatus};
use stratusd::settings::{BalanceManagementArguments, SettingsFile};

use super::output::print;

/// How long the data plane may take to accept the connection, and for each part of its response.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum size of the response, in bytes: a load balancer with 100 virtual machines takes about
/// 15 KiB.
const MAX_SIZE: u64 = 256 << 20;

/// Print the load balancers as the running `stratusd balance` sees them
///
/// Each has the addresses that it listens on, and the state of each of its virtual machines: `up`,
/// `down`, `detaching` while connections of a detached one go on, or `unknown` while an Envoy that
/// forwards them does not respond.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only load balancers of the project with this id.
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Only load balancers with this name or id.
    #[arg(value_name = "LOAD_BALANCER")]
    reference: Option<String>,
    /// The format: text, or one JSON object per load balancer and line.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    balance: BalanceManagementArguments,
}

/// How load balancers are printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn run(arguments: &Arguments, matches: &ArgMatches, file: &SettingsFile) -> Result<()> {
    let settings = arguments.balance.resolve(matches, file)?;
    let address = settings.balance_management_listen.get();
    let body = ask(address).with_context(|| {
        format!("failed to ask the data plane at {address}: start `stratusd balance`, or pass --balance-management-listen")
    })?;
    let all: Vec<BalancerStatus> =
        serde_json::from_slice(&body).context("the data plane is of another version")?;
    let is_wanted = |of: &&BalancerStatus| {
        let is_of = |wanted: &Option<String>, has: &[&String]| {
            wanted.as_ref().is_none_or(|wanted| has.contains(&wanted))
        };
        is_of(&arguments.project, &[&of.project])
            && is_of(&arguments.reference, &[&of.name, &of.id])
    };
    all.iter()
        .filter(is_wanted)
        .try_for_each(|of| match arguments.format {
            Format::Text => print_text(of),
            Format::Json => print(json!(of)),
        })
}

/// Asks for the load balancers over HTTP/1.0, whose response ends with the connection: one request to
/// a process of ours needs no client library.
fn ask(address: SocketAddr) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /load-balancers HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut response = Vec::new();
    stream.take(MAX_SIZE).read_to_end(&mut response)?;
    let end = response.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.context("the response is cut off")?;
    if !response.starts_with(b"HTTP/1.0 200 ") && !response.starts_with(b"HTTP/1.1 200 ") {
        bail!("what listens there is no data plane");
    }
    Ok(response.split_off(end + 4))
}

fn print_text(of: &BalancerStatus) -> Result<()> {
    print(format_args!(
        "{} ({}) of {}: {}, {} connections",
        of.name, of.id, of.project, of.algorithm, of.connections
    ))?;
    print(format_args!("  {}", of.hostname))?;
    for listener in &of.listeners {
        match &listener.problem {
            None => print(format_args!("  listens on {}", listener.address))?,
            Some(problem) => print(format_args!(
                "  does not listen on {}: {problem}",
                listener.address
            ))?,
        }
    }
    of.vms.iter().try_for_each(print_vm)
}

fn print_vm(vm: &VmStatus) -> Result<()> {
    let VmStatus {
        id,
        name,
        state,
        connections,
        ..
    } = vm;
    let address = vm.address.map_or_else(
        || "no public address".to_owned(),
        |address| address.to_string(),
    );
    print(format_args!(
        "  {state:<9}  {name} ({id}) at {address}, {connections} connections"
    ))
}
