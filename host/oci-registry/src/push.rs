//! Uploads a component in the CNCF's layout, with its signature as a referrer.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use scorpiox_terminal::{Working, size};
use scorpiox_web::{Arrived, Courier, is_same_origin};
use serde::Serialize;
use url::Url;

use crate::address::{Reference, Version};
use crate::credentials::Keyring;
use crate::digest::Digest;
use crate::error::RegistryError;
use crate::manifest::{Descriptor, Document};
use crate::registry::{Registry, Wanted};
use crate::{
    EMPTY_TYPE, INDEX_TYPE, MANIFEST_TYPE, PACK_LAYER, SIGNATURE_TYPE, WASM_CONFIG_TYPE, WASM_LAYERS,
};

/// Maximum size of a registry's response to an upload, which is empty or an error.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;
/// Response header of registries that support subjects (OCI Distribution 1.1).
const SUBJECT: &str = "oci-subject";
const EMPTY: &[u8] = b"{}";

/// Artifact to upload.
pub enum Artifact<'a> {
    /// A component or module, with the names of its imports and exports.
    Wasm {
        /// Content of the file.
        bytes: &'a [u8],
        /// `true` for a core module.
        is_module: bool,
        /// Names of the imports.
        imports: Vec<String>,
        /// Names of the exports.
        exports: Vec<String>,
    },
    /// A plugin in one file. Its media type contains the file format after `+`.
    Pack {
        /// Content of the file.
        bytes: &'a [u8],
        /// File format, such as `tar`.
        format: &'a str,
    },
}

/// Annotations for users, from `plugin.toml`.
#[derive(Debug, Clone, Default)]
pub struct Annotations(pub BTreeMap<String, String>);

/// Result of an upload.
#[derive(Debug)]
pub struct Pushed {
    /// Address with a digest, under which the registry permanently provides this content.
    pub pinned: String,
    /// Digest of the file.
    pub layer: Digest,
    /// `true` if a signature was uploaded.
    pub is_signed: bool,
}

/// Config of the CNCF's layout. It contains no timestamp, so that equal files have equal manifests.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    architecture: &'a str,
    os: &'a str,
    layer_digests: [&'a str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<Component<'a>>,
}

#[derive(Serialize)]
struct Component<'a> {
    exports: &'a [String],
    imports: &'a [String],
    target: Option<&'a str>,
}

/// Uploads an artifact under the reference's tag, and its signature.
pub fn push(
    reference: &Reference,
    artifact: &Artifact<'_>,
    annotations: &Annotations,
    signature: Option<&str>,
    (courier, keyring): (&Courier, &dyn Keyring),
) -> Result<Pushed, RegistryError> {
    let Version::Tag(tag) = &reference.version else {
        return Err(RegistryError::unfit(
            &reference.to_string(),
            "a push needs a tag in place of the digest",
        ));
    };
    let mut registry = Registry::for_push(courier, keyring, &reference.repository);
    let (layer, config_type, config) = described(artifact);
    let bytes = match artifact {
        Artifact::Wasm { bytes, .. } | Artifact::Pack { bytes, .. } => *bytes,
    };
    {
        let _working = Working::on(&format!("uploading {reference} ({})", size(layer.size)));
        registry.upload(bytes)?;
        registry.upload(&config)?;
    }
    let digest = Digest::of(bytes);
    let mut manifest = Document::manifest(Descriptor::of(config_type, &config), vec![layer]);
    manifest.annotations.clone_from(&annotations.0);
    let (manifest, _) = registry.put(tag, &manifest, MANIFEST_TYPE)?;
    if let Some(signature) = signature {
        registry.sign(manifest.clone(), signature)?;
    }
    let own =
        Digest::parse(&manifest.digest).ok_or_else(|| RegistryError::unfit("the manifest", "no digest"))?;
    Ok(Pushed { pinned: reference.pinned(&own).to_string(), layer: digest, is_signed: signature.is_some() })
}

/// Returns the layer of an artifact, and its config with the config's media type.
fn described(artifact: &Artifact<'_>) -> (Descriptor, &'static str, Vec<u8>) {
    match artifact {
        Artifact::Pack { bytes, format } => {
            (Descriptor::of(&format!("{PACK_LAYER}{format}"), bytes), EMPTY_TYPE, EMPTY.to_vec())
        }
        Artifact::Wasm { bytes, is_module, imports, exports } => {
            let layer = Descriptor::of(WASM_LAYERS[0], bytes);
            let component = (!is_module).then_some(Component { exports, imports, target: None });
            let os = if *is_module { "wasip1" } else { "wasip2" };
            let config = Config { architecture: "wasm", os, layer_digests: [&layer.digest], component };
            // Serializing texts and lists of texts cannot fail.
            let config = serde_json::to_vec(&config).unwrap_or_default();
            (layer, WASM_CONFIG_TYPE, config)
        }
    }
}

