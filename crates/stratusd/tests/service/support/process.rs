//! The service and the other commands as processes.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;

use rustix::process::{Pid, Signal, kill_process};

use super::{Home, PATIENCE};

/// A running service, killed when it is dropped.
pub struct Service {
    child: Child,
    /// The URL of the API, without a slash at the end. Empty for the data plane of load balancers.
    pub base: String,
    /// The URL of health checks and metrics.
    pub management: String,
    /// The URL of the gateway, if it is on.
    pub gateway: Option<String>,
    log: Option<std::thread::JoinHandle<String>>,
}

impl Home {
    /// Returns a command with the settings of the home in its environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stratusd"));
        command.args(arguments).current_dir(self.path());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STRATUS_")) {
            command.env_remove(name);
        }
        // Services of other tests would be in the way of the default ports.
        if arguments.first() == Some(&"serve") {
            for setting in ["STRATUS_LISTEN", "STRATUS_MANAGEMENT_LISTEN"] {
                command.env(setting, "127.0.0.1:0");
            }
            // Tests of servers choose otherwise, by a flag.
            command.env("STRATUS_PROVISIONER", "simulated");
        }
        if arguments.first() == Some(&"provision") {
            for setting in [
                "STRATUS_PROVISION_LISTEN",
                "STRATUS_PROVISION_MANAGEMENT_LISTEN",
            ] {
                command.env(setting, "127.0.0.1:0");
            }
            command.env("STRATUS_PROVISIONER", "simulated");
        }
        // By these, tests are short. A test may set others by flags.
        if arguments.first() == Some(&"balance") {
            command
                .env("STRATUS_BALANCE_CHECK_EVERY", "100ms")
                .env("STRATUS_BALANCE_CHECK_TIMEOUT", "1s")
                .env("STRATUS_BALANCE_CHECK_FALL", "2")
                .env("STRATUS_BALANCE_DRAIN_TIMEOUT", "3s");
        }
        command
            .env("STRATUS_DATABASE_URL", &self.database_url)
            .env("STRATUS_ENCRYPTION_KEYS_FILE", self.keys());
        command
    }

    /// Runs a command and returns its output.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .output()
            .expect("the program starts")
    }

    /// Runs a command that must succeed. Returns its standard output.
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("the program prints text")
    }

    /// Runs a command that must fail. Returns its standard error.
    pub fn fail(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?} succeeded");
        String::from_utf8(output.stderr).expect("the program prints text")
    }

    /// Applies an inventory.
    pub fn apply(&self, inventory: &str) -> String {
        let file = self.path().join("inventory.yaml");
        std::fs::write(&file, inventory).expect("the folder is writable");
        self.succeed(&["apply", "inventory.yaml"])
    }

    /// Issues a token for a project.
    pub fn token(&self, project: &str, more: &[&str]) -> String {
        let arguments = [&["token", "issue", "--project", project], more].concat();
        self.succeed(&arguments).trim().to_owned()
    }

    /// Starts the service and waits until it serves.
    pub fn serve(&self, more: &[&str]) -> Service {
        self.serve_by(|_| None, more)
    }

    /// Starts the service by another program, which gets its command, and waits until it serves.
    pub fn serve_by(
        &self,
        starter: impl Fn(&Command) -> Option<Command>,
        more: &[&str],
    ) -> Service {
        let ports = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--management-listen",
            "127.0.0.1:0",
        ];
        let command = self.started_by(&starter, self.command(&[&ports, more].concat()));
        let launched = Launched::start_until(command, "serving ");
        let Some((base, management)) = launched
            .line
            .strip_prefix("serving ")
            .and_then(|line| line.split_once(", health and metrics on "))
        else {
            launched.fail();
        };
        let (management, gateway) = match management.split_once(", gateway on ") {
            Some((management, gateway)) => (management, Some(gateway.to_owned())),
            None => (management, None),
        };
        Service {
            base: base.to_owned(),
            management: management.to_owned(),
            gateway,
            child: launched.child,
            log: Some(launched.log),
        }
    }

    /// Starts a provisioner that services call, and waits until it serves.
    pub fn provision(&self, more: &[&str]) -> Service {
        self.provision_by(|_| None, more)
    }

    /// Starts a provisioner by another program, which gets its command, and waits until it serves.
    pub fn provision_by(
        &self,
        starter: impl Fn(&Command) -> Option<Command>,
        more: &[&str],
    ) -> Service {
        let command = self.command(&[&["provision"], more].concat());
        let launched = Launched::start(self.started_by(&starter, command));
        let Some((base, management)) = launched
            .line
            .strip_prefix("provisioning on ")
            .and_then(|line| line.split_once(", health on "))
        else {
            launched.fail();
        };
        Service {
            base: base.to_owned(),
            management: management.to_owned(),
            gateway: None,
            child: launched.child,
            log: Some(launched.log),
        }
    }

    /// Returns a command with the settings of another one, which it starts.
    pub fn started_by(
        &self,
        starter: impl Fn(&Command) -> Option<Command>,
        command: Command,
    ) -> Command {
        let Some(mut starter) = starter(&command) else {
            return command;
        };
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => starter.env(name, value),
                None => starter.env_remove(name),
            };
        }
        starter.current_dir(self.path());
        starter
    }

    /// Starts `stratusd network` by another program, and waits until it runs.
    pub fn network_by(
        &self,
        starter: impl Fn(&Command) -> Option<Command>,
        more: &[&str],
    ) -> Service {
        let ports = ["network", "--network-management-listen", "127.0.0.1:0"];
        let command = self.started_by(starter, self.command(&[&ports, more].concat()));
        let launched = Launched::start(command);
        let line = launched
            .line
            .strip_prefix("making networks, health and metrics on ");
        let Some(management) = line else {
            launched.fail();
        };
        Service {
            base: String::new(),
            management: management.to_owned(),
            gateway: None,
            child: launched.child,
            log: Some(launched.log),
        }
    }

    /// Starts the data plane of load balancers by another program, and waits until it runs.
    pub fn balance_on(
        &self,
        starter: impl Fn(&Command) -> Option<Command>,
        more: &[&str],
    ) -> Service {
        let ports = ["balance", "--balance-management-listen", "127.0.0.1:0"];
        let command = self.started_by(starter, self.command(&[&ports, more].concat()));
        Self::balancing(Launched::start(command))
    }

    /// Starts the data plane of load balancers and waits until it runs.
    pub fn balance(&self, more: &[&str]) -> Service {
        self.balance_by(|_| {}, more)
    }

    /// Starts the data plane without encryption keys.
    pub fn balance_without_keys(&self, more: &[&str]) -> Service {
        let without = |command: &mut Command| {
            command.env_remove("STRATUS_ENCRYPTION_KEYS_FILE");
        };
        self.balance_by(without, more)
    }

    fn balance_by(&self, change: impl Fn(&mut Command), more: &[&str]) -> Service {
        let ports = ["balance", "--balance-management-listen", "127.0.0.1:0"];
        let mut command = self.command(&[&ports, more].concat());
        change(&mut command);
        Self::balancing(Launched::start(command))
    }

    fn balancing(launched: Launched) -> Service {
        let Some(management) = launched
            .line
            .strip_prefix("balancing, health and metrics on ")
        else {
            launched.fail();
        };
        Service {
            base: String::new(),
            management: management.to_owned(),
            gateway: None,
            child: launched.child,
            log: Some(launched.log),
        }
    }
}

