//! A machine of a test's own: a network namespace in which `stratusd network` and `stratusd balance` run as
//! on a machine, with a prefix of its own. Nothing outside of it is changed, and all of it is gone after
//! the test, also after one that fails.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;
use stratusd::world::World;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::process::Service;
use super::{Home, eventually};

/// The folder of the namespaces that have names.
const NAMESPACES: &str = "/run/netns";
/// How long a connection may take. Packets that are dropped are not answered at all.
const CONNECT: Duration = Duration::from_millis(1500);

/// A machine of a test's own.
pub struct Lab {
    /// The name of the namespace.
    machine: String,
    /// What the names of what `stratusd network` makes begin with.
    pub prefix: String,
    /// The task that passes connections of the machine on to a database.
    forwarding: Option<AbortHandle>,
}

impl Lab {
    /// Creates a machine. Returns `None` if the tests run without the rights or the programs.
    pub fn new() -> Option<Self> {
        let [a, b, c, d] = World::real().random();
        let number = u32::from_be_bytes([a, b, c, d]);
        let lab = Self {
            machine: format!("lab-{number:08x}"),
            prefix: format!("t{:07x}", number >> 4),
            forwarding: None,
        };
        let is_made = succeeds("ip", &["netns", "add", &lab.machine])
            && succeeds("ip", &["-n", &lab.machine, "link", "set", "lo", "up"])
            && succeeds(
                "ip",
                &["netns", "exec", &lab.machine, "nft", "list", "tables"],
            )
            && succeeds(
                "ip",
                &["-n", &lab.machine, "link", "add", "probe", "type", "veth"],
            )
            && succeeds("ip", &["-n", &lab.machine, "link", "delete", "probe"]);
        if !is_made {
            super::leave_out("namespaces, ip or nft are missing, or this is not root");
            return None;
        }
        Some(lab)
    }

    /// Lets the machine reach the database of a home, if that is a server, at the same address.
    pub fn let_reach(&mut self, home: &Home) {
        let Some((_, address)) = home.database_url.split_once('@') else {
            return;
        };
        let address = address.split('/').next().unwrap_or_default().to_owned();
        let listener = self.on_machine(|| {
            let listener = std::net::TcpListener::bind(&address)?;
            listener.set_nonblocking(true)?;
            Ok::<_, io::Error>(listener)
        });
        let listener = listener.expect("the address is free on the machine");
        let listener = TcpListener::from_std(listener).expect("the test has a runtime");
        let forwarding = tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let address = address.clone();
                tokio::spawn(async move {
                    let mut to = tokio::net::TcpStream::connect(address).await?;
                    tokio::io::copy_bidirectional(&mut from, &mut to).await
                });
            }
        });
        self.forwarding = Some(forwarding.abort_handle());
    }

    /// Returns a command that runs another one on the machine.
    pub fn starter(&self, command: &Command) -> Command {
        let mut starter = Command::new("nsenter");
        starter
            .arg(format!("--net={NAMESPACES}/{}", self.machine))
            .arg(command.get_program())
            .args(command.get_args());
        starter
    }

    /// Starts `stratusd network` on the machine.
    pub fn network(&self, home: &Home, more: &[&str]) -> Service {
        home.network_by(
            |it| Some(self.starter(it)),
            &[&self.arguments()[..], more].concat(),
        )
    }

    /// Starts the data plane of load balancers on the machine.
    pub fn balance(&self, home: &Home, more: &[&str]) -> Service {
        home.balance_on(|it| Some(self.starter(it)), more)
    }

    /// Returns the flags of the prefix and of servers in virtual machines.
    fn arguments(&self) -> [&str; 4] {
        [
            "--network-prefix",
            &self.prefix,
            "--network-http-ports",
            "80,8080",
        ]
    }

    /// Runs `stratusd network --remove` on the machine, and returns what it prints.
    pub fn remove(&self, home: &Home) -> (bool, String) {
        let command = home.command(&["network", "--remove", "--network-prefix", &self.prefix]);
        let output = self.starter(&command).output().expect("the program starts");
        let words = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&words).into_owned(),
        )
    }

    /// Runs a program on the machine, and returns what it prints. It must succeed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(arguments);
        let output = self.starter(&command).output().expect("the program starts");
        assert!(
            output.status.success(),
            "{program} {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("it prints text")
    }

    /// Returns the names of all namespaces of the prefix, sorted.
    pub fn namespaces(&self) -> Vec<String> {
        let entries = fs::read_dir(NAMESPACES).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter(|name| name.starts_with(&format!("{}-", self.prefix)))
            .collect();
        names.sort();
        names
    }

    /// Runs a function in the namespace of the machine.
    pub fn on_machine<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        inside(&self.machine, work)
    }

    /// Returns what the virtual machine or the server at an address responds to a caller on the machine, or
    /// the error.
    pub fn ask(&self, address: &str) -> io::Result<String> {
        self.on_machine(|| get(address, "/"))
    }

    /// Returns the response of the management port to a path, with its status line.
    pub fn management(&self, service: &Service, path: &str) -> String {
        let address = service.management.replace("http://", "");
        self.on_machine(|| get_whole(&address, path))
            .unwrap_or_default()
    }

    /// Returns what `stratusd network` says of all networks.
    pub fn status(&self, service: &Service) -> Value {
        let response = self.management(service, "/networks");
        let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        serde_json::from_str(body).unwrap_or_default()
    }

    /// Waits until all networks are as declared, with a number of virtual machines, and returns the status.
    pub async fn settled(&self, service: &Service, vms: usize) -> Value {
        let right = eventually(async || {
            let status = self.status(service);
            let up = status["vms"]
                .as_array()?
                .iter()
                .filter(|vm| vm["is_up"] == true);
            let is_right = up.count() == vms && status["is_in_force"] == true;
            is_right.then_some(status)
        });
        right
            .await
            .unwrap_or_else(|| panic!("the networks are not as declared: {}", self.status(service)))
    }

    /// Waits until a number of virtual machines are up, and returns the status with its problems.
    pub async fn settled_with_problems(&self, service: &Service, vms: usize) -> Value {
        let right = eventually(async || {
            let status = self.status(service);
            let up = status["vms"]
                .as_array()?
                .iter()
                .filter(|vm| vm["is_up"] == true);
            (up.count() == vms).then_some(status)
        });
        right
            .await
            .unwrap_or_else(|| panic!("the networks are not there: {}", self.status(service)))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(forwarding) = &self.forwarding {
            forwarding.abort();
        }
        for name in self.namespaces().iter().chain([&self.machine]) {
            succeeds("ip", &["netns", "delete", name]);
        }
        let _ = fs::remove_file(format!("/run/stratusd-network-{}.lock", self.prefix));
    }
}

