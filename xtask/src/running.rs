//! A service that runs while a tool of others tests it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context as _, bail};
use launch::Service;

/// A running service on free ports, killed on drop.
pub(crate) struct Running {
    child: Child,
    /// The base URL of the API.
    pub(crate) base: String,
}

impl Running {
    /// Starts a service whose simulated databases are fast.
    pub(crate) fn start(service: &Service) -> anyhow::Result<Self> {
        let arguments = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--management-listen",
            "127.0.0.1:0",
            "--log",
            "warn",
        ];
        let mut serve = service.command(&arguments);
        serve.args(["--simulate-delay", "200ms", "--simulate-jitter", "100ms"]);
        let mut child = serve
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to start stratusd")?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut running = Self {
            child,
            base: String::new(),
        };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        match line
            .strip_prefix("serving ")
            .and_then(|line| line.split_once(','))
        {
            Some((base, _)) => base.clone_into(&mut running.base),
            None => bail!("stratusd does not start"),
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
