//! Which servers are trusted.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::error::Error;

/// Whose certificates are taken.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// That of a server on this machine; no others.
    #[default]
    Local,
    /// Any.
    Any,
    /// Those that one of these certificates has signed, in the form of PEM.
    Signed(Vec<u8>),
}

/// TLS to a server.
///
/// # Errors
/// The certificates that are given cannot be used.
pub(crate) fn client(host: &str, peer: IpAddr, trust: &Trust) -> Result<ClientConnection, Error> {
    let wrong = |what: String| Error::Certificates { what };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(error.to_string()))?;
    let is_taken = match trust {
        Trust::Local => peer.is_loopback(),
        Trust::Any => true,
        Trust::Signed(_) => false,
    };
    let config = if is_taken {
        let verifier = Arc::new(Trusting { provider });
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        builder.with_root_certificates(roots(trust)?).with_no_client_auth()
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|error| wrong(error.to_string()))?;
    ClientConnection::new(Arc::new(config), name).map_err(|error| wrong(error.to_string()))
}

fn roots(trust: &Trust) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let Trust::Signed(pem) = trust else { return Ok(roots) };
    let wrong = |what: String| Error::Certificates { what };
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("there is none in the file".to_owned()));
    }
    Ok(roots)
}

/// Takes any certificate; the handshake still proves that the peer has its key.
#[derive(Debug)]
struct Trusting {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
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
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
