//! The settings of the gateway, which checks inference keys and forwards requests to an upstream.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use anyhow::{Result, bail};
use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

use super::number::{Bytes, Connections, Rate};
use super::text::{FilePath, ListenAddress, SecretText};
use super::{Duration, Origin, Setting, SettingsFile};
use crate::rate::RateLimit;

/// The port of the gateway if only its upstream is set.
const PORT: u16 = 8081;
/// The path of an upstream whose URL has none.
const DEFAULT_PATH: &str = "/v1";
/// What the names of the settings of the upstream's credential begin with.
const CREDENTIAL: &str = "gateway_upstream_key";

settings! {
    /// The settings of the gateway.
    GatewaySettings, from GatewayArguments:
    /// Gateway: the address to serve `/auth` and, with an upstream, `/v1/` on. 127.0.0.1:8081 if only the upstream is set.
    gateway_listen("STRATUS_GATEWAY_LISTEN", "ADDRESS"): ListenAddress;
    /// Gateway: the URL of the OpenAI-compatible server to forward to, such as `https://api.openai.com/v1`. Off if not set.
    gateway_upstream("STRATUS_GATEWAY_UPSTREAM", "URL"): UpstreamUrl;
    /// Gateway: the file with the key that the upstream expects from the gateway.
    gateway_upstream_key_file("STRATUS_GATEWAY_UPSTREAM_KEY_FILE", "FILE"): FilePath;
    /// Gateway: the key that the upstream expects. Set this in the environment, not as a flag, which other users can see.
    gateway_upstream_key("STRATUS_GATEWAY_UPSTREAM_KEY", "KEY"): SecretText;
    /// Gateway: the maximum number of open connections, and of requests that are forwarded at once.
    gateway_max_connections("STRATUS_GATEWAY_MAX_CONNECTIONS", "COUNT"): Connections = "1000";
    /// Gateway: the maximum size of a request body, in bytes.
    gateway_body_limit("STRATUS_GATEWAY_BODY_LIMIT", "BYTES"): Bytes = "33554432";
    /// Gateway: how long a connection to the upstream may take, with TLS.
    gateway_connect_timeout("STRATUS_GATEWAY_CONNECT_TIMEOUT", "DURATION"): Duration<100> = "5s";
    /// Gateway: how long the upstream may take to begin its response, once it has the request.
    gateway_response_timeout("STRATUS_GATEWAY_RESPONSE_TIMEOUT", "DURATION"): Duration<100> = "5m";
    /// Gateway: how long the upstream may pause within a response.
    gateway_idle_timeout("STRATUS_GATEWAY_IDLE_TIMEOUT", "DURATION"): Duration<100> = "60s";
    /// Gateway: the maximum number of requests per second for each key. Unlimited if not set.
    gateway_key_rate_limit("STRATUS_GATEWAY_KEY_RATE_LIMIT", "COUNT"): Rate;
    /// Gateway: how many requests a key may make at once after a pause. Its rate limit if not set.
    gateway_key_rate_burst("STRATUS_GATEWAY_KEY_RATE_BURST", "COUNT"): Rate;
    /// Gateway: how many requests of a key are forwarded at a time.
    gateway_key_requests("STRATUS_GATEWAY_KEY_REQUESTS", "COUNT"): Rate = "32";
    /// Gateway: the maximum number of requests per second for all keys of a project. Unlimited if not set.
    gateway_project_rate_limit("STRATUS_GATEWAY_PROJECT_RATE_LIMIT", "COUNT"): Rate;
    /// Gateway: how many requests the keys of a project may make at once after a pause. Their rate limit if not set.
    gateway_project_rate_burst("STRATUS_GATEWAY_PROJECT_RATE_BURST", "COUNT"): Rate;
    /// Gateway: how many requests of all keys of a project are forwarded at a time.
    gateway_project_requests("STRATUS_GATEWAY_PROJECT_REQUESTS", "COUNT"): Rate = "128";
}

/// The settings that have an effect only on requests that are forwarded.
const OF_UPSTREAM: [&str; 8] = [
    "gateway_upstream_key_file",
    CREDENTIAL,
    "gateway_body_limit",
    "gateway_connect_timeout",
    "gateway_response_timeout",
    "gateway_idle_timeout",
    "gateway_key_requests",
    "gateway_project_requests",
];

