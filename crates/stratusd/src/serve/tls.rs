//! TLS: a certificate and its key, read again when they change or when the process is told to.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use tokio::signal::unix::Signal;

use crate::settings::ServiceSettings;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// A certificate that is kept fresh.
pub(super) struct Tls {
    config: RustlsConfig,
}

impl Tls {
    /// Accepts connections that have finished their handshake in time.
    pub(super) fn acceptor(&self, handshake: Duration) -> RustlsAcceptor {
        RustlsAcceptor::new(self.config.clone()).handshake_timeout(handshake)
    }
}

/// TLS as the settings have it; the files are read again at each signal.
///
/// # Errors
///
/// If there is a certificate without a key or the other way round, or one of them cannot be used.
pub(super) async fn of(settings: &ServiceSettings, signal: Signal) -> Result<Option<Tls>> {
    let (certificate, key) = match (&settings.tls_certificate, &settings.tls_key) {
        (Some(certificate), Some(key)) => (certificate.as_path().to_owned(), key.as_path().to_owned()),
        (None, None) => return Ok(None),
        _ => bail!("the settings tls_certificate and tls_key go together: give both, or neither"),
    };
    // An error here means that another provider was installed before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = RustlsConfig::from_pem_file(&certificate, &key).await.with_context(|| {
        format!("failed to use the certificate {} with the key {}", certificate.display(), key.display())
    })?;
    tokio::spawn(keep_fresh(config.clone(), certificate, key, signal));
    Ok(Some(Tls { config }))
}

/// Takes new files when they are there, and what is there at a signal; one that cannot be used leaves the old one in place.
async fn keep_fresh(config: RustlsConfig, certificate: PathBuf, key: PathBuf, mut signal: Signal) {
    let mut seen = changed(&certificate, &key);
    loop {
        let is_told = tokio::select! {
            () = tokio::time::sleep(LOOK) => false,
            Some(()) = signal.recv() => true,
        };
        let now = changed(&certificate, &key);
        if now == seen && !is_told {
            continue;
        }
        seen = now;
        match config.reload_from_pem_file(&certificate, &key).await {
            Ok(()) => tracing::info!("took the new certificate"),
            Err(error) => tracing::error!(%error, "the new certificate cannot be used, the old one stays"),
        }
    }
}

/// When the two files were changed.
fn changed(certificate: &Path, key: &Path) -> [Option<SystemTime>; 2] {
    let of = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    [of(certificate), of(key)]
}
