//! TLS for connections to a PostgreSQL server. The server's certificate is checked as `libpq` does
//! for each `sslmode`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::storage::Cause;

/// The settings of TLS for connections to a PostgreSQL server.
#[derive(Debug, Clone, Default)]
pub(super) struct Tls {
    pub judgement: Judgement,
    pub root_certificates: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// What is checked about the server's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Nothing: the connection is encrypted, but may lead to any server.
    #[default]
    Nothing,
    /// That a trusted authority has issued the certificate, for any host.
    Authority,
    /// That a trusted authority has issued the certificate, for the host that the connection is to.
    Host,
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
    let trusted = if tls.judgement == Judgement::Nothing {
        None
    } else {
        let roots = Arc::new(roots(tls.root_certificates.as_deref())?);
        Some(WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build()?)
    };
    let judge = Arc::new(Judge {
        judgement: tls.judgement,
        trusted,
        provider,
    });
    let builder = builder.dangerous().with_custom_certificate_verifier(judge);
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

/// A verifier of server certificates, which checks what its [`Judgement`] says. It always checks
/// that the server has the private key of its certificate.
#[derive(Debug)]
struct Judge {
    judgement: Judgement,
    trusted: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(trusted) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        let judged =
            trusted.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match judged {
            // The verifier checks the name last, so this error means that the certificate's chain
            // is trusted.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.judgement == Judgement::Authority => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
