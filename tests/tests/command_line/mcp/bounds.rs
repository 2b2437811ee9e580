//! What a client cannot exceed: results, calls at the same time, and messages that it does not read.

use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::response::IntoResponse as _;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::client::{Client, texts};
use crate::museum;
use crate::support::{Program, serve, serve_router};

/// How long nothing may happen before a test says that nothing does.
const QUIET: Duration = Duration::from_millis(700);

/// Returns the museum's program for a server.
pub fn museum_at(url: &str) -> Program {
    museum()
        .with("MUSEUM_URL", url)
        .with("MUSEUM_HALL", "north")
}

/// Serves a hall of 100 things, a page of which is large.
fn large() -> String {
    let page = |query: axum::extract::Query<Value>| async move {
        let after = query.0["after"].as_str().unwrap_or_default().to_owned();
        let names = (0..100).map(|number| format!("thing-{number:02}"));
        let left = names.filter(|name| *name > after);
        let things: Vec<Value> = left
            .map(|name| json!({"name": name, "note": "é".repeat(40)}))
            .collect();
        Json(json!({"things": things, "count": 100}))
    };
    let thing = || async { Json(json!({"name": "vase", "note": "é".repeat(4000)})) };
    let router = axum::Router::new()
        .route("/halls/north/things", get(page))
        .route("/halls/north/things/vase", get(thing));
    serve_router(router)
}

#[test]
fn a_page_that_is_too_large_says_how_to_get_the_rest() {
    let mut client = Client::start(&museum_at(&large()), &["--result-bytes", "1024"]);
    let mut after = json!({});
    let mut names = Vec::new();
    loop {
        let result = client.call("list_things", &after);
        let texts = texts(&result);
        assert!(texts[0].len() <= 1024, "{}", texts[0]);
        let page: Value = serde_json::from_str(&texts[0]).expect("it is JSON");
        let things = page["things"].as_array().expect("it is a list").iter();
        names.extend(things.map(|thing| thing["name"].as_str().expect("a name").to_owned()));
        let Some(note) = texts.get(1) else {
            let fits = 2 * texts[0].len() <= 1024;
            let structured = result.get("structuredContent");
            assert_eq!(structured, Some(&page).filter(|_| fits));
            break;
        };
        assert_eq!(result.get("structuredContent"), None);
        let last = names.last().expect("there are some");
        let advice = format!("For the next items, call it again with `after`: \"{last}\".");
        assert!(
            note.starts_with("This is not all: the first ") && note.ends_with(&advice),
            "{note}"
        );
        after = json!({"after": last});
    }
    let all: Vec<String> = (0..100)
        .map(|number| format!("thing-{number:02}"))
        .collect();
    assert_eq!(names, all);
}

#[test]
fn a_result_that_is_too_large_is_cut_and_says_so() {
    let mut client = Client::start(&museum_at(&large()), &["--result-bytes", "1024"]);
    let texts = client.ok("view_thing", &json!({"thing": "vase"}));
    assert_eq!(texts[0].len(), 1023, "no character is cut in two");
    assert!(
        texts[1].starts_with(
            "This is not all: the first 1023 of 8025 bytes, since a result has at most 1024."
        ),
        "{}",
        texts[1]
    );
}

