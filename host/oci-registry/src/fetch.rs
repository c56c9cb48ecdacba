//! Fetches plugins and files from addresses.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use scorpiox_terminal::{Working, size};
use scorpiox_web::{Arrived, Courier, Gauge, Times, Transfer};
use url::Url;

use crate::address::{Address, FileAddress, Reference, Version};
use crate::credentials::Keyring;
use crate::digest::Digest;
use crate::error::RegistryError;
pub use crate::manifest::Kind;
use crate::manifest::{Document, Layer};
use crate::registry::{Patience, Registry};
use crate::{MAX_BYTES, MAX_SIGNATURE_BYTES, signatures};

/// Magic bytes of WebAssembly, for components and modules.
const WASM: &[u8] = b"\0asm";

/// A fetched file.
#[derive(Debug)]
pub struct Fetched {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Declared kind of the file.
    pub kind: Kind,
    /// Digest of the content.
    pub digest: Digest,
    /// Signatures in minisign's format. They are not verified.
    pub signatures: Vec<String>,
    /// Address with a digest, under which a registry permanently provides this content.
    pub pinned: Option<String>,
    /// Number of additional layers in the manifest, which are not fetched.
    pub others: usize,
}

/// Fetches the plugin at an address.
pub fn fetch(
    address: &Address,
    courier: &Courier,
    keyring: &dyn Keyring,
    patience: Patience,
) -> Result<Fetched, RegistryError> {
    match address {
        Address::Registry(reference) => {
            let mut registry = Registry::new(courier, keyring, &reference.repository).patient(patience);
            pull(&mut registry, reference)
        }
        Address::File(file) => download(courier, file, patience),
    }
}

fn pull(registry: &mut Registry<'_>, reference: &Reference) -> Result<Fetched, RegistryError> {
    let (digest, layer) = {
        let _working = Working::on(&format!("asking for {reference}"));
        resolve(registry, reference)?
    };
    let bytes = {
        let gauge = Arc::new(Gauge::of(layer.size));
        let _working = downloading(&reference.to_string(), &gauge);
        registry.layer(&layer, &gauge)?
    };
    let signatures = registry.signatures(&digest)?;
    let pinned = Some(reference.pinned(&digest).to_string());
    Ok(Fetched { bytes, kind: layer.kind, digest: layer.digest, signatures, pinned, others: layer.others })
}

/// Reports the start and the progress of a download.
fn downloading(what: &str, gauge: &Arc<Gauge>) -> Working {
    let gauge = Arc::clone(gauge);
    Working::as_far_as(&format!("downloading {what}"), move || far(gauge.read()))
}

/// Formats the progress of a download.
fn far((arrived, whole): (u64, Option<u64>)) -> String {
    match whole {
        Some(whole) => {
            let percent = u128::from(arrived.min(whole)) * 100 / u128::from(whole.max(1));
            format!("{percent} % of {}", size(whole))
        }
        None => size(arrived),
    }
}

/// Resolves a reference to its manifest and plugin layer. A tag is resolved once: later requests use digests.
fn resolve(registry: &mut Registry<'_>, reference: &Reference) -> Result<(Digest, Layer), RegistryError> {
    let what = reference.to_string();
    let got = registry.manifest(&reference.version)?;
    let unfit = |why: String| RegistryError::unfit(&what, why);
    let document = Document::parse(&got.bytes, &got.content_type).map_err(unfit)?;
    if document.layers.is_some() {
        return Ok((got.digest, document.plugin_layer().map_err(unfit)?));
    }
    let chosen = &document.for_wasm().map_err(unfit)?.digest;
    let digest = Digest::parse(chosen)
        .ok_or_else(|| unfit("its index names a manifest by a digest that is no sha256".to_owned()))?;
    let got = registry.manifest(&Version::Digest(digest))?;
    let document = Document::parse(&got.bytes, &got.content_type).map_err(unfit)?;
    if document.layers.is_none() {
        return Err(unfit("its index names another index".to_owned()));
    }
    Ok((got.digest, document.plugin_layer().map_err(unfit)?))
}

/// Fetches the file at an address, such as an index, with at most `limit` bytes and without a signature.
pub fn fetch_file(
    file: &FileAddress,
    courier: &Courier,
    limit: u64,
    patience: Patience,
) -> Result<Vec<u8>, RegistryError> {
    let url = file.url();
    let arrived = get(courier, url, (limit, "it may have"), patience.quick, None)?;
    if arrived.status != 200 {
        return Err(RegistryError::status(url.as_str(), &arrived));
    }
    Ok(arrived.body)
}

fn download(courier: &Courier, file: &FileAddress, patience: Patience) -> Result<Fetched, RegistryError> {
    let url = file.url();
    let arrived = {
        let gauge = Arc::default();
        let _working = downloading(url.as_str(), &gauge);
        get(courier, url, (MAX_BYTES, "a plugin may have"), patience.large, Some(gauge))?
    };
    if arrived.status != 200 {
        return Err(RegistryError::status(url.as_str(), &arrived));
    }
    let bytes = arrived.body;
    let kind = if bytes.starts_with(WASM) { Kind::Wasm } else { Kind::Pack };
    let signatures = beside(courier, file, patience)?.into_iter().collect();
    Ok(Fetched { kind, digest: Digest::of(&bytes), bytes, signatures, pinned: None, others: 0 })
}

/// Fetches the signature of a file. File servers indicate a missing file in different ways, some with an HTML
/// page.
fn beside(
    courier: &Courier,
    file: &FileAddress,
    patience: Patience,
) -> Result<Option<String>, RegistryError> {
    let url = file.signature();
    let arrived =
        match get(courier, &url, (MAX_SIGNATURE_BYTES, "a signature may have"), patience.quick, None) {
            Err(RegistryError::TooLarge { .. }) => return Ok(None),
            arrived => arrived?,
        };
    match arrived.status {
        200 => Ok(signatures::text(arrived.body)),
        403 | 404 | 410 => Ok(None),
        _ => Err(RegistryError::status(url.as_str(), &arrived)),
    }
}

fn get(
    courier: &Courier,
    url: &Url,
    (limit, of): (u64, &'static str),
    times: Times,
    gauge: Option<Arc<Gauge>>,
) -> Result<Arrived, RegistryError> {
    let transfer = Transfer {
        method: Method::GET,
        url: url.clone(),
        headers: HeaderMap::new(),
        authorization: None,
        body: Bytes::new(),
        limit,
        times,
        gauge,
    };
    courier.carry(transfer).map_err(|error| RegistryError::web(url.as_str(), error, of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_says_its_size_and_how_much_of_it_is_here() {
        assert_eq!(far((0, Some(3_600_000))), "0 % of 3.4 MiB");
        assert_eq!(far((1_800_000, Some(3_600_000))), "50 % of 3.4 MiB");
        // Another check stops a server that sends more than it declared.
        assert_eq!(far((9, Some(3))), "100 % of 3 bytes");
        assert_eq!(far((2048, None)), "2.0 KiB");
    }
}
