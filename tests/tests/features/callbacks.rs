//! Webhooks and callbacks: the API's side calls by the sender's builders, the caller's side
//! implements the receiver's traits.

use std::sync::Mutex;

use features_client::prelude::*;
use features_server::callbacks::{CallbacksApi, WatchError, WatchRequest, WatchResponse};
use features_server::server::{Config, Problem};
use features_types::{Change, ChangeKind, WatchBody, WatchOnChangeGoneBody};
use features_webhook_receiver::callbacks as receiver;
use features_webhook_sender::prelude::ClientCallbacksExt as _;

impl CallbacksApi for crate::Features {
    async fn watch(&self, request: WatchRequest) -> Result<WatchResponse, WatchError> {
        let sender = features_webhook_sender::Client::new(request.body.url.as_str())
            .expect("the URL is valid");
        sender
            .watch_on_change()
            .body(Change::new(ChangeKind::Made))
            .send()
            .await
            .expect("the request is accepted");
        let error = sender
            .watch_on_change()
            .body(Change::new(ChangeKind::Gone))
            .send()
            .await;
        assert_eq!(
            error
                .expect_err("the request is rejected")
                .into_body()
                .map(|body| body.why),
            Some("enough".to_owned())
        );
        Ok(WatchResponse::NoContent)
    }
}

/// The receiver of the calls, which records them.
#[derive(Default)]
struct Watcher(Mutex<Vec<String>>);

impl receiver::CallbacksApi for &'static Watcher {
    async fn changed(
        &self,
        request: receiver::ChangedRequest,
    ) -> Result<receiver::ChangedResponse, receiver::ChangedError> {
        self.0
            .lock()
            .expect("no panic while the lock is held")
            .push(format!("changed {}", request.body.kind));
        Ok(receiver::ChangedResponse::NoContent)
    }

    async fn watch_on_change(
        &self,
        request: receiver::WatchOnChangeRequest,
    ) -> Result<receiver::WatchOnChangeResponse, receiver::WatchOnChangeError> {
        self.0
            .lock()
            .expect("no panic while the lock is held")
            .push(format!("watched {}", request.body.kind));
        match request.body.kind {
            ChangeKind::Gone => Err(receiver::WatchOnChangeError::Gone(
                WatchOnChangeGoneBody::new("enough".to_owned()),
            )),
            _ => Ok(receiver::WatchOnChangeResponse::NoContent),
        }
    }
}

pub async fn check(client: &Client, _: &str) {
    let watcher: &'static Watcher = Box::leak(Box::default());
    let router = features_webhook_receiver::router(watcher, Problem, Config::default());
    let url = crate::served(features_server::server::Router::new().nest("/hooks", router)).await;
    let hook = format!("{url}/hooks/watch/onChange?token=a");
    let body = WatchBody::new(hook.parse().expect("the text is a URI"));
    assert_eq!(
        client
            .watch()
            .body(body)
            .send()
            .await
            .expect("a success")
            .status(),
        204
    );
    let sender = features_webhook_sender::Client::new(format!("{url}/hooks/changed"))
        .expect("the URL is valid");
    sender
        .changed()
        .body(Change::new(ChangeKind::Gone))
        .send()
        .await
        .expect("the request is accepted");

    // The receiver reads leniently, since the sender may be newer, but rejects values of the wrong
    // type.
    let post = |body: &'static str| {
        let request = reqwest::Client::new()
            .post(format!("{url}/hooks/changed"))
            .header("content-type", "application/json");
        async move {
            request
                .body(body)
                .send()
                .await
                .expect("a response")
                .status()
                .as_u16()
        }
    };
    assert_eq!(post(r#"{"kind": "moved", "to": "there"}"#).await, 204);
    assert_eq!(post(r#"{"kind": 1}"#).await, 400);
    assert_eq!(
        *watcher.0.lock().expect("no panic while the lock is held"),
        [
            "watched made",
            "watched gone",
            "changed gone",
            "changed moved"
        ]
    );
}
