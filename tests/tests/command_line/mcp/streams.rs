//! Streams as results.

use axum::body::Body;
use axum::routing::get;
use serde_json::json;

use super::bounds::museum_at;
use super::client::Client;
use crate::support::serve_router;

/// Serves a stream of visitors in these pieces.
fn visitors(pieces: Vec<Result<&'static str, &'static str>>) -> String {
    let stream = move || {
        let pieces = pieces.clone();
        async move {
            let pieces = pieces
                .into_iter()
                .map(|piece| piece.map_err(std::io::Error::other));
            // A break right after a piece would take it along.
            let pieces = futures_util::stream::iter(pieces);
            let pieces = futures_util::StreamExt::then(pieces, |piece| async {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                piece
            });
            (
                [("content-type", "application/jsonl")],
                Body::from_stream(pieces),
            )
        }
    };
    serve_router(axum::Router::new().route("/visitors", get(stream)))
}

#[test]
fn a_stream_without_items_says_so() {
    let mut client = Client::start(&museum_at(&visitors(Vec::new())), &[]);
    let texts = client.ok("watch", &json!({}));
    assert_eq!(texts, ["200 OK, with a stream of no items"]);
}

#[test]
fn a_stream_that_breaks_keeps_its_items() {
    let url = visitors(vec![Ok("{\"name\":\"Ada\"}\n{\"na"), Err("it is late")]);
    let mut client = Client::start(&museum_at(&url), &[]);
    let failed = client.failed("watch", &json!({}));
    assert!(
        failed.starts_with("{\"name\":\"Ada\"}\n\nThis may not be all: the stream ended early: "),
        "{failed}"
    );
    let url = visitors(vec![Err("it is late")]);
    let mut client = Client::start(&museum_at(&url), &[]);
    let failed = client.failed("watch", &json!({}));
    assert!(failed.starts_with("This may not be all: "), "{failed}");
}
