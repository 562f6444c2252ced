//! TLS: the certificate, and one configuration for each way in which TLS is carried.
//!
//! | | versions | ALPN |
//! |---|---|---|
//! | wrapped in PRELOGIN packets (TDS 7.x) | 1.2: several clients cannot do 1.3 there | – |
//! | below TDS (8.0, "strict") | 1.2, 1.3 | `tds/8.0` |

use extentdb_base::sync::Arc;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedProtocolVersion};
use tokio_rustls::TlsAcceptor;

use crate::error::Error;
use crate::files;
use crate::settings::Settings;

const ALPN: &[u8] = b"tds/8.0";
const CERTIFICATE_FILE: &str = "server.pem";
const KEY_FILE: &str = "server.key";

/// Both ways of accepting TLS.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) wrapped: TlsAcceptor,
    pub(crate) strict: TlsAcceptor,
}

struct Pem {
    certificate: String,
    key: String,
}

impl Tls {
    /// With the configured certificate, or with the server's own, which is made at the first start.
    pub(crate) fn new(settings: &Settings, names: Vec<String>) -> Result<Tls, Error> {
        let pem = match &settings.certificate {
            Some((certificate, key)) => {
                Pem { certificate: needed(certificate)?, key: needed(key)? }
            }
            None if settings.is_ephemeral => made(names)?,
            None => kept(settings, names)?,
        };
        let wrapped = config(&pem, &[&TLS12])?;
        let mut strict = config(&pem, &[&TLS12, &TLS13])?;
        strict.alpn_protocols = vec![ALPN.to_vec()];
        // Tickets would come after the handshake, where some clients do not look for them.
        strict.send_tls13_tickets = 0;
        Ok(Tls {
            wrapped: TlsAcceptor::from(Arc::new(wrapped)),
            strict: TlsAcceptor::from(Arc::new(strict)),
        })
    }
}

fn needed(path: &std::path::Path) -> Result<String, Error> {
    let what = format!("{} does not exist", path.display());
    files::read(path)?.ok_or_else(|| Error::Setting { name: "network.tlscert".to_owned(), what })
}

fn made(names: Vec<String>) -> Result<Pem, Error> {
    let made = rcgen::generate_simple_self_signed(names)?;
    Ok(Pem {
        certificate: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    })
}

fn kept(settings: &Settings, names: Vec<String>) -> Result<Pem, Error> {
    let certificate_path = settings.data.join(CERTIFICATE_FILE);
    let key_path = settings.data.join(KEY_FILE);
    if let (Some(certificate), Some(key)) =
        (files::read(&certificate_path)?, files::read(&key_path)?)
    {
        return Ok(Pem { certificate, key });
    }
    let pem = made(names)?;
    files::replace_secret(&key_path, &pem.key)?;
    files::replace_secret(&certificate_path, &pem.certificate)?;
    Ok(pem)
}

fn config(
    pem: &Pem,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ServerConfig, Error> {
    let refused = |what: String| rustls::Error::General(what);
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(pem.certificate.as_bytes()).collect();
    let chain = chain.map_err(|error| refused(format!("certificate: {error}")))?;
    let key = PrivateKeyDer::from_pem_slice(pem.key.as_bytes());
    let key = key.map_err(|error| refused(format!("key: {error}")))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(config)
}
