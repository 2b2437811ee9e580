//! The certificate of a load balancer, which the authority of the service issues for its host name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::provision::authority::Authority;

/// A certificate with its private key, which is kept in memory alone.
pub(super) struct Certificate {
    pub hostname: String,
    pub acceptor: TlsAcceptor,
    /// When it ends, in milliseconds since 1970.
    pub ends: i64,
    /// When another one takes its place, in milliseconds since 1970: after two thirds of its time.
    pub renewed_at: i64,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("hostname", &self.hostname)
            .finish_non_exhaustive()
    }
}

impl Certificate {
    /// Issues a certificate for a host name. `now` is in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// If it cannot be issued.
    pub(super) fn issue(
        authority: &Authority,
        hostname: &str,
        lifetime: Duration,
        now: i64,
    ) -> Result<Self> {
        let (certificate, key) = authority.issue_for(hostname, lifetime)?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        // No protocols for ALPN: what is forwarded is the business of the virtual machines.
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key))?;
        let lifetime = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
        Ok(Self {
            hostname: hostname.to_owned(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
            ends: now.saturating_add(lifetime),
            renewed_at: now.saturating_add(lifetime / 3 * 2),
        })
    }
}
