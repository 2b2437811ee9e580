//! TLS for connections to a PostgreSQL server. The server's certificate is checked as `libpq` does
//! for each `sslmode`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::server_certificate::{Judge, Judgement};
use crate::storage::Cause;

/// The settings of TLS for connections to a PostgreSQL server.
#[derive(Debug, Clone, Default)]
pub(super) struct Tls {
    pub judgement: Judgement,
    pub root_certificates: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// Creates the configuration of rustls, and reads the files that the settings name.
///
/// # Errors
///
/// If a file cannot be read, or does not hold valid certificates or a valid key.
pub(super) fn client_config(tls: &Tls) -> Result<ClientConfig, Cause> {
    // Not the default provider of the process, which is only installed when the API is served with
    // TLS.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let judge = if tls.judgement == Judgement::Nothing {
        Judge::of_nothing(provider)
    } else {
        let roots = Arc::new(roots(tls.root_certificates.as_deref())?);
        let trusted = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
        Judge::new(tls.judgement, trusted.build()?, provider)
    };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(judge));
    let (Some(certificate), Some(key)) = (&tls.certificate, &tls.key) else {
        return Ok(builder.with_no_client_auth());
    };
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
    Ok(builder.with_client_auth_cert(certificates(certificate)?, key)?)
}

/// Returns the certificates of the trusted authorities: those in `file`, which must all be valid,
/// or the valid ones of the system if there is no file.
fn roots(file: Option<&Path>) -> Result<RootCertStore, Cause> {
    let mut roots = RootCertStore::empty();
    let found = match file {
        Some(file) => certificates(file)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    for certificate in found {
        // A system may hold outdated certificates that cannot be parsed. In a file that the
        // operator names, each counts.
        if let Err(error) = roots.add(certificate)
            && file.is_some()
        {
            return Err(error.into());
        }
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Cause> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| unreadable(file, &error))?;
    if found.is_empty() {
        Err(format!("there is no certificate in {}", file.display()).into())
    } else {
        Ok(found)
    }
}

fn unreadable(file: &Path, error: &dyn fmt::Display) -> Cause {
    format!("failed to read {}: {error}", file.display()).into()
}
