//! TLS connections to a database.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use scorpiox_store::StoreError;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Returns a connector that verifies certificates, using the authorities in a file or those of the system.
pub(crate) fn connector(authorities: Option<&Path>) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = authorities {
        let told = |why: &dyn std::fmt::Display| {
            StoreError::Other(format!("sslrootcert={} cannot be used: {why}", path.display()))
        };
        let all = CertificateDer::pem_file_iter(path).map_err(|error| told(&error))?;
        for certificate in all {
            roots.add(certificate.map_err(|error| told(&error))?).map_err(|error| told(&error))?;
        }
        if roots.is_empty() {
            return Err(told(&"it has no certificate in PEM"));
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Other(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
