//! TLS of the API: the server's certificate and its key, which are loaded again when their files
//! change or on SIGHUP.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::signal::unix::Signal;

use crate::settings::{ListenerSettings, Switch};

/// The interval at which to check whether the files of the certificate and its key have changed.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// The server's certificate with its key, which a background task reloads.
pub(super) struct Tls {
    config: RustlsConfig,
}

impl Tls {
    /// Returns an acceptor that closes connections whose TLS handshake takes longer than
    /// `handshake`.
    pub(super) fn acceptor(&self, handshake: Duration) -> RustlsAcceptor {
        RustlsAcceptor::new(self.config.clone()).handshake_timeout(handshake)
    }
}

/// Loads the certificate and the key whose files the settings name, and starts a task that reloads
/// them when the files change and on each `signal`. Returns `None` if the settings do not name both
/// files.
///
/// # Errors
///
/// If the certificate or its key cannot be used.
pub(super) async fn load(settings: &ListenerSettings, signal: Signal) -> Result<Option<Tls>> {
    let (Some(certificate), Some(key)) = (&settings.tls_certificate, &settings.tls_key) else {
        return Ok(None);
    };
    let (certificate, key) = (certificate.as_path().to_owned(), key.as_path().to_owned());
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Before reading: a change in between is then noticed at the next check.
    let seen = modified(&certificate, &key);
    let (chain, secret) = read(&certificate, &key)?;
    let loaded = configure(chain, secret, settings.http2)
        .await
        .with_context(|| {
            format!(
                "failed to use the certificate {} with the key {}",
                certificate.display(),
                key.display()
            )
        })?;
    let config = RustlsConfig::from_config(loaded);
    let files = (certificate, key);
    tokio::spawn(watch((config.clone(), settings.http2), files, seen, signal));
    Ok(Some(Tls { config }))
}

/// Returns the configuration of a server with a certificate chain and its key, both in PEM.
async fn configure(
    chain: Vec<u8>,
    secret: Vec<u8>,
    http2: Switch,
) -> io::Result<Arc<ServerConfig>> {
    let loaded = RustlsConfig::from_pem(chain, secret).await?.get_inner();
    Ok(match http2 {
        Switch::On => loaded,
        Switch::Off => {
            let mut config = ServerConfig::clone(&loaded);
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Arc::new(config)
        }
    })
}

/// Reloads the certificate and its key when their files have changed and on each signal. Never
/// returns.
///
/// If the new files cannot be used, the old certificate stays in use, and the files are read again
/// at each check: the certificate and its key are two files, which cannot be replaced at the same
/// moment. Each failure is logged once.
async fn watch(
    (config, http2): (RustlsConfig, Switch),
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
            Ok((chain, secret)) => configure(chain, secret, http2)
                .await
                .map(|loaded| config.reload_from_config(loaded))
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

/// Returns the content of the certificate file and of the key file.
///
/// # Errors
///
/// If a file cannot be read, or the certificate file contains no certificate in PEM.
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

/// The times when the file of the certificate and the file of its key were modified, in this order.
/// `None` for a file whose time cannot be read.
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
