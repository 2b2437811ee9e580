//! Bodies that are sequences: JSON Lines, JSON text sequences and events, read and written item by
//! item on both sides.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::routing::get;
use features_client::prelude::*;
use features_client::sequences::{
    SequenceChooseResponse as Chosen, SequenceEitherResponse as Either,
};
use features_client::{ItemError as CallError, ItemStream as Received};
use features_server::sequences::{
    SequenceAppendError, SequenceAppendRequest, SequenceAppendResponse, SequenceChooseError,
    SequenceChooseOk, SequenceChooseOkBody, SequenceChooseRequest, SequenceChooseResponse,
    SequenceCopyError, SequenceCopyRequest, SequenceCopyResponse, SequenceEitherError,
    SequenceEitherOk, SequenceEitherOkBody, SequenceEitherRequest, SequenceEitherResponse,
    SequenceEventsError, SequenceEventsRequest, SequenceEventsResponse, SequenceFeedError,
    SequenceFeedRequest, SequenceFeedResponse, SequenceForwardError, SequenceForwardRequest,
    SequenceForwardResponse, SequenceNotifyError, SequenceNotifyRequest, SequenceNotifyResponse,
    SequenceTellError, SequenceTellRequest, SequenceTellResponse, SequenceWatchError,
    SequenceWatchRequest, SequenceWatchResponse, SequencesApi,
};
use features_server::server::{ItemBody, ItemError, TypedEvent, serde_json};
use features_types::{
    SequenceChange, SequenceEntry, SequenceFeed, SequenceFeedCounted, SequenceFeedCountedEvent,
    SequenceFeedSaid, SequenceFeedSaidEvent, SequenceNews, SequenceStarted, SequenceStartedEvent,
};
use futures_util::{Stream, StreamExt as _, stream};

/// Returns each item of a request in a word.
async fn words<T>(
    mut items: impl Stream<Item = Result<T, ItemError>> + Unpin,
    word: impl Fn(T) -> String,
) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(item) = items.next().await {
        words.push(match item {
            Ok(item) => word(item),
            Err(ItemError::TooLarge(limit)) => format!("more than {limit} bytes"),
            Err(ItemError::Invalid(_)) => "invalid".to_owned(),
            Err(_) => "interrupted".to_owned(),
        });
    }
    words
}

fn entries(count: i32) -> impl Stream<Item = Result<SequenceEntry, Infallible>> + Send {
    stream::iter(0..count).map(|number| Ok(SequenceEntry::new(number)))
}

impl SequencesApi for crate::Features {
    async fn sequence_watch(
        &self,
        request: SequenceWatchRequest,
    ) -> Result<SequenceWatchResponse, SequenceWatchError> {
        Ok(ItemBody::new(entries(request.count)).into())
    }

    async fn sequence_append(
        &self,
        request: SequenceAppendRequest,
    ) -> Result<SequenceAppendResponse, SequenceAppendError> {
        let word = |entry: SequenceEntry| entry.number.to_string();
        Ok(words(request.body, word).await.into())
    }

    async fn sequence_copy(
        &self,
        request: SequenceCopyRequest,
    ) -> Result<SequenceCopyResponse, SequenceCopyError> {
        Ok(ItemBody::new(request.body).into())
    }

    async fn sequence_events(
        &self,
        _: SequenceEventsRequest,
    ) -> Result<SequenceEventsResponse, SequenceEventsError> {
        let events = entries(2).map(|entry| {
            entry.map(|entry| TypedEvent::new(entry).with_event("entry").with_id("7"))
        });
        Ok(ItemBody::new(events).into())
    }

    async fn sequence_notify(
        &self,
        request: SequenceNotifyRequest,
    ) -> Result<SequenceNotifyResponse, SequenceNotifyError> {
        let word = |event: TypedEvent<SequenceEntry>| {
            format!("{} {}", event.event.unwrap_or_default(), event.data.number)
        };
        Ok(words(request.body, word).await.into())
    }

    async fn sequence_feed(
        &self,
        _: SequenceFeedRequest,
    ) -> Result<SequenceFeedResponse, SequenceFeedError> {
        Ok(ItemBody::from(feed()).into())
    }