impl GatewaySettings {
    /// Returns the address to serve the gateway on, or `None` if the gateway is off.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        let default = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        let listen = self.gateway_listen.map(ListenAddress::get);
        listen.or(self.gateway_upstream.as_ref().map(|_| default))
    }

    /// Returns the rate limit of each key.
    #[must_use]
    pub fn key_rate(&self) -> Option<RateLimit> {
        rate_limit(self.gateway_key_rate_limit, self.gateway_key_rate_burst)
    }

    /// Returns the rate limit of each project.
    #[must_use]
    pub fn project_rate(&self) -> Option<RateLimit> {
        rate_limit(
            self.gateway_project_rate_limit,
            self.gateway_project_rate_burst,
        )
    }

    /// Checks that settings which depend on each other are given together.
    ///
    /// # Errors
    ///
    /// If a setting has no effect, because another one is missing, or is stricter.
    pub fn ensure_complete(&self) -> Result<()> {
        let mut set = self.all().iter().filter(|it| it.origin != Origin::Default);
        if self.address().is_none() {
            if let Some(Setting { name, .. }) = set.next() {
                bail!(
                    "{name} has no effect without gateway_upstream or gateway_listen: set one of them or remove {name}"
                );
            }
        } else if self.gateway_upstream.is_none()
            && let Some(Setting { name, .. }) = set.find(|it| OF_UPSTREAM.contains(&it.name))
        {
            bail!(
                "{name} has no effect without gateway_upstream, since nothing is forwarded: set both or remove {name}"
            );
        }
        if self.gateway_upstream_key.is_some() && self.gateway_upstream_key_file.is_some() {
            bail!(
                "gateway_upstream_key and gateway_upstream_key_file are both set: remove one of them"
            );
        }
        for (burst, limit, name) in [
            (
                self.gateway_key_rate_burst,
                self.gateway_key_rate_limit,
                "gateway_key_rate",
            ),
            (
                self.gateway_project_rate_burst,
                self.gateway_project_rate_limit,
                "gateway_project_rate",
            ),
        ] {
            if burst.is_some() && limit.is_none() {
                bail!(
                    "{name}_burst has no effect without {name}_limit: set both or remove {name}_burst"
                );
            }
        }
        self.ensure_keys_below_projects()
    }

    /// Checks that no limit of a key is above that of its project.
    fn ensure_keys_below_projects(&self) -> Result<()> {
        let is_above = |key: Rate, project: Rate| key.get() > project.get();
        let rates = self
            .gateway_key_rate_limit
            .zip(self.gateway_project_rate_limit);
        if rates.is_some_and(|(key, project)| is_above(key, project)) {
            bail!(
                "gateway_key_rate_limit has no effect above gateway_project_rate_limit: lower the first or raise the second"
            );
        }
        // The default of keys may be above what an operator sets for projects.
        let is_set = self
            .all()
            .iter()
            .any(|it| it.name == "gateway_key_requests" && it.origin != Origin::Default);
        if is_set && is_above(self.gateway_key_requests, self.gateway_project_requests) {
            bail!(
                "gateway_key_requests has no effect above gateway_project_requests: lower the first or raise the second"
            );
        }
        Ok(())
    }
}

/// Returns a rate limit whose burst is the limit unless another is set.
fn rate_limit(limit: Option<Rate>, burst: Option<Rate>) -> Option<RateLimit> {
    limit.map(|per_second| RateLimit {
        per_second: per_second.get(),
        burst: burst.unwrap_or(per_second).get(),
    })
}

/// The URL of an OpenAI-compatible server, as its clients take it: the path that stands for `/v1`
/// is a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamUrl {
    scheme: Scheme,
    authority: Authority,
    /// The path without a slash at its end.
    path: String,
}

impl UpstreamUrl {
    /// Returns whether connections to the server use TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Returns the URI of what follows `/v1` in the path of a request, with the query.
    #[must_use]
    pub fn join(&self, rest: &str) -> Option<Uri> {
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(format!("{}{rest}", self.path))
            .build()
            .ok()
    }
}

impl FromStr for UpstreamUrl {
    type Err = &'static str;

    /// Parses a URL without user, password and query, which the log and `stratusd config` would
    /// show. Without a path, the path is `/v1`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "must be an HTTP URL without user, password and query, such as http://localhost:8000/v1";
        // The parser drops a fragment without an error.
        if text.contains('#') {
            return Err(WRONG);
        }
        let parts = text.parse::<Uri>().map_err(|_| WRONG)?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(WRONG);
        };
        let is_http = scheme == Scheme::HTTP || scheme == Scheme::HTTPS;
        let path = parts.path_and_query.as_ref();
        if !is_http
            || authority.as_str().contains('@')
            || authority.host().is_empty()
            || path.is_some_and(|path| path.query().is_some())
        {
            return Err(WRONG);
        }
        let path = path.map_or("", PathAndQuery::path).trim_end_matches('/');
        let path = if path.is_empty() { DEFAULT_PATH } else { path };
        Ok(Self {
            scheme,
            authority,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}