#[test]
fn a_result_has_its_value_twice_only_if_both_fit() {
    let thing = |path: axum::extract::Path<String>| async move {
        let length = path.0.parse::<usize>().expect("it is a number");
        Json(json!({"name": "x".repeat(length - r#"{"name":""}"#.len())}))
    };
    let url = serve_router(axum::Router::new().route("/halls/north/things/{thing}", get(thing)));
    let mut client = Client::start(&museum_at(&url), &["--result-bytes", "1024"]);
    for (length, is_structured) in [("512", true), ("513", false), ("1024", false)] {
        let result = client.call("view_thing", &json!({"thing": length}));
        assert_eq!(texts(&result)[0].len().to_string(), length);
        assert_eq!(
            result.get("structuredContent").is_some(),
            is_structured,
            "{length}"
        );
    }
}

/// Returns a program with a list of things, whose cursor has a name that no tool can have.
fn listing(key: &str) -> Program {
    let cursor = json!({"name": "page(after)", "flag": "page-after", "in": "query"});
    let paging = json!({"cursor": "page(after)", "items": "things", "key": key});
    let list = json!({"id": "list", "name": "list", "method": "GET", "path": "/halls/north/things", "parameters": [cursor], "paging": paging});
    let description = json!({"title": "Things", "groups": [], "operations": [list]});
    Program::new("things", &description.to_string(), "{}").with("THINGS_URL", &large())
}

#[test]
fn the_rest_of_a_page_is_called_for_by_the_name_of_the_input() {
    let mut client = Client::start(&listing("name"), &["--result-bytes", "1024"]);
    let texts = client.ok("list", &json!({}));
    assert!(
        texts[1].ends_with("call it again with `page_after_`: \"thing-08\"."),
        "{}",
        texts[1]
    );
    // Without a key, there is no next page to ask for.
    let mut client = Client::start(&listing("number"), &["--result-bytes", "1024"]);
    let texts = client.ok("list", &json!({}));
    assert!(
        texts[1]
            .ends_with("Ask for less, or let the program be started with a larger --result-bytes."),
        "{}",
        texts[1]
    );
}

#[test]
fn streams_bytes_and_nothing_are_results_too() {
    let (url, log) = serve();
    let program = museum_at(&url)
        .with("MUSEUM_KEY", "k")
        .with("MUSEUM_LOGIN", "ada:s3cret");
    let mut client = Client::start(&program, &["--allow-writes"]);
    assert_eq!(
        client.ok("watch", &json!({})),
        ["{\"name\":\"Ada\"}\n{\"name\":\"Bob\"}\n"]
    );
    let picture = client.ok("put_picture", &json!({"body": "iVA="}));
    let left_out =
        "200 OK, with 3 bytes of application/octet-stream, which are no text and are left out";
    assert_eq!(picture, [left_out]);
    assert_eq!(log.last().header("content-type"), Some("image/png"));
    let wrong = client.failed("put_picture", &json!({"body": "no base64"}));
    assert!(wrong.contains("body must be in base64"), "{wrong}");
    let user = client.ok("login", &json!({"body": {"user": "a b"}}));
    assert_eq!(user, ["done\n"]);
    assert_eq!(log.last().body, "user=a%20b");
    let nothing = client.ok("fail", &json!({"status": 204}));
    assert_eq!(nothing, ["204 No Content, without a body"]);
}

#[test]
fn a_stream_without_end_is_left_after_its_time() {
    let visitors = || async {
        let lines = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Some((Ok::<_, std::io::Error>("{\"name\":\"Ada\"}\n"), ()))
        });
        (
            [("content-type", "application/jsonl")],
            Body::from_stream(lines),
        )
    };
    let url = serve_router(axum::Router::new().route("/visitors", get(visitors)));
    let mut client = Client::start(&museum_at(&url), &["--timeout", "3"]);
    let texts = client.ok("watch", &json!({}));
    assert!(
        texts[0].starts_with("{\"name\":\"Ada\"}\n{\"name\":\"Ada\"}\n"),
        "{texts:?}"
    );
    assert_eq!(
        texts[1],
        "This is not all: the stream goes on, and was left since its time is over; --timeout gives it more."
    );
    let silent = || async { std::future::pending::<String>().await };
    let url = serve_router(axum::Router::new().route("/visitors", get(silent)));
    let mut client = Client::start(&museum_at(&url), &["--timeout", "1"]);
    let failed = client.failed("watch", &json!({}));
    assert!(
        failed.contains("there is no response after 1 s"),
        "{failed}"
    );
}

#[test]
fn an_assistant_reads_no_file_of_the_machine() {
    let (url, log) = serve();
    let program = museum_at(&url);
    let file = format!("@{}", program.file("private", "s3cret"));
    let mut client = Client::start(&program, &["--allow-writes"]);
    let refused = client.failed(
        "send_picture",
        &json!({"body": {"name": "n", "file": file}}),
    );
    assert!(
        refused.contains("body/file must not begin with `@`"),
        "{refused}"
    );
    let list = json!({"body": {"name": "n", "file": [file]}});
    assert!(client.failed("send_picture", &list).contains("body/file"));
    let thing = json!({"thing": "vase", "body": {"kind": "vase", "weight": 1, "note": "@a"}});
    client.ok("put_thing", &thing);
    assert!(
        log.last().body.contains(r#""note":"@a""#),
        "a text of JSON is only a text"
    );
}

/// Serves things that respond once `together` calls have come. Returns the URL, and how many calls
/// have begun and how many have ended or been dropped.
fn slow(together: usize) -> (String, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    struct Ended(Arc<AtomicUsize>);
    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let barrier = Arc::new(Barrier::new(together));
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (Arc::clone(&begun), Arc::clone(&ended));
    let respond = move || {
        let (barrier, begun, ended) =
            (Arc::clone(&barrier), Arc::clone(&begun), Arc::clone(&ended));
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            let _ended = Ended(ended);
            barrier.wait().await;
            ([("content-type", "application/json")], Body::from("{}")).into_response()
        }
    };
    let router = axum::Router::new().route("/halls/north/things/{thing}", get(respond));
    (serve_router(router), counts.0, counts.1)
}

/// Waits until a count has a value.
#[track_caller]
fn wait_for(count: &AtomicUsize, value: usize) {
    for _ in 0..3000 {
        if count.load(Ordering::SeqCst) == value {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("it is {} and not {value}", count.load(Ordering::SeqCst));
}

#[test]
fn calls_run_at_the_same_time_within_a_bound() {
    let (url, begun, _) = slow(17);
    let mut client = Client::start(&museum_at(&url), &["--timeout", "60"]);
    let thing = json!({"thing": "vase"});
    for _ in 0..16 {
        client.begin_call("view_thing", &thing);
    }
    wait_for(&begun, 16);
    // The seventeenth call, which the server waits for, is not sent.
    for _ in 16..256 {
        client.begin_call("view_thing", &thing);
    }
    assert_eq!(client.next_within(QUIET), None);
    assert_eq!(begun.load(Ordering::SeqCst), 16);
    let over = client.failed("view_thing", &thing);
    assert!(over.contains("256 calls are not done yet"), "{over}");
    // Other requests go on.
    client.request("ping", &json!({}));
}

#[test]
fn the_arguments_of_calls_that_are_not_done_have_a_bound() {
    let silent = || async { std::future::pending::<String>().await };
    let url = serve_router(axum::Router::new().route("/picture", axum::routing::post(silent)));
    let flags = ["--allow-writes", "--timeout", "60"];
    let mut client = Client::start(&museum_at(&url), &flags);
    let large = json!({"body": {"name": "x".repeat(10 << 20)}});
    let calls: Vec<i64> = (0..3)
        .map(|_| client.begin_call("send_picture", &large))
        .collect();
    let over = client.failed("send_picture", &large);
    assert!(
        over.contains(
            "the arguments of the calls that are not done yet have more than 33554432 bytes"
        ),
        "{over}"
    );
    // A call that ends makes room.
    let cancelled = json!({"requestId": calls[0]});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    client.request("ping", &json!({}));
    client.begin_call("send_picture", &large);
    assert_eq!(client.next_within(QUIET), None);
}

#[test]
fn a_call_that_is_cancelled_ends_and_has_no_response() {
    let (url, begun, ended) = slow(2);
    let mut client = Client::start(&museum_at(&url), &[]);
    let id = client.begin_call("view_thing", &json!({"thing": "vase"}));
    wait_for(&begun, 1);
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(&cancelled);
    wait_for(&ended, 1);
    assert_eq!(client.next_within(QUIET), None);
    client.request("ping", &json!({}));
}

#[test]
fn the_end_of_the_standard_input_ends_calls_that_take_too_long() {
    let (url, begun, ended) = slow(2);
    let mut client = Client::start(&museum_at(&url), &[]);
    client.begin_call("view_thing", &json!({"thing": "vase"}));
    wait_for(&begun, 1);
    let start = Instant::now();
    let (code, rest, error) = client.end();
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{:?}",
        start.elapsed()
    );
    assert_eq!((code, rest, error.as_str()), (0, Vec::new(), ""));
    wait_for(&ended, 1);
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    const PINGS: usize = 12_000;
    /// More than the pipes of the system and the messages that may wait hold, which is about 3,000.
    const MOST: usize = 8_000;
    let program = museum_at("http://127.0.0.1:9");
    let mut child = program.start(&["mcp"]);
    let mut stdin = child.stdin.take().expect("it is piped");
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let writing = std::thread::spawn(move || {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        writeln!(stdin, "{hello}").expect("the program reads");
        for id in 1..=PINGS {
            let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
            if writeln!(stdin, "{ping}").is_err() {
                return;
            }
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (mut before, mut quiet) = (0, 0);
    while quiet < 3 {
        std::thread::sleep(QUIET);
        let now = written.load(Ordering::SeqCst);
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
    }
    assert!(before < MOST, "{before} requests were read");
    // Once it reads, it gets every response.
    let stdout = child.stdout.take().expect("it is piped");
    let responses = BufReader::new(stdout).lines().take(PINGS + 1);
    let right = responses.filter(|line| line.as_ref().is_ok_and(|line| line.contains("result")));
    assert_eq!(right.count(), PINGS + 1);
    writing.join().expect("it ends");
    child.wait().expect("it ends with its input");
}
