//! Deprecated operations, of which one ends: the headers `Deprecation` (RFC 9745) and `Sunset`
//! (RFC 8594).

use features_client::prelude::*;
use features_server::sunsets::{
    SunsetDeleteError, SunsetDeleteRequest, SunsetDeleteResponse, SunsetSetError, SunsetSetRequest,
    SunsetSetResponse, SunsetViewError, SunsetViewNoContent, SunsetViewRequest, SunsetViewResponse,
    SunsetsApi,
};

/// The end of the one resource that ends by itself.
const OWN: &str = "Sat, 01 Jun 2024 00:00:00 GMT";

impl SunsetsApi for crate::Features {
    async fn sunset_view(
        &self,
        request: SunsetViewRequest,
    ) -> Result<SunsetViewResponse, SunsetViewError> {
        match request.number {
            1 => Ok(SunsetViewNoContent::new().into()),
            2 => Ok(SunsetViewNoContent::new().with_sunset(OWN.to_owned()).into()),
            _ => panic!("there is no third"),
        }
    }

    async fn sunset_set(&self, _: SunsetSetRequest) -> Result<SunsetSetResponse, SunsetSetError> {
        Ok(SunsetSetResponse::NoContent)
    }

    async fn sunset_delete(
        &self,
        _: SunsetDeleteRequest,
    ) -> Result<SunsetDeleteResponse, SunsetDeleteError> {
        Ok(SunsetDeleteResponse::NoContent)
    }
}

pub async fn check(client: &Client, url: &str) {
    // The examples of RFC 9745, sections 2.1 and 4.
    let since = Some("@1688169599");
    let until = Some("Sun, 30 Jun 2024 23:59:59 GMT");
    for (method, path, expected) in [
        ("GET", "1", (204, since, until)),
        ("GET", "2", (204, since, Some(OWN))),
        ("HEAD", "1", (204, since, until)),
        // The handler panics, or the request is wrong.
        ("GET", "3", (500, since, until)),
        ("GET", "x", (400, since, until)),
        // It is deprecated, but nobody has said since when or until when.
        ("PUT", "1", (204, None, None)),
        ("DELETE", "1", (204, None, None)),
        ("POST", "1", (405, None, None)),
    ] {
        let method = method.parse().expect("a method");
        let call = reqwest::Client::new().request(method, format!("{url}/sunsets/{path}"));
        let response = call.send().await.expect("a response");
        let header = |name: &str| {
            let mut values = response.headers().get_all(name).iter();
            let value = values.next().map(|value| value.to_str().expect("a text"));
            assert!(values.next().is_none(), "{path}: `{name}` is there twice");
            value
        };
        let found = (response.status().as_u16(), header("deprecation"), header("sunset"));
        assert_eq!(found, expected, "{path}");
    }
    #[expect(deprecated, reason = "its deprecation is what is tested")]
    let calls = (client.sunset_view().number(2), client.sunset_set().number(2));
    let view = calls.0.send().await.expect("a success");
    assert_eq!(view.headers()["sunset"], OWN);
    calls.1.send().await.expect("a success");
    client.sunset_delete().number(2).send().await.expect("a success");
}
