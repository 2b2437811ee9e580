//! The generated client against reqwest by hand.
//!
//! Both call one server, which has its responses ready and runs on a thread of its own. A figure is
//! the time that the client's thread was on a processor, per call. Rounds of the two alternate, and
//! the ratio is that of the medians.

#[path = "client/by_hand.rs"]
mod by_hand;
#[path = "support/mod.rs"]
mod support;

use std::sync::mpsc;
use std::thread;

use api_client::prelude::*;
use api_client::types;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use support::{Table, cpu_nanoseconds, median, own_thread};
use tests::memory::{LOCATION, PROJECT, TOKEN};
use tests::seed;

const ROUNDS: usize = 61;

/// The calls of a round.
#[derive(Clone, Copy)]
struct Ask {
    name: &'static str,
    calls: u32,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Small,
    List,
    /// The number of tags, and the text of each.
    Post(usize, &'static str),
}

const ASKED: [Ask; 4] = [
    Ask {
        name: "GET, a small object",
        calls: 1000,
        kind: Kind::Small,
    },
    Ask {
        name: "GET, a list of 100",
        calls: 300,
        kind: Kind::List,
    },
    Ask {
        name: "POST, a small body",
        calls: 1000,
        kind: Kind::Post(2, "a"),
    },
    Ask {
        name: "POST, 100 KiB",
        calls: 100,
        // As many tags as the contract allows; each character takes four bytes.
        kind: Kind::Post(64, "𝄞"),
    },
];

fn main() {
    support::stay_on(1);
    let base = serve();
    // reqwest needs a TLS provider to be installed, although no call here uses TLS.
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("no provider has been installed before");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a run time");
    runtime.block_on(async {
        let generated = Client::builder(&base)
            .bearer(TOKEN)
            .build()
            .expect("the settings are valid");
        let by_hand = by_hand::Client::new(&base);
        let mut table = Table::new(&["call", "generated", "by hand", "ratio"]);
        for ask in ASKED.into_iter().filter(|ask| support::is_wanted(ask.name)) {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for round in 0..=ROUNDS {
                let (first, second) = if round % 2 == 0 {
                    let first = measure(ask, || call(&generated, ask.kind)).await;
                    (first, measure(ask, || by_hand.call(ask.kind)).await)
                } else {
                    let second = measure(ask, || by_hand.call(ask.kind)).await;
                    (measure(ask, || call(&generated, ask.kind)).await, second)
                };
                // The first round warms up.
                if round > 0 {
                    ours.push(first);
                    theirs.push(second);
                }
            }
            let (ours, theirs) = (median(ours.into_iter()), median(theirs.into_iter()));
            let ratio = format!("{:.2}", ours / theirs);
            table.row([
                ask.name.to_owned(),
                format!("{ours:.1} µs"),
                format!("{theirs:.1} µs"),
                ratio,
            ]);
        }
        table.print("CPU per call, generated client and reqwest by hand");
    });
}

/// Returns the CPU time per call, in microseconds. Each call returns how much it has read, so that
/// the compiler cannot leave one out.
async fn measure<F: Future<Output = usize>>(ask: Ask, call: impl Fn() -> F) -> f64 {
    let thread = own_thread();
    let expected = call().await;
    assert!(expected > 0, "{}", ask.name);
    let before = cpu_nanoseconds(&thread);
    for _ in 0..ask.calls {
        assert_eq!(call().await, expected, "{}", ask.name);
    }
    (cpu_nanoseconds(&thread) - before) / 1000.0 / f64::from(ask.calls)
}

/// Makes a call with the generated client, and returns how many values it has read.
async fn call(client: &Client, kind: Kind) -> usize {
    match kind {
        Kind::Small => {
            let call = client
                .private_subnet_view()
                .project_id(PROJECT)
                .location(LOCATION);
            let response = call
                .private_subnet_reference("backend")
                .send()
                .await
                .expect("the server responds");
            response.into_inner().name.as_str().len()
        }
        Kind::List => {
            let call = client
                .vm_list()
                .project_id(PROJECT)
                .location(LOCATION)
                .page_size(100)
                .order_column("name");
            call.send()
                .await
                .expect("the server responds")
                .into_inner()
                .items
                .len()
        }
        Kind::Post(tags, character) => {
            let size = "standard-2".parse().expect("`standard-2` is a size");
            let text = character.repeat(200);
            let tags = (0..tags).map(|tag| {
                let key = types::TagKey::try_from(format!("{tag}{text}"))
                    .expect("the text is a tag's key");
                let value =
                    types::TagValue::try_from(text.clone()).expect("the text is a tag's value");
                types::TagInput::new(key, value)
            });
            let tags = types::TagInputs::try_from(tags.collect::<Vec<_>>());
            let storage = 64.try_into().expect("64 is a storage size");
            let body = types::PostgresCreate::new(size, storage)
                .with_tags(tags.expect("the tags are within the limit"));
            let call = client
                .postgres_create()
                .project_id(PROJECT)
                .location(LOCATION);
            let response = call
                .postgres_database_reference("orders")
                .body(body)
                .send()
                .await;
            response
                .expect("the server responds")
                .into_inner()
                .name
                .as_str()
                .len()
        }
    }
}

/// Starts a server with prepared responses, and returns its base URL.
fn serve() -> String {
    let state = seed::state(100);
    let subnet = serde_json::to_string(&state.subnets[0]).expect("a subnet is written as JSON");
    let page = types::VmPage::new(100.try_into().expect("100 is a count"), state.vms);
    let page = serde_json::to_string(&page).expect("a page is written as JSON");
    let database =
        serde_json::to_string(&state.databases[0]).expect("a database is written as JSON");
    let response = |body: String| {
        (
            [
                (CONTENT_TYPE, "application/json"),
                (CACHE_CONTROL, "no-store"),
            ],
            body,
        )
            .into_response()
    };
    let prefix = "/project/{project_id}/location/{location}";
    let router = axum::Router::new()
        .route(
            &format!("{prefix}/private-subnet/{{reference}}"),
            get(async move || response(subnet.clone())),
        )
        .route(
            &format!("{prefix}/vm"),
            get(async move || response(page.clone())),
        )
        .route(
            &format!("{prefix}/postgres/{{reference}}"),
            post(async move |_: axum::body::Bytes| response(database.clone())),
        );
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        support::stay_on(0);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a run time");
        runtime.block_on(async move {
            sender
                .send(tests::served::serve(router).await)
                .expect("the benchmark waits for the address");
            std::future::pending::<()>().await;
        });
    });
    receiver.recv().expect("the server starts")
}