/// A virtual machine, which is a namespace.
#[derive(Debug, Clone)]
pub struct LabVm {
    pub namespace: String,
    pub public: Vec<String>,
    pub private: Vec<String>,
}

impl LabVm {
    pub fn of(status: &Value) -> Self {
        let texts = |field: &str| {
            let list = status[field].as_array().into_iter().flatten();
            list.filter_map(|it| it.as_str().map(str::to_owned))
                .collect()
        };
        Self {
            namespace: status["namespace"].as_str().unwrap_or_default().to_owned(),
            public: texts("public"),
            private: texts("private"),
        }
    }

    /// Returns the private IPv4 address, or the public one of a virtual machine without it.
    pub fn ip4(&self) -> &str {
        self.private
            .first()
            .or(self.public.first())
            .expect("it has an address")
    }

    /// Runs a function in the namespace of the virtual machine.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        inside(&self.namespace, work)
    }

    /// Returns what responds to the virtual machine at an address, or the error, also if there is no
    /// virtual machine at the moment.
    pub fn ask(&self, address: &str) -> io::Result<String> {
        try_inside(&self.namespace, || get(address, "/"))?
    }

    /// Returns whether the virtual machine reaches an address.
    pub fn reaches(&self, address: &str) -> bool {
        self.ask(address).is_ok()
    }

    /// Waits until the virtual machine reaches an address.
    pub async fn comes_to_reach(&self, address: &str) {
        let reached = eventually(async || self.reaches(address).then_some(())).await;
        assert!(
            reached.is_some(),
            "{} never reaches {address}",
            self.namespace
        );
    }

    /// Waits until the virtual machine does not reach an address.
    pub async fn comes_not_to_reach(&self, address: &str) {
        let cut = eventually(async || (!self.reaches(address)).then_some(())).await;
        assert!(cut.is_some(), "{} still reaches {address}", self.namespace);
    }
}

/// Runs a function on a thread in a namespace, which must be there.
fn inside<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> T {
    try_inside(namespace, work).expect("the namespace is there")
}

/// Runs a function on a thread in a namespace.
fn try_inside<T: Send>(namespace: &str, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let file = fs::File::open(format!("{NAMESPACES}/{namespace}"))?;
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), network)?;
            Ok(work())
        });
        worker.join().expect("the function does not panic")
    })
}

/// Opens a connection to an address with a port.
pub fn connect(address: &str) -> io::Result<TcpStream> {
    let address: SocketAddr = address.parse().expect("it is an address with a port");
    let stream = TcpStream::connect_timeout(&address, CONNECT)?;
    stream.set_read_timeout(Some(CONNECT * 3))?;
    Ok(stream)
}

/// Sends a request on a connection, which ends with the response.
pub fn request(stream: &mut TcpStream, path: &str) -> io::Result<String> {
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

fn get_whole(address: &str, path: &str) -> io::Result<String> {
    request(&mut connect(address)?, path)
}

/// Returns the body of a response, without the end of its line.
fn get(address: &str, path: &str) -> io::Result<String> {
    let response = get_whole(address, path)?;
    let body = response
        .split_once("\r\n\r\n")
        .map(|(_, body)| body.trim().to_owned());
    body.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
