//! The mock of all features: bodies that are streams, and 501 for what is not expected.

use features_client::prelude::*;
use features_mock::Mock;
use features_mock::features_server::server::{ByteStream, Event, EventStream};
use futures_util::{StreamExt as _, stream};

pub async fn check() {
    let mock = Mock::new();
    let events = stream::iter([Event::json(&7)]);
    mock.event_watch().respond_once(EventStream::new(events));
    mock.file_echo().times(1).respond_async(|request| async move {
        let bytes = request.body.collect().await.expect("the bytes arrive");
        Ok(ByteStream::new(bytes).into())
    });
    let url = mock.serve().await.expect("a port is free");
    let client = Client::new(&url).expect("the URL is valid");
    let events = client.event_watch().send().await.expect("a success");
    assert_eq!(events.into_inner().count().await, 1);
    // The stream was taken by the first request.
    let none = client.event_watch().send().await.expect_err("nothing is left");
    assert_eq!(none.status().map(|status| status.as_u16()), Some(501));
    let echo = client.file_echo().body("audio/ogg", vec![9; 300_000]).send().await;
    let echo = echo.expect("a success").into_inner().bytes().await;
    assert_eq!(echo.expect("the bytes arrive"), vec![9; 300_000]);
    let unmet = mock.check().expect_err("one request was not expected").to_string();
    assert!(unmet.contains("event_watch: the expectations that accept it have had"), "{unmet}");
    assert_eq!(unmet.lines().count(), 3, "{unmet}");
    mock.allow_unexpected();
}
