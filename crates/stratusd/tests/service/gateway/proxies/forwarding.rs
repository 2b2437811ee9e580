//! What arrives of requests and responses that a proxy lets through.

use std::convert::Infallible;
use std::path::Path;

use futures_util::{StreamExt, stream};
use reqwest::{Body, Method};

use super::{Kind, Proxy, behind_each_proxy};
use crate::gateway::scene::Scene;
use crate::support::eventually;
use crate::support::inventory::SHOP;

behind_each_proxy! {
    async fn no_caller_can_forge_or_remove_its_project(kind: Kind, program: &Path) {
        let scene = Scene::new(&[]).await;
        let proxy = Proxy::start(kind, program, &scene).await;
        let forged = proxy
            .request(Method::GET, "/v1/models", &scene.key)
            .header("stratus-project", "another")
            .header("Stratus-Project", "a-third")
            .header("STRATUS-KEY-ID", "another");
        let removed = proxy
            .request(Method::GET, "/v1/models", &scene.key)
            .header("connection", "stratus-project, stratus-key-id");
        let both = proxy
            .request(Method::GET, "/v1/models", &scene.key)
            .header("stratus-project", "another")
            .header("connection", "stratus-project");
        for request in [forged, removed, both] {
            let response = request.send().await.expect("the proxy responds");
            assert_eq!(response.status(), 200);
        }
        let arrived = scene.upstream.arrived();
        assert_eq!(arrived.len(), 3);
        for request in arrived {
            for (name, value) in [("stratus-project", SHOP), ("stratus-key-id", &scene.key.id)] {
                let values: Vec<_> = request.headers.get_all(name).iter().collect();
                assert_eq!(values, [value], "{:?}", request.headers);
            }
        }
    }

    async fn a_response_arrives_event_by_event(kind: Kind, program: &Path) {
        let scene = Scene::new(&[]).await;
        let proxy = Proxy::start(kind, program, &scene).await;
        let mut response = proxy.get("/v1/stream/6", &scene.key).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut received = String::new();
        while let Some(events) = response.chunk().await.expect("the stream is whole") {
            received.push_str(std::str::from_utf8(&events).expect("events are text"));
            let new = events.windows(6).filter(|part| part == b"data: ").count();
            // The next one is 100 ms away, and two may be on their way if the machine is busy.
            assert!(new <= 2, "{new} events arrived at a time");
        }
        let all: String = (0..6).map(|number| format!("data: {number}\n\n")).collect();
        assert_eq!(received, all);
    }

    async fn a_request_body_arrives_as_it_is_sent(kind: Kind, program: &Path) {
        let scene = Scene::new(&[]).await;
        let proxy = Proxy::start(kind, program, &scene).await;
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let first = stream::iter([Ok::<_, Infallible>("first, ")]);
        let second = stream::once(async move {
            // Ends when the upstream has the request, or the test has failed.
            let _ = receiver.await;
            Ok("second")
        });
        let body = Body::wrap_stream(first.chain(second));
        let request = proxy.request(Method::POST, "/v1/files", &scene.key).body(body);
        let response = tokio::spawn(request.send());
        let begun = eventually(async || (scene.upstream.open() > 0).then_some(())).await;
        assert!(begun.is_some(), "{} holds the body", kind.name);
        sender.send(()).expect("the request waits");
        let response = response.await.expect("nobody panics");
        assert_eq!(response.expect("the proxy responds").status(), 200);
        assert_eq!(scene.upstream.arrived()[0].body, "first, second");
    }

    async fn a_large_body_arrives_whole(kind: Kind, program: &Path) {
        let scene = Scene::new(&[]).await;
        let proxy = Proxy::start(kind, program, &scene).await;
        let body: Vec<u8> = (0..8_u32 << 20).map(|at| (at % 251) as u8).collect();
        let request = proxy.request(Method::POST, "/v1/files", &scene.key);
        let response = request.body(body.clone()).send().await;
        assert_eq!(response.expect("the proxy responds").status(), 200);
        let arrived = scene.upstream.arrived();
        assert_eq!((&*arrived[0].method, arrived.len()), ("POST", 1));
        assert!(arrived[0].body == body, "{} bytes arrived", arrived[0].body.len());
    }
}
