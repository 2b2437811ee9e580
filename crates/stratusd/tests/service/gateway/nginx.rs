//! The configuration of nginx in docs/operating.md, read and obeyed by nginx itself.

use std::fs;
use std::process::{Child, Command, Stdio};

use reqwest::{Client, StatusCode};
use tempfile::TempDir;

use super::scene::{Key, Scene};
use crate::support::cluster::free_port;
use crate::support::eventually;
use crate::support::inventory::SHOP;

const PAGE: &str = include_str!("../../../../../docs/operating.md");
/// Where Debian has it, which is not on every path.
const PROGRAMS: [&str; 2] = ["nginx", "/usr/sbin/nginx"];

/// Returns nginx, or prints a note if it is not installed.
///
/// # Panics
///
/// If it is not, and the environment has `CI`.
fn program() -> Option<&'static str> {
    let is_here = |program: &&str| {
        let asked = Command::new(program).arg("-v").output();
        asked.is_ok_and(|output| output.status.success())
    };
    let program = PROGRAMS.into_iter().find(|program| is_here(program));
    if program.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI must have nginx");
        eprintln!("skipped: nginx is not installed");
    }
    program
}

/// nginx in the foreground, with the page's configuration in a server of its own.
struct Proxy {
    child: Child,
    url: String,
    _folder: TempDir,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Proxy {
    fn start(program: &str, scene: &Scene) -> Self {
        let (_, rest) = PAGE.split_once("```nginx\n").expect("the page has it");
        let (locations, _) = rest.split_once("```").expect("it ends");
        let locations = locations
            .replace("http://127.0.0.1:8000", &scene.upstream.url)
            .replace("http://127.0.0.1:8081", &scene.gateway);
        let folder = tempfile::tempdir().expect("a folder can be made");
        let port = free_port();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("    {kind}_temp_path {kind};\n"))
            .concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n    access_log off;\n{temporary}    server {{\n        listen 127.0.0.1:{port};\n{locations}    }}\n}}\n"
        );
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration).expect("the folder is writable");
        let child = Command::new(program)
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&file)
            .stderr(Stdio::inherit())
            .spawn();
        Self {
            child: child.expect("it is installed"),
            url: format!("http://127.0.0.1:{port}"),
            _folder: folder,
        }
    }

    /// Sends a request with a key. Returns the status and the time after which to try again.
    async fn get(&self, key: &Key) -> Option<(StatusCode, Option<String>)> {
        let request = Client::new().get(format!("{}/v1/models", self.url));
        let response = request.bearer_auth(&key.secret).send().await.ok()?;
        let wait = response.headers().get("retry-after");
        let wait = wait.and_then(|wait| wait.to_str().ok());
        Some((response.status(), wait.map(str::to_owned)))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_asks_the_gateway_as_the_page_says() {
    let Some(program) = program() else {
        return;
    };
    let rate = [
        "--gateway-key-rate-limit",
        "1",
        "--gateway-key-rate-burst",
        "1",
    ];
    let scene = Scene::new(&rate).await;
    let proxy = Proxy::start(program, &scene);
    let wrong = Key {
        id: String::new(),
        secret: "wrong".to_owned(),
    };
    let refused = eventually(async || proxy.get(&wrong).await).await;
    let (status, _) = refused.expect("nginx serves");
    assert_eq!(status, 401);
    assert!(scene.upstream.arrived().is_empty());

    let (status, _) = proxy.get(&scene.key).await.expect("nginx responds");
    assert_eq!(status, 200);
    let arrived = scene.upstream.arrived();
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].headers["stratus-project"], SHOP);
    assert_eq!(arrived[0].headers["stratus-key-id"], scene.key.id.as_str());
    scene.upstream.ensure_never_had(&scene.key.secret);

    // The gateway may refill meanwhile.
    for _ in 0..20 {
        let (status, wait) = proxy.get(&scene.key).await.expect("nginx responds");
        if status == 429 {
            assert_eq!(wait.as_deref(), Some("1"));
            return;
        }
    }
    panic!("nginx forwards too many requests");
}
