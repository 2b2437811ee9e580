//! The repository of another team, made by the words of README.md alone, outside of this workspace.

use std::fs;
use std::path::{Path, PathBuf};

use tests::small;

/// The manifest that the team has written before.
const WORKSPACE: &str = "# Ours.\n[workspace]\nresolver = \"3\"\nmembers = [\n    \"app\", # the program\n    \"xtask\",\n]\n";

const MANIFEST: &str = r#"[package]
name = "anywhere-app"
edition = "2024"

[dependencies]
axum = { version = "0.8", default-features = false, features = ["http1", "tokio"] }
museum-client = { path = "../crates/museum-client" }
museum-server = { path = "../crates/museum-server" }
shop-client = { path = "../crates/shop-client" }
shop-server = { path = "../crates/shop-server" }
tickets-client = { path = "../crates/tickets-client" }
tickets-server = { path = "../crates/tickets-server" }
tokio = { version = "1", features = ["macros", "net", "rt-multi-thread"] }
"#;

/// A program that calls two APIs and serves a third; it also stands in for the two.
const PROGRAM: &str = r#"
use std::sync::atomic::{AtomicU32, Ordering};

use axum::middleware::map_request;
use museum_client::hours::ClientHoursExt as _;
use museum_server::hours::{HoursApi, HoursViewError, HoursViewRequest, HoursViewResponse};
use shop_client::offer::ClientOfferExt as _;
use shop_server::offer::{OfferApi, OfferViewError, OfferViewRequest, OfferViewResponse};
use tickets_client::price::ClientPriceExt as _;
use tickets_server::price::{PriceApi, PriceViewError, PriceViewRequest, PriceViewResponse};

struct Museum;

impl HoursApi for Museum {
    async fn hours_view(&self, _: HoursViewRequest) -> Result<HoursViewResponse, HoursViewError> {
        Ok(String::from("10 to 18").into())
    }
}

struct Tickets;

impl PriceApi for Tickets {
    async fn price_view(&self, _: PriceViewRequest) -> Result<PriceViewResponse, PriceViewError> {
        Ok(String::from("12 EUR").into())
    }
}

struct Shop {
    museum: museum_client::Client,
    tickets: tickets_client::Client,
}

// It begins with one operation.
impl OfferApi for Shop {
    shop_server::offer_stubs!(offer_accept);

    async fn offer_view(&self, _: OfferViewRequest) -> Result<OfferViewResponse, OfferViewError> {
        let hours = self.museum.hours_view().send().await.expect("the museum answers");
        let price = self.tickets.price_view().send().await.expect("the tickets answer");
        Ok(format!("{}, {}", hours.into_inner(), price.into_inner()).into())
    }
}

/// Serves a router and returns its base URL.
async fn serve(app: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

#[tokio::main]
async fn main() {
    let museum = museum_server::router(
        Museum,
        museum_server::server::Problem,
        museum_server::server::Config::default(),
    );
    let tickets = tickets_server::router(
        Tickets,
        tickets_server::server::Problem,
        tickets_server::server::Config::default(),
    );
    // Two APIs and a route of the program's own at one address; one API is counted.
    let count: &AtomicU32 = Box::leak(Box::default());
    let counted = map_request(move |request: axum::extract::Request| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(request)
    });
    let both = museum
        .route_layer(counted)
        .merge(tickets)
        .route("/health", axum::routing::get(|| std::future::ready("up")));
    let both = serve(both).await;
    let shop = Shop {
        museum: museum_client::Client::builder(&both).build().expect("it is a base URL"),
        tickets: tickets_client::Client::builder(&both).build().expect("it is a base URL"),
    };
    let config = shop_server::server::Config::default();
    let shop = serve(shop_server::router(shop, shop_server::server::Problem, config)).await;
    let client = shop_client::Client::builder(&shop).build().expect("it is a base URL");
    let offer = client.offer_view().send().await.expect("the shop answers");
    println!("{}", offer.into_inner());
    if let Err(error) = client.offer_accept().send().await {
        println!("{:?}", error.status());
    }
    println!("{} call of the museum", count.load(Ordering::Relaxed));
    let http = museum_client::http_builder().expect("TLS is set up").build().expect("it is built");
    for path in ["health", "openapi.yaml", "nowhere"] {
        let response = http.get(format!("{both}/{path}")).send().await.expect("a response");
        println!("{path}: {}", response.status().as_u16());
    }
}
"#;

/// The operation that the program does not have yet.
const ACCEPT: &str = "    post:\n      operationId: offer_accept\n      tags: [offer]\n      responses: {'204': {description: Done.}}\n";

/// Returns the root of this workspace.
fn home() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the workspace is there")
}

/// Returns the code blocks of a page that are files, each with the path that its first line, a
/// comment, says.
fn files_of(page: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for block in page.split("\n```").skip(1).step_by(2) {
        let code = block.split_once('\n').map_or("", |(_, code)| code);
        let first = code.lines().next().unwrap_or_default();
        let path = first.trim_start_matches(['#', '/', ' ']);
        let is_path = path != first && !path.contains(' ') && path.contains('.');
        if is_path {
            files.push((path.to_owned(), format!("{code}\n")));
        }
    }
    files
}

struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder"))
            .expect("the folder can be made");
        fs::write(path, text).expect("the file can be written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).expect("the file can be read")
    }

    /// Runs cargo without network access, and returns its exit code and what it has printed.
    fn cargo(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut cargo = tests::standalone::cargo();
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
        cargo
            .args(arguments)
            .current_dir(self.folder.path())
            .env("CARGO_NET_OFFLINE", "true")
            // Dependencies that were compiled for this workspace are used again, but its programs,
            // of which one is called `xtask` too, are not replaced.
            .env(
                "CARGO_BUILD_BUILD_DIR",
                target.expect("the folder is in the target folder"),
            )
            .env("CARGO_TARGET_DIR", self.folder.path().join("target"));
        let output = cargo.output().expect("cargo can be started");
        let printed = [output.stderr, output.stdout].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&printed).into_owned(),
        )
    }

    /// Runs cargo, which must succeed, and returns what it has printed.
    fn succeeds(&self, arguments: &[&str]) -> String {
        let (code, printed) = self.cargo(arguments);
        assert_eq!(code, Some(0), "cargo {}:\n{printed}", arguments.join(" "));
        printed
    }
}

#[test]
#[ignore = "compiles crates for minutes; `cargo test -- --ignored` of the nightly run runs it"]
fn a_repository_with_an_xtask_of_its_own_calls_two_apis_and_serves_a_third() {
    let repository = Repository {
        folder: tempfile::tempdir().expect("a folder can be made"),
    };
    let readme = fs::read_to_string(home().join("README.md")).expect("the README is there");
    let files = files_of(&readme);
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let expected = [
        "contract.toml",
        "xtask/Cargo.toml",
        "xtask/src/main.rs",
        ".cargo/config.toml",
    ];
    assert_eq!(paths, expected);
    let address = "git = \"https://github.com/stratus-api/stratus\"";
    for (path, text) in &files {
        // What is fetched from there is what is here.
        let here = format!("path = \"{}\"", home().join("crates/commands").display());
        let text = text.replace(address, &here);
        repository.write(path, &text);
    }
    let xtask = &files[1..];
    let lines: usize = xtask
        .iter()
        .map(|(_, text)| text.trim().lines().count() - 1)
        .sum();
    assert!(lines <= 15, "{lines}");
    for (document, operation) in [("museum", "hours"), ("tickets", "price"), ("shop", "offer")] {
        let yaml = format!(
            "paths:\n  /{operation}:\n    get:\n      operationId: {operation}_view\n      tags: [{operation}]\n      responses:\n        \
             '200': {{description: Done., content: {{application/json: {{schema: {{type: string}}}}}}}}\n"
        );
        let more = if document == "shop" { ACCEPT } else { "" };
        repository.write(
            &format!("{document}.yaml"),
            &small::paths(&format!("{yaml}{more}")),
        );
    }
    repository.write("Cargo.toml", WORKSPACE);
    repository.write(
        "app/Cargo.toml",
        "[package]\nname = \"anywhere-app\"\nedition = \"2024\"\n",
    );
    repository.write("app/src/main.rs", "fn main() {}\n");
    // The versions of this workspace, so that nothing is downloaded.
    let lock = fs::read_to_string(home().join("Cargo.lock")).expect("the lock file is there");
    repository.write("Cargo.lock", &lock);

    let printed = repository.succeeds(&["xtask", "codegen"]);
    assert!(
        printed.contains("edited the members of Cargo.toml"),
        "{printed}"
    );
    // The third by arguments, with the run time of the first.
    let third = [
        "xtask",
        "codegen",
        "--contract",
        "shop.yaml",
        "--name",
        "shop",
        "--runtime",
        "copy=museum",
    ];
    repository.succeeds(&third);
    repository.succeeds(&[&third[..], &["--check"]].concat());
    repository.succeeds(&["xtask", "codegen", "--check"]);
    repository.succeeds(&["xtask", "lint", "--deny", "warnings", "--format", "github"]);
    let manifest = repository.read("Cargo.toml");
    assert!(manifest.starts_with("# Ours.\n") && manifest.contains("\"app\", # the program"));

    repository.write("app/Cargo.toml", MANIFEST);
    repository.write("app/src/main.rs", PROGRAM);
    let printed = repository.succeeds(&["run", "--quiet", "--package", "anywhere-app"]);
    assert_eq!(
        printed,
        "10 to 18, 12 EUR\nSome(501)\n1 call of the museum\nhealth: 200\nopenapi.yaml: 200\nnowhere: 404\n"
    );

    let lock = repository.read("Cargo.lock");
    for package in [
        "museum-runtime",
        "museum-macros",
        "tickets-runtime",
        "tickets-macros",
    ] {
        assert!(lock.contains(&format!("name = \"{package}\"")), "{package}");
    }
    // A change of a document is seen.
    let document = repository
        .read("tickets.yaml")
        .replace("type: string", "type: integer");
    repository.write("tickets.yaml", &document);
    let (code, printed) = repository.cargo(&["xtask", "codegen", "--check"]);
    assert_eq!(code, Some(4), "{printed}");
    assert!(
        printed.contains("    cargo xtask codegen tickets\n"),
        "{printed}"
    );
}
