//! What the gateway needs of the settings.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result};
use http::HeaderValue;
use zeroize::Zeroizing;

use super::counts::Counts;
use super::limits::Limit;
use super::upstream::{MOST_KEPT, Times, Upstream};
use crate::settings::{GatewaySettings, ListenerSettings, Rate, SecretText};

/// What the gateway needs of the settings.
#[derive(Debug)]
pub struct GatewayConfig {
    pub(super) upstream: Option<Upstream>,
    /// The value of `Authorization` that the upstream expects.
    pub(super) credential: Option<HeaderValue>,
    pub(super) head_limit: usize,
    pub(super) body_limit: usize,
    pub(super) key: Limit,
    pub(super) project: Limit,
    /// The requests of all projects that are forwarded at a time.
    pub(super) requests: usize,
    pub(super) counts: Arc<Counts>,
}

impl GatewayConfig {
    /// Reads the file of the upstream's key, if there is one, and sets up TLS if the upstream needs
    /// it. Returns `None` if the gateway is off.
    ///
    /// # Errors
    ///
    /// If the key cannot be used, or TLS cannot be set up.
    pub fn load(settings: &GatewaySettings, listener: &ListenerSettings) -> Result<Option<Self>> {
        if settings.address().is_none() {
            return Ok(None);
        }
        let times = Times {
            connect: settings.gateway_connect_timeout.get(),
            body: listener.body_timeout.get(),
            response: settings.gateway_response_timeout.get(),
            idle: settings.gateway_idle_timeout.get(),
        };
        let url = settings.gateway_upstream.clone();
        Ok(Some(Self {
            upstream: url.map(|url| Upstream::new(url, times)).transpose()?,
            credential: credential(settings)?,
            head_limit: listener.header_limit.get(),
            body_limit: settings.gateway_body_limit.get(),
            key: Limit {
                rate: settings.key_rate(),
                at_once: at_once(settings.gateway_key_requests),
            },
            project: Limit {
                rate: settings.project_rate(),
                at_once: at_once(settings.gateway_project_requests),
            },
            requests: usize::try_from(settings.gateway_max_connections.get()).unwrap_or(usize::MAX),
            counts: Arc::default(),
        }))
    }

    /// Returns the counts of the gateway.
    #[must_use]
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Returns the maximum number of sockets of the gateway: those of callers and, if there is an
    /// upstream, one for each request and those that are kept for another request.
    #[must_use]
    pub fn files(&self) -> u64 {
        let connections = (2 * self.requests as u64).saturating_add(MOST_KEPT as u64);
        if self.upstream.is_some() {
            connections
        } else {
            self.requests as u64
        }
    }
}

fn at_once(rate: Rate) -> usize {
    usize::try_from(rate.get().get()).unwrap_or(usize::MAX)
}

/// Returns the value of `Authorization` for the upstream, or `None` if it expects none.
fn credential(settings: &GatewaySettings) -> Result<Option<HeaderValue>> {
    let key = match (
        &settings.gateway_upstream_key,
        &settings.gateway_upstream_key_file,
    ) {
        (Some(key), _) => Zeroizing::new(SecretText::expose(key).to_owned()),
        (None, Some(file)) => {
            let path = file.as_path();
            let read = fs::read_to_string(path);
            Zeroizing::new(read.with_context(|| format!("failed to read {}", path.display()))?)
        }
        (None, None) => return Ok(None),
    };
    let key = key.trim();
    let is_token = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
    // The text is not repeated, since it is secret.
    let value = Some(Zeroizing::new(format!("Bearer {key}"))).filter(|_| is_token);
    let value = value.and_then(|value| HeaderValue::from_str(&value).ok());
    let mut value = value.context(
        "the key of gateway_upstream must be one line of ASCII characters without blanks",
    )?;
    // So that it is never printed, and HTTP/2 would not compress it.
    value.set_sensitive(true);
    Ok(Some(value))
}
