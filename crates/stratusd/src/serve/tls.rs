//! TLS: the certificate and its key, reloaded when the files change or on SIGHUP.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::signal::unix::Signal;

use crate::settings::ServiceSettings;

/// How often to check whether the files have changed.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// A certificate with its key, which a background task reloads.
pub(super) struct Tls {
    config: RustlsConfig,
}

impl Tls {
    /// Returns an acceptor that closes connections whose handshake takes too long.
    pub(super) fn acceptor(&self, handshake: Duration) -> RustlsAcceptor {
        RustlsAcceptor::new(self.config.clone()).handshake_timeout(handshake)
    }
}

/// Loads the certificate that the settings name, if any, and starts to watch its files. They are
/// also reloaded on each `signal`.
///
/// # Errors
///
/// If the certificate or its key cannot be used.
pub(super) async fn load(settings: &ServiceSettings, signal: Signal) -> Result<Option<Tls>> {
    let (Some(certificate), Some(key)) = (&settings.tls_certificate, &settings.tls_key) else {
        return Ok(None);
    };
    let (certificate, key) = (certificate.as_path().to_owned(), key.as_path().to_owned());
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Before reading: a change in between is then noticed at the next check.
    let seen = modified(&certificate, &key);
    let (chain, secret) = read(&certificate, &key)?;
    let config = RustlsConfig::from_pem(chain, secret)
        .await
        .with_context(|| {
            format!(
                "failed to use the certificate {} with the key {}",
                certificate.display(),
                key.display()
            )
        })?;
    tokio::spawn(watch(config.clone(), (certificate, key), seen, signal));
    Ok(Some(Tls { config }))
}

/// Reloads the files when they have changed and on each signal.
///
/// If the new files cannot be used, the old certificate stays in use, and the files are read again
/// at each check: the certificate and its key are two files, which cannot be replaced at the same
/// moment. Each failure is logged once.
async fn watch(
    config: RustlsConfig,
    (certificate, key): (PathBuf, PathBuf),
    mut seen: Modified,
    mut signal: Signal,
) {
    let mut failure = None;
    loop {
        let is_signalled = tokio::select! {
            () = tokio::time::sleep(CHECK_EVERY) => false,
            Some(()) = signal.recv() => true,
        };
        let now = modified(&certificate, &key);
        // Any other time counts, not only a later one: a file may be replaced by an older one.
        let is_new = now != seen || is_signalled;
        if !is_new && failure.is_none() {
            continue;
        }
        if is_new {
            // Log the next failure, even if it is the same as that of the files before.
            failure = None;
        }
        seen = now;
        let reloaded = match read(&certificate, &key) {
            Ok((chain, secret)) => config
                .reload_from_pem(chain, secret)
                .await
                .context("failed to use the certificate with its key"),
            Err(error) => Err(error),
        };
        match reloaded {
            Ok(()) => {
                failure = None;
                tracing::info!("loaded the new certificate");
            }
            Err(error) => {
                let error = format!("{error:#}");
                if failure.as_ref() != Some(&error) {
                    tracing::error!(
                        error,
                        "failed to load the new certificate, the old one stays in use"
                    );
                }
                failure = Some(error);
            }
        }
    }
}

/// Reads the files of the certificate and its key. A first file without a certificate in PEM is an
/// error.
fn read(certificate: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>)> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("failed to read {}", path.display()));
    let (chain, secret) = (read(certificate)?, read(key)?);
    if CertificateDer::pem_slice_iter(&chain).next().is_none() {
        bail!(
            "there is no certificate in PEM in {}",
            certificate.display()
        );
    }
    Ok((chain, secret))
}

/// The times when the files of the certificate and its key were modified. `None` for a file whose
/// time cannot be read.
type Modified = [Option<SystemTime>; 2];

fn modified(certificate: &Path, key: &Path) -> Modified {
    let of = |path: &Path| {
        // `metadata` follows links, which tools such as certbot change to renew a certificate.
        path.metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
    };
    [of(certificate), of(key)]
}
