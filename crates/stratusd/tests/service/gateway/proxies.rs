//! The configurations of other proxies in docs/operating.md, read and obeyed by the proxies
//! themselves, each with the gateway of a service beside it.

mod envoy;
mod forwarding;
mod keys;
mod nginx;
mod traefik;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reqwest::{Client, Method, RequestBuilder, Response};
use tempfile::TempDir;

use super::scene::{Key, Scene};
use crate::support::cluster::free_port;
use crate::support::{eventually, leave_out};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
/// The variable of the environment that names another folder with Envoy and Traefik.
const FOLDER: &str = "STRATUS_PROXIES";
/// The folder in which `cargo xtask proxies` installs them.
const INSTALLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/proxies");

/// A proxy of which the page has a configuration.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// Its program: a name on the path, or a path.
    programs: &'static [&'static str],
    /// Its program within [`INSTALLED`].
    installed: Option<&'static str>,
    /// The argument that makes it print its version.
    version: &'static str,
    /// The text of the page before its configuration.
    introduction: &'static str,
    /// Returns the command of the proxy, after writing its files into a folder.
    command: fn(&Start) -> Command,
    /// The status for a caller if the gateway does not respond.
    without_gateway: u16,
}

/// What the command of a proxy depends on.
struct Start<'a> {
    program: &'a Path,
    /// An empty folder.
    folder: &'a Path,
    /// The port to listen on.
    port: u16,
    /// The configuration of the page, with the URLs of the gateway and the upstream.
    configuration: String,
    scene: &'a Scene,
}

impl Start<'_> {
    /// Writes a file into the folder, and returns its path.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.join(name);
        fs::write(&file, text).expect("the folder is writable");
        file
    }
}

/// Returns the program of a proxy, or prints a note if it is not installed.
///
/// # Panics
///
/// If it is not, and the environment has `CI`.
fn program(kind: Kind) -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER).unwrap_or_else(|| INSTALLED.into());
    let installed = kind.installed.map(|path| Path::new(&folder).join(path));
    let programs = kind.programs.iter().map(PathBuf::from).chain(installed);
    let mut here = programs.filter(|program| {
        let asked = Command::new(program).arg(kind.version).output();
        asked.is_ok_and(|output| output.status.success())
    });
    let program = here.next();
    if program.is_none() {
        leave_out(&format!("{} is not installed", kind.name));
    }
    program
}

/// Returns the program of Envoy, or prints a note if it is not installed.
///
/// # Panics
///
/// If it is not, and the environment has `CI`.
pub fn envoy() -> Option<PathBuf> {
    program(envoy::KIND)
}

/// A proxy in front of the upstream of a scene, with the page's configuration.
struct Proxy {
    child: Child,
    url: String,
    http: Client,
    _folder: TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Proxy {
    /// Starts a proxy, and waits until it asks the gateway.
    async fn start(kind: Kind, program: &Path, scene: &Scene) -> Self {
        let page = fs::read_to_string(PAGE).expect("the page is there");
        let (_, rest) = page
            .split_once(kind.introduction)
            .expect("the page has its configuration");
        let (_, rest) = rest.split_once("```").expect("a block begins");
        let (_, rest) = rest.split_once('\n').expect("the block has lines");
        let (configuration, _) = rest.split_once("```").expect("it ends");
        let configuration = configuration
            .replace("http://127.0.0.1:8000", &scene.upstream.url)
            .replace("http://127.0.0.1:8081", &scene.gateway);
        let folder = tempfile::tempdir().expect("a folder can be made");
        let port = free_port();
        let start = Start {
            program,
            folder: folder.path(),
            port,
            configuration,
            scene,
        };
        let mut command = (kind.command)(&start);
        command.current_dir(folder.path()).stdin(Stdio::null());
        let mut proxy = Self {
            child: command.spawn().expect("it is installed"),
            url: format!("http://127.0.0.1:{port}"),
            http: Client::new(),
            _folder: folder,
        };
        let wrong = Key {
            id: String::new(),
            secret: "wrong".to_owned(),
        };
        let asks = eventually(async || {
            let ended = proxy.child.try_wait().expect("it was started");
            assert!(ended.is_none(), "{} has ended: {ended:?}", kind.name);
            let response = proxy.request(Method::GET, "/v1/models", &wrong);
            let status = response.send().await.ok()?.status();
            // Traefik reads its file after it has begun to listen.
            (status != 404).then_some(status)
        });
        let status = asks.await.expect("the proxy serves");
        assert_eq!(status, 401, "{} forwards a wrong key", kind.name);
        assert!(scene.upstream.arrived().is_empty());
        proxy
    }

    /// Begins a request with a key.
    fn request(&self, method: Method, path: &str, key: &Key) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        request.bearer_auth(&key.secret)
    }

    /// Sends a GET request with a key.
    async fn get(&self, path: &str, key: &Key) -> Response {
        let sent = self.request(Method::GET, path, key).send().await;
        sent.expect("the proxy responds")
    }
}

/// Runs a test with each proxy that is installed.
macro_rules! behind_each_proxy {
    ($($(#[$attribute:meta])* async fn $name:ident($kind:ident: Kind, $program:ident: &Path) $body:block)*) => {
        behind_each_proxy!(@ nginx, $($name)*);
        behind_each_proxy!(@ envoy, $($name)*);
        behind_each_proxy!(@ traefik, $($name)*);
        $(
            $(#[$attribute])*
            async fn $name($kind: Kind, $program: &Path) $body
        )*
    };
    (@ $proxy:ident, $($name:ident)*) => {
        mod $proxy {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let kind = $crate::gateway::proxies::$proxy::KIND;
                    if let Some(program) = $crate::gateway::proxies::program(kind) {
                        super::$name(kind, &program).await;
                    }
                }
            )*
        }
    };
}
pub(crate) use behind_each_proxy;
