//! The verification of the certificates of servers that this program connects to.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};

/// What is checked about a server's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Nothing: the connection is encrypted, but may lead to any server.
    #[default]
    Nothing,
    /// That a trusted authority has issued the certificate, for any host.
    Authority,
    /// That a trusted authority has issued the certificate, for the host that the connection is to.
    Host,
}

/// A verifier of server certificates, which checks what its [`Judgement`] says. It always checks
/// that the server has the private key of its certificate.
#[derive(Debug)]
pub(crate) struct Judge {
    judgement: Judgement,
    /// `None` if nothing is checked.
    trusted: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Judge {
    /// Creates a verifier that accepts every certificate.
    pub(crate) fn of_nothing(provider: Arc<CryptoProvider>) -> Self {
        Self {
            judgement: Judgement::Nothing,
            trusted: None,
            provider,
        }
    }

    /// Creates a verifier that accepts what `trusted` accepts, or with [`Judgement::Authority`] also
    /// what it rejects only because of the host.
    pub(crate) fn new(
        judgement: Judgement,
        trusted: Arc<WebPkiServerVerifier>,
        provider: Arc<CryptoProvider>,
    ) -> Self {
        Self {
            judgement,
            trusted: (judgement != Judgement::Nothing).then_some(trusted),
            provider,
        }
    }
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
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
