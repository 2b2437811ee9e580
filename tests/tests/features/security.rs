//! Credentials: none, one of several, several together, and scopes; operations that are not written
//! yet.

use features_client::prelude::*;
use features_server::security::{
    BothError, BothRequest, BothResponse, EitherError, EitherRequest, EitherResponse, OpenError,
    OpenRequest, OpenResponse, ScopedChangeError, ScopedChangeRequest, ScopedChangeResponse,
    ScopedError, ScopedListError, ScopedListRequest, ScopedListResponse, ScopedRequest,
    ScopedResponse, SecurityApi,
};

impl SecurityApi<String> for crate::Features {
    features_server::security_stubs!(String: scoped_later, open_later);

    async fn open(&self, _: OpenRequest) -> Result<OpenResponse, OpenError> {
        Ok(OpenResponse::NoContent)
    }

    async fn either(
        &self,
        principal: String,
        _: EitherRequest,
    ) -> Result<EitherResponse, EitherError> {
        assert!(["key", "user"].contains(&principal.as_str()), "{principal}");
        Ok(EitherResponse::NoContent)
    }

    async fn both(&self, principal: String, _: BothRequest) -> Result<BothResponse, BothError> {
        assert_eq!(principal, "key and user");
        Ok(BothResponse::NoContent)
    }

    async fn scoped(&self, _: String, _: ScopedRequest) -> Result<ScopedResponse, ScopedError> {
        Ok(ScopedResponse::NoContent)
    }

    async fn scoped_list(
        &self,
        _: String,
        _: ScopedListRequest,
    ) -> Result<ScopedListResponse, ScopedListError> {
        Ok(ScopedListResponse::NoContent)
    }

    async fn scoped_change(
        &self,
        _: String,
        _: ScopedChangeRequest,
    ) -> Result<ScopedChangeResponse, ScopedChangeError> {
        Ok(ScopedChangeResponse::NoContent)
    }
}

pub async fn check(client: &Client, url: &str) {
    let status = async |client: &Client| -> [u16; 4] {
        let status = |response: Result<u16, Option<u16>>| {
            response.unwrap_or_else(|status| status.expect("a response"))
        };
        macro_rules! call {
            ($operation:ident) => {{
                let response = client.$operation().send().await;
                let response = response.map(|response| response.status().as_u16());
                status(response.map_err(|error| error.status().map(|status| status.as_u16())))
            }};
        }
        [call!(open), call!(either), call!(both), call!(scoped)]
    };
    let with = |key: Option<&str>, login: Option<&str>, token: Option<&str>| {
        let mut builder = Client::builder(url);
        builder = if let Some(key) = key {
            builder.key(key)
        } else {
            builder
        };
        builder = if let Some(password) = login {
            builder.login("user", password)
        } else {
            builder
        };
        builder = if let Some(token) = token {
            builder.oauth(token)
        } else {
            builder
        };
        builder.build().expect("the URL is valid")
    };
    assert_eq!(status(client).await, [204, 401, 401, 401]);
    assert_eq!(
        status(&with(Some("key"), None, None)).await,
        [204, 204, 401, 401]
    );
    assert_eq!(
        status(&with(None, Some("word"), None)).await,
        [204, 204, 401, 401]
    );
    assert_eq!(
        status(&with(Some("key"), Some("word"), None)).await,
        [204, 204, 204, 401]
    );
    assert_eq!(
        status(&with(Some("key"), Some("wrong"), Some("read+write"))).await,
        [204, 204, 401, 204]
    );
    assert_eq!(
        status(&with(Some("wrong"), None, Some("read"))).await,
        [204, 401, 401, 403]
    );
    let reader = Client::builder(url)
        .oauth2("read")
        .build()
        .expect("the URL is valid");
    assert_eq!(
        reader
            .scoped_list()
            .send()
            .await
            .expect("a success")
            .status(),
        204
    );
    let error = reader
        .scoped_change()
        .send()
        .await
        .expect_err("a scope is missing");
    assert_eq!(error.status().map(|status| status.as_u16()), Some(403));
    // An operation that is not written yet asks for its credentials all the same.
    for (client, status) in [(client, 401), (&reader, 501)] {
        let error = client.scoped_later().send().await.expect_err("no success");
        assert_eq!(error.status().map(|status| status.as_u16()), Some(status));
    }
    let error = client.open_later().send().await.expect_err("no success");
    assert_eq!(error.status().map(|status| status.as_u16()), Some(501));
}