    async fn sequence_tell(
        &self,
        request: SequenceTellRequest,
    ) -> Result<SequenceTellResponse, SequenceTellError> {
        Ok(words(request.body, fed).await.into())
    }

    async fn sequence_forward(
        &self,
        request: SequenceForwardRequest,
    ) -> Result<SequenceForwardResponse, SequenceForwardError> {
        Ok(ItemBody::new(request.body).into())
    }

    async fn sequence_choose(
        &self,
        request: SequenceChooseRequest,
    ) -> Result<SequenceChooseResponse, SequenceChooseError> {
        let changes = [
            r#"{"event": "added", "data": "a\nb"}"#,
            r#"{"event": "removed", "data": "c", "id": "9"}"#,
        ];
        let changes = changes.map(serde_json::from_str::<SequenceChange>);
        Ok(SequenceChooseOk {
            body: if request.stream {
                SequenceChooseOkBody::Items(ItemBody::new(stream::iter(changes)))
            } else {
                SequenceChooseOkBody::Json(SequenceEntry::new(1))
            },
        }
        .into())
    }

    async fn sequence_either(
        &self,
        _: SequenceEitherRequest,
    ) -> Result<SequenceEitherResponse, SequenceEitherError> {
        Ok(SequenceEitherOk {
            body: SequenceEitherOkBody::Items(ItemBody::new(entries(2))),
        }
        .into())
    }
}

/// Returns an event of each kind.
fn feed() -> Vec<SequenceFeed> {
    let started = SequenceStarted::new(SequenceStartedEvent::Started);
    let counted = SequenceFeedCounted::new(SequenceFeedCountedEvent::Counted, 7).with_id("9");
    vec![
        started.with_data(SequenceEntry::new(1)).into(),
        counted.into(),
        SequenceFeedSaid::new(SequenceFeedSaidEvent::Said, "a\n{").into(),
    ]
}

/// Returns an event in a word.
fn fed(event: SequenceFeed) -> String {
    match event {
        SequenceFeed::SequenceStarted(event) => {
            let number = event.data.map(|entry| entry.number);
            format!("started {number:?}")
        }
        SequenceFeed::Counted(event) => format!("counted {}", event.data + 1),
        SequenceFeed::Said(event) => format!("said {}", event.data),
    }
}

pub async fn check(client: &Client, url: &str) {
    both_sides(client).await;
    several_kinds_of_events(client, url).await;
    other_names_of_json_lines(client).await;
    server_by_hand(url).await;
    client_by_hand().await;
    slow_and_gone_readers().await;
}

async fn both_sides(client: &Client) {
    let entries = client.sequence_watch().send().await.expect("a success");
    let numbers = entries
        .into_inner()
        .map(|entry| entry.expect("an entry").number);
    assert_eq!(numbers.collect::<Vec<_>>().await, [0, 1, 2]);

    let entries = vec![SequenceEntry::new(4), SequenceEntry::new(5)];
    let read = client.sequence_append().body(entries).send().await;
    assert_eq!(read.expect("a success").into_inner(), ["4", "5"]);

    let copies = client.sequence_copy().body(vec![7, 8]).send().await;
    let copies = copies.expect("a success").into_inner();
    let copies = copies.map(|copy| copy.expect("a number"));
    assert_eq!(copies.collect::<Vec<_>>().await, [7, 8]);

    let events = client.sequence_events().send().await.expect("a success");
    let events = events.into_inner().map(|event| event.expect("an event"));
    let events = events.map(|event| (event.event, event.id, event.data.number));
    let named = |number| (Some("entry".to_owned()), Some("7".to_owned()), number);
    assert_eq!(events.collect::<Vec<_>>().await, [named(0), named(1)]);

    let events = vec![features_client::TypedEvent::new(SequenceEntry::new(3)).with_event("a")];
    let read = client.sequence_notify().body(events).send().await;
    assert_eq!(read.expect("a success").into_inner(), ["a 3"]);

    let one = client.sequence_choose().send().await.expect("a success");
    assert!(matches!(one.into_inner(), Chosen::OkJson(entry) if entry.number == 1));
    let several = client.sequence_choose().stream_(true).send().await;
    let Chosen::OkItems(changes) = several.expect("a success").into_inner() else {
        panic!("a stream was asked for");
    };
    let changes: Vec<_> = changes
        .map(|change| change.expect("a change"))
        .collect()
        .await;
    assert!(
        matches!(&changes[..], [SequenceChange::Added(added), SequenceChange::Removed(removed)]
            if added.data == "a\nb" && removed.id.as_deref() == Some("9")),
        "{changes:?}"
    );
}

