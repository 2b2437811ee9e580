//! TLS: a certificate and its key, read again when they change or when the process is told to.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
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
/// If the certificate or its key cannot be used.
pub(super) async fn of(settings: &ServiceSettings, signal: Signal) -> Result<Option<Tls>> {
    let (Some(certificate), Some(key)) = (&settings.tls_certificate, &settings.tls_key) else {
        return Ok(None);
    };
    let (certificate, key) = (certificate.as_path().to_owned(), key.as_path().to_owned());
    // An error here means that another provider was installed before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let seen = changed(&certificate, &key);
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
    tokio::spawn(keep_fresh(config.clone(), (certificate, key), seen, signal));
    Ok(Some(Tls { config }))
}

/// Takes new files when they are there, and what is there at a signal. One that cannot be used leaves the old one in
/// place, and is tried again until it can.
async fn keep_fresh(
    config: RustlsConfig,
    (certificate, key): (PathBuf, PathBuf),
    mut seen: Changed,
    mut signal: Signal,
) {
    let mut failure = None;
    loop {
        let is_told = tokio::select! {
            () = tokio::time::sleep(LOOK) => false,
            Some(()) = signal.recv() => true,
        };
        let now = changed(&certificate, &key);
        if now == seen && failure.is_none() && !is_told {
            continue;
        }
        if now != seen || is_told {
            // What is wrong with these is not known yet.
            failure = None;
        }
        seen = now;
        let taken = match read(&certificate, &key) {
            Ok((chain, secret)) => config
                .reload_from_pem(chain, secret)
                .await
                .context("failed to use it with its key"),
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => {
                failure = None;
                tracing::info!("took the new certificate");
            }
            Err(error) => {
                let error = format!("{error:#}");
                if failure.as_ref() != Some(&error) {
                    tracing::error!(
                        error,
                        "the new certificate cannot be used, the old one stays"
                    );
                }
                failure = Some(error);
            }
        }
    }
}

/// What is in the two files.
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

/// When the two files were changed, as far as one may know.
type Changed = [Option<SystemTime>; 2];

fn changed(certificate: &Path, key: &Path) -> Changed {
    let of = |path: &Path| {
        path.metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
    };
    [of(certificate), of(key)]
}
