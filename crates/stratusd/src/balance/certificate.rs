//! The certificate of a load balancer, which the authority of the service issues for its host name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rcgen::KeyPair;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;
use zeroize::Zeroizing;

use crate::provision::authority::Authority;

/// Why a load balancer with a certificate does not listen.
pub(super) const LACKING: &str = "there is no certificate yet: the data plane needs the encryption keys, and an \
     authority, which `stratusd serve` makes at its first start";

/// How far the clock may go back behind the issue of a certificate before another one is issued, in
/// milliseconds. The authority issues it as valid from an hour before.
const MOST_BEHIND: i64 = 30 * 60 * 1000;

/// How long a certificate is in force.
#[derive(Debug, Clone)]
pub(super) struct Term {
    /// The host name that it is for.
    pub hostname: String,
    /// When it was issued, in milliseconds since 1970.
    issued: i64,
    /// When it ends, in milliseconds since 1970.
    pub ends: i64,
    /// When another one takes its place, in milliseconds since 1970: after two thirds of its time.
    renewed_at: i64,
}

impl Term {
    /// Returns whether the certificate is for a host name and need not be renewed yet. `now` is in
    /// milliseconds since 1970. If that is long before the certificate was issued, the clock was wrong
    /// then, and callers may find that the certificate is not valid yet.
    pub(super) fn is_good(&self, hostname: &str, now: i64) -> bool {
        let is_valid = now >= self.issued.saturating_sub(MOST_BEHIND);
        self.hostname == hostname && is_valid && now < self.renewed_at
    }
}

/// A new certificate with its private key.
pub(super) struct Issued {
    certificate: rcgen::Certificate,
    key: KeyPair,
    pub term: Term,
}

impl Issued {
    /// Issues a certificate for a host name. `now` is in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// If it cannot be issued.
    pub(super) fn new(
        authority: &Authority,
        hostname: &str,
        lifetime: Duration,
        now: i64,
    ) -> Result<Self> {
        let (certificate, key) = authority.issue_for(hostname, lifetime)?;
        let lifetime = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
        Ok(Self {
            certificate,
            key,
            term: Term {
                hostname: hostname.to_owned(),
                issued: now,
                ends: now.saturating_add(lifetime),
                renewed_at: now.saturating_add(lifetime / 3 * 2),
            },
        })
    }

    /// Returns the certificate and its private key, both in PEM.
    pub(super) fn pem(&self) -> (String, Zeroizing<String>) {
        let key = Zeroizing::new(self.key.serialize_pem());
        (self.certificate.pem(), key)
    }
}

/// A certificate with its private key, which is kept in memory alone.
pub(super) struct Certificate {
    pub acceptor: TlsAcceptor,
    pub term: Term,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("term", &self.term)
            .finish_non_exhaustive()
    }
}

impl TryFrom<Issued> for Certificate {
    type Error = rustls::Error;

    fn try_from(issued: Issued) -> Result<Self, Self::Error> {
        let key = PrivatePkcs8KeyDer::from(issued.key.serialize_der());
        let chain = vec![issued.certificate.der().clone()];
        // No protocols for ALPN: what is forwarded is the business of the virtual machines.
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::Pkcs8(key))?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            term: issued.term,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_good_from_its_issue_until_two_thirds_of_its_time() {
        const HOUR: i64 = 60 * 60 * 1000;
        let term = Term {
            hostname: "web.example".to_owned(),
            issued: 100 * HOUR,
            ends: 400 * HOUR,
            renewed_at: 300 * HOUR,
        };
        for (now, is_good) in [
            // The clock was ahead when it was issued.
            (50 * HOUR, false),
            (98 * HOUR, false),
            (100 * HOUR - 60_000, true),
            (100 * HOUR, true),
            (300 * HOUR - 1, true),
            (300 * HOUR, false),
        ] {
            assert_eq!(term.is_good("web.example", now), is_good, "{now}");
        }
        assert!(!term.is_good("other.example", 100 * HOUR));
    }
}
