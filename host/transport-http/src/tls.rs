//! The server's certificate, which is read again when it changes.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use scorpiox_fs::{Stamp, others_can_read};
use scorpiox_policy::access::Tls;
use tokio_rustls::TlsAcceptor;

/// Interval between checks for changed files.
const LOOK_TIME: Duration = Duration::from_secs(1);
/// Maximum size of a file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A certificate and its key.
pub(crate) struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

struct Current {
    config: Arc<ServerConfig>,
    /// Stamps of the files whose content was used or refused last.
    stamps: [Option<Stamp>; 2],
    looked: Instant,
}

impl Certificate {
    /// Reads both files.
    pub(crate) fn read(tls: &Tls) -> io::Result<Self> {
        let (chain, key) = (PathBuf::from(&tls.certificate), PathBuf::from(&tls.key));
        let stamps = [&chain, &key].map(|path| stamp(path));
        let config = config(&chain, &key)?;
        let current = Mutex::new(Current { config, stamps, looked: Instant::now() });
        Ok(Self { chain, key, current })
    }

    /// Returns an acceptor with the current certificate. An unusable new certificate does not replace a
    /// usable one.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock();
        if current.looked.elapsed() >= LOOK_TIME {
            current.looked = Instant::now();
            let stamps = [&self.chain, &self.key].map(|path| stamp(path));
            if stamps != current.stamps {
                match config(&self.chain, &self.key) {
                    Ok(config) => {
                        tracing::info!("the certificate was read again");
                        (current.config, current.stamps) = (config, stamps);
                    }
                    Err(error) => {
                        tracing::error!("the certificate stays as it was: {error}");
                        // Only another content helps. After any other error, the files are read again.
                        if error.kind() == io::ErrorKind::Other {
                            current.stamps = stamps;
                        }
                    }
                }
            }
        }
        TlsAcceptor::from(Arc::clone(&current.config))
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|about| Stamp::of(&about))
}

fn config(certificate: &Path, key: &Path) -> io::Result<Arc<ServerConfig>> {
    let told = |path: &Path, why: &dyn std::fmt::Display| {
        io::Error::other(format!("{} cannot be used: {why}", path.display()))
    };
    let pem = read(certificate, false)?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| told(certificate, &error))?;
    if chain.is_empty() {
        return Err(told(certificate, &"it has no certificate in PEM"));
    }
    let pem = read(key, true)?;
    let private = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| told(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth();
    let mut config = builder.with_single_cert(chain, private).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            told(key, &format_args!("it is not the key of the certificate in {}", certificate.display()))
        }
        error => told(certificate, &error),
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(path: &Path, is_secret: bool) -> io::Result<Vec<u8>> {
    let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(told)?;
    if is_secret && let Some(why) = others_can_read(&file).map_err(told)? {
        let path = path.display();
        return Err(io::Error::other(format!("the key in {path} is no secret: {why}; `chmod 600 {path}`")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(told)?;
    Ok(bytes)
}
