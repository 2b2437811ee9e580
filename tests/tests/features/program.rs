//! A program that serves every feature and calls it over HTTP.

use std::future::IntoFuture as _;

use features_client::Client;
use features_server::server::{ApiKey, AuthError, Basic, Bearer, Config, Operation, Problem, idempotency_scope};

/// Implements the trait of every feature, each in the file of the feature.
struct Features;

/// Accepts one key, one user and one token.
struct Credentials;

impl features_server::Security for Credentials {
    type Principal = String;

    /// A token is the name of an account, and after a dot a number that is renewed.
    async fn account(&self, token: Bearer, _: &'static Operation) -> Result<String, AuthError> {
        let account = token.token.expose().split_once('.').ok_or(AuthError::Invalid)?.0;
        idempotency_scope(account);
        Ok(account.to_owned())
    }

    async fn key(&self, key: ApiKey, _: &'static Operation) -> Result<String, AuthError> {
        if key.value.expose() == "key" {
            Ok("key".to_owned())
        } else {
            Err(AuthError::Invalid)
        }
    }

    async fn key_and_login(
        &self,
        key: ApiKey,
        login: Basic,
        operation: &'static Operation,
    ) -> Result<String, AuthError> {
        let (key, login) = (
            self.key(key, operation).await?,
            self.login(login, operation).await?,
        );
        Ok(format!("{key} and {login}"))
    }

    async fn login(&self, login: Basic, _: &'static Operation) -> Result<String, AuthError> {
        if login.password.expose() == "word" {
            Ok(login.user)
        } else {
            Err(AuthError::Invalid)
        }
    }

    async fn oauth(
        &self,
        token: Bearer,
        scopes: &'static [&'static str],
        _: &'static Operation,
    ) -> Result<String, AuthError> {
        let held: Vec<&str> = token.token.expose().split('+').collect();
        if scopes.iter().all(|scope| held.contains(scope)) {
            Ok("token".to_owned())
        } else {
            Err(AuthError::Forbidden("a scope is missing".to_owned()))
        }
    }

    async fn oauth2(
        &self,
        token: Bearer,
        scopes: &'static [&'static str],
        operation: &'static Operation,
    ) -> Result<String, AuthError> {
        self.oauth(token, scopes, operation).await
    }
}

/// Serves a router on a free port, and returns its URL.
async fn served(router: features_server::server::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("the listener has an address");
    tokio::spawn(axum::serve(listener, router).into_future());
    format!("http://{address}")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = served(features_server::router(
        Features,
        Credentials,
        Problem,
        Config::default(),
    ))
    .await;
    let client = Client::new(&url).expect("the URL is valid");
    check(&client, &url).await;
}
