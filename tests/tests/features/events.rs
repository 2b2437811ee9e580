//! A stream of server-sent events.

use features_client::prelude::*;
use features_server::events::{EventWatchError, EventWatchRequest, EventWatchResponse, EventsApi};
use features_server::server::{Event, EventStream};
use features_types::EventWatchOkBody;
use futures_util::{StreamExt as _, stream};

impl EventsApi for crate::Features {
    async fn event_watch(
        &self,
        request: EventWatchRequest,
    ) -> Result<EventWatchResponse, EventWatchError> {
        let events = stream::iter(0..request.count.get())
            .map(|number| Event::json(&EventWatchOkBody::new(number)));
        Ok(EventStream::new(events).into())
    }
}

pub async fn check(client: &Client, _: &str) {
    for (call, expected) in [
        (client.event_watch(), vec![0, 1, 2]),
        (client.event_watch().count(1), vec![0]),
    ] {
        let events = call.send().await.expect("a success").into_inner();
        let numbers = events.map(|event| {
            let event = event.expect("an event arrives");
            event
                .json::<EventWatchOkBody>()
                .expect("the event has the type of the response body")
                .number
        });
        assert_eq!(numbers.collect::<Vec<_>>().await, expected);
    }
}