impl Registry<'_> {
    /// Uploads content unless the registry already has it.
    fn upload(&mut self, bytes: &[u8]) -> Result<(), RegistryError> {
        let digest = Digest::of(bytes);
        let what = format!("uploading {digest}");
        let url = self.repository().url(&format!("blobs/{digest}"));
        let there = self.ask(&self.wanted(&what, Method::HEAD, url))?;
        if there.status == 200 {
            return Ok(());
        }
        let start = self.wanted(&what, Method::POST, self.repository().url("blobs/uploads/"));
        let begun = self.ask(&start)?;
        if begun.status != 202 {
            return Err(RegistryError::status(&what, &begun));
        }
        let mut place = self.place(&what, &begun)?;
        place.query_pairs_mut().append_pair("digest", digest.as_str());
        let put = Wanted {
            headers: content_type("application/octet-stream"),
            body: Bytes::copy_from_slice(bytes),
            times: self.patience.large,
            ..self.wanted(&what, Method::PUT, place)
        };
        self.created(&put).map(drop)
    }

    /// Returns the URL for an upload. It must be on the registry itself: other hosts must get neither
    /// credentials nor unpublished content.
    fn place(&self, what: &str, begun: &Arrived) -> Result<Url, RegistryError> {
        let written = begun.headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let place = written.and_then(|written| begun.url.join(written).ok());
        let place = place.ok_or_else(|| RegistryError::unfit(what, "the registry names no place for it"))?;
        if !is_same_origin(&place, self.repository().base()) {
            let why =
                format!("the registry wants it at another host, {}", place.host_str().unwrap_or_default());
            return Err(RegistryError::unfit(what, why));
        }
        Ok(place)
    }

    /// Stores a manifest or an index under a tag or its digest. Returns its descriptor and the registry's
    /// response.
    fn put(
        &mut self,
        at: &str,
        document: &Document,
        media_type: &str,
    ) -> Result<(Descriptor, Arrived), RegistryError> {
        let bytes = serde_json::to_vec(document)
            .map_err(|error| RegistryError::unfit("the manifest", error.to_string()))?;
        let mut descriptor = Descriptor::of(media_type, &bytes);
        descriptor.artifact_type.clone_from(&document.artifact_type);
        let what = format!("pushing the manifest of {at}");
        let put = Wanted {
            headers: content_type(media_type),
            body: bytes.into(),
            ..self.wanted(&what, Method::PUT, self.repository().url(&format!("manifests/{at}")))
        };
        let answer = self.created(&put)?;
        Ok((descriptor, answer))
    }

    /// Uploads a signature as a referrer of a manifest.
    fn sign(&mut self, subject: Descriptor, signature: &str) -> Result<(), RegistryError> {
        let subject_digest = subject.digest.clone();
        self.upload(EMPTY)?;
        self.upload(signature.as_bytes())?;
        let layer = Descriptor::of("text/plain", signature.as_bytes());
        let mut manifest = Document::manifest(Descriptor::of(EMPTY_TYPE, EMPTY), vec![layer]);
        manifest.artifact_type = Some(SIGNATURE_TYPE.to_owned());
        manifest.subject = Some(subject);
        let bytes = serde_json::to_vec(&manifest)
            .map_err(|error| RegistryError::unfit("the signature", error.to_string()))?;
        let own = Digest::of(&bytes);
        let (descriptor, answer) = self.put(own.as_str(), &manifest, MANIFEST_TYPE)?;
        if answer.headers.contains_key(SUBJECT) {
            return Ok(());
        }
        // The registry does not maintain the list of referrers, so the client stores it under a tag.
        let subject = Digest::parse(&subject_digest)
            .ok_or_else(|| RegistryError::unfit("the manifest", "no digest"))?;
        let mut listed = self.tagged_referrers(&subject)?.unwrap_or_default();
        if listed.iter().any(|one| one.digest == descriptor.digest) {
            return Ok(());
        }
        listed.push(descriptor);
        self.put(&subject.referrers_tag(), &Document::index(listed), INDEX_TYPE).map(drop)
    }

    fn created(&mut self, wanted: &Wanted) -> Result<Arrived, RegistryError> {
        let answer = self.ask(wanted)?;
        if answer.status == 201 { Ok(answer) } else { Err(RegistryError::status(&wanted.what, &answer)) }
    }

    fn wanted(&self, what: &str, method: Method, url: Url) -> Wanted {
        Wanted {
            what: what.to_owned(),
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            limit: MAX_ANSWER_BYTES,
            times: self.patience.quick,
            of: "such an answer may have",
            gauge: None,
        }
    }
}

fn content_type(media_type: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(media_type) {
        headers.insert(CONTENT_TYPE, value);
    }
    headers
}
