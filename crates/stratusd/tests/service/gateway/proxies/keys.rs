//! Which requests a proxy lets through, and what it responds to the others.

use std::path::Path;
use std::time::Instant;

use reqwest::{Client, Method};

use super::{Kind, Proxy, behind_each_proxy};
use crate::gateway::revocation::{LONGEST, last_use};
use crate::gateway::scene::Scene;
use crate::support::eventually;
use crate::support::inventory::SHOP;

behind_each_proxy! {
    async fn a_right_key_reaches_the_upstream_without_itself(kind: Kind, program: &Path) {
        let scene = Scene::new(&[]).await;
        let proxy = Proxy::start(kind, program, &scene).await;
        let response = proxy.get("/v1/models?limit=2", &scene.key).await;
        assert_eq!(response.status(), 200);
        let other = scene.key_of_rival().await;
        let models = Client::new().get(format!("{}/v1/models", proxy.url));
        let response = models.header("x-api-key", &other.secret).send().await;
        assert_eq!(response.expect("the proxy responds").status(), 200);

        let arrived = scene.upstream.arrived();
        let [first, second] = &arrived[..] else {
            panic!("{arrived:?}");
        };
        assert_eq!(first.target, "/v1/models?limit=2");
        assert_eq!(first.headers["stratus-project"], SHOP);
        assert_eq!(first.headers["stratus-key-id"], scene.key.id.as_str());
        assert_eq!(second.headers["stratus-key-id"], other.id.as_str());
        for secret in [&scene.key.secret, &other.secret] {
            scene.upstream.ensure_never_had(secret);
        }
    }

    async fn a_request_without_a_right_key_goes_nowhere(kind: Kind, program: &Path) {
        let scene = Scene::new(&[]).await;
        // This has sent a wrong key already.
        let proxy = Proxy::start(kind, program, &scene).await;
        for path in ["/v1/models", "/v1/../v1/models", "/stratus", "/auth"] {
            let response = Client::new().get(format!("{}{path}", proxy.url)).send().await;
            let status = response.expect("the proxy responds").status();
            assert!(status == 401 || status == 404, "{path}: {status}");
        }
        // The gateway has no such key, and a body does not change that.
        let body = vec![b'x'; 100_000];
        let posted = Client::new().post(format!("{}/v1/chat/completions", proxy.url));
        let posted = posted.bearer_auth("wrong").body(body).send().await;
        assert_eq!(posted.expect("the proxy responds").status(), 401);
        assert!(scene.upstream.arrived().is_empty());
    }

    async fn a_deleted_key_is_refused_within_a_second(kind: Kind, program: &Path) {
        let scene = Scene::new(&[]).await;
        let proxy = Proxy::start(kind, program, &scene).await;
        let (url, key) = (proxy.url.clone(), scene.key.clone());
        let used = tokio::spawn(async move { last_use(&url, &key).await });
        // The gateway knows the key by then.
        let is_used = eventually(async || (scene.upstream.arrived().len() >= 5).then_some(()));
        is_used.await.expect("the key works");
        let path = format!("/inference-api-key/{}", scene.key.id);
        let deleted = scene.shop.send(Method::DELETE, &path, None).await;
        let since = Instant::now();
        assert_eq!(deleted.expect("the service responds").status(), 204);
        let last = used.await.expect("nobody panics");
        let after = last.saturating_duration_since(since);
        assert!(after < LONGEST, "a request passed {after:?} after the key was deleted");
    }

    async fn too_many_requests_are_429_with_the_time_to_wait(kind: Kind, program: &Path) {
        let rate = ["--gateway-key-rate-limit", "1", "--gateway-key-rate-burst", "1"];
        let scene = Scene::new(&rate).await;
        let proxy = Proxy::start(kind, program, &scene).await;
        assert_eq!(proxy.get("/v1/models", &scene.key).await.status(), 200);
        // The gateway may refill meanwhile.
        for _ in 0..20 {
            let response = proxy.get("/v1/models", &scene.key).await;
            if response.status() == 429 {
                assert_eq!(response.headers()["retry-after"], "1");
                return;
            }
        }
        panic!("{} forwards too many requests", kind.name);
    }

    async fn without_its_gateway_a_proxy_forwards_nothing(kind: Kind, program: &Path) {
        let scene = Scene::new(&[]).await;
        let proxy = Proxy::start(kind, program, &scene).await;
        scene.service.terminate();
        assert!(scene.service.wait().0);
        let response = proxy.get("/v1/models", &scene.key).await;
        assert_eq!(response.status(), kind.without_gateway);
        assert!(scene.upstream.arrived().is_empty());
    }
}