/// Events whose data is JSON of a schema of their own: between both sides, and each of them with bytes.
async fn several_kinds_of_events(client: &Client, url: &str) {
    let events = client.sequence_feed().send().await.expect("a success");
    let events = events.into_inner().map(|event| event.expect("an event"));
    assert_eq!(events.collect::<Vec<_>>().await, feed());
    let read = client.sequence_tell().body(feed()).send().await;
    assert_eq!(
        read.expect("a success").into_inner(),
        ["started Some(1)", "counted 8", "said a\n{"]
    );

    let http = reqwest::Client::new();
    let read = http.get(format!("{url}/sequences/feed")).send().await;
    assert_eq!(
        read.expect("a response").text().await.expect("a body"),
        "event: started\ndata: {\"number\":1}\n\nevent: counted\nid: 9\ndata: 7\n\nevent: said\ndata: a\ndata: {\n\n"
    );
    // Data in two lines, data that does not fit, no JSON, more than one value, an unknown property,
    // more than its text may have, an event that is not listed, and one without a name.
    let long = " ".repeat(40);
    let events = format!(
        "event: started\ndata: {{\"number\":\ndata: 4}}\n\nevent: counted\ndata: 1.5\n\nevent: started\ndata: 4\n\nevent: counted\ndata: no\n\nevent: counted\ndata: 1 2\n\nevent: started\ndata: {{\"number\":1,\"more\":2}}\n\nevent: started\ndata: {{\"number\":1}}{long}\n\nevent: ended\ndata: 1\n\ndata: 1\n\nevent: counted\ndata: 5\n\n"
    );
    let request = http.post(format!("{url}/sequences/feed"));
    let request = request.header("content-type", "text/event-stream");
    let told = request.body(events.clone()).send().await.expect("a response");
    let told: Vec<String> = told.json().await.expect("a list");
    let refused = |count: usize| vec!["invalid".to_owned(); count];
    let mut expected = vec!["started Some(4)".to_owned()];
    expected.extend(refused(8));
    expected.push("counted 6".to_owned());
    assert_eq!(told, expected);

    // A client takes what a newer server adds to an entry.
    let handler = async move || ([("content-type", "text/event-stream")], events);
    let peer = axum::Router::new().route("/sequences/feed", get(handler));
    let lenient = Client::new(crate::served(peer).await).expect("the URL is valid");
    let events = lenient.sequence_feed().send().await.expect("a success");
    let told = events.into_inner().map(|event| match event {
        Ok(event) => fed(event),
        Err(CallError::Invalid(_)) => "invalid".to_owned(),
        Err(error) => error.to_string(),
    });
    expected[5] = "started Some(1)".to_owned();
    assert_eq!(told.collect::<Vec<_>>().await, expected);

    // Where all kinds have the same properties, those are beside the kinds.
    let news = "event: text\nid: 3\ndata: {\"number\":1}\n\nevent: entry\ndata: {\"number\":2}\n\n";
    let request = http.post(format!("{url}/sequences/news"));
    let request = request.header("content-type", "text/event-stream");
    let sent = format!("{news}event: entry\ndata: {{}}\n\n");
    // The last one does not fit, which ends what is forwarded, before its head was sent or after.
    let told = match request.body(sent).send().await {
        Ok(told) => told.text().await,
        Err(error) => Err(error),
    };
    assert!(told.is_err(), "{told:?}");
    let request = http.post(format!("{url}/sequences/news"));
    let request = request.header("content-type", "text/event-stream");
    let told = request.body(news).send().await.expect("a response");
    assert_eq!(told.text().await.expect("a body"), news);
    let entry: SequenceNews = serde_json::from_str(r#"{"event": "entry", "data": "{\"number\": 5}"}"#)
        .expect("the event fits");
    let told = client.sequence_forward().body(vec![entry]).send().await;
    let told = told.expect("a success").into_inner();
    let told: Vec<_> = told.map(|event| event.expect("an event")).collect().await;
    assert!(
        matches!(&told[..], [SequenceNews::Entry(event)]
            if event.data.as_ref().is_some_and(|entry| entry.number == 5)),
        "{told:?}"
    );
}

/// The client reads JSON Lines beside JSON, by each name that servers have for them.
async fn other_names_of_json_lines(client: &Client) {
    let either = client.sequence_either().send().await.expect("a success");
    assert!(matches!(either.into_inner(), Either::OkItems(_)));
    for (media_type, is_sequence) in [
        ("application/jsonl", true),
        ("application/x-jsonlines", true),
        ("application/ndjson", true),
        ("Application/X-NDJSON; charset=utf-8", true),
        ("application/json", false),
        ("application/problem+json", false),
    ] {
        let body = "{\"number\":1}\n";
        let handler = async move || ([("content-type", media_type)], body);
        let peer = axum::Router::new().route("/sequences/either", get(handler));
        let client = Client::new(crate::served(peer).await).expect("the URL is valid");
        let either = client.sequence_either().send().await.expect("a success");
        let numbers = match either.into_inner() {
            Either::OkItems(items) => {
                let items = items.map(|item| item.expect("an entry").number);
                (true, items.collect::<Vec<_>>().await)
            }
            Either::OkJson(entry) => (false, vec![entry.number]),
            other => panic!("{other:?}"),
        };
        assert_eq!(numbers, (is_sequence, vec![1]), "{media_type}");
    }
}

/// The generated server, and a client that writes and reads bytes.
async fn server_by_hand(url: &str) {
    let http = reqwest::Client::new();
    let read = |path: &str| http.get(format!("{url}/sequences/{path}")).send();
    let lines = read("log?count=2").await.expect("a response");
    assert_eq!(lines.headers()["content-type"], "application/jsonl");
    let lines = lines.text().await.expect("a body");
    assert_eq!(lines, "{\"number\":0}\n{\"number\":1}\n");
    let events = read("events").await.expect("a response");
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    assert_eq!(
        events.text().await.expect("a body"),
        "event: entry\nid: 7\ndata: {\"number\":0}\n\nevent: entry\nid: 7\ndata: {\"number\":1}\n\n"
    );

    let write = |path: &str, media_type: &str, body: String| {
        let request = http.post(format!("{url}/sequences/{path}"));
        request.header("content-type", media_type).body(body).send()
    };
    // Blank lines, a value that does not fit, no JSON, an unknown property, an item that is too
    // large, and a line without its end.
    let huge = " ".repeat(1 << 19) + &"9".repeat(1 << 18);
    let lines = format!(
        "{{\"number\":1}}\r\n\n{{\"number\":\"x\"}}\ngarbage\n{{\"number\":1,\"more\":2}}\n{huge}\n{{\"number\":2}}\n{{\"num"
    );
    let told = write("log", "application/x-ndjson", lines)
        .await
        .expect("a response");
    let told: Vec<String> = told.json().await.expect("a list");
    assert_eq!(
        told,
        [
            "1", "invalid", "invalid", "invalid", "invalid", "2", "invalid"
        ]
    );
    // More than the server takes, of any items: 413, as for every body.
    let lines = "{\"number\":1}\n".repeat(1 << 17);
    let told = write("log", "application/x-ndjson", lines)
        .await
        .expect("a response");
    assert_eq!(told.status(), 413);
    let told = write("log", "application/json", "{}".to_owned())
        .await
        .expect("a response");
    assert_eq!(told.status(), 415);

    let records = "\u{1e}1\n\u{1e}\u{1e}2\n\u{1e}3\n".to_owned();
    let copies = write("records", "application/json-seq", records)
        .await
        .expect("a response");
    assert_eq!(
        copies.text().await.expect("a body"),
        "\u{1e}1\n\u{1e}2\n\u{1e}3\n"
    );

    let events = ": hello\n\ndata: {\"number\":\ndata: 1}\nevent: a\n\ndata: no\n\nid: 1\n\ndata: {\"number\":2}\r\r";
    let told = write("events", "text/event-stream", events.to_owned())
        .await
        .expect("a response");
    let told: Vec<String> = told.json().await.expect("a list");
    assert_eq!(told, ["a 1", "invalid", " 2"]);
}

/// The generated client, and a server that writes bytes.
async fn client_by_hand() {
    let huge = "9".repeat((1 << 20) + 1);
    let pieces: Vec<Result<String, std::io::Error>> = vec![
        Ok("{\"number\":1}\n{\"numb".to_owned()),
        Ok("er\":2,\"newer\":true}\ngarbage\n{\"number\":\"x\"}\n".to_owned()),
        Ok(format!("{huge}\n{{\"number\":3}}\n{{\"num")),
    ];
    let whole = told(pieces, "application/jsonl").await;
    assert_eq!(
        whole,
        [
            "1",
            "2",
            "invalid",
            "invalid",
            "more than 1048576 bytes",
            "3",
            "invalid"
        ]
    );

    let pieces = vec![
        Ok("{\"number\":1}\n{\"num".to_owned()),
        Err(std::io::Error::other("cut off")),
    ];
    assert_eq!(
        told(pieces, "application/jsonl").await,
        ["1", "interrupted"]
    );

    // The server may frame the items in another way than the contract says.
    let pieces = vec![Ok(
        "\u{1e}{\"number\":1}\n\u{1e}{\"number\"\n\u{1e}{\"number\":2}".to_owned(),
    )];
    assert_eq!(
        told(pieces, "application/json-seq").await,
        ["1", "invalid", "2"]
    );
}

/// Serves a body, and returns each item that the client reads from it in a word.
async fn told(
    pieces: Vec<Result<String, std::io::Error>>,
    media_type: &'static str,
) -> Vec<String> {
    let pieces = Arc::new(std::sync::Mutex::new(Some(pieces)));
    let handler = move || {
        let pieces = pieces.lock().expect("no panic").take().unwrap_or_default();
        let pieces = stream::iter(pieces).then(async |piece| {
            // An error at once would take the head of the response with it.
            if piece.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            piece
        });
        let body = Body::from_stream(pieces);
        async move { ([("content-type", media_type)], body) }
    };
    let entries = watched(axum::Router::new().route("/sequences/log", get(handler))).await;
    let words = entries.map(|entry| match entry {
        Ok(entry) => entry.number.to_string(),
        Err(CallError::TooLarge(limit)) => format!("more than {limit} bytes"),
        Err(CallError::Invalid(item)) => {
            assert!(!format!("{item:?}").contains("number"));
            "invalid".to_owned()
        }
        Err(_) => "interrupted".to_owned(),
    });
    words.collect().await
}

async fn watched(peer: axum::Router) -> Received<SequenceEntry> {
    let url = crate::served(peer).await;
    let client = Client::new(&url).expect("the URL is valid");
    let entries = client.sequence_watch().send().await.expect("a success");
    entries.into_inner()
}

/// Tells when the body that owns it is dropped.
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A reader that stops reading stops the writer, and one that is gone ends it.
async fn slow_and_gone_readers() {
    let (written, is_gone) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let counter = Arc::clone(&written);
    let flag = Arc::clone(&is_gone);
    let handler = move || {
        let (counter, guard) = (Arc::clone(&counter), Guard(Arc::clone(&flag)));
        let line = format!("{}{{\"number\":1}}\n", " ".repeat(1 << 16));
        let lines = stream::repeat(Bytes::from(line)).map(move |line| {
            let _held = &guard;
            counter.fetch_add(line.len(), Ordering::Relaxed);
            Ok::<_, Infallible>(line)
        });
        async move { Body::from_stream(lines) }
    };
    let peer = axum::Router::new().route("/sequences/log", get(handler));
    let mut entries = watched(peer).await.max_item_bytes(1 << 17);
    for _ in 0..2 {
        assert_eq!(
            entries
                .next()
                .await
                .expect("an entry")
                .expect("it fits")
                .number,
            1
        );
    }
    for _ in 0..20_000 {
        tokio::task::yield_now().await;
    }
    // What the buffers of both sockets hold, and no more.
    assert!(written.load(Ordering::Relaxed) < 64 << 20);
    assert!(!is_gone.load(Ordering::Relaxed));
    drop(entries);
    while !is_gone.load(Ordering::Relaxed) {
        tokio::task::yield_now().await;
    }
}
