//! [`MockProcess`]: the mock of one revision, as a process.

use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Take};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};

use super::Arguments;

/// The maximum number of bytes that are read of what the process says.
const MOST_BYTES: u64 = 16 << 10;

/// A mock that runs. It ends when this is dropped, and with this process however that ends, because
/// its standard input does.
#[derive(Debug)]
pub(super) struct MockProcess {
    child: Child,
    /// Kept open: the mock would end when it cannot write to it.
    _output: BufReader<Take<ChildStdout>>,
    pub(super) address: SocketAddr,
}

impl MockProcess {
    /// Starts a mock of the document, and waits until it listens.
    pub(super) fn start(arguments: &Arguments) -> anyhow::Result<Self> {
        let program = env::current_exe().context("failed to find this program")?;
        let mut child = Command::new(program)
            .arg("mock")
            .arg(&arguments.file)
            .args(["--port", "0", "--until-input-ends"])
            .args(arguments.reading.words())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The page shows what is wrong with the document.
            .stderr(Stdio::null())
            .spawn()
            .context("failed to start the mock")?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("the mock has no output")?;
        let mut output = BufReader::new(stdout.take(MOST_BYTES));
        let read = output.read_line(&mut line);
        // From here on it is ended by drop.
        let mut process = Self {
            child,
            _output: output,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        read.context("failed to read what the mock says")?;
        let address = line
            .strip_prefix("http://")
            .and_then(|line| line.split(' ').next());
        let Some(address) = address.and_then(|address| address.parse().ok()) else {
            // It read the document again, which may have changed since: then it is judged again.
            bail!("the mock could not be started");
        };
        process.address = address;
        Ok(process)
    }
}

impl Drop for MockProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        // A process that nobody waits for stays in the table of the system.
        let _ = self.child.wait();
    }
}