/// A process that has printed where it is.
struct Launched {
    child: Child,
    line: String,
    log: std::thread::JoinHandle<String>,
}

impl Launched {
    fn start(command: Command) -> Self {
        Self::start_until(command, "")
    }

    /// Starts a process, and waits for a line that begins so, or for its last one.
    fn start_until(mut command: Command, begin: &'static str) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stderr = child.stderr.take().expect("stderr is piped");
        let log = std::thread::spawn(move || {
            let mut log = String::new();
            let _ = stderr.read_to_string(&mut log);
            log
        });
        let stdout = child.stdout.take().expect("stdout is piped");
        let (said, line) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            let mut last = String::new();
            for line in &mut lines {
                last = line;
                if last.starts_with(begin) {
                    break;
                }
            }
            let _ = said.send(last);
        });
        let line = line.recv_timeout(PATIENCE).expect("the service starts");
        Self {
            child,
            line: line.trim().to_owned(),
            log,
        }
    }

    /// Fails with what the process has logged.
    fn fail(mut self) -> ! {
        let _ = self.child.kill();
        panic!(
            "the service does not start: {}",
            self.log.join().unwrap_or_default()
        );
    }
}

impl Service {
    /// Returns the metrics.
    pub async fn metrics(&self) -> String {
        // reqwest is built without a TLS provider and uses the installed one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let text = reqwest::get(format!("{}/metrics", self.management)).await;
        let text = text.expect("the service responds").text().await;
        text.expect("metrics are text")
    }

    /// Returns the value of a metric. Its name may have labels.
    pub async fn metric(&self, name: &str) -> u64 {
        let text = self.metrics().await;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = value.unwrap_or_else(|| panic!("there is no {name} in {text}"));
        value.parse().expect("it is a number")
    }

    /// Returns the id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process with SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().expect("the service is still running");
        self.child.wait().expect("the service can be waited for");
    }

    /// Sends SIGTERM to the process.
    pub fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("the service is alive");
    }

    /// Waits for the process to end. Returns whether it succeeded, and its log.
    pub fn wait(mut self) -> (bool, String) {
        let status = self.child.wait().expect("the service can be waited for");
        (
            status.success(),
            self.log
                .take()
                .and_then(|log| log.join().ok())
                .unwrap_or_default(),
        )
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
