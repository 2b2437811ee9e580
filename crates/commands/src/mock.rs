//! `mock`: serves a document before there is a server.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use mock::bounds::LONGEST_DELAY;
use mock::{Failures, Mock, Settings};
use tokio::net::TcpListener;

use crate::exit::Exit;
use crate::reading::Reading;

/// Serve an OpenAPI document without a server behind it: requests are checked, responses are made up
///
/// A request is checked as the generated server checks it, and refused in the same words. A response
/// is an example of the document, or made up from its schema, and always fits it. Any well-formed
/// credential is accepted, and nothing is kept. A caller chooses with `Prefer: code=404`,
/// `example=NAME` and `dynamic=true`: see docs/mock.md.
///
/// Exit codes: 0 ended by SIGINT or SIGTERM, 1 the document is wrong or the address is taken, 2 the
/// arguments are wrong.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 for a free one
    #[arg(long, default_value_t = 4010)]
    port: u16,
    /// The seed of what is made up: with the same seed, the same request has the same response
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Hold each response back, such as for 250ms or 2s; at most 60s
    #[arg(long, value_name = "TIME", value_parser = delay)]
    delay: Option<Duration>,
    /// Let some of the requests fail, such as 0.1, 10% or 10%:503
    #[arg(long, value_name = "RATE[:STATUS]")]
    fail: Option<Failures>,
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(
    arguments: &Arguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let loaded = contract::load_with(&arguments.file, &arguments.reading.options());
    if !loaded.diagnostics.is_empty() {
        let shown = contract::render(&loaded.sources, &loaded.diagnostics);
        write!(err, "{shown}")?;
    }
    let Some(contract) = loaded.contract else {
        return Ok(Exit::Failed);
    };
    let title = format!("{} {}", contract.info.title, contract.info.version);
    let settings = Settings {
        seed: arguments.seed,
        delay: arguments.delay.unwrap_or_default(),
        failures: arguments.fail,
    };
    let router = Mock::new(contract, settings).router();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start")?;
    let address = SocketAddr::new(arguments.host, arguments.port);
    runtime.block_on(async {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("failed to listen on {address}: choose another --port"))?;
        let address = listener.local_addr().context("failed to listen")?;
        // Before the address is printed: who reads it may send the signal at once.
        let stop = stop()?;
        let one_line: String = title.chars().filter(|it| !it.is_control()).collect();
        writeln!(out, "http://{address} is a mock of {one_line}")?;
        writeln!(
            out,
            "requests are checked, responses are made up, nothing is kept; any well-formed credential and pages of every origin are accepted"
        )?;
        out.flush()?;
        mock::serve(listener, router, stop).await;
        Ok(Exit::Fresh)
    })
}

/// Returns a future that is done at the first SIGINT or SIGTERM.
#[cfg(unix)]
fn stop() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Returns a future that is done at the first Ctrl-C.
#[cfg(not(unix))]
fn stop() -> anyhow::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Parses a time such as `250ms` or `2s`.
fn delay(text: &str) -> Result<Duration, String> {
    let wrong = || {
        format!(
            "write a time such as 250ms or 2s, at most {}s",
            LONGEST_DELAY.as_secs()
        )
    };
    let millis: u64 = if let Some(millis) = text.strip_suffix("ms") {
        millis.parse().map_err(|_| wrong())?
    } else {
        let seconds = text.strip_suffix('s').ok_or_else(wrong)?;
        let seconds: u64 = seconds.parse().map_err(|_| wrong())?;
        seconds.checked_mul(1000).ok_or_else(wrong)?
    };
    let time = Duration::from_millis(millis);
    if time <= LONGEST_DELAY {
        Ok(time)
    } else {
        Err(wrong())
    }
}
