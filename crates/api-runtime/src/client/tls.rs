//! TLS by rustls, with ring and the certificates that the platform trusts.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls_platform_verifier::Verifier;

use super::BuildError;

/// Sets up the TLS of the HTTP client. A crypto provider that the application has installed is used
/// instead of ring.
pub(super) fn configure(
    builder: reqwest::ClientBuilder,
) -> Result<reqwest::ClientBuilder, BuildError> {
    let provider = CryptoProvider::get_default()
        .cloned()
        .unwrap_or_else(|| Arc::new(ring::default_provider()));
    let failed = |error: rustls::Error| BuildError::new(format!("TLS cannot be set up: {error}"));
    let verifier = Verifier::new(Arc::clone(&provider)).map_err(failed)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        // rustls calls every verifier but its own dangerous; this one asks the platform.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(builder.tls_backend_preconfigured(config))
}
