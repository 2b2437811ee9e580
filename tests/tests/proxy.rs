//! The proxy of a mock in front of the generated server finds nothing to complain about.

#[path = "end_to_end/calls.rs"]
mod calls;

use std::path::Path;

use api_server::server::Config;
use calls::{calls, client};
use mock::{Findings, Mock, ProxySettings, Settings, Times, Totals};
use tests::memory::TOKEN;
use tests::{seed, served};

/// Serves a proxy of a server, judged by our contract. Returns its URL.
async fn proxied(upstream: &str) -> (String, Findings) {
    let loaded = contract::load(Path::new("../openapi.yaml"));
    let contract = loaded.contract.expect("our contract is right");
    let settings = ProxySettings {
        upstream: upstream.parse().expect("a URL"),
        errors: true,
        times: Times::default(),
    };
    let mock = Mock::new(contract, Settings::default());
    let (router, findings) = mock.proxy(settings).expect("there is no TLS to set up");
    (served::serve(router).await, findings)
}

#[tokio::test]
async fn every_call_to_the_generated_server_passes_without_a_violation() {
    for call in calls() {
        let base = served::memory(seed::state(3), Config::default()).await;
        let direct = (call.send)(&client(&base, TOKEN)).await;
        let base = served::memory(seed::state(3), Config::default()).await;
        let (proxy, mut findings) = proxied(&base).await;
        let passed = (call.send)(&client(&proxy, TOKEN)).await;
        let (direct, passed) = (direct.expect("a success"), passed.expect("a success"));
        for (pointer, value) in (call.expected)() {
            assert_eq!(passed.pointer(pointer), Some(&value), "{}", call.operation);
        }
        assert_eq!(
            direct.as_object().map(|it| it.keys().collect::<Vec<_>>()),
            passed.as_object().map(|it| it.keys().collect::<Vec<_>>()),
            "{}",
            call.operation
        );
        // A bad credential is a refusal that the contract lists.
        let refused = (call.send)(&client(&proxy, "unknown")).await;
        assert!(refused.is_err(), "{}", call.operation);
        assert_eq!(findings.waiting(), None, "{}", call.operation);
        let expected = Totals {
            requests: 2,
            ..Totals::default()
        };
        assert_eq!(findings.totals(), expected, "{}", call.operation);
    }
}
