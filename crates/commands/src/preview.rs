//! `preview`: shows a document while it is written: its reference page with a mock behind it, what
//! is wrong with it, and whom its change breaks.
//!
//! One thread watches the files and judges each revision (`revision`), and the server (`server`)
//! hands the last judgement to the page. The mock is a process of its own for each revision
//! (`mock_process`): a mock keeps its document for as long as the process lives, so that mocks of
//! many revisions in one process would fill its memory.

mod mock_process;
mod revision;
mod server;
mod watch;

use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::thread;

use anyhow::Context as _;

use crate::exit::Exit;
use crate::mock::{listen, runtime, stop};
use crate::policy::Choice;
use crate::reading::Reading;
use server::Shown;

/// The stack size in bytes of the thread that reads documents, which may nest deeply.
const STACK_BYTES: usize = 64 << 20;

/// Show a document while you write it: a page, a mock, and what is wrong, renewed at each save
///
/// The page has the reference of the API, which you can try against a mock (responses are made up,
/// and nothing is kept). Beside it are the findings of `lint`, and of `diff` against a git revision.
/// A document that cannot be read keeps the page and the mock of the last revision that could.
///
/// Exit codes: 0 ended by SIGINT or SIGTERM, 1 the document is not there or the address is taken,
/// 2 the arguments are wrong.
#[derive(Debug, Clone, clap::Args)]
pub struct Arguments {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 for a free one
    #[arg(long, default_value_t = 4020)]
    port: u16,
    /// The git revision with the document before the change
    #[arg(long, value_name = "REVISION", default_value = "origin/main")]
    base: String,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    choice: Choice,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Exit> {
    // Everything else that is wrong with the document is shown on the page.
    std::fs::File::open(&arguments.file)
        .with_context(|| format!("failed to read {}", arguments.file.display()))?;
    runtime()?.block_on(async {
        let (listener, address) = listen(arguments.host, arguments.port).await?;
        let stop = stop()?;
        let shown = Shown::new();
        let (judged, watched) = (shown.clone(), arguments.clone());
        thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || watch::run(&watched, &judged))
            .context("failed to start a thread")?;
        writeln!(
            out,
            "http://{address}/preview/ shows {}, and is renewed when you save it",
            arguments.file.display()
        )?;
        writeln!(
            out,
            "http://{address} is a mock of it: responses are made up, nothing is kept"
        )?;
        out.flush()?;
        mock::serve(listener, server::router(shown), stop).await;
        Ok(Exit::Fresh)
    })
}
