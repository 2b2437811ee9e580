//! `mock`: serves a document before there is a server.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use mock::bounds::LONGEST_DELAY;
use mock::{Failures, Findings, Mock, ProxySettings, Settings, Times, Totals, Upstream};
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::reading::Reading;

/// Serve an OpenAPI document without a server behind it: requests are checked, responses are made up
///
/// A request is checked as the generated server checks it, and refused in the same words. A response
/// is an example of the document, or made up from its schema, and always fits it. Any well-formed
/// credential is accepted, and nothing is kept, unless `--stateful` says so. A caller chooses with
/// `Prefer: code=404`, `example=NAME` and `dynamic=true`: see docs/mock.md.
///
/// With `--proxy`, a real server responds, and its callers and its responses are judged.
///
/// Exit codes: 0 ended by SIGINT or SIGTERM, 1 the document is wrong or the address is taken, 2 the
/// arguments are wrong, 5 a request or response of `--proxy` did not match the document.
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
    /// Keep what callers create, where paths and schemas make a collection recognisable
    #[arg(long)]
    stateful: bool,
    /// Forward requests to this server, and judge them and its responses by the document
    #[arg(long, value_name = "URL", conflicts_with_all = ["seed", "delay", "fail", "stateful"])]
    proxy: Option<Upstream>,
    /// With --proxy, make errors of what does not match the document: refuse such requests, and
    /// respond with 502 in place of such responses
    #[arg(long, requires = "proxy")]
    errors: bool,
    /// End when standard input does, as it does when the program that started this one has ended
    #[arg(long, hide = true)]
    until_input_ends: bool,
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
        is_stateful: arguments.stateful,
    };
    let mock = Mock::new(contract, settings);
    runtime()?.block_on(async {
        let (listener, address) = listen(arguments.host, arguments.port).await?;
        // Before the address is printed: who reads it may send the signal at once.
        let stop = ended(stop()?, arguments.until_input_ends);
        // A terminal would obey control characters of the document.
        let title: String = title.chars().filter(|it| !it.is_control()).collect();
        let Some(upstream) = &arguments.proxy else {
            writeln!(out, "http://{address} is a mock of {title}")?;
            let kept = match (arguments.stateful, mock.collections().len()) {
                (false, _) => "nothing is kept",
                (true, 0) => "nothing is kept, because no collection is recognised",
                (true, _) => "what is created is kept until the end",
            };
            writeln!(
                out,
                "requests are checked, responses are made up, {kept}; any well-formed credential and pages of every origin are accepted"
            )?;
            writeln!(out, "http://{address}/docs/ is a page to read and to try the API")?;
            for line in mock.collections() {
                writeln!(out, "{line}")?;
            }
            out.flush()?;
            mock::serve(listener, mock.router(), stop).await;
            return Ok(Exit::Fresh);
        };
        let (router, findings) = mock.proxy(ProxySettings {
            upstream: upstream.clone(),
            errors: arguments.errors,
            times: Times::default(),
        })?;
        writeln!(out, "http://{address} is a proxy of {upstream}, judged by {title}")?;
        let done = if arguments.errors {
            "what does not match is refused"
        } else {
            "what does not match is forwarded all the same, and reported"
        };
        writeln!(out, "requests and responses are judged; {done}")?;
        out.flush()?;
        let serving = tokio::spawn(mock::serve(listener, router, stop));
        let totals = report(findings, serving, err).await;
        writeln!(out, "{}", summary(totals))?;
        Ok(if totals.of_requests + totals.of_responses == 0 {
            Exit::Fresh
        } else {
            Exit::Refused
        })
    })
}

/// Writes what a proxy finds until it has ended. It serves on threads of its own, so a terminal that
/// does not read stops nobody but this.
async fn report(
    mut findings: Findings,
    mut serving: tokio::task::JoinHandle<()>,
    err: &mut dyn Write,
) -> Totals {
    loop {
        let line = tokio::select! {
            _ = &mut serving => break,
            line = findings.next() => line,
        };
        // A reader that has gone away learns of the findings by the exit code.
        match line {
            Some(line) => drop(writeln!(err, "{line}")),
            None => break,
        }
    }
    // Serving can end before the lines of its last requests were taken.
    while let Some(line) = findings.waiting() {
        let _ = writeln!(err, "{line}");
    }
    findings.totals()
}

/// Returns what a proxy has found, in one line.
fn summary(totals: Totals) -> String {
    let mut line = format!(
        "requests: {}; violations: {} of requests, {} of responses",
        totals.requests, totals.of_requests, totals.of_responses
    );
    if totals.not_judged > 0 {
        line.push_str(&format!("; {} bodies not judged", totals.not_judged));
    }
    if totals.lost > 0 {
        line.push_str(&format!("; {} lines left out", totals.lost));
    }
    line
}

/// Returns a runtime for a server of one person.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    let mut builder = runtime::Builder::new_multi_thread();
    let built = builder.worker_threads(2).enable_all().build();
    built.context("failed to start")
}

/// Listens on an address. Returns it with the port that was free if 0 was given.
pub(crate) async fn listen(host: IpAddr, port: u16) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let address = SocketAddr::new(host, port);
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let other = match error.kind() {
            io::ErrorKind::AddrNotAvailable => "--host, an address of this machine",
            _ => "--port",
        };
        anyhow::Error::new(error).context(format!(
            "failed to listen on {address}: choose another {other}"
        ))
    })?;
    let address = listener.local_addr().context("failed to listen")?;
    Ok((listener, address))
}

/// Waits for `stop` or, if that counts, for the end of standard input.
async fn ended(stop: impl Future<Output = ()>, counts: bool) {
    if !counts {
        return stop.await;
    }
    // A thread of its own, because a read of standard input cannot be abandoned.
    let (sender, receiver) = oneshot::channel::<()>();
    thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        drop(sender);
    });
    tokio::select! {
        () = stop => {}
        _ = receiver => {}
    }
}

/// Returns a future that is done at the first SIGINT or SIGTERM.
#[cfg(unix)]
pub(crate) fn stop() -> anyhow::Result<impl Future<Output = ()>> {
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
pub(crate) fn stop() -> anyhow::Result<impl Future<Output = ()>> {
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
